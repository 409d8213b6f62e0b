// Special functions, the steps of a division, classes and comparisons on edge values.
#include "tests/sim/edges/EdgeRun.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

using namespace simtest;

namespace {

using C = const EdgeCase &;

Num source(C c, Format f, int n) { return c.input(f, c.source[n] & (2 * f.sign() - 1)); }

/// An approximate result: within an ulp of the function's value, whose rounding is not promised.
Expected near(C c, Format f, double value) {
  Num x = std::isnan(value)   ? aNan()
          : std::isinf(value) ? infinity(value < 0)
                              : decode(kF64Format, std::bit_cast<uint64_t>(value));
  Expected e = c.output(f, x, Rounding::Even);
  e.ulps = x.finite() ? 1 : 0;
  // Flushing decides by the result before it, of which an ulp is open.
  e.skip = e.skip || (f.isDenormal(encode(f, x)) && c.flushesOut(f) && e.bits % f.sign() != 0);
  return e;
}

template <const Format &F> struct Special {
  template <class Fn> static Expected of(C c, Fn fn) {
    Num x = source(c, F, 0);
    return x.nan ? c.output(F, x, Rounding::Even) : near(c, F, fn(approximate(x)));
  }
  static Expected rcp(C c) {
    return of(c, [](double x) { return 1 / x; });
  }
  static Expected sqrt(C c) {
    return of(c, [](double x) { return std::sqrt(x); });
  }
  static Expected rsq(C c) {
    return of(c, [](double x) {
      return x < 0 ? NAN : x == 0 ? std::copysign(INFINITY, x) : 1 / std::sqrt(x);
    });
  }
  /// f32: neither denormal results nor denormal sources, in any mode.
  static Expected exp(C c) {
    EdgeCase flushing = c;
    if (F.bits() == 32)
      flushing.mode &= ~kKeep32;
    return of(flushing, [](double x) { return std::exp2(x); });
  }
  static Expected log(C c) {
    EdgeCase flushing = c;
    if (F.bits() == 32)
      flushing.mode &= ~kKeep32;
    return of(flushing, [](double x) { return x < 0 ? NAN : std::log2(x); });
  }
  /// Of turns. Beyond 256 of them nothing is promised here.
  static Expected wave(C c, double quarter) {
    Expected e = of(c, [=](double x) {
      double turns = x - std::floor(x) + quarter, whole = turns * 4;
      if (whole == std::floor(whole)) { // the exact values
        const double quarters[] = {0, 1, 0, -1};
        return quarters[int(whole) % 4];
      }
      return std::sin(2 * std::numbers::pi * turns);
    });
    Num x = source(c, F, 0);
    // Near its zeros the function has no bits to give; there the result must be small.
    e.ulps = e.ulps ? 2 : 0;
    e.skip = e.skip || (x.finite() && std::fabs(approximate(x)) > 256) ||
             (x.finite() && (e.bits & (F.sign() - 1)) == 0) ||
             std::fabs(approximate(decode(F, e.bits))) < 1e-6;
    return e;
  }
  static Expected sin(C c) { return wave(c, 0); }
  static Expected cos(C c) { return wave(c, 0.25); }

  /// v_div_fmas where VCC is clear. Where it is set, see the whole sequence below.
  static Expected fmas(C c) {
    Expected e = c.output(
        F, fusedSum(source(c, F, 0), source(c, F, 1), source(c, F, 2), c.round(F)), c.round(F));
    e.skip = e.skip || c.mask;
    return e;
  }
  /// v_div_fixup: the quotient, denominator and numerator.
  static Expected fixup(C c) {
    Num den = source(c, F, 1), num = source(c, F, 2);
    if (num.nan || den.nan)
      return exactly(encode(F, num.nan ? num : den));
    uint64_t sign = den.neg != num.neg ? F.sign() : 0;
    if ((den.zero() && num.zero()) || (den.inf && num.inf))
      return exactly(F.sign() | F.infinity() | F.quiet());
    if (den.zero() || num.inf)
      return exactly(sign | F.infinity());
    if (den.inf || num.zero())
      return exactly(sign);
    int apart = exponentOf(num) - exponentOf(den);
    Num quotient = source(c, F, 0);
    Expected e = exactly(sign | encode(F, magnitude(quotient)));
    e.skip = apart < -F.bias() - F.man || apart > F.bias() || quotient.nan ||
             (c.flushesOut(F) && F.isDenormal(e.bits));
    return e;
  }
  static Expected quotient(C c) {
    Num num = source(c, F, 0), den = source(c, F, 1);
    if (num.nan || den.nan || num.inf || den.inf || den.zero()) {
      EdgeCase fix = c;
      fix.source[2] = c.source[0];
      return fixup(fix);
    }
    return c.output(F, divide(num, den), Rounding::Even);
  }
  static Expected classes(C c) {
    uint64_t bits = c.source[0] & (2 * F.sign() - 1), size = bits & (F.sign() - 1);
    bool neg = bits & F.sign();
    int kind = F.isNan(bits)                ? (F.isSignalling(bits) ? 0 : 1)
               : size == F.infinity()       ? (neg ? 2 : 9)
               : size >= F.smallestNormal() ? (neg ? 3 : 8)
               : size                       ? (neg ? 4 : 7)
                                            : (neg ? 5 : 6);
    bool holds = c.source[1] >> kind & 1;
    return {.bits = holds, .carry = holds};
  }
};

using S32 = Special<kF32Format>;
using S64 = Special<kF64Format>;
using S16 = Special<kF16Format>;

#define EDGE_DIVISION(b, f0, f1, q0, q1, q2, q3, q4)                                               \
  "v_div_scale_f" b " " q0 ", s[24:25], " f1 ", " f1 ", " f0 "\n  v_rcp_f" b " " q1 ", " q0        \
  "\n  v_div_scale_f" b " " q2 ", vcc, " f0 ", " f1 ", " f0 "\n  v_fma_f" b " " q3 ", -" q0        \
  ", " q1 ", 1.0\n  v_fma_f" b " " q1 ", " q3 ", " q1 ", " q1 "\n  v_mul_f" b " " q3 ", " q2       \
  ", " q1 "\n  v_fma_f" b " " q4 ", -" q0 ", " q3 ", " q2 "\n  v_fma_f" b " " q3 ", " q4 ", " q1   \
  ", " q3 "\n  v_fma_f" b " " q0 ", -" q0 ", " q3 ", " q2 "\n  v_div_fmas_f" b " " q0 ", " q0      \
  ", " q1 ", " q3

const EdgeRow kFunctions[] = {
    {"v_rcp_f32", "f=f", S32::rcp},        {"v_rcp_iflag_f32", "f=f", S32::rcp},
    {"v_rsq_f32", "f=f", S32::rsq},        {"v_sqrt_f32", "f=f", S32::sqrt},
    {"v_exp_f32", "f=f", S32::exp},        {"v_log_f32", "f=f", S32::log},
    {"v_exp_legacy_f32", "f=f", S32::exp}, {"v_log_legacy_f32", "f=f", S32::log},
    {"v_sin_f32", "f=f", S32::sin},        {"v_cos_f32", "f=f", S32::cos},
    {"v_rcp_f16", "h=h", S16::rcp},        {"v_rsq_f16", "h=h", S16::rsq},
    {"v_sqrt_f16", "h=h", S16::sqrt},      {"v_exp_f16", "h=h", S16::exp},
    {"v_log_f16", "h=h", S16::log},        {"v_sin_f16", "h=h", S16::sin},
    {"v_cos_f16", "h=h", S16::cos},        {"v_rcp_f64", "d=d", S64::rcp},
    {"v_rsq_f64", "d=d", S64::rsq},        {"v_sqrt_f64", "d=d", S64::sqrt},
};
const EdgeRow kDivisions[] = {
    {"v_div_fmas_f32", "f=fff", S32::fmas},
    {"v_div_fmas_f64", "d=ddd", S64::fmas},
    {"v_div_fixup_f32", "f=fff", S32::fixup},
    {"v_div_fixup_f64", "d=ddd", S64::fixup},
    {"v_div_fixup_f16", "h=hhh", S16::fixup, "", true},
    {"f32 division", "f=ff", S32::quotient, "", false,
     EDGE_DIVISION("32", "v0", "v2", "v10", "v11", "v12", "v13",
                   "v14") "\n  v_div_fixup_f32 v8, v10, v2, v0"},
    {"f64 division", "d=dd", S64::quotient, "", false,
     EDGE_DIVISION("64", "v[0:1]", "v[2:3]", "v[10:11]", "v[12:13]", "v[14:15]", "v[16:17]",
                   "v[18:19]") "\n  v_div_fixup_f64 v[8:9], v[10:11], v[2:3], v[0:1]"},
};
const EdgeRow kClasses[] = {
    {"v_cmp_class_f32_e64", "m=fc", S32::classes},
    {"v_cmp_class_f64_e64", "m=dc", S64::classes},
    {"v_cmp_class_f16_e64", "m=hc", S16::classes},
    {"v_cmpx_class_f32_e64", "mE=fc", S32::classes},
    {"v_cmpx_class_f64_e64", "mE=dc", S64::classes},
    {"v_cmpx_class_f16_e64", "mE=hc", S16::classes},
};

/// A condition holds for some of: less, equal, greater, unordered (bits 0 to 3).
template <const Format &F, unsigned When> Expected floatHolds(C c) {
  bool holds = When >> (compare(source(c, F, 0), source(c, F, 1)) + 1) & 1; // -1, 0, 1, 2
  return {.bits = holds, .carry = holds};
}
template <class T, unsigned When> Expected intHolds(C c) {
  T a = T(c.source[0]), b = T(c.source[1]);
  bool holds = When >> (a < b ? 0 : a == b ? 1 : 2) & 1;
  return {.bits = holds, .carry = holds};
}

#define EDGE_FLOAT_COMPARES(p, r, t, L, F)                                                         \
  {p "f_" t "_e64", r L L, floatHolds<F, 0>}, {p "lt_" t "_e64", r L L, floatHolds<F, 1>},         \
      {p "eq_" t "_e64", r L L, floatHolds<F, 2>}, {p "le_" t "_e64", r L L, floatHolds<F, 3>},    \
      {p "gt_" t "_e64", r L L, floatHolds<F, 4>}, {p "lg_" t "_e64", r L L, floatHolds<F, 5>},    \
      {p "ge_" t "_e64", r L L, floatHolds<F, 6>}, {p "o_" t "_e64", r L L, floatHolds<F, 7>},     \
      {p "u_" t "_e64", r L L, floatHolds<F, 8>}, {p "nge_" t "_e64", r L L, floatHolds<F, 9>},    \
      {p "nlg_" t "_e64", r L L, floatHolds<F, 10>},                                               \
      {p "ngt_" t "_e64", r L L, floatHolds<F, 11>},                                               \
      {p "nle_" t "_e64", r L L, floatHolds<F, 12>},                                               \
      {p "neq_" t "_e64", r L L, floatHolds<F, 13>},                                               \
      {p "nlt_" t "_e64", r L L, floatHolds<F, 14>}, {                                             \
    p "tru_" t "_e64", r L L, floatHolds<F, 15>                                                    \
  }
#define EDGE_INT_COMPARES(p, r, t, L, T)                                                           \
  {p "f_" t "_e64", r L L, intHolds<T, 0>}, {p "lt_" t "_e64", r L L, intHolds<T, 1>},             \
      {p "eq_" t "_e64", r L L, intHolds<T, 2>}, {p "le_" t "_e64", r L L, intHolds<T, 3>},        \
      {p "gt_" t "_e64", r L L, intHolds<T, 4>}, {p "ne_" t "_e64", r L L, intHolds<T, 5>},        \
      {p "ge_" t "_e64", r L L, intHolds<T, 6>}, {                                                 \
    p "t_" t "_e64", r L L, intHolds<T, 7>                                                         \
  }

#define EDGE_COMPARES(p, r)                                                                        \
  EDGE_FLOAT_COMPARES(p, r, "f32", "f", kF32Format),                                               \
      EDGE_FLOAT_COMPARES(p, r, "f64", "d", kF64Format),                                           \
      EDGE_FLOAT_COMPARES(p, r, "f16", "h", kF16Format),                                           \
      EDGE_INT_COMPARES(p, r, "i16", "s", int16_t), EDGE_INT_COMPARES(p, r, "u16", "s", uint16_t), \
      EDGE_INT_COMPARES(p, r, "i32", "u", int32_t), EDGE_INT_COMPARES(p, r, "u32", "u", uint32_t), \
      EDGE_INT_COMPARES(p, r, "i64", "q", int64_t), EDGE_INT_COMPARES(p, r, "u64", "q", uint64_t)
const EdgeRow kCompares[] = {EDGE_COMPARES("v_cmp_", "m=")};
const EdgeRow kExecCompares[] = {EDGE_COMPARES("v_cmpx_", "mE=")};
#undef EDGE_COMPARES
#undef EDGE_DIVISION
#undef EDGE_FLOAT_COMPARES
#undef EDGE_INT_COMPARES

const uint32_t kKept[] = {kKeep16 | kKeep32};
const uint32_t kDenormalModes[] = {kKeep16, kKeep16 | kKeep32, kKeep32, 0};

} // namespace

TEST_CASE("special functions on edge values", "[edges]") { runEdges(kFunctions, kDenormalModes); }

TEST_CASE("division and its steps on edge values", "[edges]") { runEdges(kDivisions, kKept); }

TEST_CASE("classes and comparisons on edge values", "[edges]") {
  runEdges(kClasses, kDenormalModes);
  const uint32_t modes[] = {kKeep16, kKeep32};
  runEdges(kCompares, modes);
  runEdges(kExecCompares, modes);
}
