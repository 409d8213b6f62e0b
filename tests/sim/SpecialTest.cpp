// exp2, log2, rcp, rsq, sqrt, sin, cos against the host's double libm, at edges and at random
// arguments.
#include "runtime/sim/Numerics.h"
#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace attune::sim;

namespace {

using Lanes64 = std::function<void(const float *, float *)>;

float one(const Lanes64 &f, float x) {
  float in[64], out[64];
  std::fill(in, in + 64, x);
  f(in, out);
  for (float y : out) // every lane computes the same
    REQUIRE(asBits(y) == asBits(out[0]));
  return out[0];
}

/// Largest distance from the exact value in units in the last place over `count` arguments from
/// `draw`.
double worstUlp(const Lanes64 &f, double (*exact)(double),
                std::function<float(std::mt19937 &)> draw, int count) {
  std::mt19937 random(17);
  double worst = 0;
  for (int i = 0; i < count; i += 64) {
    float in[64], out[64];
    for (float &x : in)
      x = draw(random);
    f(in, out);
    for (int l = 0; l < 64; ++l) {
      double e = exact(in[l]);
      int exponent;
      std::frexp(e, &exponent);
      double ulp = std::ldexp(1.0, std::max(exponent, -125) - 24);
      worst = std::max(worst, std::fabs(double(out[l]) - e) / ulp);
    }
  }
  return worst;
}

std::function<float(std::mt19937 &)> uniform(float lo, float hi) {
  return [=](std::mt19937 &r) { return std::uniform_real_distribution<float>(lo, hi)(r); };
}
float positiveNormal(std::mt19937 &r) { return asFloat(0x00800000u + uint32_t(r()) % 0x7f000000u); }

const Lanes64 kRcp = [](const float *in, float *out) { rcpF32(in, out, false); };
const Lanes64 kRcpFlush = [](const float *in, float *out) { rcpF32(in, out, true); };
const Lanes64 kRsq = [](const float *in, float *out) { rsqF32(in, out, false); };
const Lanes64 kSqrt = [](const float *in, float *out) { sqrtF32(in, out, false); };
const Lanes64 kSqrtFlush = [](const float *in, float *out) { sqrtF32(in, out, true); };

constexpr double kHalfUlp = 0.5 + 1e-6;
const float kInfinity = HUGE_VALF;

} // namespace

TEST_CASE("v_exp_f32 is within 0.63 of an ulp", "[special]") {
  CHECK(worstUlp(exp2F32, std::exp2, uniform(-126, 128), 200000) <= 0.63);
  CHECK(worstUlp(exp2F32, std::exp2, uniform(-1, 1), 200000) <= 0.63);
  CHECK(worstUlp(exp2F32, std::exp2, uniform(-0.5f, -0.499f), 20000) <= 0.63);
  CHECK(worstUlp(exp2F32, std::exp2, uniform(-1e-4f, 1e-4f), 20000) <= kHalfUlp);
}

TEST_CASE("special functions are within half an ulp", "[special]") {
  CHECK(worstUlp(log2F32, std::log2, positiveNormal, 200000) <= kHalfUlp);
  CHECK(worstUlp(log2F32, std::log2, uniform(0.5f, 2.0f), 200000) <= kHalfUlp);
  CHECK(worstUlp(kRcp, [](double x) { return 1 / x; }, positiveNormal, 200000) <= kHalfUlp);
  CHECK(worstUlp(
            kRsq, [](double x) { return 1 / std::sqrt(x); }, positiveNormal, 200000) <= kHalfUlp);
  CHECK(worstUlp(kSqrt, std::sqrt, positiveNormal, 200000) <= kHalfUlp);
  // The reference's own reduction costs some bits near multiples of pi: compare away from zeros.
  CHECK(worstUlp(
            sinF32, [](double x) { return std::sin(6.28318530717958647692 * x); },
            uniform(0.01f, 0.49f), 200000) <= kHalfUlp);
  CHECK(worstUlp(
            cosF32, [](double x) { return std::cos(6.28318530717958647692 * x); },
            uniform(-0.24f, 0.24f), 200000) <= kHalfUlp);
}

TEST_CASE("exp2 edges", "[special]") {
  for (int n = -126; n <= 127; ++n)
    REQUIRE(one(exp2F32, float(n)) == std::ldexp(1.0f, n));
  CHECK(one(exp2F32, 128.0f) == kInfinity);
  CHECK(one(exp2F32, kInfinity) == kInfinity);
  CHECK(asBits(one(exp2F32, -kInfinity)) == 0);
  CHECK(asBits(one(exp2F32, -1e30f)) == 0);
  CHECK(asBits(one(exp2F32, -126.5f)) == 0); // would be denormal
  CHECK(one(exp2F32, -0.0f) == 1.0f);
  CHECK(one(exp2F32, asFloat(1)) == 1.0f);
  CHECK(asBits(one(exp2F32, asFloat(0xff800001u))) == 0xffc00001u);
}

TEST_CASE("log2 edges", "[special]") {
  for (int n = -126; n <= 127; ++n)
    REQUIRE(one(log2F32, std::ldexp(1.0f, n)) == float(n));
  CHECK(one(log2F32, 0.0f) == -kInfinity);
  CHECK(one(log2F32, -0.0f) == -kInfinity);
  CHECK(one(log2F32, asFloat(0x007fffffu)) == -kInfinity); // denormals count as 0
  CHECK(one(log2F32, kInfinity) == kInfinity);
  CHECK(isNan(one(log2F32, -1.0f)));
  CHECK(isNan(one(log2F32, -kInfinity)));
  CHECK(asBits(one(log2F32, 1.0f)) == 0);
}

TEST_CASE("rcp, rsq and sqrt edges", "[special]") {
  CHECK(one(kRcp, 0.0f) == kInfinity);
  CHECK(one(kRcp, -0.0f) == -kInfinity);
  CHECK(asBits(one(kRcp, -kInfinity)) == 0x80000000u);
  CHECK(one(kRcp, 0x1p127f) == 0x1p-127f);
  CHECK(asBits(one(kRcpFlush, -0x1p127f)) == 0x80000000u);
  CHECK(one(kRcpFlush, asFloat(0x00400000u)) == kInfinity);
  CHECK(one(kRsq, 4.0f) == 0.5f);
  CHECK(one(kRsq, -0.0f) == -kInfinity);
  CHECK(isNan(one(kRsq, -1.0f)));
  CHECK(one(kRsq, kInfinity) == 0.0f);
  CHECK(one(kSqrt, asFloat(4)) == std::sqrt(asFloat(4)));
  CHECK(one(kSqrtFlush, asFloat(4)) == 0.0f);
  CHECK(asBits(one(kSqrt, -0.0f)) == 0x80000000u);
  CHECK(isNan(one(kSqrt, -4.0f)));
}

TEST_CASE("sin and cos count in turns", "[special]") {
  CHECK(one(sinF32, 0.25f) == 1.0f);
  CHECK(one(sinF32, 0.75f) == -1.0f);
  CHECK(one(cosF32, 0.5f) == -1.0f);
  CHECK(one(cosF32, 0.25f) == 0.0f);
  for (int n = -256; n <= 256; ++n) {
    REQUIRE(one(sinF32, float(n)) == 0.0f);
    REQUIRE(one(cosF32, float(n)) == 1.0f);
  }
  CHECK(one(sinF32, 100.125f) == one(sinF32, 0.125f));
  CHECK(one(sinF32, 256.25f) == 0.0f); // outside the domain
  CHECK(one(cosF32, -1e9f) == 1.0f);
  CHECK(isNan(one(sinF32, kInfinity)));
  CHECK(std::signbit(one(sinF32, -0.0f)));
}

TEST_CASE("f16 special functions are correctly rounded for every argument", "[special]") {
  struct Case {
    const char *name;
    void (*lanes)(const uint32_t *, uint32_t *);
    double (*exact)(double);
  };
  const Case cases[] = {{"exp", exp2F16, std::exp2},
                        {"log", log2F16, std::log2},
                        {"rcp", rcpF16, [](double x) { return 1 / x; }},
                        {"rsq", rsqF16, [](double x) { return 1 / std::sqrt(x); }},
                        {"sqrt", sqrtF16, std::sqrt}};
  for (const Case &c : cases) {
    INFO(c.name);
    uint32_t wrong = 0;
    for (uint32_t base = 0; base < 0x10000; base += 64) {
      uint32_t in[64], out[64];
      for (uint32_t l = 0; l < 64; ++l)
        in[l] = 0xabcd0000u | (base + l); // the high half must not matter
      c.lanes(in, out);
      for (uint32_t l = 0; l < 64; ++l) {
        double e = c.exact(f16ToF32(uint16_t(base + l)));
        wrong += std::isnan(e) ? !isNan(f16ToF32(uint16_t(out[l]))) : out[l] != f64ToF16(e);
      }
    }
    CHECK(wrong == 0);
  }
}
