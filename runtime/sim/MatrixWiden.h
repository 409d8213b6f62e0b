// Operands of matrix instructions as numbers: element j of every lane, widened to f32 (i8 to 32
// bits, f64 as it is).
#pragma once
#include "runtime/sim/Matrix.h"
#include <cstdint>

namespace attune::sim {

inline constexpr unsigned kMaxElements = 32; ///< of one operand, per lane
template <class T> using Widened = T[kMaxElements][64];

void widen(Widened<float> &out, ConstLanes in, MatType, unsigned elements);
void widen(Widened<uint32_t> &out, ConstLanes in, MatType,
           unsigned elements); ///< i8, sign-extended
void widen(Widened<double> &out, ConstLanes in, MatType, unsigned elements);

} // namespace attune::sim
