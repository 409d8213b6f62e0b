// Transposing LDS reads against layouts.md, swizzle patterns against the ISA's tables, permutes by
// hand.
#include "runtime/sim/LdsOps.h"
#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace attune::sim;

namespace {

uint32_t element(const uint32_t (*regs)[64], unsigned lane, unsigned index, unsigned bits) {
  uint32_t value = 0;
  for (unsigned i = 0; i < bits; ++i) {
    unsigned bit = index * bits + i;
    value |= (regs[bit / 32][lane] >> (bit % 32) & 1) << i;
  }
  return value;
}

void checkTranspose(unsigned bits, unsigned words,
                    void (*transpose)(const uint32_t (*)[64], uint32_t (*)[64])) {
  std::mt19937 random(bits);
  uint32_t in[3][64], out[3][64] = {};
  for (auto &row : in)
    for (uint32_t &x : row)
      x = uint32_t(random());
  transpose(in, out);
  unsigned ne = words * 32 / bits;
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned k = 0; k < ne; ++k) {
      unsigned i = lane % 16, flat = 16 * k + i;
      REQUIRE(element(out, lane, k, bits) ==
              element(in, lane / 16 * 16 + flat / ne, flat % ne, bits));
    }
}

} // namespace

TEST_CASE("transposing reads give each lane a column", "[lds]") {
  checkTranspose(16, 2, transposeB16);
  checkTranspose(8, 2, transposeB8);
  checkTranspose(4, 2, transposeB4);
  checkTranspose(6, 3, transposeB6);
}

TEST_CASE("tr_b16 as layouts.md words it", "[lds]") {
  // A 4 x 16 row-major tile of 16-bit elements, 4 of them a lane: value = 16 row + column.
  uint32_t in[2][64], out[2][64];
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned w = 0; w < 2; ++w) {
      unsigned first = lane / 16 * 1000 + lane % 16 * 4 + 2 * w;
      in[w][lane] = first | (first + 1) << 16;
    }
  transposeB16(in, out);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned k = 0; k < 4;
         ++k) // element i % 4 of the 64 bits that lane 4 k + i / 4 read: row k, column i
      REQUIRE(element(out, lane, k, 16) == lane / 16 * 1000 + 16 * k + lane % 16);
}

TEST_CASE("swizzle: quad permutation and masks", "[lds]") {
  LaneMap reverse = swizzleMap(0x8000 | (3 | 2 << 2 | 1 << 4 | 0 << 6));
  LaneMap xor1 = swizzleMap(0x1f | 1 << 10); // and 31, or 0, xor 1
  LaneMap first = swizzleMap(0);             // and 0: lane 0 of each 32
  LaneMap orTwo = swizzleMap(0x1f | 2 << 5);
  for (unsigned l = 0; l < 64; ++l) {
    CHECK(reverse[l] == (l ^ 3));
    CHECK(xor1[l] == (l ^ 1));
    CHECK(first[l] == (l & 32));
    CHECK(orTwo[l] == (l | 2));
  }
}

TEST_CASE("swizzle: FFT tables of the ISA", "[lds]") {
  // The ISA prints them counting from 1.
  const unsigned all[32] = {0x01, 0x11, 0x09, 0x19, 0x05, 0x15, 0x0d, 0x1d, 0x03, 0x13, 0x0b,
                            0x1b, 0x07, 0x17, 0x0f, 0x1f, 0x02, 0x12, 0x0a, 0x1a, 0x06, 0x16,
                            0x0e, 0x1e, 0x04, 0x14, 0x0c, 0x1c, 0x08, 0x18, 0x10, 0x20};
  const unsigned half[16] = {0x1, 0x9, 0x5, 0xd, 0x3, 0xb, 0x7, 0xf,
                             0x2, 0xa, 0x6, 0xe, 0x4, 0xc, 0x8, 0x10};
  LaneMap five = swizzleMap(0xe000), four = swizzleMap(0xe010), none = swizzleMap(0xe01f);
  for (unsigned l = 0; l < 64; ++l) {
    CHECK(five[l] == (l & 32) + all[l % 32] - 1);
    CHECK(four[l] == (l & 48) + half[l % 16] - 1);
    CHECK(none[l] == l);
  }
}

TEST_CASE("swizzle: rotation within 32 lanes", "[lds]") {
  LaneMap left = swizzleMap(uint16_t(0xc000 | 3 << 5)),
          right = swizzleMap(uint16_t(0xc000 | 1 << 10 | 3 << 5));
  LaneMap inFours = swizzleMap(uint16_t(0xc000 | 1 << 5 | 0x1c)); // bits 2..4 stay
  for (unsigned l = 0; l < 64; ++l) {
    CHECK(left[l] == (l & 32) + (l + 3) % 32);
    CHECK(right[l] == (l & 32) + (l + 29) % 32);
    CHECK(inFours[l] == (l & ~3u) + (l + 1) % 4);
  }
}

TEST_CASE("swizzle reads 0 from inactive lanes and writes active ones", "[lds]") {
  uint32_t in[64], out[64];
  for (unsigned l = 0; l < 64; ++l) {
    in[l] = 100 + l;
    out[l] = 7;
  }
  dsSwizzle(swizzleMap(0x1f | 1 << 10), ~uint64_t(2), in, out); // lane 1 is off
  CHECK(out[0] == 0);
  CHECK(out[1] == 7);
  CHECK(out[2] == 103);
  dsSwizzle(swizzleMap(0x1f | 1 << 10), ~uint64_t(0), in, in); // in place
  CHECK(in[0] == 101);
  CHECK(in[1] == 100);
}

TEST_CASE("bpermute pulls, permute pushes", "[lds]") {
  uint32_t address[64], data[64], out[64];
  for (unsigned l = 0; l < 64; ++l) {
    address[l] = (63 - l) * 4 + 3; // the low bits do not matter
    data[l] = 1000 + l;
    out[l] = 7;
  }
  dsBpermute(address, data, 0, ~uint64_t(0), out);
  CHECK(out[5] == 1058);
  dsBpermute(address, data, 8, ~uint64_t(0), out);
  CHECK(out[5] == 1060);
  CHECK(out[0] == 1001); // 65 wraps
  std::fill(out, out + 64, 7u);
  dsBpermute(address, data, 0, ~(uint64_t(1) << 58 | 1), out);
  CHECK(out[5] == 0); // its source is off
  CHECK(out[0] == 7); // is off itself

  dsPermute(address, data, 0, ~uint64_t(0), out);
  CHECK(out[63] == 1000);
  for (uint32_t &a : address)
    a = 12;
  std::fill(out, out + 64, 7u);
  dsPermute(address, data, 0, (uint64_t(1) << 40) - 1, out);
  CHECK(out[3] == 1039);                         // the highest sender wins
  CHECK(out[4] == 0);                            // nobody sends to it
  CHECK(out[50] == 7);                           // is off
  dsBpermute(data, data, 0, ~uint64_t(0), data); // all three the same register
  CHECK(data[0] == 1000 + 1000 / 4 % 64);
}

TEST_CASE("LDS-DMA puts lane l at M0 + offset + l * size", "[lds]") {
  CHECK(ldsDmaAddress(0x20000, 16, 0, 16) == 0x20010); // M0 beyond 16 bits
  CHECK(ldsDmaAddress(0, 0, 63, 4) == 252);
  CHECK(ldsDmaAddress(64, 4, 10, 12) == 188);
}
