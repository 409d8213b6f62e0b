// Special functions and the rarer conversions. Everything here uses +, -, *, /, sqrt and bit
// operations only, so that no host's libm shows in a result.
#include "runtime/sim/Numerics.h"

namespace attune::sim {

FloatMode FloatMode::fromRegister(uint32_t mode) {
  FloatMode m;
  m.round32 = static_cast<Round>(mode & 3);
  m.round16 = static_cast<Round>(mode >> 2 & 3);
  // Denormal fields: bit 0 keeps them in sources, bit 1 in results.
  m.flushIn32 = !(mode & 1 << 4);
  m.flushOut32 = !(mode & 1 << 5);
  m.flushIn16 = !(mode & 1 << 6);
  m.flushOut16 = !(mode & 1 << 7);
  m.dx10Clamp = mode & 1 << 8;
  m.ieee = mode & 1 << 9;
  m.fp16Ovfl = mode & 1 << 23;
  return m;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Conversions
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// The neighbour of f that is one step larger or smaller in magnitude.
float stepMagnitude(float f, int step) { return asFloat(asBits(f) + static_cast<uint32_t>(step)); }

float roundToF32(double x, Round r) {
  float f = static_cast<float>(x);
  double back = static_cast<double>(f);
  if (r == Round::NearestEven || isNan(x) || back == x)
    return f;
  bool outward = std::fabs(back) > std::fabs(x); // the cast rounded away from zero
  bool wantOutward = r == Round::Up ? x > 0 : r == Round::Down ? x < 0 : false;
  return outward == wantOutward ? f : stepMagnitude(f, wantOutward ? 1 : -1);
}

template <class T> T floorOf(T x) {
  T nearest = roundEven(x);
  return nearest > x ? nearest - T(1) : nearest;
}

} // namespace

uint16_t f64ToF16(double x, Round r) {
  return static_cast<uint16_t>(toMini<kF16>(roundToOdd(x), r));
}
float cvtF32U32(uint32_t x, Round r) { return roundToF32(x, r); }
float cvtF32I32(int32_t x, Round r) { return roundToF32(x, r); }
float cvtF32F64(double x, Round r) { return roundToF32(x, r); }
int32_t cvtRpiI32F32(float x) { return cvtI32F32(floorOf(x + 0.5f)); }
int32_t cvtFlrI32F32(float x) { return cvtI32F32(floorOf(x)); }

uint32_t cvtPkU8F32(float x, uint32_t byte, uint32_t old) {
  float clamped = x > 255.0f ? 255.0f : x > 0.0f ? x : 0.0f; // NaN fails both tests
  unsigned shift = 8 * (byte & 3);
  return (old & ~(0xffu << shift)) | static_cast<uint32_t>(roundEven(clamped)) << shift;
}

int16_t cvtNormI16F32(float x) {
  double clamped = isNan(x) ? 0.0 : x > 1.0f ? 1.0 : x < -1.0f ? -1.0 : static_cast<double>(x);
  return static_cast<int16_t>(roundEven(clamped * 32767.0));
}
uint16_t cvtNormU16F32(float x) {
  double clamped = x > 1.0f ? 1.0 : x > 0.0f ? static_cast<double>(x) : 0.0;
  return static_cast<uint16_t>(roundEven(clamped * 65535.0));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Exponents, fractions, classes
//===--------------------------------------------------------------------------------------------------------------===//

float ldexpF32(float x, int32_t n) {
  // Exact in double for every n that matters, then one rounding.
  int32_t bounded = n < -400 ? -400 : n > 400 ? 400 : n;
  return static_cast<float>(static_cast<double>(x) * asDouble(uint64_t(1023 + bounded) << 52));
}
double ldexpF64(double x, int32_t n) { return std::ldexp(x, n); } // one rounding by definition

float frexpMantF32(float x) {
  int e;
  return std::isfinite(x) ? std::frexp(x, &e) : x;
}
int32_t frexpExpF32(float x) {
  int e = 0;
  if (std::isfinite(x))
    (void)std::frexp(x, &e);
  return e;
}
double frexpMantF64(double x) {
  int e;
  return std::isfinite(x) ? std::frexp(x, &e) : x;
}
int32_t frexpExpF64(double x) {
  int e = 0;
  if (std::isfinite(x))
    (void)std::frexp(x, &e);
  return e;
}

float fractF32(float x) {
  float f = x - floorOf(x);
  return f >= 1.0f ? asFloat(0x3f7fffffu) : f;
}
double fractF64(double x) {
  double f = x - floorOf(x);
  return f >= 1.0 ? asDouble(0x3fefffffffffffffu) : f;
}

namespace {

template <class U> uint32_t classOf(U bits, int mantissaBits, int width) {
  bool negative = bits >> (width - 1) & 1;
  U mantissa = bits & ((U(1) << mantissaBits) - 1);
  U exponent = bits >> mantissaBits & ((U(1) << (width - 1 - mantissaBits)) - 1);
  if (exponent == (U(1) << (width - 1 - mantissaBits)) - 1) {
    if (mantissa)
      return mantissa >> (mantissaBits - 1) ? ClassQuietNan : ClassSignalingNan;
    return negative ? ClassNegInfinity : ClassPosInfinity;
  }
  if (exponent)
    return negative ? ClassNegNormal : ClassPosNormal;
  if (mantissa)
    return negative ? ClassNegDenormal : ClassPosDenormal;
  return negative ? ClassNegZero : ClassPosZero;
}

} // namespace

uint32_t classOfF32(uint32_t bits) { return classOf<uint32_t>(bits, 23, 32); }
uint32_t classOfF64(uint64_t bits) { return classOf<uint64_t>(bits, 52, 64); }
uint32_t classOfF16(uint16_t bits) { return classOf<uint32_t>(bits, 10, 16); }

//===--------------------------------------------------------------------------------------------------------------===//
// Division steps
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// The numbers that tell the f32 and the f64 form of the division steps apart.
template <class T> struct DivTraits;
template <> struct DivTraits<float> {
  static constexpr int scale = 64, farApart = 96, tinyNumerator = 23, underflow = -150, one = 127;
  static int exponent(float x) { return asBits(x) >> 23 & 0xff; }
  static float scaled(float x, int n) { return ldexpF32(x, n); }
  static constexpr uint32_t quietBit = 0x00400000u, badQuotient = 0xffc00000u;
  static float fromBits(uint32_t b) { return asFloat(b); }
};
template <> struct DivTraits<double> {
  static constexpr int scale = 128, farApart = 768, tinyNumerator = 53, underflow = -1075,
                       one = 1023;
  static int exponent(double x) { return asBits(x) >> 52 & 0x7ff; }
  static double scaled(double x, int n) { return ldexpF64(x, n); }
  static constexpr uint64_t quietBit = 0x0008000000000000u, badQuotient = 0xfff8000000000000u;
  static double fromBits(uint64_t b) { return asDouble(b); }
};

template <class T> bool isDenormal(T x) { return x != 0 && DivTraits<T>::exponent(x) == 0; }

template <class T> DivScale<T> divScale(T s0, T den, T num) {
  using Traits = DivTraits<T>;
  if (num == 0 || den == 0)
    return {std::numeric_limits<T>::quiet_NaN(), false};
  bool tinyReciprocal = isDenormal(T(1) / den), tinyQuotient = isDenormal(num / den);
  T up = Traits::scaled(s0, Traits::scale), down = Traits::scaled(s0, -Traits::scale);
  if (Traits::exponent(num) - Traits::exponent(den) >= Traits::farApart)
    return {s0 == den ? up : s0, true}; // the quotient is near the largest number
  if (isDenormal(den))
    return {up, false};
  if (tinyReciprocal && tinyQuotient)
    return {s0 == den ? down : s0, true};
  if (tinyReciprocal)
    return {down, false};
  if (tinyQuotient)
    return {s0 == num ? up : s0, true};
  if (Traits::exponent(num) <= Traits::tinyNumerator)
    return {up, false};
  return {s0, false};
}

/// r * 2^-scale where r is a rounded number and `rest` what rounding it left over: rounded as if
/// once. Only a result that has fewer bits than r can differ, and of those only one that lies
/// halfway between two denormals.
template <class T> T scaleDown(T r, T rest) {
  using Traits = DivTraits<T>;
  T result = Traits::scaled(r, -Traits::scale);
  T half = Traits::scaled(std::numeric_limits<T>::denorm_min(), Traits::scale) / 2;
  if (rest == 0 || std::fabs(r - Traits::scaled(result, Traits::scale)) != half)
    return result;
  return Traits::scaled(rest > 0 ? r + half : r - half, -Traits::scale);
}

template <class T> T divFmas(T a, T b, T c, bool vcc) {
  using Traits = DivTraits<T>;
  T r = std::fma(a, b, c);
  if (!vcc)
    return r;
  if (Traits::exponent(c) > Traits::one)
    return Traits::scaled(r, Traits::scale);
  return scaleDown(r, std::fma(a, b, c - r));
}

template <class T> T divFixup(T quotient, T den, T num) {
  using Traits = DivTraits<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (isNan(num))
    return Traits::fromBits(asBits(num) | Traits::quietBit);
  if (isNan(den))
    return Traits::fromBits(asBits(den) | Traits::quietBit);
  bool denInfinite = std::fabs(den) == infinity, numInfinite = std::fabs(num) == infinity;
  if ((den == 0 && num == 0) || (denInfinite && numInfinite))
    return Traits::fromBits(Traits::badQuotient);
  T sign = std::signbit(den) != std::signbit(num) ? T(-1) : T(1);
  if (den == 0 || numInfinite)
    return std::copysign(infinity, sign);
  if (denInfinite || num == 0)
    return std::copysign(T(0), sign);
  if (Traits::exponent(num) - Traits::exponent(den) < Traits::underflow)
    return std::copysign(T(0), sign);
  if (Traits::exponent(num) - Traits::exponent(den) >
      Traits::one + 1) // overflow, perhaps on the way already
    return std::copysign(infinity, sign);
  return std::copysign(quotient, sign);
}

} // namespace

DivScale<float> divScaleF32(float s0, float den, float num) { return divScale(s0, den, num); }
DivScale<double> divScaleF64(double s0, double den, double num) { return divScale(s0, den, num); }
float divFmasF32(float a, float b, float c, bool vcc) { return divFmas(a, b, c, vcc); }
double divFmasF64(double a, double b, double c, bool vcc) { return divFmas(a, b, c, vcc); }
float divFixupF32(float q, float den, float num) { return divFixup(q, den, num); }
double divFixupF64(double q, double den, double num) { return divFixup(q, den, num); }

uint32_t prngB32(uint32_t x) { return (x << 1) ^ (x >> 31 ? 197u : 0u); }

double rcpF64(double x) { return 1.0 / x; }
double rsqF64(double x) { return 1.0 / std::sqrt(x); }
double sqrtF64(double x) { return std::sqrt(x); }

} // namespace attune::sim
