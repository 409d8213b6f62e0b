// What gfx950 computes on one number: formats, conversions, comparisons, special functions.
//
// Formats. f16, bf16 and f32 are IEEE. fp8 is OCP e4m3fn (bias 7, largest 448, no infinity, NaN
// 0x7f) and bf8 is OCP e5m2. fp6 (e2m3), bf6 (e3m2) and fp4 (e2m1) have neither infinity nor NaN.
// e8m0 is a bare exponent, 2^(e-127), 0xff is NaN. Every narrow format is one row of `Mini` below;
// widening is exact, narrowing rounds once.
//
// Special functions (exp2, log2, rcp, rsq, sqrt, sin, cos). Hardware promises about 1 ulp and not
// which bits. The model evaluates in double with basic operations only, never the host's libm, and
// rounds once: the result is within half an ulp in all but a few cases in 10^5, and the same on
// every host. exp2 of f32, a tenth of an attention kernel's instructions, is evaluated in f32 with
// what its largest sum loses added again: within 0.63 ulp. Denormals are handled as documented at
// each function.
//
// Scalar functions are inline so that 64-lane loops over them vectorise; the special functions come
// as 64-lane functions. Values travel as float/double, or as raw bits where NaN payloads matter.
#pragma once
#include "runtime/sim/HostIsa.h"
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace attune::sim {

//===--------------------------------------------------------------------------------------------------------------===//
// Floating-point mode
//===--------------------------------------------------------------------------------------------------------------===//

/// Rounding modes by their hardware numbers (MODE.fp_round).
enum class Round : uint8_t { NearestEven = 0, Up = 1, Down = 2, TowardZero = 3 };

/// The floating-point part of a wave's MODE register.
struct FloatMode {
  Round round32 = Round::NearestEven;
  Round round16 = Round::NearestEven; ///< also for f64
  bool flushIn32 = false, flushOut32 = false;
  bool flushIn16 = false, flushOut16 = false; ///< also for f64
  bool dx10Clamp = false;                     ///< clamp turns NaN into 0
  bool ieee = false;                          ///< min/max quiet signalling NaNs
  bool fp16Ovfl = false; ///< overflow to f16/fp8 gives the largest finite value

  static FloatMode fromRegister(uint32_t mode);
};

//===--------------------------------------------------------------------------------------------------------------===//
// Bits
//===--------------------------------------------------------------------------------------------------------------===//

ATTUNE_SIM_INLINE float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
ATTUNE_SIM_INLINE uint32_t asBits(float x) { return std::bit_cast<uint32_t>(x); }
ATTUNE_SIM_INLINE double asDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
ATTUNE_SIM_INLINE uint64_t asBits(double x) { return std::bit_cast<uint64_t>(x); }

ATTUNE_SIM_INLINE bool isNan(float x) { return x != x; }
ATTUNE_SIM_INLINE bool isNan(double x) { return x != x; }

template <class T> ATTUNE_SIM_INLINE bool isSignalling(T x) {
  constexpr decltype(asBits(x)) quiet = 1ull << (sizeof(T) == 8 ? 51 : 22);
  return isNan(x) && !(asBits(x) & quiet);
}
template <class T> ATTUNE_SIM_INLINE T quieted(T x) {
  constexpr decltype(asBits(x)) quiet = 1ull << (sizeof(T) == 8 ? 51 : 22);
  return std::bit_cast<T>(asBits(x) | quiet);
}

/// Replaces a denormal by a zero of the same sign.
ATTUNE_SIM_INLINE float flushDenormal(float x) {
  uint32_t b = asBits(x);
  return asFloat((b & 0x7f800000u) ? b : (b & 0x80000000u));
}
ATTUNE_SIM_INLINE double flushDenormal(double x) {
  uint64_t b = asBits(x);
  return asDouble((b & 0x7ff0000000000000u) ? b : (b & 0x8000000000000000u));
}
ATTUNE_SIM_INLINE uint16_t flushDenormalF16(uint16_t b) {
  return static_cast<uint16_t>((b & 0x7c00u) ? b : (b & 0x8000u));
}
ATTUNE_SIM_INLINE float flushDenormalIf(float x, bool flush) {
  return flush ? flushDenormal(x) : x;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Narrow formats
//===--------------------------------------------------------------------------------------------------------------===//

/// A narrow format: sign, `exp` exponent bits, `man` mantissa bits.
struct Mini {
  enum Specials : uint8_t {
    Ieee,    ///< top exponent: infinity and NaN
    NanOnly, ///< all ones is NaN, no infinity (e4m3fn)
    None,    ///< every code is a number
  };
  int exp, man, bias;
  Specials specials;

  constexpr int bits() const { return 1 + exp + man; }
  constexpr uint32_t signBit() const { return 1u << (exp + man); }
  /// Code of the largest finite value.
  constexpr uint32_t maxCode() const {
    uint32_t all = signBit() - 1;
    return specials == Ieee ? all - (1u << man) : specials == NanOnly ? all - 1 : all;
  }
  constexpr uint32_t infCode() const { return ((1u << exp) - 1) << man; } ///< Ieee only
  constexpr uint32_t nanCode() const {
    return specials == Ieee ? infCode() | (1u << (man - 1)) : signBit() - 1;
  }
};

inline constexpr Mini kF16{5, 10, 15, Mini::Ieee};
inline constexpr Mini kBf16{8, 7, 127, Mini::Ieee};
inline constexpr Mini kFp8{4, 3, 7, Mini::NanOnly};
inline constexpr Mini kBf8{5, 2, 15, Mini::Ieee};
inline constexpr Mini kFp6{2, 3, 1, Mini::None};
inline constexpr Mini kBf6{3, 2, 3, Mini::None};
inline constexpr Mini kFp4{2, 1, 1, Mini::None};

/// What a finite value beyond the format's range becomes.
enum class Overflow : uint8_t {
  Special,  ///< infinity, or NaN where there is none; the largest value where there is neither
  Saturate, ///< the largest finite value; infinity stays infinity where the format has it
};

/// Exact value of a code. NaN keeps its sign and the top mantissa bits, quieted.
template <Mini F> ATTUNE_SIM_INLINE float fromMini(uint32_t code);

/// Rounds to the format. A NaN gives the format's NaN with its sign (f16, bf16: payload kept,
/// quieted), and in a format without NaN the largest value [approximate: undocumented].
template <Mini F>
ATTUNE_SIM_INLINE uint32_t toMini(float x, Round round = Round::NearestEven,
                                  Overflow overflow = Overflow::Special);

ATTUNE_SIM_INLINE float f16ToF32(uint16_t h) { return fromMini<kF16>(h); }
ATTUNE_SIM_INLINE float bf16ToF32(uint16_t h) { return asFloat(uint32_t(h) << 16); }
ATTUNE_SIM_INLINE float fp8ToF32(uint8_t b) { return fromMini<kFp8>(b); }
ATTUNE_SIM_INLINE float bf8ToF32(uint8_t b) { return fromMini<kBf8>(b); }
ATTUNE_SIM_INLINE float fp6ToF32(uint8_t b) { return fromMini<kFp6>(b); }
ATTUNE_SIM_INLINE float bf6ToF32(uint8_t b) { return fromMini<kBf6>(b); }
ATTUNE_SIM_INLINE float fp4ToF32(uint8_t b) { return fromMini<kFp4>(b); }

ATTUNE_SIM_INLINE uint16_t f32ToF16(float x, Round r = Round::NearestEven,
                                    Overflow o = Overflow::Special) {
  return static_cast<uint16_t>(toMini<kF16>(x, r, o));
}
/// v_cvt_f16_f32 and friends of a double: one rounding, no detour through f32.
uint16_t f64ToF16(double x, Round r = Round::NearestEven);
/// toMini<kBf16> in fewer steps: the exponents are f32's own, so that rounding is a carry from the
/// cut bits, through to infinity.
ATTUNE_SIM_INLINE uint16_t f32ToBf16(float x) {
  uint32_t bits = asBits(x), rounded = bits + 0x7fffu + (bits >> 16 & 1);
  return static_cast<uint16_t>((isNan(x) ? bits | 0x00400000u : rounded) >> 16);
}
ATTUNE_SIM_INLINE uint8_t f32ToFp8(float x, Overflow o = Overflow::Special) {
  return static_cast<uint8_t>(toMini<kFp8>(x, Round::NearestEven, o));
}
ATTUNE_SIM_INLINE uint8_t f32ToBf8(float x, Overflow o = Overflow::Special) {
  return static_cast<uint8_t>(toMini<kBf8>(x, Round::NearestEven, o));
}
ATTUNE_SIM_INLINE uint8_t f32ToFp6(float x) { return static_cast<uint8_t>(toMini<kFp6>(x)); }
ATTUNE_SIM_INLINE uint8_t f32ToBf6(float x) { return static_cast<uint8_t>(toMini<kBf6>(x)); }
ATTUNE_SIM_INLINE uint8_t f32ToFp4(float x) { return static_cast<uint8_t>(toMini<kFp4>(x)); }

/// 2^(e-127); 0 is the denormal 2^-127, 0xff is NaN.
ATTUNE_SIM_INLINE float e8m0ToF32(uint8_t e) {
  return e == 0      ? asFloat(0x00400000u)
         : e == 0xff ? asFloat(0x7fc00000u)
                     : asFloat(uint32_t(e) << 23);
}
/// The e8m0 scale that v_cvt_scalef32_* takes from an f32 operand: its exponent field.
ATTUNE_SIM_INLINE uint8_t scaleOfF32(float x) { return static_cast<uint8_t>(asBits(x) >> 23); }

/// v_cvt_pk_bf16_f32: round to nearest even whatever MODE says, NaN quieted.
ATTUNE_SIM_INLINE uint32_t cvtPkBf16F32(float lo, float hi) {
  return uint32_t(f32ToBf16(lo)) | uint32_t(f32ToBf16(hi)) << 16;
}
/// v_cvt_pkrtz_f16_f32: toward zero; a finite value beyond the range gives 65504.
ATTUNE_SIM_INLINE uint32_t cvtPkrtzF16F32(float lo, float hi) {
  return uint32_t(f32ToF16(lo, Round::TowardZero)) | uint32_t(f32ToF16(hi, Round::TowardZero))
                                                         << 16;
}
/// v_cvt_scalef32_*: divided (narrowing) or multiplied (widening) by 2^(e-127), rounded once to the
/// target.
template <Mini F> ATTUNE_SIM_INLINE uint32_t toMiniScaled(float x, uint8_t e8m0, Overflow overflow);
template <Mini F> ATTUNE_SIM_INLINE float fromMiniScaled(uint32_t code, uint8_t e8m0);

//===--------------------------------------------------------------------------------------------------------------===//
// Integers
//===--------------------------------------------------------------------------------------------------------------===//

/// v_cvt_u32_f32 etc.: toward zero, saturating, NaN gives 0.
template <class To, class From> ATTUNE_SIM_INLINE To cvtToInt(From x) {
  constexpr From lo = static_cast<From>(std::numeric_limits<To>::min());
  // 2^digits, the first value too large: exact in From, unlike max().
  constexpr From end = static_cast<From>(uint64_t(1) << std::numeric_limits<To>::digits);
  if (x >= end)
    return std::numeric_limits<To>::max();
  if (x > lo)
    return static_cast<To>(x);
  return isNan(x) ? To(0) : std::numeric_limits<To>::min();
}
ATTUNE_SIM_INLINE uint32_t cvtU32F32(float x) { return cvtToInt<uint32_t>(x); }
ATTUNE_SIM_INLINE int32_t cvtI32F32(float x) { return cvtToInt<int32_t>(x); }
int32_t cvtRpiI32F32(float x); ///< v_cvt_rpi_i32_f32: floor(x + 0.5)
int32_t cvtFlrI32F32(float x); ///< v_cvt_flr_i32_f32: floor(x)

/// u32 or i32 to f32 under a rounding mode.
float cvtF32U32(uint32_t x, Round r = Round::NearestEven);
float cvtF32I32(int32_t x, Round r = Round::NearestEven);
float cvtF32F64(double x, Round r = Round::NearestEven);

/// v_cvt_pk_u8_f32: rounds x to nearest even, clamps to 0..255 (NaN gives 0), replaces byte `byte &
/// 3` of `old`.
uint32_t cvtPkU8F32(float x, uint32_t byte, uint32_t old);
/// v_cvt_pknorm_i16_f32 / u16: x clamped to [-1,1] or [0,1], times 32767 or 65535, to nearest even;
/// NaN gives 0.
int16_t cvtNormI16F32(float x);
uint16_t cvtNormU16F32(float x);

/// To nearest integer, ties to even (v_rndne_f32), without the host's rounding mode.
template <class T> ATTUNE_SIM_INLINE T roundEven(T x) {
  constexpr T whole = sizeof(T) == 8 ? T(0x1p52) : T(0x1p23); // from here on all are integers
  using Int = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  T magnitude = std::fabs(x), below = std::trunc(magnitude), rest = magnitude - below;
  Int odd = static_cast<Int>(magnitude < whole ? below : T(0)) & 1;
  T nearest = below + (rest > T(0.5) || (rest == T(0.5) && odd) ? T(1) : T(0));
  T result = std::copysign(nearest, x);
  return magnitude < whole ? result : isNan(x) ? quieted(x) : x;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Minimum, maximum, clamp
//===--------------------------------------------------------------------------------------------------------------===//

/// v_max / v_min of float or double without MODE.ieee: a NaN, signalling or not, loses against a
/// number, the second of two is the result as it is; -0 is below +0.
template <class T> ATTUNE_SIM_INLINE T maxNum(T a, T b) {
  T larger = a > b ? a : b;
  larger = a == b ? (std::signbit(a) ? b : a) : larger;
  return isNan(a) ? b : isNan(b) ? a : larger;
}
template <class T> ATTUNE_SIM_INLINE T minNum(T a, T b) {
  T smaller = a < b ? a : b;
  smaller = a == b ? (std::signbit(a) ? a : b) : smaller;
  return isNan(a) ? b : isNan(b) ? a : smaller;
}

/// The result of an operation on a (then b, then anything): of several NaN operands the first one
/// is passed on, quieted. A host chooses by the order in which its compiler put them.
template <class T> ATTUNE_SIM_INLINE T passNan(T result, T a) {
  return isNan(a) ? quieted(a) : result;
}
template <class T> ATTUNE_SIM_INLINE T passNan(T result, T a, T b) {
  return passNan(passNan(result, b), a);
}
/// Sums and products by that rule. It costs a third of a 64-lane loop, and x86 has it too if the
/// compiler leaves the operands in order, which clang does in those loops: tests/sim/isa compares
/// with the build that spells it out. g++ exchanges them as it likes, so there it is spelled too.
#if defined(ATTUNE_SIM_ONE_ISA) || !defined(__clang__)
inline constexpr bool kSpellNans = true;
#else
inline constexpr bool kSpellNans = false;
#endif
template <class T> ATTUNE_SIM_INLINE T addNum(T a, T b) {
  return kSpellNans ? passNan(a + b, a) : a + b;
}
template <class T> ATTUNE_SIM_INLINE T subNum(T a, T b) {
  return kSpellNans ? passNan(a - b, a) : a - b;
}
template <class T> ATTUNE_SIM_INLINE T mulNum(T a, T b) {
  return kSpellNans ? passNan(a * b, a) : a * b;
}
template <class T> ATTUNE_SIM_INLINE T fmaNum(T a, T b, T c) {
  return kSpellNans ? passNan(std::fma(a, b, c), a, b) : std::fma(a, b, c);
}
/// Whole numbers. The host's instruction quiets a signalling NaN; what g++ writes in its place does
/// not.
template <class T> ATTUNE_SIM_INLINE T truncNum(T x) {
  return kSpellNans ? passNan(std::trunc(x), x) : std::trunc(x);
}
template <class T> ATTUNE_SIM_INLINE T ceilNum(T x) {
  return kSpellNans ? passNan(std::ceil(x), x) : std::ceil(x);
}
template <class T> ATTUNE_SIM_INLINE T floorNum(T x) {
  return kSpellNans ? passNan(std::floor(x), x) : std::floor(x);
}

/// What minimum and maximum do about NaNs: there are none; as above; with MODE.ieee a signalling
/// NaN wins, quieted, of two the first.
enum class NanRule : uint8_t { Absent, Lose, Ieee };
template <NanRule Rule> struct Extremes {
  template <class T> ATTUNE_SIM_INLINE static T prefer(T a, T b, T chosen) {
    if constexpr (Rule == NanRule::Ieee)
      return isSignalling(a) ? quieted(a) : isSignalling(b) ? quieted(b) : chosen;
    else
      return chosen;
  }
  template <class T> ATTUNE_SIM_INLINE static T max(T a, T b) {
    if constexpr (Rule ==
                  NanRule::Absent) // the host's maximum of zeros is the second: of both orders
      return std::bit_cast<T>(asBits(a > b ? a : b) & asBits(b > a ? b : a));
    else
      return prefer(a, b, maxNum(a, b));
  }
  template <class T> ATTUNE_SIM_INLINE static T min(T a, T b) {
    if constexpr (Rule == NanRule::Absent)
      return std::bit_cast<T>(asBits(a < b ? a : b) | asBits(b < a ? b : a));
    else
      return prefer(a, b, minNum(a, b));
  }
  template <class T> ATTUNE_SIM_INLINE static T max(T a, T b, T c) { return max(max(a, b), c); }
  template <class T> ATTUNE_SIM_INLINE static T min(T a, T b, T c) { return min(min(a, b), c); }
  /// v_med3: the larger of the two that remain without the first one that equals the maximum, which
  /// decides among zeros; with a NaN operand the smallest of the others.
  template <class T> ATTUNE_SIM_INLINE static T med(T a, T b, T c) {
    using Numbers = Extremes<NanRule::Absent>;
    T largest = Numbers::max(a, b, c);
    T middle = Numbers::max(largest == a ? b : a, largest == a || largest == b ? c : b);
    return Rule == NanRule::Absent            ? middle
           : isNan(a) || isNan(b) || isNan(c) ? min(a, b, c)
                                              : middle;
  }
};
/// v_maximum3 / v_minimum3 pieces: NaN wins, quieted.
template <class T> ATTUNE_SIM_INLINE T maximum(T a, T b) {
  return isNan(a) ? quieted(a) : isNan(b) ? quieted(b) : maxNum(a, b);
}
template <class T> ATTUNE_SIM_INLINE T minimum(T a, T b) {
  return isNan(a) ? quieted(a) : isNan(b) ? quieted(b) : minNum(a, b);
}
/// The clamp modifier on a float result: [0, 1]; NaN becomes 0 with DX10 clamp and stays NaN
/// without.
template <class T> ATTUNE_SIM_INLINE T clampUnit(T x, bool dx10Clamp) {
  if (isNan(x))
    return dx10Clamp ? T(0) : x;
  return x > T(0) ? (x < T(1) ? x : T(1)) : T(0);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Exponents, fractions, classes
//===--------------------------------------------------------------------------------------------------------------===//

/// x * 2^n, rounded once to nearest even.
float ldexpF32(float x, int32_t n);
double ldexpF64(double x, int32_t n);
/// v_frexp_mant / v_frexp_exp: mantissa in [0.5, 1) with the sign, and its exponent; 0, infinity
/// and NaN keep their value and have exponent 0.
float frexpMantF32(float x);
int32_t frexpExpF32(float x);
double frexpMantF64(double x);
int32_t frexpExpF64(double x);
/// v_fract: x - floor(x), never 1: at most the largest value below 1. NaN for infinities.
float fractF32(float x);
double fractF64(double x);

/// Bits of the v_cmp_class mask, in hardware order.
enum ClassBit : uint32_t {
  ClassSignalingNan = 1 << 0,
  ClassQuietNan = 1 << 1,
  ClassNegInfinity = 1 << 2,
  ClassNegNormal = 1 << 3,
  ClassNegDenormal = 1 << 4,
  ClassNegZero = 1 << 5,
  ClassPosZero = 1 << 6,
  ClassPosDenormal = 1 << 7,
  ClassPosNormal = 1 << 8,
  ClassPosInfinity = 1 << 9,
};
uint32_t classOfF32(uint32_t bits);
uint32_t classOfF64(uint64_t bits);
uint32_t classOfF16(uint16_t bits);

//===--------------------------------------------------------------------------------------------------------------===//
// Division steps
//===--------------------------------------------------------------------------------------------------------------===//

template <class T> struct DivScale {
  T value;
  bool scaled; ///< goes to VCC: the quotient needs scaling back in div_fmas
};
/// v_div_scale_f32/f64 D, s0, s1 (denominator), s2 (numerator): s0 is one of the other two and says
/// which is scaled. The factors here and in div_fmas are those with which the documented division
/// sequence rounds correctly; the CDNA document prints some that cannot (2^32 in div_fmas, a
/// denominator scaled up until it overflows).
DivScale<float> divScaleF32(float s0, float denominator, float numerator);
DivScale<double> divScaleF64(double s0, double denominator, double numerator);
/// v_div_fmas: fma(a, b, c); where VCC is set, times 2^64 (f64: 2^128) if the quotient c is 2 or
/// more, else times 2^-64, rounded once.
float divFmasF32(float a, float b, float c, bool vcc);
double divFmasF64(double a, double b, double c, bool vcc);
/// v_div_fixup: the quotient with its special cases.
float divFixupF32(float quotient, float denominator, float numerator);
double divFixupF64(double quotient, double denominator, double numerator);

//===--------------------------------------------------------------------------------------------------------------===//
// Special functions, 64 lanes at a time. `in` and `out` may be the same array.
//===--------------------------------------------------------------------------------------------------------------===//

/// v_exp_f32: 2^x. Denormal inputs act as 0 (giving 1); a result below 2^-126 is flushed to 0
/// whatever MODE says.
void exp2F32(const float *in, float *out);
/// v_log_f32: log2(x). Denormal inputs act as 0 (giving -infinity) whatever MODE says; below 0 NaN.
void log2F32(const float *in, float *out);
/// v_rcp_f32, v_rcp_iflag_f32: 1/x; +-0 gives +-infinity. `flush`: denormal inputs and results
/// become 0.
void rcpF32(const float *in, float *out, bool flush);
/// v_rsq_f32: 1/sqrt(x); below 0 NaN, +-0 gives +-infinity.
void rsqF32(const float *in, float *out, bool flush);
void sqrtF32(const float *in, float *out, bool flush);
/// v_sin_f32 / v_cos_f32: of 2*pi*x. |x| > 256 gives 0 / 1 [approximate: bound from older ISA
/// documents]; infinity NaN.
void sinF32(const float *in, float *out);
void cosF32(const float *in, float *out);

/// The same on f16 bits (low 16 bits of each word; the high half of the result is 0). Results round
/// once, from double.
void exp2F16(const uint32_t *in, uint32_t *out);
void log2F16(const uint32_t *in, uint32_t *out);
void rcpF16(const uint32_t *in, uint32_t *out);
void rsqF16(const uint32_t *in, uint32_t *out);
void sqrtF16(const uint32_t *in, uint32_t *out);
void sinF16(const uint32_t *in, uint32_t *out);
void cosF16(const uint32_t *in, uint32_t *out);

/// v_rcp_f64, v_rsq_f64, v_sqrt_f64: correctly rounded; hardware is an approximation that LLVM
/// refines.
double rcpF64(double x);
double rsqF64(double x);
double sqrtF64(double x);

//===--------------------------------------------------------------------------------------------------------------===//
// Random bits
//===--------------------------------------------------------------------------------------------------------------===//

/// v_prng_b32: one step of the 32-bit LFSR.
uint32_t prngB32(uint32_t x);

} // namespace attune::sim

#include "runtime/sim/NumericsInline.h"
