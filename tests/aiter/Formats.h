// The number formats that the kernels under test read and write, for the host side of the tests.
// Written from the OCP and bfloat16 definitions and apart from the simulator's own conversions, so
// that a fault in those cannot hide here.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace aitertest {

/// bfloat16, round to nearest even; NaN stays NaN.
inline uint16_t toBf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float fromBf16(uint16_t x) { return std::bit_cast<float>(uint32_t(x) << 16); }

/// A format of at most 8 bits: sign, exponent, mantissa. Every code is a finite number, but that
/// e4m3 has NaN at 0x7f and 0xff.
struct SmallFloat {
  int exponentBits, mantissaBits, bias;
  int bits() const { return 1 + exponentBits + mantissaBits; }
  bool isNan(uint32_t code) const { return bits() == 8 && (code & 0x7f) == 0x7f; }

  double decode(uint32_t code) const {
    uint32_t mantissa = code & ((1u << mantissaBits) - 1);
    int exponent = int(code >> mantissaBits & ((1u << exponentBits) - 1));
    double sign = code >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
    if (isNan(code))
      return NAN;
    double fraction = std::ldexp(double(mantissa), -mantissaBits);
    return sign *
           (exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
  }
  /// Nearest, ties to the even code, saturating; NaN where there is one. Counts in steps of the
  /// binade that x lies in; below the first normal number that binade is the subnormals'.
  uint8_t encode(double x) const {
    if (std::isnan(x))
      return 0x7f;
    int exponent = x == 0 ? 1 - bias : std::max(std::ilogb(x), 1 - bias);
    double steps = std::nearbyint(std::ldexp(std::fabs(x), mantissaBits - exponent));
    uint32_t sign = 1u << (exponentBits + mantissaBits);
    uint32_t largest = sign - (isNan(sign - 1) ? 2 : 1);
    double code = steps + double((exponent + bias - 1) << mantissaBits);
    return uint8_t(std::min(code, double(largest))) | (x < 0 ? sign : 0);
  }
};

inline constexpr SmallFloat kE4m3{4, 3, 7};
inline constexpr SmallFloat kE2m3{2, 3, 1};
inline constexpr SmallFloat kE2m1{2, 1, 1};

/// E8M0: a power of two.
inline double fromE8m0(uint8_t code) { return std::ldexp(1.0, int(code) - 127); }

} // namespace aitertest
