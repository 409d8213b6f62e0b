// f32, f64 and f16 arithmetic on edge values: every rounding and denormal mode, IEEE and DX10
// clamp, source and result modifiers.
#include "tests/sim/edges/EdgeRun.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace simtest;

namespace {

using C = const EdgeCase &;

Num source(C c, Format f, int n) { return c.input(f, c.source[n] & (2 * f.sign() - 1)); }
Expected result(C c, Format f, const Num &x) { return c.output(f, x, c.round(f)); }

template <const Format &F> struct Arithmetic {
  static Expected sum(C c) {
    return result(c, F, add(source(c, F, 0), source(c, F, 1), c.round(F)));
  }
  static Expected difference(C c) {
    Num b = source(c, F, 1);
    return result(c, F, add(source(c, F, 0), b.nan ? b : negated(b), c.round(F)));
  }
  static Expected reverse(C c) {
    Num a = source(c, F, 0), b = source(c, F, 1);
    if (a.nan)
      return result(c, F, a);
    return result(c, F, add(b, negated(a), c.round(F)));
  }
  static Expected product(C c) { return result(c, F, mul(source(c, F, 0), source(c, F, 1))); }
  static Expected fused(C c) {
    Num a = source(c, F, 0), b = source(c, F, 1);
    return result(c, F, fusedSum(a, b, source(c, F, 2), c.round(F)));
  }
  /// The product rounded before the sum.
  static Expected unfused(C c) {
    Num a = source(c, F, 0), b = source(c, F, 1), addend = source(c, F, 2), p = mul(a, b);
    if (p.nan && !a.nan && !b.nan && addend.nan) // either NaN
      return {.skip = true};
    Num rounded = decode(F, result(c, F, p).bits);
    return result(c, F, add(rounded, addend, c.round(F)));
  }
  /// The ISA's V_MIN and V_MAX, on bits.
  static uint64_t extreme(C c, uint64_t a, uint64_t b, bool largest) {
    if (c.ieee() && F.isSignalling(a))
      return a | F.quiet();
    if (c.ieee() && F.isSignalling(b))
      return b | F.quiet();
    if (F.isNan(a) || F.isNan(b))
      return F.isNan(a) ? b : a;
    if (((a | b) & (F.sign() - 1)) == 0) // zeros: -0 is the smaller one
      return largest ? a & b : a | b;
    int order = compare(decode(F, a), decode(F, b));
    return (largest ? order > 0 : order < 0) ? a : b;
  }
  static uint64_t bitsOf(C c, int n) {
    uint64_t bits = c.source[n] & (2 * F.sign() - 1);
    return c.flushesIn(F) && F.isDenormal(bits) ? bits & F.sign() : bits;
  }
  static Expected flushed(C c, uint64_t bits) {
    return exactly(c.flushesOut(F) && F.isDenormal(bits) ? bits & F.sign() : bits);
  }
  static uint64_t extreme3(C c, bool largest) {
    return extreme(c, extreme(c, bitsOf(c, 0), bitsOf(c, 1), largest), bitsOf(c, 2), largest);
  }
  static Expected min(C c) { return flushed(c, extreme(c, bitsOf(c, 0), bitsOf(c, 1), false)); }
  static Expected max(C c) { return flushed(c, extreme(c, bitsOf(c, 0), bitsOf(c, 1), true)); }
  static Expected min3(C c) { return flushed(c, extreme3(c, false)); }
  static Expected max3(C c) { return flushed(c, extreme3(c, true)); }
  static Expected med3(C c) {
    uint64_t x[3];
    for (int n = 0; n < 3; ++n)
      x[n] = bitsOf(c, n);
    if (F.isNan(x[0]) || F.isNan(x[1]) || F.isNan(x[2]))
      return min3(c);
    Num largest = decode(F, extreme3(c, true));
    for (int n = 0; n < 2; ++n)
      if (compare(decode(F, x[n]), largest) == 0)
        return flushed(c, extreme(c, x[1 - n], x[2], true));
    return flushed(c, extreme(c, x[0], x[1], true));
  }
  /// IEEE 754-2019 minimum and maximum: a NaN is the result, quiet.
  static Expected propagating(C c, bool largest) {
    uint64_t best = bitsOf(c, 0);
    for (int n = 1; n < 3; ++n) {
      uint64_t x = bitsOf(c, n);
      best = F.isNan(best) ? best : F.isNan(x) ? x : extreme(c, best, x, largest);
    }
    return F.isNan(best) ? exactly(best | F.quiet()) : flushed(c, best);
  }
  static Expected minimum3(C c) { return propagating(c, false); }
  static Expected maximum3(C c) { return propagating(c, true); }

  static Expected integral(C c, Rounding r) { return result(c, F, toIntegral(source(c, F, 0), r)); }
  static Expected trunc(C c) { return integral(c, Rounding::Zero); }
  static Expected ceil(C c) { return integral(c, Rounding::Up); }
  static Expected floor(C c) { return integral(c, Rounding::Down); }
  static Expected rndne(C c) { return integral(c, Rounding::Even); }
  /// x - floor(x), at most the largest number below 1.
  static Expected fract(C c) {
    Num x = source(c, F, 0);
    if (x.inf)
      return result(c, F, aNan());
    Expected e = result(c, F, add(x, negated(toIntegral(x, Rounding::Down)), c.round(F)));
    uint64_t one = uint64_t(F.bias()) << F.man;
    if (e.bits == one && !x.nan)
      e.bits = one - 1;
    return e;
  }
  /// The number as m * 2^e with m in [1/2, 1): m, and e.
  static Expected mantissa(C c) {
    Num x = source(c, F, 0);
    if (x.nan) // whether quieted is not documented
      return {.skip = true};
    if (x.inf || x.zero())
      return result(c, F, x);
    return result(c, F, scaled(x, -exponentOf(x) - 1));
  }
  static Expected exponent(C c) {
    Num x = source(c, F, 0);
    int e = !x.finite() || x.zero() ? 0 : exponentOf(x) + 1;
    return exactly(uint32_t(e) & (F.bits() == 16 ? 0xffffu : ~0u));
  }
  static Expected ldexp(C c) {
    Num x = source(c, F, 0);
    int n = F.bits() == 16 ? c.s(1) : c.i(1);
    return result(c, F, scaled(x, n > 10000 ? 10000 : n < -10000 ? -10000 : n));
  }
};

/// a * b, but 0 if either is 0, whatever the other.
Expected mulLegacy(C c) {
  Num a = c.f32(0), b = c.f32(1);
  return a.zero() || b.zero() ? exactly(0) : c.toF32(mul(a, b));
}

#define EDGE_FLOAT_COMMON(A, L, bits)                                                              \
  {"v_min_f" bits, L "=" L L, A::min}, {"v_max_f" bits, L "=" L L, A::max},                        \
      {"v_trunc_f" bits, L "=" L, A::trunc}, {"v_ceil_f" bits, L "=" L, A::ceil},                  \
      {"v_floor_f" bits, L "=" L, A::floor}, {"v_rndne_f" bits, L "=" L, A::rndne}, {              \
    "v_frexp_mant_f" bits, L "=" L, A::mantissa                                                    \
  }

using A32 = Arithmetic<kF32Format>;
using A64 = Arithmetic<kF64Format>;
using A16 = Arithmetic<kF16Format>;

const EdgeRow kRows32[] = {
    {"v_add_f32", "f=ff", A32::sum},
    {"v_sub_f32", "f=ff", A32::difference},
    {"v_subrev_f32", "f=ff", A32::reverse},
    {"v_mul_f32", "f=ff", A32::product},
    {"v_mul_legacy_f32", "f=ff", mulLegacy},
    {"v_fma_f32", "f=fff", A32::fused},
    {"v_fmac_f32", "f=ff+", A32::fused},
    EDGE_FLOAT_COMMON(A32, "f", "32"),
    {"v_min3_f32", "f=fff", A32::min3},
    {"v_max3_f32", "f=fff", A32::max3},
    {"v_med3_f32", "f=fff", A32::med3},
    {"v_minimum3_f32", "f=fff", A32::minimum3},
    {"v_maximum3_f32", "f=fff", A32::maximum3},
    {"v_ldexp_f32", "f=fe", A32::ldexp},
    {"v_frexp_exp_i32_f32", "u=f", A32::exponent},
};
const EdgeRow kRows64[] = {
    {"v_add_f64", "d=dd", A64::sum},     {"v_mul_f64", "d=dd", A64::product},
    {"v_fma_f64", "d=ddd", A64::fused},  {"v_fmac_f64", "d=dd+", A64::fused},
    EDGE_FLOAT_COMMON(A64, "d", "64"),   {"v_fract_f64", "d=d", A64::fract},
    {"v_ldexp_f64", "d=de", A64::ldexp}, {"v_frexp_exp_i32_f64", "u=d", A64::exponent},
};
const EdgeRow kRows16[] = {
    {"v_add_f16", "h=hh", A16::sum},
    {"v_sub_f16", "h=hh", A16::difference},
    {"v_subrev_f16", "h=hh", A16::reverse},
    {"v_mul_f16", "h=hh", A16::product},
    {"v_fma_f16", "h=hhh", A16::fused, "", true},
    {"v_fma_legacy_f16", "h=hhh", A16::fused},
    {"v_mad_f16", "h=hhh", A16::unfused, "", true},
    {"v_mad_legacy_f16", "h=hhh", A16::unfused},
    {"v_mac_f16", "h=hh+", A16::unfused},
    EDGE_FLOAT_COMMON(A16, "h", "16"),
    {"v_min3_f16", "h=hhh", A16::min3, "", true},
    {"v_max3_f16", "h=hhh", A16::max3, "", true},
    {"v_med3_f16", "h=hhh", A16::med3, "", true},
    {"v_fract_f16", "h=h", A16::fract},
    {"v_ldexp_f16", "h=he", A16::ldexp},
    {"v_frexp_exp_i16_f16", "s=h", A16::exponent},
};
const EdgeRow kFract32[] = {{"v_fract_f32", "f=f", A32::fract}};
#undef EDGE_FLOAT_COMMON

/// Multiply-adds with a constant in the instruction: a * K + b, a * b + K.
template <class A, uint32_t K, int Place, bool Fused> Expected withConstant(C c) {
  EdgeCase all = c;
  all.source[2] = Place == 1 ? c.source[1] : K;
  all.source[1] = Place == 1 ? K : c.source[1];
  return Fused ? A::fused(all) : A::unfused(all);
}
#define EDGE_CONSTANT(op, A, L, bits, K, Fused)                                                    \
  {"v_" op "mk_f" bits,                                                                            \
   L "=" L L,                                                                                      \
   withConstant<A, K, 1, Fused>,                                                                   \
   "",                                                                                             \
   false,                                                                                          \
   "v_" op "mk_f" bits " v8, v0, " #K ", v2"},                                                     \
  {                                                                                                \
    "v_" op "ak_f" bits, L "=" L L, withConstant<A, K, 2, Fused>, "", false,                       \
        "v_" op "ak_f" bits " v8, v0, v2, " #K                                                     \
  }
const EdgeRow kConstants32[] = {EDGE_CONSTANT("fma", A32, "f", "32", 0xbfc00001, true),
                                EDGE_CONSTANT("fma", A32, "f", "32", 0x00000001, true),
                                EDGE_CONSTANT("fma", A32, "f", "32", 0x7f800000, true)};
const EdgeRow kConstants16[] = {EDGE_CONSTANT("mad", A16, "h", "16", 0xbe01, false),
                                EDGE_CONSTANT("mad", A16, "h", "16", 0x0001, false)};
#undef EDGE_CONSTANT

const uint32_t kModes32[] = {kKeep16,
                             kKeep16 | kKeep32,
                             kKeep16 | kKeep32 | 1,
                             kKeep16 | kKeep32 | 2,
                             kKeep16 | kKeep32 | 3,
                             kKeep16 | 1,
                             kKeep16 | 2,
                             kKeep16 | kKeepIn32,
                             kKeep16 | kKeepOut32,
                             kKeep16 | kKeep32 | kIeee | kDx10Clamp,
                             kKeep16 | kIeee};
const uint32_t kModes16[] = {kKeep16,
                             kKeep16 | kIeee,
                             kKeep16 | kKeep32 | kDx10Clamp | 2,
                             kKeep16 | 4,
                             kKeep32 | 8 | 1,
                             kKeep16 | 12,
                             0,
                             kKeepIn16,
                             kKeepOut16,
                             kKeep16 | kFp16Overflow};

} // namespace

TEST_CASE("f32 arithmetic on edge values in every rounding and denormal mode", "[edges]") {
  runEdges(kRows32, kModes32);
  runEdges(kConstants32, kModes32);
  const uint32_t nearest[] = {kKeep16, kKeep16 | kKeep32};
  runEdges(kFract32, nearest);
}

TEST_CASE("f64 and f16 arithmetic on edge values in every rounding and denormal mode", "[edges]") {
  runEdges(kRows64, kModes16);
  runEdges(kRows16, kModes16);
  runEdges(kConstants16, kModes16);
}

TEST_CASE("source and result modifiers on edge values", "[edges]") {
  const EdgeRow rows32[] = {{"v_add_f32_e64", "f=ff", A32::sum},
                            {"v_fma_f32", "f=fff", A32::fused},
                            {"v_max_f32_e64", "f=ff", A32::max},
                            {"v_mul_f32_e64", "f=ff", A32::product}};
  const EdgeRow rows16[] = {{"v_add_f16_e64", "h=hh", A16::sum},
                            {"v_fma_f16", "h=hhh", A16::fused, "", true},
                            {"v_min_f16_e64", "h=hh", A16::min}};
  const EdgeRow rows64[] = {{"v_add_f64", "d=dd", A64::sum}, {"v_mul_f64", "d=dd", A64::product}};
  // With and without what makes hardware ignore omod; clamp with and without DX10_CLAMP.
  const uint32_t modes[] = {0,     kKeep16 | kDx10Clamp, kKeep32, kKeep16 | kKeep32,
                            kIeee, kKeep16 | 2,          4,       kDx10Clamp | kIeee};
  const Modifiers all[] = {
      {.neg = 1},  {.abs = 2},  {.neg = 2, .abs = 3}, {.clamp = true},
      {.omod = 1}, {.omod = 2}, {.omod = 3},          {.neg = 1, .clamp = true, .omod = 3}};
  for (const Modifiers &m : all) {
    runEdges(rows32, modes, m);
    runEdges(rows64, modes, m);
    if (!m.omod) // v_fma_f16 has none
      runEdges(rows16, modes, m);
  }
}
