// The edge values of each operand type.
#include "tests/sim/edges/EdgeRun.h"
#include <stdexcept>

namespace simtest {
namespace {

/// Zeros, both ends of the denormals and of the normal numbers, one and its neighbours, numbers
/// that lie halfway between integers, infinities, NaNs quiet and signalling of both signs with
/// payloads. The first sixteen are enough for three operands.
std::vector<uint64_t> floats(Format f) {
  const uint64_t one = uint64_t(f.bias()) << f.man, ulp = 1, sign = f.sign();
  auto power = [&](int e) { return uint64_t(f.bias() + e) << f.man; };
  return {0,
          sign,
          one,
          sign | one,
          1,
          sign | (f.smallestNormal() - 1),
          f.smallestNormal(),
          f.largest(),
          f.infinity(),
          sign | f.infinity(),
          f.infinity() | f.quiet() | 1,
          sign | f.infinity() | 2,
          one + ulp,
          power(-f.man - 1),
          sign | (one - ulp),
          power(1) | f.quiet(),
          sign | 1,
          f.smallestNormal() - 1,
          sign | f.smallestNormal(),
          f.smallestNormal() + ulp,
          sign | f.largest(),
          f.infinity() | 1,
          sign | f.infinity() | f.quiet(),
          power(-1),                        // 1/2
          power(0) | f.quiet(),             // 3/2
          sign | power(1) | f.quiet() >> 1, // -5/2
          power(f.man) | 1,                 // the largest ulp-1 odd integer
          sign | power(f.man - 1) | 1,      // with a half
          power(-f.man),
          power(f.bias() / 2),
          sign | power(-(f.bias() / 2)),
          power(f.bias()) | f.quiet()};
}

std::vector<uint64_t> integers(int bits) {
  const uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1, top = uint64_t(1)
                                                                                    << (bits - 1);
  return {0,
          1,
          all,
          top,
          top - 1,
          2,
          all - 1,
          top + 1,
          top >> 1,
          all / 3,
          0x7f,
          0x80,
          0xff,
          all ^ (all / 3),
          all & 0x0123456789abcdef,
          top | 5,
          all ^ 0x7f,
          all & 0xff00ff00ff00ff00,
          7,
          all >> (bits / 2)};
}

/// Each value in the low part, another in the high one.
std::vector<uint64_t> pairs(const std::vector<uint64_t> &halves, int bits = 16) {
  std::vector<uint64_t> words;
  for (size_t k = 0; k < halves.size(); ++k)
    words.push_back(halves[k] | halves[(k * 7 + 3) % halves.size()] << bits);
  return words;
}

} // namespace

bool isFloatLetter(char letter) {
  return letter == 'f' || letter == 'd' || letter == 'h' || letter == 'b';
}
Format formatOf(char letter) {
  switch (letter) {
  case 'd':
    return kF64Format;
  case 'h':
  case 'p':
    return kF16Format;
  case 'b':
  case 'o':
    return kBf16Format;
  default:
    return kF32Format;
  }
}

std::vector<uint64_t> edgeValues(char letter, bool few) {
  std::vector<uint64_t> all;
  switch (letter) {
  case 'f':
  case 'd':
  case 'h':
  case 'b':
    all = floats(formatOf(letter));
    break;
  case 'p':
  case 'o':
    all = pairs(floats(formatOf(letter)));
    break;
  case 'F':
    all = pairs(floats(kF32Format), 32);
    break;
  case 'u':
    all = integers(32);
    break;
  case 'q':
    all = integers(64);
    break;
  case 's':
    all = integers(16);
    break;
  case 't':
    all = pairs(integers(16));
    break;
  case 'n':
    all = {0, 1, 31, 32, 5, 63, 64, 33, 0x80000000, 0xffffffff, 8, 15, 16, 24, 30, 127, 7, 23};
    break;
  case 'e':
    all = {0,    1,          0xffffffff, 24,     0xffffffe8, 126,       0xffffff82,
           127,  0xffffff6b, 0xffffff6a, 254,    0xfffffed4, 1100,      0xfffffbb4,
           2100, 0x80000000, 0x7fffffff, 0x8000, 0x7fff,     0xffff8000};
    return all;
  case 'c':
    for (int k = 0; k < 10; ++k)
      all.push_back(uint64_t(1) << k);
    all.insert(all.end(), {0, 0x3ff, 0xfffffc00});
    break;
  case 'x':
    all = {0,          0xffffffff, 0x80808080, 0x7f7f7f7f, 0x01020304, 0x7c7dfcfe,
           0x80000000, 0x000000ff, 0x88888888, 0x77777777, 0x7eff7c38, 0xb83c0181,
           0x04030201, 0x8f0178fe, 0x0b0a0908, 0x0d0c0706};
    break;
  case 'z':
    all = {0x3f800000, 0x40000000, 0x00000000, 0x7f800000, 0x7f000000, 0x00800000,
           0xbf800000, 0x3f000000, 0x7fc00000, 0x00000001, 0x4f123456};
    break;
  default:
    throw std::runtime_error(std::string("no edge values of type ") + letter);
  }
  if (few && all.size() > 16)
    all.resize(16);
  return all;
}

} // namespace simtest
