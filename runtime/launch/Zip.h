// The part of the zip format that .npz files use: members stored or deflated, zip64 sizes, one
// disk, no encryption.
//
//   member 0: local header, name, extra, data
//   member 1: ...
//   central directory: per member its name, sizes, CRC and the offset of its local header
//   end record: where the central directory is
//
// Reading starts at the end record and trusts nothing: each offset and size is checked against the
// file before use.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attune::zip {

struct Member {
  std::string name;
  std::vector<uint8_t> data;
};

Result<std::vector<Member>> read(std::span<const uint8_t> file);

/// Members stored, dated 1980-01-01. Refuses a file of 4 GiB or more.
Result<std::vector<uint8_t>> write(const std::vector<Member> &);

} // namespace attune::zip
