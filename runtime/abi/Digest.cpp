// SHA-256 as FIPS 180-4 defines it, so that digests need no library on a machine that only
// launches.
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace attune {

namespace {

/// First 32 bits of the fractional parts of the square roots of the first 8 primes.
constexpr std::array<uint32_t, 8> initialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> roundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t loadBigEndian(const uint8_t *p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3]);
}

} // namespace

Digest::Digest() : state_(initialState) {}

void Digest::block(const uint8_t *p) {
  std::array<uint32_t, 64> w;
  for (int i = 0; i < 16; ++i)
    w[i] = loadBigEndian(p + 4 * i);
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> worked = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state_[i] += worked[i];
}

Digest &Digest::bytes(std::string_view data) {
  while (!data.empty()) {
    size_t used = length_ % buffer_.size();
    size_t taken = std::min(buffer_.size() - used, data.size());
    std::memcpy(buffer_.data() + used, data.data(), taken);
    length_ += taken;
    data.remove_prefix(taken);
    if (length_ % buffer_.size() == 0)
      block(buffer_.data());
  }
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
