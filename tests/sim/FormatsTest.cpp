// Narrow formats against a second implementation that knows only their definition: a code's value
// is
// (-1)^s * 2^(e-bias) * 1.m, and a number rounds to the nearest code, found by search in the sorted
// list of all values.
#include "runtime/sim/Numerics.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace attune::sim;

namespace {

double valueByDefinition(const Mini &f, uint32_t code) {
  uint32_t man = code & ((1u << f.man) - 1), exp = code >> f.man & ((1u << f.exp) - 1);
  bool negative = code >> (f.exp + f.man) & 1;
  uint32_t top = (1u << f.exp) - 1;
  double v;
  if (f.specials == Mini::Ieee && exp == top)
    v = man ? std::nan("") : HUGE_VAL;
  else if (f.specials == Mini::NanOnly && exp == top && man == (1u << f.man) - 1)
    v = std::nan("");
  else if (exp == 0)
    v = std::ldexp(double(man), 1 - f.bias - f.man);
  else
    v = std::ldexp(double(man + (1u << f.man)), int(exp) - f.bias - f.man);
  return negative ? -v : v;
}

/// All finite magnitudes, ascending: index = code.
std::vector<double> magnitudes(const Mini &f) {
  std::vector<double> values;
  for (uint32_t code = 0; code <= f.maxCode(); ++code)
    values.push_back(valueByDefinition(f, code));
  return values;
}

/// Rounds a finite number by searching. One step past the largest value takes part in rounding;
/// landing there is overflow.
uint32_t roundByDefinition(const Mini &f, const std::vector<double> &values, double x, Round round,
                           Overflow overflow) {
  double a = std::fabs(x), last = values.back();
  double ulp = last - values[values.size() - 2];
  bool negative = std::signbit(x);
  auto value = [&](size_t i) { return i < values.size() ? values[i] : last + ulp; };
  size_t up =
      size_t(std::lower_bound(values.begin(), values.end(), a) - values.begin()); // first >= a
  size_t code = up;
  bool exact = up < values.size() && values[up] == a;
  if (!exact) {
    size_t down = up - 1;
    bool away = round == Round::Up ? !negative : round == Round::Down ? negative : false;
    if (round == Round::NearestEven) {
      double toDown = a - value(down), toUp = value(up) - a;
      away = toUp < toDown || (toUp == toDown && down % 2 == 1);
    }
    code = away ? up : down;
  }
  if (code >= values.size()) {
    bool saturate = overflow == Overflow::Saturate || f.specials == Mini::None;
    code = saturate ? f.maxCode() : f.specials == Mini::Ieee ? f.infCode() : f.nanCode();
  }
  return uint32_t(code) | (negative ? f.signBit() : 0);
}

struct Format {
  const char *name;
  Mini mini;
  float (*widen)(uint32_t);
  uint32_t (*narrow)(float, Round, Overflow);
};

template <Mini F> constexpr Format format(const char *name) {
  return {name, F, [](uint32_t c) { return fromMini<F>(c); },
          [](float x, Round r, Overflow o) { return toMini<F>(x, r, o); }};
}

const Format kFormats[] = {format<kF16>("f16"),        format<kBf16>("bf16"),
                           format<kFp8>("fp8 e4m3fn"), format<kBf8>("bf8"),
                           format<kFp6>("fp6 e2m3"),   format<kBf6>("bf6 e3m2"),
                           format<kFp4>("fp4 e2m1")};
constexpr Round kRounds[] = {Round::NearestEven, Round::Up, Round::Down, Round::TowardZero};

/// Floats at and around everything that can matter: every upper half with several lower halves.
template <class Visit> void forManyFloats(Visit visit) {
  std::mt19937 random(7);
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu,
                         uint32_t(random() & 0xffff)})
      visit(asFloat(high << 16 | low));
}

} // namespace

TEST_CASE("every code widens to its value", "[formats]") {
  for (const Format &f : kFormats) {
    INFO(f.name);
    uint32_t wrong = 0;
    for (uint32_t code = 0; code < 1u << f.mini.bits(); ++code) {
      double expected = valueByDefinition(f.mini, code);
      float got = f.widen(code);
      bool same = std::isnan(expected)
                      ? isNan(got)
                      : double(got) == expected && std::signbit(got) == std::signbit(expected);
      wrong += !same;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("every code survives widening and narrowing", "[formats]") {
  for (const Format &f : kFormats) {
    INFO(f.name);
    uint32_t wrong = 0;
    for (uint32_t code = 0; code < 1u << f.mini.bits(); ++code)
      for (Round r : kRounds) {
        float x = f.widen(code);
        uint32_t back = f.narrow(x, r, Overflow::Special);
        wrong += isNan(x) ? !isNan(f.widen(back)) : back != code;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("narrowing picks the nearest code, in all rounding modes", "[formats]") {
  for (const Format &f : kFormats) {
    INFO(f.name);
    std::vector<double> values = magnitudes(f.mini);
    uint32_t wrong = 0;
    float first = 0;
    forManyFloats([&](float x) {
      if (!std::isfinite(x))
        return;
      for (Round r : kRounds) {
        // Saturation is the user's choice to make only where rounding goes past the end.
        bool pastEnd =
            r == Round::NearestEven || (r == Round::Up && x > 0) || (r == Round::Down && x < 0);
        Overflow o = pastEnd ? Overflow::Special : Overflow::Saturate;
        if (f.narrow(x, r, Overflow::Special) != roundByDefinition(f.mini, values, x, r, o)) {
          first = wrong ? first : x;
          ++wrong;
        }
      }
      if (f.narrow(x, Round::NearestEven, Overflow::Saturate) !=
          roundByDefinition(f.mini, values, x, Round::NearestEven, Overflow::Saturate))
        ++wrong;
    });
    INFO("first wrong at " << first);
    CHECK(wrong == 0);
  }
}

TEST_CASE("ties between neighbours go to the even code", "[formats]") {
  for (const Format &f : kFormats) {
    if (f.mini.man > 21)
      continue;
    INFO(f.name);
    uint32_t wrong = 0;
    for (uint32_t code = 0; code < f.mini.maxCode(); ++code) {
      double middle = (valueByDefinition(f.mini, code) + valueByDefinition(f.mini, code + 1)) / 2;
      float x = float(middle);
      if (double(x) != middle || (x != 0 && asBits(x) < 0x00800000u))
        continue;
      uint32_t even = code % 2 ? code + 1 : code;
      wrong += f.narrow(x, Round::NearestEven, Overflow::Special) != even;
      wrong += f.narrow(asFloat(asBits(x) + 1), Round::NearestEven, Overflow::Special) != code + 1;
      wrong += f.narrow(asFloat(asBits(x) - 1), Round::NearestEven, Overflow::Special) != code;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("infinity and NaN narrow as each format can hold them", "[formats]") {
  const float inf = HUGE_VALF, nan = asFloat(0x7fc00000u), negativeNan = asFloat(0xffc00000u);
  CHECK(f32ToF16(inf) == 0x7c00);
  CHECK(f32ToF16(-inf, Round::TowardZero) == 0xfc00);
  CHECK(f32ToF16(inf, Round::NearestEven, Overflow::Saturate) == 0x7c00); // a true infinity stays
  CHECK(f32ToBf8(-inf) == 0xfc);
  CHECK(f32ToFp8(inf) == 0x7f);
  CHECK(f32ToFp8(-inf) == 0xff);
  CHECK(f32ToFp8(inf, Overflow::Saturate) == 0x7e);
  CHECK(f32ToFp8(nan, Overflow::Saturate) == 0x7f);
  CHECK(f32ToFp8(negativeNan) == 0xff);
  CHECK(f32ToFp6(inf) == 0x1f);
  CHECK(f32ToFp4(-inf) == 0xf);
  // f16 and bf16 keep the payload's high bits and quiet it.
  CHECK(f32ToBf16(asFloat(0x7f800001u)) == 0x7fc0); // F88: stays NaN
  CHECK(f32ToBf16(asFloat(0xffa50000u)) == 0xffe5);
  CHECK(f32ToF16(asFloat(0x7f802000u)) == 0x7e01);
  CHECK(asBits(f16ToF32(0x7c01)) == 0x7fc02000u);
}

TEST_CASE("fp8 is OCP e4m3fn and e5m2", "[formats][F44]") {
  CHECK(fp8ToF32(0x38) == 1.0f);
  CHECK(fp8ToF32(0x7e) == 448.0f);
  CHECK(isNan(fp8ToF32(0x7f)));
  CHECK(asBits(fp8ToF32(0x80)) == 0x80000000u);
  CHECK(fp8ToF32(0x01) == 0x1p-9f);
  CHECK(bf8ToF32(0x7b) == 57344.0f);
  CHECK(bf8ToF32(0x7c) == HUGE_VALF);
  CHECK(bf8ToF32(0x01) == 0x1p-16f);
}

TEST_CASE("f32 to fp8 rounds to nearest even up to 448", "[formats][F45]") {
  auto through = [](float x) { return fp8ToF32(f32ToFp8(x)); };
  CHECK(through(256) == 256.0f);
  CHECK(through(272) == 256.0f); // tie
  CHECK(through(288) == 288.0f);
  CHECK(through(300) == 288.0f);
  CHECK(through(432) == 448.0f); // tie
  CHECK(through(447) == 448.0f);
  CHECK(through(448) == 448.0f);
  CHECK(through(449) == 448.0f);
  CHECK(through(464) == 448.0f); // tie between 448 and the NaN code's place
  CHECK(isNan(through(465)));
  CHECK(isNan(through(1e6f)));
  CHECK(fp8ToF32(f32ToFp8(1e6f, Overflow::Saturate)) == 448.0f);
  CHECK(through(0x1p-10f) == 0.0f); // tie with the smallest denormal 2^-9
  CHECK(through(0x1.8p-10f) == 0x1p-9f);
  CHECK(f32ToFp8(-0x1p-11f) == 0x80);
}

TEST_CASE("bf16 stores round to nearest even, not by cutting", "[formats][F47]") {
  auto mean = [](std::initializer_list<float> v) {
    float sum = 0;
    for (float x : v)
      sum += x;
    return bf16ToF32(f32ToBf16(sum / float(v.size())));
  };
  const float a = 1 + 0x1p-7f;
  CHECK(mean({a, a, a, 1}) == 1.0078125f);
  CHECK(mean({1, a}) == 1.0f);
  CHECK(mean({-a, -a, -a, -1}) == -1.0078125f);
  CHECK(mean({-1, -a}) == -1.0f);
}

TEST_CASE("fp4 and fp6 have the published values", "[formats]") {
  const float fp4[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (uint8_t c = 0; c < 8; ++c) {
    CHECK(fp4ToF32(c) == fp4[c]);
    CHECK(fp4ToF32(c | 8) == -fp4[c]);
  }
  CHECK(fp6ToF32(0x1f) == 7.5f);
  CHECK(fp6ToF32(0x01) == 0.125f);
  CHECK(bf6ToF32(0x1f) == 28.0f);
  CHECK(bf6ToF32(0x01) == 0.0625f);
  CHECK(f32ToFp4(5.0f) == 6); // tie between 4 and 6: 4 has the even code
  CHECK(fp4ToF32(f32ToFp4(100)) == 6.0f);
}

TEST_CASE("e8m0 is a power of two", "[formats]") {
  CHECK(e8m0ToF32(127) == 1.0f);
  CHECK(e8m0ToF32(254) == 0x1p127f);
  CHECK(e8m0ToF32(0) == 0x1p-127f);
  CHECK(isNan(e8m0ToF32(255)));
  CHECK(scaleOfF32(-8.5f) == 130);
}

TEST_CASE("packed conversions put the first operand low", "[formats]") {
  CHECK(cvtPkBf16F32(1.0f, -2.0f) == 0xc0003f80u);
  CHECK(cvtPkrtzF16F32(1.0f, -2.0f) == 0xc0003c00u);
  CHECK(cvtPkrtzF16F32(1e6f, 65535.0f) == 0x7bff7bffu); // toward zero never reaches infinity
  CHECK(cvtPkrtzF16F32(-1e6f, HUGE_VALF) == 0x7c00fbffu);
  CHECK(cvtPkrtzF16F32(asFloat(0x3f801fffu), 0x1p-25f) == 0x00003c00u);
}

TEST_CASE("scaled conversions round once", "[formats]") {
  CHECK(toMiniScaled<kFp4>(12.0f, 128, Overflow::Saturate) == 7); // 12 / 2 = 6
  CHECK(fromMiniScaled<kFp4>(7, 128) == 12.0f);
  CHECK(fromMiniScaled<kFp8>(0x7e, 254) == HUGE_VALF);
  CHECK(isNan(fromMiniScaled<kFp4>(1, 255)));
  CHECK(toMiniScaled<kFp8>(0x1p-126f, 1, Overflow::Saturate) == 0x38); // 2^-126 / 2^-126
  CHECK(toMiniScaled<kFp8>(0x1p100f, 1, Overflow::Saturate) == 0x7e);  // beyond f32 on the way
  CHECK(toMiniScaled<kFp8>(0x1p-149f, 254, Overflow::Saturate) == 0);
  // 1 + 2^-4 + 2^-23 is just above the fp8 tie: scaling must not lose the last bit.
  CHECK(toMiniScaled<kFp8>(1.0f + 0x1p-4f + 0x1p-23f, 127 + 8, Overflow::Saturate) ==
        toMini<kFp8>((1.0f + 0x1p-4f + 0x1p-23f) * 0x1p-8f));
  uint32_t wrong = 0;
  std::vector<double> values = magnitudes(kFp8);
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    float x = asFloat(uint32_t(random()));
    uint8_t e = uint8_t(random() % 255);
    double exact = std::ldexp(double(x), 127 - int(e));
    if (std::isfinite(x))
      wrong += toMiniScaled<kFp8>(x, e, Overflow::Saturate) !=
               roundByDefinition(kFp8, values, exact, Round::NearestEven, Overflow::Saturate);
  }
  CHECK(wrong == 0);
}

TEST_CASE("f64 to f16 rounds once", "[formats]") {
  // 1 + 2^-11 is the tie; a bit of 2^-40 above it must not be lost on the way through f32.
  CHECK(f64ToF16(1.0 + 0x1p-11) == 0x3c00);
  CHECK(f64ToF16(1.0 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(f64ToF16(-(1.0 + 0x1p-11 + 0x1p-40)) == 0xbc01);
  CHECK(f64ToF16(1e300) == 0x7c00);
  CHECK(f64ToF16(-1e-300) == 0x8000);
  CHECK(f64ToF16(1e300, Round::TowardZero) == 0x7bff);
  std::vector<double> values = magnitudes(kF16);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> mantissa(1, 2);
  uint32_t wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    double x = std::ldexp(mantissa(random), int(random() % 45) - 28) * (i % 2 ? 1 : -1);
    for (Round r : kRounds) {
      bool pastEnd =
          r == Round::NearestEven || (r == Round::Up && x > 0) || (r == Round::Down && x < 0);
      wrong +=
          f64ToF16(x, r) !=
          roundByDefinition(kF16, values, x, r, pastEnd ? Overflow::Special : Overflow::Saturate);
    }
  }
  CHECK(wrong == 0);
}
