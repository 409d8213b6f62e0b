// Whole files, in and out, as bytes: the two operations that the rest of the runtime reads and
// writes through.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune {

using Bytes = std::vector<uint8_t>;

/// Errors: NotFound, Io.
Result<Bytes> readFile(const std::string &path);

/// Whether writeFile() would find a folder that it may write to: for callers that have long work
/// before them. Errors: Io, with what is in the way.
Result<void> checkWritable(const std::string &path);

/// Writes beside the file and renames, so that a reader never sees a part of it.
Result<void> writeFile(const std::string &path, std::span<const uint8_t> bytes);

} // namespace attune
