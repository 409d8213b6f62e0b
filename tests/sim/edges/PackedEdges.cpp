// Packed instructions, dot products and the mixed-precision multiply-add on edge values.
#include "tests/sim/edges/EdgeRun.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace simtest;

namespace {

using C = const EdgeCase &;

/// Half k of a source as the packed instruction picks it: `select` has a bit for each source.
uint64_t half(C c, int n, bool high) { return c.source[n] >> (high ? 16 : 0) & 0xffff; }
int16_t s16(C c, int n, int k) { return int16_t(half(c, n, k)); }
uint16_t u16(C c, int n, int k) { return uint16_t(half(c, n, k)); }

struct SumOp {
  static Num of(C c, const Num *x) { return add(x[0], x[1], c.round16()); }
};
struct ProductOp {
  static Num of(C, const Num *x) { return mul(x[0], x[1]); }
};
struct FusedOp {
  static Num of(C c, const Num *x) { return fusedSum(x[0], x[1], x[2], c.round16()); }
};

/// Two f16 results; op_sel and op_sel_hi pick the halves.
template <class Op, int Sources, unsigned Sel = 0, unsigned SelHi = 7> Expected packed(C c) {
  Expected e;
  for (int k = 0; k < 2; ++k) {
    Num x[3];
    for (int n = 0; n < Sources; ++n)
      x[n] = c.input(kF16Format, half(c, n, (k ? SelHi : Sel) >> n & 1));
    Expected part = c.toF16(Op::of(c, x));
    e.bits |= part.bits << (16 * k);
    e.any = e.any || part.any;
    e.skip = e.skip || part.skip;
  }
  return e;
}

/// v_pk_min, v_pk_max: as V_MIN_F16 and V_MAX_F16 of each half.
template <bool Largest> Expected extremes(C c) {
  const Format f = kF16Format;
  Expected e;
  for (int k = 0; k < 2; ++k) {
    uint64_t x[2];
    for (int n = 0; n < 2; ++n) {
      x[n] = half(c, n, k);
      x[n] = c.flushesIn(f) && f.isDenormal(x[n]) ? x[n] & f.sign() : x[n];
    }
    int order = compare(decode(f, x[0]), decode(f, x[1]));
    bool zeros = ((x[0] | x[1]) & (f.sign() - 1)) == 0;
    uint64_t best = c.ieee() && f.isSignalling(x[0])   ? x[0] | f.quiet()
                    : c.ieee() && f.isSignalling(x[1]) ? x[1] | f.quiet()
                    : f.isNan(x[0])                    ? x[1]
                    : f.isNan(x[1])                    ? x[0]
                    : zeros                            ? (Largest ? x[0] & x[1] : x[0] | x[1])
                    : (order > 0) == Largest           ? x[0]
                                                       : x[1];
    best = c.flushesOut(f) && f.isDenormal(best) ? best & f.sign() : best;
    e.bits |= best << (16 * k);
  }
  return e;
}
/// v_pk_minimum3, v_pk_maximum3: a NaN is the result, quiet.
template <bool Largest> Expected propagating(C c) {
  const Format f = kF16Format;
  Expected e;
  for (int k = 0; k < 2; ++k) {
    uint64_t best = half(c, 0, k);
    for (int n = 1; n < 3; ++n) {
      uint64_t x = half(c, n, k);
      if (f.isNan(best) || f.isNan(x)) {
        best = f.isNan(best) ? best : x;
        continue;
      }
      int order = compare(decode(f, x), decode(f, best));
      bool zeros = ((x | best) & (f.sign() - 1)) == 0;
      best = zeros ? (Largest ? x & best : x | best) : (order > 0) == Largest && order ? x : best;
    }
    e.bits |= (f.isNan(best) ? best | f.quiet() : best) << (16 * k);
  }
  return e;
}

template <class Fn> Expected bothHalves(C c, Fn fn) {
  return exactly((uint64_t(fn(c, 0)) & 0xffff) | (uint64_t(fn(c, 1)) & 0xffff) << 16);
}
int64_t clampTo(int64_t x, int64_t low, int64_t high) { return std::clamp(x, low, high); }

/// v_pk_*_f32: pairs of f32 in register pairs.
template <class Op, int Sources, unsigned Sel = 0, unsigned SelHi = 7> Expected packed32(C c) {
  EdgeCase single = c;
  single.mode = (c.mode & ~kRound16) | (c.mode & 3) << 2; // Op rounds by round16
  Expected e;
  for (int k = 0; k < 2; ++k) {
    Num x[3];
    for (int n = 0; n < Sources; ++n)
      x[n] = c.input(kF32Format, c.source[n] >> ((k ? SelHi : Sel) >> n & 1 ? 32 : 0) & 0xffffffff);
    Expected part = c.toF32(Op::of(single, x));
    e.bits |= part.bits << (32 * k);
    e.any = e.any || part.any;
    e.skip = e.skip || part.skip;
  }
  return e;
}

/// v_fma_mix: each source an f32, or where Narrow says so the f16 half that Sel names.
template <unsigned Narrow, unsigned Sel> Num mixed(C c) {
  Num x[3];
  for (int n = 0; n < 3; ++n)
    x[n] = Narrow >> n & 1 ? c.input(kF16Format, half(c, n, Sel >> n & 1)) : c.f32(n);
  return fusedSum(x[0], x[1], x[2], c.round32());
}
template <unsigned Narrow, unsigned Sel> Expected mix(C c) {
  return c.toF32(mixed<Narrow, Sel>(c));
}
/// Rounded to f32 first, then to f16.
template <unsigned Narrow, unsigned Sel> Expected mixHalf(C c) {
  Expected wide = c.toF32(mixed<Narrow, Sel>(c));
  Expected e = c.toF16(decode(kF32Format, wide.bits));
  e.any = wide.any;
  return e;
}
template <unsigned Narrow, unsigned Sel> Expected mixHigh(C c) {
  Expected e = mixHalf<Narrow, Sel>(c);
  e.bits = (c.old & 0xffff) | e.bits << 16;
  e.skip = e.skip || e.any; // which NaN
  e.any = false;
  return e;
}

/// Sum of products of signed or unsigned fields, and the third source.
template <int Bits, bool Signed> __int128 dot(C c) {
  __int128 sum = Signed ? __int128(c.i(2)) : __int128(c.u(2));
  for (int k = 0; k < 32; k += Bits) {
    int64_t a = c.u(0) >> k & ((1u << Bits) - 1), b = c.u(1) >> k & ((1u << Bits) - 1);
    if (Signed) {
      a -= a >> (Bits - 1) << Bits;
      b -= b >> (Bits - 1) << Bits;
    }
    sum += a * b;
  }
  return sum;
}
template <int Bits, bool Signed> Expected dotCut(C c) {
  return exactly(uint32_t(dot<Bits, Signed>(c)));
}
template <int Bits, bool Signed> Expected dotClamped(C c) {
  __int128 low = Signed ? INT32_MIN : 0, high = Signed ? __int128(INT32_MAX) : 0xffffffff;
  __int128 x = dot<Bits, Signed>(c);
  return exactly(uint32_t(x < low ? low : x > high ? high : x));
}

/// a0 b0 + a1 b1 + c of floats: the order and the roundings in between are not documented, so a few
/// ulps of the largest term are allowed, and nothing is asked near overflow or denormals.
template <const Format &F> Expected dotFloat(C c) {
  Num x[3] = {c.f32(2)};
  int largest = -1000;
  bool any = false;
  for (int k = 0; k < 2; ++k)
    x[k + 1] = mul(decode(F, half(c, 0, k)), decode(F, half(c, 1, k)));
  Num sum = add(add(x[1], x[2]), x[0]);
  for (const Num &term : x) {
    any = any || !term.finite();
    if (term.finite() && !term.zero())
      largest = std::max(largest, exponentOf(term));
  }
  Expected e = c.toF32(sum);
  if (sum.nan)
    return {.bits = e.bits, .any = true};
  if (any)
    return e;
  int result = sum.zero() ? -1000 : exponentOf(sum);
  e.skip = largest > 120 || (largest != -1000 && result < -100) || result == -1000;
  e.ulps = e.skip ? 0 : 4 * double(uint64_t(1) << std::clamp(largest - result, 0, 40));
  return e;
}

#define EDGE_HALVES(op, types, ...)                                                                \
  {op, types, [](C c) { return bothHalves(c, [](C c, int k) { return __VA_ARGS__; }); }}
#define EDGE_CLAMPED(op, types, ...)                                                               \
  {op, types, [](C c) { return bothHalves(c, [](C c, int k) { return __VA_ARGS__; }); }, "clamp"}

const EdgeRow kIntegers[] = {
    EDGE_HALVES("v_pk_add_i16", "t=tt", s16(c, 0, k) + s16(c, 1, k)),
    EDGE_HALVES("v_pk_sub_i16", "t=tt", s16(c, 0, k) - s16(c, 1, k)),
    EDGE_HALVES("v_pk_add_u16", "t=tt", u16(c, 0, k) + u16(c, 1, k)),
    EDGE_HALVES("v_pk_sub_u16", "t=tt", u16(c, 0, k) - u16(c, 1, k)),
    EDGE_HALVES("v_pk_mul_lo_u16", "t=tt", uint64_t(u16(c, 0, k)) * u16(c, 1, k)),
    EDGE_HALVES("v_pk_mad_i16", "t=ttt", int64_t(s16(c, 0, k)) * s16(c, 1, k) + s16(c, 2, k)),
    EDGE_HALVES("v_pk_mad_u16", "t=ttt", uint64_t(u16(c, 0, k)) * u16(c, 1, k) + u16(c, 2, k)),
    EDGE_HALVES("v_pk_max_i16", "t=tt", std::max(s16(c, 0, k), s16(c, 1, k))),
    EDGE_HALVES("v_pk_min_i16", "t=tt", std::min(s16(c, 0, k), s16(c, 1, k))),
    EDGE_HALVES("v_pk_max_u16", "t=tt", std::max(u16(c, 0, k), u16(c, 1, k))),
    EDGE_HALVES("v_pk_min_u16", "t=tt", std::min(u16(c, 0, k), u16(c, 1, k))),
    EDGE_HALVES("v_pk_lshlrev_b16", "t=tt", uint64_t(u16(c, 1, k)) << u16(c, 0, k) % 16),
    EDGE_HALVES("v_pk_lshrrev_b16", "t=tt", u16(c, 1, k) >> u16(c, 0, k) % 16),
    EDGE_HALVES("v_pk_ashrrev_i16", "t=tt", s16(c, 1, k) >> u16(c, 0, k) % 16),
    EDGE_CLAMPED("v_pk_add_i16", "t=tt", clampTo(s16(c, 0, k) + s16(c, 1, k), -32768, 32767)),
    EDGE_CLAMPED("v_pk_sub_i16", "t=tt", clampTo(s16(c, 0, k) - s16(c, 1, k), -32768, 32767)),
    EDGE_CLAMPED("v_pk_add_u16", "t=tt", clampTo(u16(c, 0, k) + u16(c, 1, k), 0, 65535)),
    EDGE_CLAMPED("v_pk_sub_u16", "t=tt", clampTo(u16(c, 0, k) - u16(c, 1, k), 0, 65535)),
    EDGE_CLAMPED("v_pk_mad_i16", "t=ttt",
                 clampTo(int64_t(s16(c, 0, k)) * s16(c, 1, k) + s16(c, 2, k), -32768, 32767)),
    EDGE_CLAMPED("v_pk_mad_u16", "t=ttt",
                 clampTo(int64_t(u16(c, 0, k)) * u16(c, 1, k) + u16(c, 2, k), 0, 65535)),
    {"v_dot2_i32_i16", "u=ttu", dotCut<16, true>},
    {"v_dot2_u32_u16", "u=ttu", dotCut<16, false>},
    {"v_dot4_i32_i8", "u=xxu", dotCut<8, true>},
    {"v_dot4_u32_u8", "u=xxu", dotCut<8, false>},
    {"v_dot8_i32_i4", "u=xxu", dotCut<4, true>},
    {"v_dot8_u32_u4", "u=xxu", dotCut<4, false>},
    {"v_dot2c_i32_i16", "u=tt+", dotCut<16, true>},
    {"v_dot4c_i32_i8", "u=xx+", dotCut<8, true>},
    {"v_dot8c_i32_i4", "u=xx+", dotCut<4, true>},
    {"v_dot2_i32_i16", "u=ttu", dotClamped<16, true>, "clamp"},
    {"v_dot2_u32_u16", "u=ttu", dotClamped<16, false>, "clamp"},
    {"v_dot4_i32_i8", "u=xxu", dotClamped<8, true>, "clamp"},
    {"v_dot8_u32_u4", "u=xxu", dotClamped<4, false>, "clamp"},
};
#undef EDGE_HALVES
#undef EDGE_CLAMPED

const EdgeRow kHalves[] = {
    {"v_pk_add_f16", "p=pp", packed<SumOp, 2>},
    {"v_pk_mul_f16", "p=pp", packed<ProductOp, 2>},
    {"v_pk_fma_f16", "p=ppp", packed<FusedOp, 3>},
    {"v_pk_fmac_f16", "p=pp+", packed<FusedOp, 3>},
    {"v_pk_add_f16", "p=pp", packed<SumOp, 2, 1, 2>, "op_sel:[1,0] op_sel_hi:[0,1]"},
    {"v_pk_fma_f16", "p=ppp", packed<FusedOp, 3, 6, 1>, "op_sel:[0,1,1] op_sel_hi:[1,0,0]"},
    {"v_pk_min_f16", "p=pp", extremes<false>},
    {"v_pk_max_f16", "p=pp", extremes<true>},
};
const EdgeRow kPropagating[] = {
    {"v_pk_minimum3_f16", "p=ppp", propagating<false>},
    {"v_pk_maximum3_f16", "p=ppp", propagating<true>},
};
const EdgeRow kWords[] = {
    {"v_pk_add_f32", "F=FF", packed32<SumOp, 2>},
    {"v_pk_mul_f32", "F=FF", packed32<ProductOp, 2>},
    {"v_pk_fma_f32", "F=FFF", packed32<FusedOp, 3>},
    {"v_pk_add_f32", "F=FF", packed32<SumOp, 2, 1, 2>, "op_sel:[1,0] op_sel_hi:[0,1]"},
    {"v_pk_fma_f32", "F=FFF", packed32<FusedOp, 3, 6, 1>, "op_sel:[0,1,1] op_sel_hi:[1,0,0]"},
    {"v_fma_mix_f32", "f=fff", mix<0, 0>},
    {"v_fma_mix_f32", "f=ppf", mix<3, 1>, "op_sel:[1,0,0] op_sel_hi:[1,1,0]"},
    {"v_fma_mix_f32", "f=fpp", mix<6, 4>, "op_sel:[0,0,1] op_sel_hi:[0,1,1]"},
    {"v_fma_mixlo_f16", "h=fff", mixHalf<0, 0>, "", true},
    {"v_fma_mixlo_f16", "h=ppp", mixHalf<7, 2>, "op_sel:[0,1,0] op_sel_hi:[1,1,1]", true},
    {"v_fma_mixhi_f16", "u=fff", mixHigh<0, 0>},
    {"v_fma_mixhi_f16", "u=ppp", mixHigh<7, 2>, "op_sel:[0,1,0] op_sel_hi:[1,1,1]"},
};
const EdgeRow kDots[] = {
    {"v_dot2_f32_f16", "f=ppf", dotFloat<kF16Format>},
    {"v_dot2_f32_bf16", "f=oof", dotFloat<kBf16Format>},
    {"v_dot2c_f32_f16", "f=pp+", dotFloat<kF16Format>},
    {"v_dot2c_f32_bf16", "f=oo+", dotFloat<kBf16Format>},
};
const EdgeRow kMoves[] = {
    {"v_pk_mov_b32", "q=qq",
     [](C c) { return exactly((c.source[0] & 0xffffffff) | c.source[1] << 32); }, "op_sel:[0,0]"},
    {"v_pk_mov_b32", "q=qq",
     [](C c) { return exactly(c.source[0] >> 32 | (c.source[1] >> 32) << 32); }, "op_sel:[1,1]"},
};

/// Single 16-bit instructions whose op_sel names a half of each source and of the destination.
template <unsigned Sel> Expected placed(C c, uint64_t result) {
  return exactly(Sel >> 3 ? (c.old & 0xffff) | result << 16 : (c.old & 0xffff0000) | result);
}
template <unsigned Sel> Expected selectedFma(C c) {
  Num x[3];
  for (int n = 0; n < 3; ++n)
    x[n] = c.input(kF16Format, half(c, n, Sel >> n & 1));
  Expected part = c.toF16(FusedOp::of(c, x)), e = placed<Sel>(c, part.bits);
  e.skip = part.any || part.skip;
  return e;
}
template <unsigned Sel> Expected selectedMad(C c) {
  uint64_t a = half(c, 0, Sel & 1), b = half(c, 1, Sel >> 1 & 1), d = half(c, 2, Sel >> 2 & 1);
  return placed<Sel>(c, (a * b + d) & 0xffff);
}
template <unsigned Sel> Expected selectedSum(C c) {
  return placed<Sel>(c, (half(c, 0, Sel & 1) + half(c, 1, Sel >> 1 & 1)) & 0xffff);
}
const EdgeRow kSelected[] = {
    {"v_fma_f16", "u=ppp", selectedFma<0b1101>, "op_sel:[1,0,1,1]"},
    {"v_fma_f16", "u=ppp", selectedFma<0b0010>, "op_sel:[0,1,0,0]"},
    {"v_mad_u16", "u=ttt", selectedMad<0b1011>, "op_sel:[1,1,0,1]"},
    {"v_mad_u16", "u=ttt", selectedMad<0b0100>, "op_sel:[0,0,1,0]"},
    {"v_add_i16", "u=tt", selectedSum<0b1010>, "op_sel:[0,1,1]"},
    {"v_add_i16", "u=tt", selectedSum<0b0001>, "op_sel:[1,0,0]"},
};

const uint32_t kOneMode[] = {kKeep16};
const uint32_t kModes16[] = {kKeep16,      kKeep16 | kIeee, kKeep32 | 4, kKeep16 | 8 | 1,
                             kKeep16 | 12, kKeepIn16,       kKeepOut16,  kKeep16 | kFp16Overflow};
const uint32_t kModes32[] = {
    kKeep16,         kKeep16 | kKeep32,  kKeep16 | kKeep32 | 1, kKeep16 | kKeep32 | 2 | 4,
    kKeep32 | 3 | 8, kKeep16 | kIeee | 2};

} // namespace

TEST_CASE("packed and dot-product integers on edge values", "[edges]") {
  runEdges(kIntegers, kOneMode);
  runEdges(kMoves, kOneMode);
  runEdges(kSelected, kOneMode);
}

TEST_CASE("packed floats and mixed multiply-adds on edge values", "[edges]") {
  runEdges(kHalves, kModes16);
  runEdges(kPropagating, kOneMode);
  runEdges(kWords, kModes32);
  const uint32_t keep[] = {kKeep16 | kKeep32};
  runEdges(kDots, keep);
}
