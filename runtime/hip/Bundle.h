// Where the gfx950 code object is in what a HIP program hands over: a code object itself (ELF), or
// clang's offload bundle, which holds one for each target it was compiled for.
//
// A bundle: "__CLANG_OFFLOAD_BUNDLE__", the number of entries, then for each its offset and size
// from the start of the bundle, and its id ("hipv4-amdgcn-amd-amdhsa--gfx950:xnack-").
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace attune::hip {

/// `limit`: bytes that may be read. HIP passes bare pointers; then the image's own headers say how
/// far it goes.
Result<std::span<const uint8_t>> findCodeObject(const void *image, size_t limit = SIZE_MAX);

/// The size of a symbol of a code object, a __device__ variable for instance.
std::optional<uint64_t> symbolBytes(std::span<const uint8_t> codeObject, const std::string &name);

} // namespace attune::hip
