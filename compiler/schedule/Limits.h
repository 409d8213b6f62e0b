// What the kernel builders can do, stated once: the selection refuses the rest and explain prints
// the lists.
#pragma once
#include "compiler/target/Arch.h"
#include "runtime/abi/DType.h"
#include "runtime/abi/Result.h"
#include <span>

namespace attune::schedule {

/// Head dims of Q, K and V: whole 32-wide blocks of the accumulator, and LDS rows of a power of two
/// of bytes.
std::span<const int> supportedHeadDims();

/// Types of q, k and v: those with a 16-bit MFMA and a 16-bit transposing read.
std::span<const DType> supportedDTypes();

/// Refuses a chip that lacks what every kernel needs, naming what, and the chips that have it.
Result<void> checkArch(const target::Arch &);

} // namespace attune::schedule
