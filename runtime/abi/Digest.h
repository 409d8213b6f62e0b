// SHA-256, with named and delimited fields so that two different lists of inputs can never look the
// same
// ("ab" + "c" against "a" + "bc"): each field is hashed as name, 0x1f, length, 0x1f, bytes.
#pragma once
#include "runtime/abi/Sha256.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace attune {

class Digest {
public:
  Digest();
  Digest &bytes(std::string_view data);                         ///< raw bytes, no delimiter
  Digest &field(std::string_view name, std::string_view value); ///< one named, delimited field
  std::string hex(); ///< finishes; 64 lower-case hex digits

private:
  Sha256State state_;
  std::array<uint8_t, sha256BlockBytes> buffer_{};
  uint64_t length_ = 0;
};

/// SHA-256 of one string, in hex.
std::string sha256Hex(std::string_view data);

} // namespace attune
