// Cuts text into the blocks of SHA-256. A digest of our own, so that a machine that only launches
// needs no library for it.
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <cstring>

namespace attune {

namespace {

/// First 32 bits of the fractional parts of the square roots of the first 8 primes.
constexpr Sha256State initialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

} // namespace

Digest::Digest() : state_(initialState) {}

Digest &Digest::bytes(std::string_view data) {
  static const Sha256Blocks work = sha256Native() ? sha256Native() : sha256Portable;
  auto *in = reinterpret_cast<const uint8_t *>(data.data());
  size_t left = data.size();
  const size_t used = length_ % buffer_.size();
  length_ += left;
  if (used != 0) {
    const size_t taken = std::min(buffer_.size() - used, left);
    std::memcpy(buffer_.data() + used, in, taken);
    in += taken, left -= taken;
    if (used + taken < buffer_.size())
      return *this;
    work(state_, buffer_.data(), 1);
  }
  const size_t blocks = left / sha256BlockBytes;
  work(state_, in, blocks);
  if (left % sha256BlockBytes != 0)
    std::memcpy(buffer_.data(), in + blocks * sha256BlockBytes, left % sha256BlockBytes);
  return *this;
}

Digest &Digest::field(std::string_view name, std::string_view value) {
  return bytes(name).bytes("\x1f").bytes(std::to_string(value.size())).bytes("\x1f").bytes(value);
}

std::string Digest::hex() {
  const uint64_t bits = length_ * 8;
  std::string tail(1, '\x80');
  while ((length_ + tail.size()) % 64 != 56)
    tail.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    tail.push_back(char(bits >> shift & 0xff));
  bytes(tail);
  std::string out;
  for (uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4)
      out.push_back("0123456789abcdef"[word >> shift & 15]);
  return out;
}

std::string sha256Hex(std::string_view data) { return Digest().bytes(data).hex(); }

} // namespace attune
