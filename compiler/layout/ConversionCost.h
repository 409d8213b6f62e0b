// Steps of a conversion that move data between any lanes, and what each kind of step costs.
#pragma once
#include "compiler/layout/Conversion.h"
#include <optional>

namespace attune::layout {

/// Clocks of one wave instruction on gfx950 (the project's timing facts, issue costs and LDS
/// model).
namespace cost {
inline constexpr int vector = 4;        ///< v_mov with DPP, v_cndmask
inline constexpr int permlaneSwap = 20; ///< measured by GEAK for cross-lane swaps
inline constexpr int bpermute = 8;      ///< issue to the crossbar
inline constexpr int ldsLatency = 50;
inline constexpr int ldsWriteB128 = 20; ///< issue of one ds_write_b128
inline constexpr int ldsReadB128 = 8;
inline constexpr int barrier = 16;
} // namespace cost

/// The cheapest single step that does `source`, (register, lane) -> (register, lane) it comes from;
/// nullopt if nothing moves.
std::optional<ConversionStep> finalStep(const LinearLayout &source);

/// A round trip through LDS.
ConversionStep ldsStep(int registers, int waves);

} // namespace attune::layout
