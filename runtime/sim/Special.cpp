// v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos over 64 lanes: evaluated in double with
// polynomials, rounded once. Attention is full of v_exp_f32: that one is evaluated in f32.
//
// Error budget of the others: a polynomial's relative error is below 3e-14, an f32 rounding step is
// 6e-8, so the rounded result is not the nearest f32 only if the exact one lies within 3e-14 of a
// midpoint: about once in 10^6 arguments.
#include "runtime/sim/Numerics.h"
#include <iterator>

namespace attune::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Coefficients from the constant upwards, by Horner's rule.
template <int N> ATTUNE_SIM_INLINE double polynomial(const double (&c)[N], double x) {
  double r = c[N - 1];
  for (int i = N - 2; i >= 0; --i)
    r = r * x + c[i];
  return r;
}

/// 2^f for |f| <= 1/2: of all polynomials of degree 9 the one whose largest relative
/// error, 1.4e-14, is least; but 1 in place of its constant, since powers of two are exact (2^-25
/// is half of the least f16).
constexpr double kExp2[] = {1.0,
                            0.69314718055987101,
                            0.24022650695649658,
                            0.05550410866868527,
                            0.0096181291920658576,
                            0.0013333557617650289,
                            0.00015403434948994395,
                            1.5252984814882096e-05,
                            1.3259405424714458e-06,
                            1.0150340875467397e-07};

/// Even and odd powers apart: a chain of half the length, which is what it waits for.
ATTUNE_SIM_INLINE double exp2Polynomial(double f) {
  constexpr int last = std::size(kExp2) - 1;
  double square = f * f, odd = kExp2[last], even = kExp2[last - 1];
  for (int i = last - 2; i > 0; i -= 2) {
    odd = std::fma(odd, square, kExp2[i]);
    even = std::fma(even, square, kExp2[i - 1]);
  }
  return std::fma(odd, f, even);
}

ATTUNE_SIM_INLINE double exp2Of(double x) {
  double bounded = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
  // Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  double shifted = bounded + 0x1.8p52;
  double fraction = bounded - (shifted - 0x1.8p52);
  double power = asDouble((asBits(shifted) + 1023) << 52);
  return exp2Polynomial(fraction) * power;
}

/// 1, 1/3, 1/5, ...: atanh(z) / z in z^2; |z| <= 0.172, the first term left out is 3e-17.
constexpr double kAtanh[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                             1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
constexpr double kTwoOverLn2 = 2.8853900817779268147;

/// x: positive, normal and finite.
ATTUNE_SIM_INLINE double log2Of(float x) {
  constexpr uint32_t sqrtHalf = 0x3f3504f3u; // the mantissa is taken from [sqrt(1/2), sqrt(2))
  int32_t exponent = static_cast<int32_t>(asBits(x) - sqrtHalf) >> 23;
  double m = asFloat(asBits(x) - (static_cast<uint32_t>(exponent) << 23));
  double z = (m - 1.0) / (m + 1.0);
  return polynomial(kAtanh, z * z) * z * kTwoOverLn2 + static_cast<double>(exponent);
}

/// Taylor series of sin(2 pi x) / x and cos(2 pi x) in x^2, for |x| <= 1/8.
constexpr double kSin[] = {6.2831853071795864769,  -41.341702240399760234, 81.605249276075054203,
                           -76.705859753061385841, 42.058693944897653144,  -15.094642576822984359,
                           3.8199525848482821277,  -0.71812230177850046729};
constexpr double kCos[] = {1.0,
                           -19.739208802178717238,
                           64.939394022668291491,
                           -85.456817206693726139,
                           60.244641371876660363,
                           -26.426256783374398225,
                           7.9035363713184691164,
                           -1.7143907110886713130,
                           0.28200596845578963166};

/// sin or cos of a number of turns: a quarter turn more makes one the other.
ATTUNE_SIM_INLINE double sineOfTurns(double turns, int quarter) {
  double shifted = turns * 4.0 + 0x1.8p52;
  double rest = turns - (shifted - 0x1.8p52) * 0.25; // exact: |turns| has 24 bits
  uint64_t quadrant = asBits(shifted) + static_cast<uint64_t>(quarter);
  double sine = polynomial(kSin, rest * rest) * rest, cosine = polynomial(kCos, rest * rest);
  double magnitude = quadrant & 1 ? cosine : sine;
  return quadrant & 2 ? 0.0 - magnitude : magnitude;
}
ATTUNE_SIM_INLINE double boundedSine(float x, int quarter, double beyond) {
  double within = sineOfTurns(x, quarter);
  double finite = std::fabs(x) <= 256.0f ? within : beyond;
  return std::fabs(static_cast<double>(x)) < kInfinity ? finite : kNan;
}

ATTUNE_SIM_INLINE double sqrtOf(double x) { return x < 0 ? kNan : std::sqrt(x); }
ATTUNE_SIM_INLINE double rsqOf(double x) { return x < 0 ? kNan : 1.0 / std::sqrt(x); }

/// A NaN operand comes back quieted and a NaN that arises is the positive one, whatever the host
/// would do: by bits, since a compiler may fold a choice between NaNs into the square root's own.
ATTUNE_SIM_INLINE float orNan(float in, float result) {
  const uint32_t bits = asBits(result);
  const uint32_t made = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
  return asFloat(isNan(in) ? asBits(in) | 0x00400000u : made);
}

ATTUNE_SIM_INLINE double log2WithEdges(float x) {
  double r = log2Of(x);
  r = x == std::numeric_limits<float>::infinity() ? kInfinity : r;
  r = x == 0 ? -kInfinity : r;
  return x < 0 ? kNan : r;
}

/// f16 result of a double, in the low half of a register; f16 NaN operands come back quieted.
ATTUNE_SIM_INLINE uint32_t halfOrNan(uint32_t in, double result) {
  uint32_t bits = in & 0xffffu;
  bool nan = (bits & 0x7fffu) > 0x7c00u;
  const uint32_t half = toMini<kF16>(roundToOdd(result));
  const uint32_t made = (half & 0x7fffu) > 0x7c00u ? 0x7e00u : half;
  return nan ? bits | 0x0200u : made;
}
ATTUNE_SIM_INLINE float lowHalf(uint32_t word) { return fromMini<kF16>(word & 0xffffu); }

} // namespace

/// 2^f = 1 + f ln 2 + f^2 p(f) for |f| <= 1/2 in f32: of all p of degree 4 the one whose largest
/// relative error, 3e-9, is least, with ln 2 rounded to f32.
constexpr float kLn2 = 0x1.62e43p-1f;
constexpr float kExp2Tail[] = {0x1.ebfbdcp-3f, 0x1.c6af7ap-5f, 0x1.3b2dfap-7f, 0x1.5f0934p-10f,
                               0x1.415fbap-13f};
/// What rounding 1 + f ln 2 loses is exact in f32 and is added to the tail: a result is off by at
/// most 0.6235 units in its last place; beyond 1/32, one argument of 54 does not get the nearest
/// number.
ATTUNE_SIM_INLINE float exp2Fraction(float f) {
  float tail = kExp2Tail[4];
  for (int i = 3; i >= 0; --i)
    tail = std::fma(tail, f, kExp2Tail[i]);
  const float head = std::fma(f, kLn2, 1.0f), lost = std::fma(f, kLn2, 1.0f - head);
  return head + std::fma(f * f, tail, lost);
}

// 2^x = 2^n 2^f with n the nearest integer. 2^n is an addition to the exponent: from 2^0, 128 makes
// infinity and -127 makes zero, which is what all beyond the normal numbers become.
ATTUNE_SIM_CLONES void exp2F32(const float *in, float *out) {
  constexpr float kToInteger = 0x1.8p23f; // added, it leaves n in the low bits
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l) {
    const float x = in[l], least = x < -126.0f ? -127.0f : x,
                bounded = least > 128.0f ? 128.0f : least;
    const float shifted = bounded + kToInteger, n = shifted - kToInteger;
    const uint32_t bits = asBits(exp2Fraction(bounded - n)) + (asBits(shifted) << 23);
    out[l] = asFloat(isNan(x) ? asBits(x) | 0x00400000u : bits);
  }
}
ATTUNE_SIM_CLONES void log2F32(const float *in, float *out) {
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l)
    out[l] = orNan(in[l], static_cast<float>(log2WithEdges(flushDenormal(in[l]))));
}
ATTUNE_SIM_CLONES void rcpF32(const float *in, float *out, bool flush) {
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l)
    out[l] = orNan(in[l], flushDenormalIf(1.0f / flushDenormalIf(in[l], flush), flush));
}
ATTUNE_SIM_CLONES void rsqF32(const float *in, float *out, bool flush) {
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l)
    out[l] = orNan(in[l], static_cast<float>(rsqOf(flushDenormalIf(in[l], flush))));
}
ATTUNE_SIM_CLONES void sqrtF32(const float *in, float *out, bool flush) {
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l)
    out[l] = orNan(in[l], static_cast<float>(sqrtOf(flushDenormalIf(in[l], flush))));
}
ATTUNE_SIM_CLONES void sinF32(const float *in, float *out) {
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l)
    out[l] = orNan(in[l], static_cast<float>(boundedSine(in[l], 0, 0.0)));
}
ATTUNE_SIM_CLONES void cosF32(const float *in, float *out) {
  SIM_LANE_LOOP
  for (int l = 0; l < 64; ++l)
    out[l] = orNan(in[l], static_cast<float>(boundedSine(in[l], 1, 1.0)));
}

ATTUNE_SIM_CLONES void exp2F16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], exp2Of(lowHalf(in[l])));
}
ATTUNE_SIM_CLONES void log2F16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], log2WithEdges(lowHalf(in[l])));
}
ATTUNE_SIM_CLONES void rcpF16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], 1.0 / static_cast<double>(lowHalf(in[l])));
}
ATTUNE_SIM_CLONES void rsqF16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], rsqOf(lowHalf(in[l])));
}
ATTUNE_SIM_CLONES void sqrtF16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], sqrtOf(lowHalf(in[l])));
}
ATTUNE_SIM_CLONES void sinF16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], boundedSine(lowHalf(in[l]), 0, 0.0));
}
ATTUNE_SIM_CLONES void cosF16(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < 64; ++l)
    out[l] = halfOrNan(in[l], boundedSine(lowHalf(in[l]), 1, 1.0));
}

} // namespace attune::sim
