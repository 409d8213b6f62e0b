// Integer conversions, minimum and maximum, exponents, classes and the division steps.
#include "runtime/sim/Numerics.h"
#include <catch2/catch.hpp>
#include <cfenv>
#include <random>

using namespace attune::sim;

namespace {
const float kInf = HUGE_VALF, kNan = asFloat(0x7fc00000u);
} // namespace

TEST_CASE("MODE register fields", "[numerics]") {
  FloatMode ieee = FloatMode::fromRegister(0x2f0);
  CHECK(ieee.ieee);
  CHECK_FALSE(ieee.dx10Clamp);
  CHECK_FALSE((ieee.flushIn32 || ieee.flushOut32 || ieee.flushIn16 || ieee.flushOut16));
  FloatMode flush = FloatMode::fromRegister(0xc3);
  CHECK((flush.flushIn32 && flush.flushOut32));
  CHECK_FALSE((flush.flushIn16 || flush.flushOut16));
  CHECK(flush.round32 == Round::TowardZero);
  CHECK(flush.round16 == Round::NearestEven);
  CHECK(FloatMode::fromRegister(1u << 23).fp16Ovfl);
}

TEST_CASE("float to integer: toward zero, saturating, NaN is 0", "[numerics]") {
  CHECK(cvtU32F32(3.99f) == 3);
  CHECK(cvtU32F32(-0.99f) == 0);
  CHECK(cvtU32F32(-5.0f) == 0);
  CHECK(cvtU32F32(4294967040.0f) == 4294967040u);
  CHECK(cvtU32F32(0x1p32f) == 0xffffffffu);
  CHECK(cvtU32F32(kInf) == 0xffffffffu);
  CHECK(cvtU32F32(kNan) == 0);
  CHECK(cvtI32F32(-3.99f) == -3);
  CHECK(cvtI32F32(0x1p31f) == INT32_MAX);
  CHECK(cvtI32F32(-0x1p31f) == INT32_MIN);
  CHECK(cvtI32F32(-kInf) == INT32_MIN);
  CHECK(cvtI32F32(kNan) == 0);
  CHECK(cvtToInt<int16_t>(40000.0f) == 32767);
  CHECK(cvtToInt<uint16_t>(70000.0f) == 65535);
  CHECK(cvtToInt<int32_t>(-2147483648.5) == INT32_MIN);
  CHECK(cvtToInt<uint32_t>(4294967295.5) == 0xffffffffu);
  CHECK(cvtRpiI32F32(2.5f) == 3);
  CHECK(cvtRpiI32F32(-2.5f) == -2);
  CHECK(cvtFlrI32F32(-2.5f) == -3);
}

TEST_CASE("integer to float follows the rounding mode", "[numerics]") {
  const uint32_t x = 0x01000001u; // halfway between two floats
  CHECK(cvtF32U32(x) == 16777216.0f);
  CHECK(cvtF32U32(x, Round::Up) == 16777218.0f);
  CHECK(cvtF32U32(x, Round::Down) == 16777216.0f);
  CHECK(cvtF32I32(-int32_t(x), Round::Up) == -16777216.0f);
  CHECK(cvtF32I32(-int32_t(x), Round::Down) == -16777218.0f);
  CHECK(cvtF32I32(-int32_t(x), Round::TowardZero) == -16777216.0f);
  CHECK(cvtF32U32(0xffffffffu, Round::TowardZero) == asFloat(0x4f7fffffu));
  CHECK(cvtF32F64(1e300, Round::TowardZero) == std::numeric_limits<float>::max());
  CHECK(cvtF32F64(1e300) == kInf);
  CHECK(cvtF32F64(-1e-300, Round::Down) == asFloat(0x80000001u));
}

TEST_CASE("pk_u8 rounds, clamps and inserts one byte", "[numerics]") {
  CHECK(cvtPkU8F32(1.5f, 0, 0xaabbccddu) == 0xaabbcc02u);
  CHECK(cvtPkU8F32(2.5f, 1, 0xaabbccddu) == 0xaabb02ddu);
  CHECK(cvtPkU8F32(300.0f, 2, 0xaabbccddu) == 0xaaffccddu);
  CHECK(cvtPkU8F32(-7.0f, 3, 0xaabbccddu) == 0x00bbccddu);
  CHECK(cvtPkU8F32(kNan, 4, 0xaabbccddu) == 0xaabbcc00u); // byte number counts modulo 4
  CHECK(cvtNormI16F32(1.0f) == 32767);
  CHECK(cvtNormI16F32(-2.0f) == -32767);
  CHECK(cvtNormI16F32(kNan) == 0);
  CHECK(cvtNormU16F32(0.5f) == 32768); // 32767.5 is a tie
  CHECK(cvtNormU16F32(-1.0f) == 0);
}

TEST_CASE("rounding to integers needs no rounding mode", "[numerics]") {
  for (float x :
       {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49999997f, 8388607.5f, -8388609.0f, 1e30f, 0.0f, -0.0f}) {
    CHECK(asBits(roundEven(x)) == asBits(std::nearbyint(x)));
    CHECK(asBits(roundEven(double(x))) == asBits(std::nearbyint(double(x))));
  }
  CHECK(isNan(roundEven(kNan)));
  CHECK(roundEven(-kInf) == -kInf);
}

TEST_CASE("min and max: NaN loses, -0 is below +0", "[numerics]") {
  CHECK(maxNum(kNan, 1.0f) == 1.0f);
  CHECK(maxNum(1.0f, kNan) == 1.0f);
  CHECK(minNum(kNan, -1.0f) == -1.0f);
  CHECK(isNan(maxNum(kNan, kNan)));
  CHECK_FALSE(std::signbit(maxNum(-0.0f, 0.0f)));
  CHECK_FALSE(std::signbit(maxNum(0.0f, -0.0f)));
  CHECK(std::signbit(minNum(-0.0f, 0.0f)));
  CHECK(std::signbit(minNum(0.0f, -0.0f)));
  CHECK(Extremes<NanRule::Lose>::max(1.0f, kNan, 3.0f) == 3.0f);
  CHECK(Extremes<NanRule::Lose>::min(kNan, kNan, 3.0f) == 3.0f);
  CHECK(isNan(maximum(kNan, 1.0f)));
  CHECK(isNan(minimum(1.0f, kNan)));
  CHECK(maximum(2.0, 3.0) == 3.0);
  const float v[] = {-kInf, -1.0f, 0.0f, 2.0f, kInf};
  for (float a : v)
    for (float b : v)
      for (float c : v) {
        float sorted[] = {a, b, c};
        std::sort(sorted, sorted + 3);
        CHECK(Extremes<NanRule::Lose>::med(a, b, c) == sorted[1]);
      }
  CHECK(Extremes<NanRule::Lose>::med(kNan, 5.0f, 3.0f) == 3.0f);
  CHECK(clampUnit(kNan, true) == 0.0f);
  CHECK(isNan(clampUnit(kNan, false)));
  CHECK(clampUnit(-3.0f, false) == 0.0f);
  CHECK(clampUnit(3.0f, false) == 1.0f);
}

TEST_CASE("denormals are flushed with their sign", "[numerics]") {
  CHECK(asBits(flushDenormal(asFloat(0x807fffffu))) == 0x80000000u);
  CHECK(asBits(flushDenormal(asFloat(0x00800000u))) == 0x00800000u);
  CHECK(flushDenormalF16(0x83ff) == 0x8000);
  CHECK(flushDenormalF16(0x0400) == 0x0400);
  CHECK(asBits(flushDenormal(-5e-324)) == 0x8000000000000000u);
}

TEST_CASE("ldexp, frexp, fract", "[numerics]") {
  CHECK(ldexpF32(1.5f, 4) == 24.0f);
  CHECK(ldexpF32(1.0f, -149) == asFloat(1));
  CHECK(ldexpF32(1.5f, -149) == asFloat(2)); // tie to even, one rounding
  CHECK(ldexpF32(1.0f, INT32_MAX) == kInf);
  CHECK(asBits(ldexpF32(-1.0f, INT32_MIN)) == 0x80000000u);
  CHECK(ldexpF64(1.0, -1074) == 5e-324);
  CHECK(frexpMantF32(-24.0f) == -0.75f);
  CHECK(frexpExpF32(-24.0f) == 5);
  CHECK(frexpMantF32(asFloat(1)) == 0.5f);
  CHECK(frexpExpF32(asFloat(1)) == -148);
  CHECK(frexpExpF32(0.0f) == 0);
  CHECK(frexpMantF32(-kInf) == -kInf);
  CHECK(frexpExpF32(kInf) == 0);
  CHECK(frexpExpF64(8.0) == 4);
  CHECK(fractF32(2.75f) == 0.75f);
  CHECK(fractF32(-0.25f) == 0.75f);
  CHECK(fractF32(-1e-30f) == asFloat(0x3f7fffffu));
  CHECK(isNan(fractF32(kInf)));
  CHECK(fractF64(-1e-300) < 1.0);
}

TEST_CASE("classes", "[numerics]") {
  CHECK(classOfF32(0x7f800001u) == ClassSignalingNan);
  CHECK(classOfF32(0xffc00000u) == ClassQuietNan);
  CHECK(classOfF32(0xff800000u) == ClassNegInfinity);
  CHECK(classOfF32(0xbf800000u) == ClassNegNormal);
  CHECK(classOfF32(0x80000001u) == ClassNegDenormal);
  CHECK(classOfF32(0x80000000u) == ClassNegZero);
  CHECK(classOfF32(0) == ClassPosZero);
  CHECK(classOfF32(0x007fffffu) == ClassPosDenormal);
  CHECK(classOfF32(0x00800000u) == ClassPosNormal);
  CHECK(classOfF32(0x7f800000u) == ClassPosInfinity);
  CHECK(classOfF64(0x7ff0000000000001u) == ClassSignalingNan);
  CHECK(classOfF64(0x000fffffffffffffu) == ClassPosDenormal);
  CHECK(classOfF16(0xfc00) == ClassNegInfinity);
  CHECK(classOfF16(0x7e00) == ClassQuietNan);
  CHECK(classOfF16(0x03ff) == ClassPosDenormal);
}

namespace {

/// The sequence that compilers emit for a correctly rounded f32 division, built from the
/// instructions' semantics.
float divideByInstructions(float num, float den) {
  DivScale<float> d = divScaleF32(den, den, num), n = divScaleF32(num, den, num);
  float in[64], out[64];
  std::fill(in, in + 64, d.value);
  rcpF32(in, out, false);
  float r = out[0];
  float e = std::fma(-d.value, r, 1.0f);
  r = std::fma(e, r, r);
  float q = n.value * r;
  float rest = std::fma(-d.value, q, n.value);
  q = std::fma(rest, r, q);
  rest = std::fma(-d.value, q, n.value);
  return divFixupF32(divFmasF32(rest, r, q, n.scaled), den, num);
}

double divideByInstructions(double num, double den) {
  DivScale<double> d = divScaleF64(den, den, num), n = divScaleF64(num, den, num);
  double r = rcpF64(d.value);
  for (int i = 0; i < 2; ++i)
    r = std::fma(std::fma(-d.value, r, 1.0), r, r);
  double q = n.value * r;
  double rest = std::fma(-d.value, q, n.value);
  return divFixupF64(divFmasF64(rest, r, q, n.scaled), den, num);
}

template <class T> bool sameNumber(T a, T b) {
  return isNan(a) ? isNan(b) : asBits(a) == asBits(b);
}

} // namespace

TEST_CASE("the division sequence gives correctly rounded f32 quotients", "[numerics]") {
  std::mt19937 random(5);
  uint32_t wrong = 0;
  float num = 0, den = 0;
  auto check = [&](float a, float b) {
    if (!sameNumber(divideByInstructions(a, b), a / b)) {
      if (!wrong++) {
        num = a;
        den = b;
      }
    }
  };
  const float edges[] = {
      0.0f,  -0.0f, kInf,   -kInf,     kNan,   1.0f,     asFloat(1), asFloat(0x007fffffu),
      3e38f, 3.0f,  1e-38f, 0x1p-126f, 1e-30f, 0x1p126f, 0x1p127f,   -1e30f};
  for (float a : edges)
    for (float b : edges)
      check(a, b);
  for (int i = 0; i < 300000; ++i)
    check(asFloat(uint32_t(random())), asFloat(uint32_t(random())));
  INFO("first wrong: " << num << " / " << den);
  CHECK(wrong == 0);
}

TEST_CASE("the division sequence gives correctly rounded f64 quotients", "[numerics]") {
  std::mt19937_64 random(6);
  uint32_t wrong = 0;
  double num = 0, den = 0;
  auto check = [&](double a, double b) {
    if (!sameNumber(divideByInstructions(a, b), a / b)) {
      if (!wrong++) {
        num = a;
        den = b;
      }
    }
  };
  const double edges[] = {0.0, -0.0,   HUGE_VAL, -HUGE_VAL, double(kNan), 1.0,
                          3.0, 5e-324, 1e-310,   1.7e308,   1e-300,       0x1p1022};
  for (double a : edges)
    for (double b : edges)
      check(a, b);
  for (int i = 0; i < 200000; ++i)
    check(asDouble(random()), asDouble(random()));
  INFO("first wrong: " << num << " / " << den);
  CHECK(wrong == 0);
}

TEST_CASE("div_fixup special cases", "[numerics]") {
  CHECK(asBits(divFixupF32(7.0f, 0.0f, 0.0f)) == 0xffc00000u);
  CHECK(asBits(divFixupF32(7.0f, kInf, -kInf)) == 0xffc00000u);
  CHECK(divFixupF32(7.0f, -0.0f, 3.0f) == -kInf);
  CHECK(asBits(divFixupF32(7.0f, -kInf, 3.0f)) == 0x80000000u);
  CHECK(asBits(divFixupF32(7.0f, 1.0f, asFloat(0x7f800001u))) == 0x7fc00001u);
  CHECK(divFixupF32(-2.0f, 3.0f, 6.0f) == 2.0f); // the sign comes from the operands
}

TEST_CASE("v_prng steps its LFSR", "[numerics]") {
  CHECK(prngB32(1) == 2);
  CHECK(prngB32(0x80000000u) == 197);
  CHECK(prngB32(0xc0000001u) == (0x80000002u ^ 197u));
}
