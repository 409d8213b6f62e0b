// What the kernel builders can do, stated once: the selection refuses the rest and explain prints
// the lists.
#pragma once
#include "runtime/abi/DType.h"
#include <span>

namespace attune::schedule {

/// Head dims of Q, K and V: whole 32-wide blocks of the accumulator, and LDS rows of a power of two
/// of bytes.
std::span<const int> supportedHeadDims();

/// Types of q, k and v: those with a 16-bit MFMA and a 16-bit transposing read.
std::span<const DType> supportedDTypes();

} // namespace attune::schedule
