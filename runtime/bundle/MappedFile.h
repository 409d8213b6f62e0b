// A file as bytes in memory that the system reads page by page when they are touched, and that
// processes share.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace attune::bundle {

struct MappedFile {
  std::shared_ptr<const void> owner; ///< unmaps the bytes when the last copy goes
  std::span<const uint8_t> bytes;
};

/// Read-only. Errors: NotFound; Io for what is no regular file or cannot be mapped. Who replaces
/// such a file must do so by rename: bytes that are cut off under a mapping stop the process.
Result<MappedFile> mapFile(const std::string &path);

} // namespace attune::bundle
