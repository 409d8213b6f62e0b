// VOP3P: two results at once from two halves of each source, dot products and the mixed-precision
// fma.
//
// op_sel[n] says which half of source n the low result uses (0: low), op_sel_hi[n] the same for the
// high result; neg_lo and neg_hi change signs for one result each. A 16-bit inline constant fills
// the low half only.
#include "runtime/sim/Lanes.h"
#include <algorithm>

namespace attune::sim {
namespace {

using F = float;
using U = uint32_t;
using I = int32_t;
using H = uint16_t;
using S = int16_t;

/// The two 16-bit inputs of one source for the low and the high result.
struct HalfPair {
  const uint32_t *row;
  unsigned loShift, hiShift;
  U loFlip, hiFlip;
  HalfPair(Wave &w, const Inst &i, int n, LaneRow *buffer, uint64_t &mask, bool floating)
      : row(fetchSource(w, i, n, Width::B16, buffer, mask).lo), loShift(i.opSel >> n & 1 ? 16 : 0),
        hiShift(i.opSelHi >> n & 1 ? 16 : 0), loFlip(floating && (i.neg >> n & 1) ? 0x8000 : 0),
        hiFlip(floating && (i.abs >> n & 1) ? 0x8000 : 0) {
    if (floating && !(w.mode >> 6 & 1)) [[unlikely]] {
      for (int l = 0; l < kLanes; ++l)
        buffer[1][l] = flushDenormalF16(H(row[l])) | U(flushDenormalF16(H(row[l] >> 16))) << 16;
      row = buffer[1];
    }
  }
  ATTUNE_SIM_INLINE U lo(int l) const { return (row[l] >> loShift ^ loFlip) & 0xffff; }
  ATTUNE_SIM_INLINE U hi(int l) const { return (row[l] >> hiShift ^ hiFlip) & 0xffff; }
};

template <class T> ATTUNE_SIM_INLINE auto value(U half) {
  if constexpr (kIsHalf<T>)
    return halfValue<T>(H(half));
  else
    return T(half);
}
/// Integers arrive in int or U and are cut, or saturated under clamp; floats are clamped to [0, 1]
/// and rounded.
template <class T, class R>
ATTUNE_SIM_INLINE U result(R x, bool clamp, bool dx10, const HalfRounding &half) {
  if constexpr (kIsHalf<T>)
    return half.round<T>(clamp ? clampUnit(x, dx10) : x);
  else
    return H(clamp ? I(std::clamp<int64_t>(x, std::numeric_limits<T>::min(),
                                           std::numeric_limits<T>::max()))
                   : I(x));
}

template <class T, int N, class Fn> void packed(Wave &w, const Inst &i, Fn fn) {
  constexpr bool floating = kIsHalf<T>;
  uint64_t mask = w.exec();
  bool clamp = i.clamp, dx10 = w.mode >> 8 & 1;
  const HalfRounding half(w);
  [[maybe_unused]] ArithmeticOf<T> arithmetic(w);
  alignas(64) LaneRow buffer[3][2], out;
  HalfPair a(w, i, 0, buffer[0], mask, floating), b(w, i, 1, buffer[1], mask, floating);
  HalfPair c(w, i, N == 3 ? 2 : 1, buffer[2], mask, floating);
  auto one = [&](U x, U y, U z) {
    if constexpr (N == 3)
      return result<T>(fn(value<T>(x), value<T>(y), value<T>(z)), clamp, dx10, half);
    else
      return (void)z, result<T>(fn(value<T>(x), value<T>(y)), clamp, dx10, half);
  };
  for (int l = 0; l < kLanes; ++l)
    out[l] = one(a.lo(l), b.lo(l), c.lo(l)) | one(a.hi(l), b.hi(l), c.hi(l)) << 16;
  commitRow(w, i, 0, out, mask);
}

/// The pair of dwords of a packed-f32 source; a 32-bit constant is in both.
SourceRows pairRows(Wave &w, const Inst &i, int n, LaneRow *buffer, uint64_t &mask) {
  if (inVgprs(i.src[n]))
    return {w.row(i.src[n]), w.row(i.src[n], 1)};
  if (i.src[n].kind != OperandKind::Inline)
    return fetchSource(w, i, n, Width::B64, buffer, mask);
  SourceRows rows = fetchSource(w, i, n, Width::B32, buffer, mask);
  return {rows.lo, rows.lo};
}

template <int N, class Fn> void packedF32(Wave &w, const Inst &i, Fn fn) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], out[2];
  const uint32_t *lo[3] = {}, *hi[3] = {};
  U loFlip[3] = {}, hiFlip[3] = {};
  for (int n = 0; n < N; ++n) {
    SourceRows rows = pairRows(w, i, n, buffer[n], mask);
    lo[n] = i.opSel >> n & 1 ? rows.hi : rows.lo;
    hi[n] = i.opSelHi >> n & 1 ? rows.hi : rows.lo;
    loFlip[n] = i.neg >> n & 1 ? 0x80000000 : 0;
    hiFlip[n] = i.abs >> n & 1 ? 0x80000000 : 0;
  }
  bool direct = mask == kAllLanes && !(i.flags & ResultModified);
  uint32_t *toLo = direct ? w.row(i.dst) : out[0], *toHi = direct ? w.row(i.dst, 1) : out[1];
  constexpr int kLast = N - 1;
  // Both results of a lane before either is stored: sources may be the destination's rows.
  auto run = [&](auto flipped) {
    auto one = [&](const uint32_t *const *in, const U *flip, int l) ATTUNE_SIM_INLINE_LAMBDA {
      if constexpr (!flipped)
        return fn(asFloat(in[0][l]), asFloat(in[1][l]), asFloat(in[kLast][l]));
      F a = asFloat(in[0][l] ^ flip[0]), b = asFloat(in[1][l] ^ flip[1]);
      return passNan(fn(a, b, asFloat(in[kLast][l] ^ flip[kLast])), a, b); // order is not sure here
    };
    SIM_LANE_LOOP
    for (int l = 0; l < kLanes; ++l) {
      F low = one(lo, loFlip, l), high = one(hi, hiFlip, l);
      toLo[l] = asBits(low);
      toHi[l] = asBits(high);
    }
  };
  if (i.neg || i.abs)
    run(std::true_type());
  else
    run(std::false_type());
  if (direct)
    return;
  commit<F>(w, i, &out[0], mask);
  Inst second = i;
  ++second.dst.index;
  commit<F>(w, second, &out[1], mask);
}

/// Sum of products of `Bits`-wide fields plus src2.
template <class T, unsigned Bits, class Acc> void dotFields(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<U, U, U, Acc>(w, i, [clamp](U a, U b, Acc c) {
    int64_t sum = c;
    for (unsigned k = 0; k < 32; k += Bits) {
      if constexpr (std::is_signed_v<T>)
        sum += int64_t(I(a << (32 - Bits - k)) >> (32 - Bits)) *
               (I(b << (32 - Bits - k)) >> (32 - Bits));
      else
        sum += int64_t(a >> k & ((1u << Bits) - 1)) * (b >> k & ((1u << Bits) - 1));
    }
    if (clamp)
      sum = std::clamp<int64_t>(sum, std::numeric_limits<Acc>::min(),
                                std::numeric_limits<Acc>::max());
    return U(sum);
  });
}

/// Widened factors come from expressions that a compiler may exchange.
ATTUNE_SIM_INLINE F fmaInOrder(F a, F b, F c) { return passNan(std::fma(a, b, c), a, b); }

/// fma of both halves onto src2; hardware's internal rounding of the sum is not documented.
template <class Widen> void dotHalves(Wave &w, const Inst &i, bool selects, Widen widen) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], out;
  Inst plain = i;
  if (!selects) { // the VOP2 forms have no op_sel
    plain.opSel = 0;
    plain.opSelHi = 7;
  }
  HalfPair a(w, plain, 0, buffer[0], mask, selects), b(w, plain, 1, buffer[1], mask, selects);
  Source<F> c(w, i, 2, buffer[2], mask);
  U flip = selects && (i.neg >> 2 & 1) ? 0x80000000 : 0;
  ResultMods mods(w, i);
  for (int l = 0; l < kLanes; ++l) {
    F sum = fmaInOrder(widen(H(a.lo(l))), widen(H(b.lo(l))), asFloat(asBits(c[l]) ^ flip));
    out[l] = asBits(mods.apply(fmaInOrder(widen(H(a.hi(l))), widen(H(b.hi(l))), sum)));
  }
  commitRow(w, i, 0, out, mask);
}

/// v_fma_mix*: each source is an f32, or (op_sel_hi) the f16 half that op_sel names; neg_hi means
/// abs here.
void mixLanes(Wave &w, const Inst &i, F (&out)[kLanes], uint64_t &mask) {
  alignas(64) LaneRow buffer[3][2];
  alignas(64) F in[3][kLanes];
  for (int n = 0; n < 3; ++n) {
    bool half = i.opSelHi >> n & 1, high = i.opSel >> n & 1;
    const uint32_t *row = fetchSource(w, i, n, half ? Width::B16 : Width::B32, buffer[n], mask).lo;
    bool flush = !(w.mode >> 6 & 1);
    for (int l = 0; l < kLanes; ++l) {
      H bits = H(high ? row[l] >> 16 : row[l]);
      F x = half ? f16ToF32(flush ? flushDenormalF16(bits) : bits) : asFloat(row[l]);
      x = i.abs >> n & 1 ? std::fabs(x) : x;
      in[n][l] = i.neg >> n & 1 ? -x : x;
    }
  }
  ResultMods mods(w, i);
  for (int l = 0; l < kLanes; ++l)
    out[l] = mods.apply(fmaInOrder(in[0][l], in[1][l], in[2][l]));
}

void mixHalf(Wave &w, const Inst &i, bool high) {
  uint64_t mask = w.exec();
  alignas(64) F sum[kLanes];
  alignas(64) LaneRow out;
  mixLanes(w, i, sum, mask);
  const uint32_t *old = w.row(i.dst);
  const HalfRounding half(w);
  for (int l = 0; l < kLanes; ++l) {
    U h = half.round(sum[l]);
    out[l] = high ? (old[l] & 0xffff) | h << 16 : (old[l] & 0xffff0000) | h;
  }
  commitRow(w, i, 0, out, mask);
}

F fmaHalf(F a, F b, F c) {
  return passNan(roundToOdd(std::fma(double(a), double(b), double(c))), a, b);
}

} // namespace

#define SIM_PACKED2(name, T, expression)                                                           \
  void name(Wave &w, const Inst &i) {                                                              \
    packed<T, 2>(w, i, [](auto a, auto b) { return expression; });                                 \
  }
#define SIM_PACKED3(name, T, expression)                                                           \
  void name(Wave &w, const Inst &i) {                                                              \
    packed<T, 3>(w, i, [](auto a, auto b, auto c) { return expression; });                         \
  }
SIM_PACKED2(vPkAddI16, S, a + b)
SIM_PACKED2(vPkSubI16, S, a - b)
SIM_PACKED2(vPkMaxI16, S, I(std::max(a, b)))
SIM_PACKED2(vPkMinI16, S, I(std::min(a, b)))
SIM_PACKED2(vPkAshrrevI16, S, I(b >> (a & 15)))
SIM_PACKED2(vPkAddU16, H, a + b)
SIM_PACKED2(vPkSubU16, H, a - b)
SIM_PACKED2(vPkMulLoU16, H, I(U(a) * U(b) & 0xffff))
SIM_PACKED2(vPkMaxU16, H, I(std::max(a, b)))
SIM_PACKED2(vPkMinU16, H, I(std::min(a, b)))
SIM_PACKED2(vPkLshlrevB16, H, I(U(b) << (a & 15) & 0xffff))
SIM_PACKED2(vPkLshrrevB16, H, I(b >> (a & 15)))
SIM_PACKED3(vPkMadI16, S, a *b + c)
SIM_PACKED3(vPkMadU16, H, int64_t(a) * b + c)
SIM_PACKED2(vPkAddF16, Half, passNan(a + b, a))
SIM_PACKED2(vPkMulF16, Half, passNan(a *b, a))
SIM_PACKED3(vPkFmaF16, Half, fmaHalf(a, b, c))
SIM_PACKED3(vPkMinimum3F16, Half, minimum(minimum(a, b), c))
SIM_PACKED3(vPkMaximum3F16, Half, maximum(maximum(a, b), c))
#undef SIM_PACKED2
#undef SIM_PACKED3

/// Minimum or maximum, fn(Extremes, a, b), as MODE.ieee asks.
template <class Fn> static void packedSelect(Wave &w, const Inst &i, Fn fn) {
  if (w.mode >> 9 & 1)
    packed<SignallingHalf, 2>(w, i,
                              [fn](auto... x) { return fn(Extremes<NanRule::Ieee>(), x...); });
  else
    packed<SignallingHalf, 2>(w, i,
                              [fn](auto... x) { return fn(Extremes<NanRule::Lose>(), x...); });
}
void vPkMinF16(Wave &w, const Inst &i) {
  packedSelect(w, i, [](auto e, float a, float b) { return e.min(a, b); });
}
void vPkMaxF16(Wave &w, const Inst &i) {
  packedSelect(w, i, [](auto e, float a, float b) { return e.max(a, b); });
}

void vPkFmacF16(Wave &w, const Inst &i) { // a VOP2: no op_sel fields, so the defaults
  Inst plain = i;
  plain.opSel = 0;
  plain.opSelHi = 7;
  packed<Half, 3>(w, plain, [](F a, F b, F c) { return fmaHalf(a, b, c); });
}

void vPkAddF32(Wave &w, const Inst &i) {
  packedF32<2>(w, i, [](F a, F b, F) { return addNum(a, b); });
}
void vPkMulF32(Wave &w, const Inst &i) {
  packedF32<2>(w, i, [](F a, F b, F) { return mulNum(a, b); });
}
void vPkFmaF32(Wave &w, const Inst &i) {
  packedF32<3>(w, i, [](F a, F b, F c) { return fmaNum(a, b, c); });
}
/// Low result from source 0, high result from source 1, each the half that its own op_sel bit
/// names.
void vPkMovB32(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2], out[2];
  SourceRows a = pairRows(w, i, 0, buffer[0], mask), b = pairRows(w, i, 1, buffer[1], mask);
  std::memcpy(out[0], i.opSel & 1 ? a.hi : a.lo, sizeof(LaneRow));
  std::memcpy(out[1], i.opSel & 2 ? b.hi : b.lo, sizeof(LaneRow));
  commitRow(w, i, 0, out[0], mask);
  commitRow(w, i, 1, out[1], mask);
}

void vDot2F32F16(Wave &w, const Inst &i) { dotHalves(w, i, true, f16ToF32); }
void vDot2F32Bf16(Wave &w, const Inst &i) { dotHalves(w, i, true, bf16ToF32); }
void vDot2cF32F16(Wave &w, const Inst &i) { dotHalves(w, i, false, f16ToF32); }
void vDot2cF32Bf16(Wave &w, const Inst &i) { dotHalves(w, i, false, bf16ToF32); }
void vDot2I32I16(Wave &w, const Inst &i) { dotFields<I, 16, I>(w, i); }
void vDot2cI32I16(Wave &w, const Inst &i) { dotFields<I, 16, I>(w, i); }
void vDot2U32U16(Wave &w, const Inst &i) { dotFields<U, 16, U>(w, i); }
void vDot4I32I8(Wave &w, const Inst &i) { dotFields<I, 8, I>(w, i); }
void vDot4cI32I8(Wave &w, const Inst &i) { dotFields<I, 8, I>(w, i); }
void vDot4U32U8(Wave &w, const Inst &i) { dotFields<U, 8, U>(w, i); }
void vDot8I32I4(Wave &w, const Inst &i) { dotFields<I, 4, I>(w, i); }
void vDot8cI32I4(Wave &w, const Inst &i) { dotFields<I, 4, I>(w, i); }
void vDot8U32U4(Wave &w, const Inst &i) { dotFields<U, 4, U>(w, i); }

void vFmaMixF32(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) F sum[kLanes];
  mixLanes(w, i, sum, mask);
  commitRow(w, i, 0, reinterpret_cast<const uint32_t *>(sum), mask);
}
void vFmaMixloF16(Wave &w, const Inst &i) { mixHalf(w, i, false); }
void vFmaMixhiF16(Wave &w, const Inst &i) { mixHalf(w, i, true); }

} // namespace attune::sim
