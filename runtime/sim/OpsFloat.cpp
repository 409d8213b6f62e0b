// Arithmetic on f32, f64 and f16. Denormal flushing and rounding of f32 come from the host's mode
// (setHostFloatMode); where hardware fuses, the handler says std::fma, and nothing else is fused
// (-ffp-contract=off).
#include "runtime/sim/Lanes.h"
#include <algorithm>
#include <optional>

namespace attune::sim {
namespace {

using F = float;
using D = double;

ATTUNE_SIM_INLINE uint32_t magnitude(F x) { return asBits(x) & 0x7fffffffu; }
ATTUNE_SIM_INLINE uint64_t magnitude(D x) { return asBits(x) & 0x7fffffffffffffffu; }

/// fn(Extremes, sources...) with the rule that MODE.ieee asks for, or, nearly always, without any:
/// looking for NaNs first costs less than minding them.
template <class R, class... S, class Fn, size_t... K>
void selectLanesOf(Wave &w, const Inst &i, Fn fn, std::index_sequence<K...>) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[sizeof...(S)][2];
  std::tuple<Source<S>...> src{Source<S>(w, i, int(K), buffer[K], mask)...};
  using Bits = decltype((magnitude(std::get<K>(src)[0]) | ...));
  Bits largest = 0; // as bits, all NaNs are above infinity
  SIM_LANE_LOOP
  for (int l = 0; l < kLanes; ++l)
    ((largest = std::max(largest, magnitude(std::get<K>(src)[l]))), ...);
  auto run = [&](auto extremes) {
    computeLanes<R>(w, i, mask, [=](auto... x) { return fn(extremes, x...); }, std::get<K>(src)...);
  };
  if (largest <= (sizeof(Bits) == 8 ? 0x7ff0000000000000u : 0x7f800000u))
    run(Extremes<NanRule::Absent>());
  else if (w.mode >> 9 & 1)
    run(Extremes<NanRule::Ieee>());
  else
    run(Extremes<NanRule::Lose>());
}
template <class R, class... S, class Fn> void selectLanes(Wave &w, const Inst &i, Fn fn) {
  selectLanesOf<R, S...>(w, i, fn, std::index_sequence_for<S...>());
}

/// f32 min/max: hardware flushes what they return, which a comparison does not. Flushing keeps the
/// order of numbers, signed zeros among them, so that it may follow the choice.
template <class... S, class Fn> void selectF32(Wave &w, const Inst &i, Fn fn) {
  bool in = !(w.mode >> 4 & 1), out = !(w.mode >> 5 & 1);
  if (in || out)
    selectLanes<F, S...>(w, i, [fn](auto e, auto... x) { return flushDenormal(fn(e, x...)); });
  else
    selectLanes<F, S...>(w, i, fn);
}

bool flushesIn32(const Wave &w) { return !(w.mode >> 4 & 1); }
bool flushesOut32(const Wave &w) { return !(w.mode >> 5 & 1); }
bool flushesIn16(const Wave &w) { return !(w.mode >> 6 & 1); } // and f64
bool flushesOut16(const Wave &w) { return !(w.mode >> 7 & 1); }

/// A special function that comes as a 64-lane routine. Without `denormals` the host may flush them
/// or not; its direction of rounding is then all that MODE must not change.
template <class Fn> void specialF32(Wave &w, const Inst &i, Fn fn, bool denormals = true) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2], out[2];
  Source<F> src(w, i, 0, buffer, mask);
  bool direct = mask == kAllLanes && !(i.flags & ResultModified);
  {
    std::optional<DefaultFloatMode> guard;
    if (denormals || (w.mode & 3))
      guard.emplace(w);
    fn(reinterpret_cast<const float *>(src.rows.lo),
       reinterpret_cast<float *>(direct ? w.row(i.dst) : out[0]));
  }
  if (!direct)
    commit<F>(w, i, out, mask);
}

/// One that keeps denormals, where MODE does not.
template <class Fn> void flushedF32(Wave &w, const Inst &i, Fn fn) {
  bool flushIn = flushesIn32(w), flushOut = flushesOut32(w);
  specialF32(w, i, [=](const float *in, float *out) {
    for (int l = 0; l < kLanes; ++l)
      out[l] = flushIn ? flushDenormal(in[l]) : in[l];
    fn(out, out);
    for (int l = 0; l < kLanes; ++l)
      out[l] = flushOut ? flushDenormal(out[l]) : out[l];
  });
}

template <class Fn> void specialF16(Wave &w, const Inst &i, Fn fn) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2], out[2];
  Source<Half> src(w, i, 0, buffer, mask);
  {
    DefaultFloatMode guard(w);
    fn(src.rows.lo, out[0]);
  }
  if (flushesOut16(w))
    flushHalves(out[0], out[0]);
  ResultMods mods(w, i, false);
  if (mods.modified)
    for (int l = 0; l < kLanes; ++l)
      out[0][l] = f32ToF16(mods.apply(f16ToF32(uint16_t(out[0][l]))));
  commitHalf(w, i, out[0], mask);
}

/// Rounding to an integer and the like: exact, but what is rounded must see a flushed source.
template <class T, class Fn> void roundLanes(Wave &w, const Inst &i, Fn fn) {
  bool in = sizeof(T) == 8 ? flushesIn16(w) : flushesIn32(w);
  bool out = sizeof(T) == 8 ? flushesOut16(w) : flushesOut32(w);
  lanes<T, T>(w, i, [=](T x) {
    T y = fn(in ? flushDenormal(x) : x);
    return out ? flushDenormal(y) : y;
  });
}

F fmaHalf(F a, F b, F c) { // product and sum of halves are exact in double or far from a tie
  return passNan(roundToOdd(std::fma(D(a), D(b), D(c))), a, b);
}

} // namespace

// f32
void vAddF32(Wave &w, const Inst &i) {
  lanes<F, F, F>(w, i, [](F a, F b) { return addNum(a, b); });
}
void vSubF32(Wave &w, const Inst &i) {
  lanes<F, F, F>(w, i, [](F a, F b) { return subNum(a, b); });
}
void vSubrevF32(Wave &w, const Inst &i) {
  lanes<F, F, F>(w, i, [](F a, F b) { return passNan(b - a, a); });
}
void vMulF32(Wave &w, const Inst &i) {
  lanes<F, F, F>(w, i, [](F a, F b) { return mulNum(a, b); });
}
void vMulLegacyF32(Wave &w, const Inst &i) {
  lanes<F, F, F>(w, i, [](F a, F b) { return a == 0 || b == 0 ? 0.0f : mulNum(a, b); });
}
void vFmaF32(Wave &w, const Inst &i) {
  lanes<F, F, F, F>(w, i, [](F a, F b, F c) { return fmaNum(a, b, c); });
}
void vFmacF32(Wave &w, const Inst &i) { vFmaF32(w, i); }
void vMinF32(Wave &w, const Inst &i) {
  selectF32<F, F>(w, i, [](auto e, F a, F b) { return e.min(a, b); });
}
void vMaxF32(Wave &w, const Inst &i) {
  selectF32<F, F>(w, i, [](auto e, F a, F b) { return e.max(a, b); });
}
void vMin3F32(Wave &w, const Inst &i) {
  selectF32<F, F, F>(w, i, [](auto e, F a, F b, F c) { return e.min(a, b, c); });
}
void vMax3F32(Wave &w, const Inst &i) {
  selectF32<F, F, F>(w, i, [](auto e, F a, F b, F c) { return e.max(a, b, c); });
}
void vMed3F32(Wave &w, const Inst &i) {
  selectF32<F, F, F>(w, i, [](auto e, F a, F b, F c) { return e.med(a, b, c); });
}
void vMinimum3F32(Wave &w, const Inst &i) {
  selectF32<F, F, F>(w, i, [](auto, F a, F b, F c) { return minimum(minimum(a, b), c); });
}
void vMaximum3F32(Wave &w, const Inst &i) {
  selectF32<F, F, F>(w, i, [](auto, F a, F b, F c) { return maximum(maximum(a, b), c); });
}
void vFractF32(Wave &w, const Inst &i) {
  roundLanes<F>(w, i, [](F x) { return fractF32(x); });
}
void vTruncF32(Wave &w, const Inst &i) {
  roundLanes<F>(w, i, [](F x) { return truncNum(x); });
}
void vCeilF32(Wave &w, const Inst &i) {
  roundLanes<F>(w, i, [](F x) { return ceilNum(x); });
}
void vFloorF32(Wave &w, const Inst &i) {
  roundLanes<F>(w, i, [](F x) { return floorNum(x); });
}
void vRndneF32(Wave &w, const Inst &i) {
  roundLanes<F>(w, i, [](F x) { return roundEven(x); });
}
void vFrexpMantF32(Wave &w, const Inst &i) {
  roundLanes<F>(w, i, [](F x) { return frexpMantF32(x); });
}
void vFrexpExpI32F32(Wave &w, const Inst &i) {
  bool flush = flushesIn32(w);
  lanes<int32_t, F>(w, i, [flush](F x) { return frexpExpF32(flushDenormalIf(x, flush)); });
}
void vLdexpF32(Wave &w, const Inst &i) {
  lanes<F, F, int32_t>(w, i, [](F x, int32_t n) { return ldexpF32(x, n); });
}
/// 2^x of a denormal is 1, and a denormal result is flushed in any mode.
void vExpF32(Wave &w, const Inst &i) { specialF32(w, i, exp2F32, false); }
void vLogF32(Wave &w, const Inst &i) { specialF32(w, i, log2F32); }
void vSinF32(Wave &w, const Inst &i) { flushedF32(w, i, sinF32); }
void vCosF32(Wave &w, const Inst &i) { flushedF32(w, i, cosF32); }
void vRcpF32(Wave &w, const Inst &i) {
  flushedF32(w, i, [](const F *in, F *out) { rcpF32(in, out, false); });
}
void vRsqF32(Wave &w, const Inst &i) {
  flushedF32(w, i, [](const F *in, F *out) { rsqF32(in, out, false); });
}
void vSqrtF32(Wave &w, const Inst &i) {
  flushedF32(w, i, [](const F *in, F *out) { sqrtF32(in, out, false); });
}

// Division. v_div_scale writes a lane mask beside its result, v_div_fmas reads VCC.
template <class T, class Fn> static void divScale(Wave &w, const Inst &i, Fn fn) {
  DefaultFloatMode guard(w);
  uint64_t mask = w.exec(), scaled = 0;
  alignas(64) LaneRow buffer[3][2], out[2];
  Source<T> a(w, i, 0, buffer[0], mask), b(w, i, 1, buffer[1], mask), c(w, i, 2, buffer[2], mask);
  for (int l = 0; l < kLanes; ++l) {
    DivScale<T> r = fn(a[l], b[l], c[l]);
    put<T>(r.value, out[0], out[1], l);
    scaled |= uint64_t(r.scaled) << l;
  }
  commit<T>(w, i, out, mask);
  writeScalar64(w, i.sdst, scaled & mask);
}
template <class T, class Fn> static void divFmas(Wave &w, const Inst &i, Fn fn) {
  std::optional<DoubleFloatMode> guard; // the host's mode is that of f32
  if constexpr (std::is_same_v<T, D>)
    guard.emplace(w);
  uint64_t mask = w.exec(), vcc = w.vcc();
  alignas(64) LaneRow buffer[3][2], out[2];
  Source<T> a(w, i, 0, buffer[0], mask), b(w, i, 1, buffer[1], mask), c(w, i, 2, buffer[2], mask);
  for (int l = 0; l < kLanes; ++l)
    put<T>(fn(a[l], b[l], c[l], vcc >> l & 1), out[0], out[1], l);
  commit<T>(w, i, out, mask);
}
void vDivScaleF32(Wave &w, const Inst &i) { divScale<F>(w, i, divScaleF32); }
void vDivScaleF64(Wave &w, const Inst &i) { divScale<D>(w, i, divScaleF64); }
void vDivFmasF32(Wave &w, const Inst &i) { divFmas<F>(w, i, divFmasF32); }
void vDivFmasF64(Wave &w, const Inst &i) { divFmas<D>(w, i, divFmasF64); }
void vDivFixupF32(Wave &w, const Inst &i) {
  lanes<F, F, F, F>(w, i, [](auto... x) { return divFixupF32(x...); });
}

// f64: has rounding and denormal bits of its own in MODE.
#define SIM_F64(name, types, expression)                                                           \
  void name(Wave &w, const Inst &i) {                                                              \
    DoubleFloatMode guard(w);                                                                      \
    lanes<D, types>(w, i, [](auto... x) { return expression(x...); });                             \
  }
#define SIM_COMMA ,
SIM_F64(vAddF64, D SIM_COMMA D, [](D a, D b) { return addNum(a, b); })
SIM_F64(vMulF64, D SIM_COMMA D, [](D a, D b) { return mulNum(a, b); })
SIM_F64(vFmaF64, D SIM_COMMA D SIM_COMMA D, [](D a, D b, D c) { return fmaNum(a, b, c); })
SIM_F64(vDivFixupF64, D SIM_COMMA D SIM_COMMA D, divFixupF64)
SIM_F64(vLdexpF64, D SIM_COMMA int32_t, ldexpF64)
SIM_F64(vRcpF64, D, rcpF64)
SIM_F64(vRsqF64, D, rsqF64)
SIM_F64(vSqrtF64, D, sqrtF64)
#undef SIM_F64
#undef SIM_COMMA
#define SIM_F64_WHOLE(name, expression)                                                            \
  void name(Wave &w, const Inst &i) {                                                              \
    DoubleFloatMode guard(w);                                                                      \
    roundLanes<D>(w, i, [](D x) { return expression(x); });                                        \
  }
SIM_F64_WHOLE(vTruncF64, truncNum)
SIM_F64_WHOLE(vCeilF64, ceilNum)
SIM_F64_WHOLE(vFloorF64, floorNum)
SIM_F64_WHOLE(vRndneF64, roundEven)
SIM_F64_WHOLE(vFrexpMantF64, frexpMantF64)
SIM_F64_WHOLE(vFractF64, fractF64)
#undef SIM_F64_WHOLE
template <class Fn> static void selectF64(Wave &w, const Inst &i, Fn fn) {
  DoubleFloatMode guard(w);
  bool flush = flushesIn16(w) || flushesOut16(w);
  selectLanes<D, D, D>(w, i, [=](auto e, D a, D b) {
    D chosen = fn(e, a, b);
    return flush ? flushDenormal(chosen) : chosen;
  });
}
void vMinF64(Wave &w, const Inst &i) {
  selectF64(w, i, [](auto e, D a, D b) { return e.min(a, b); });
}
void vMaxF64(Wave &w, const Inst &i) {
  selectF64(w, i, [](auto e, D a, D b) { return e.max(a, b); });
}
void vFmacF64(Wave &w, const Inst &i) { vFmaF64(w, i); }
void vFrexpExpI32F64(Wave &w, const Inst &i) {
  DefaultFloatMode guard(w);
  bool flush = flushesIn16(w);
  lanes<int32_t, D>(w, i, [flush](D x) { return frexpExpF64(flush ? flushDenormal(x) : x); });
}

// f16: computed in f32, where sums, products and quotients of halves round only once more. NaNs in
// order by hand: a compiler may exchange operands that it has converted itself.
void vAddF16(Wave &w, const Inst &i) {
  lanes<Half, Half, Half>(w, i, [](F a, F b) { return passNan(a + b, a); });
}
void vSubF16(Wave &w, const Inst &i) {
  lanes<Half, Half, Half>(w, i, [](F a, F b) { return passNan(a - b, a); });
}
void vSubrevF16(Wave &w, const Inst &i) {
  lanes<Half, Half, Half>(w, i, [](F a, F b) { return passNan(b - a, a); });
}
void vMulF16(Wave &w, const Inst &i) {
  lanes<Half, Half, Half>(w, i, [](F a, F b) { return passNan(a * b, a); });
}
void vFmaF16(Wave &w, const Inst &i) {
  lanes<Half, Half, Half, Half>(w, i, [](auto... x) { return fmaHalf(x...); });
}
void vMadF16(Wave &w, const Inst &i) { // unfused: the product is rounded to f16 first
  lanes<Half, Half, Half, Half>(w, i, [half = HalfRounding(w)](F a, F b, F c) {
    F product = f16ToF32(half.round(passNan(a * b, a)));
    return passNan(product + c, product);
  });
}
void vMacF16(Wave &w, const Inst &i) { vMadF16(w, i); }
void vMinF16(Wave &w, const Inst &i) {
  selectLanes<SignallingHalf, SignallingHalf, SignallingHalf>(
      w, i, [](auto e, F a, F b) { return e.min(a, b); });
}
void vMaxF16(Wave &w, const Inst &i) {
  selectLanes<SignallingHalf, SignallingHalf, SignallingHalf>(
      w, i, [](auto e, F a, F b) { return e.max(a, b); });
}
void vMin3F16(Wave &w, const Inst &i) {
  selectLanes<SignallingHalf, SignallingHalf, SignallingHalf, SignallingHalf>(
      w, i, [](auto e, F a, F b, F c) { return e.min(a, b, c); });
}
void vMax3F16(Wave &w, const Inst &i) {
  selectLanes<SignallingHalf, SignallingHalf, SignallingHalf, SignallingHalf>(
      w, i, [](auto e, F a, F b, F c) { return e.max(a, b, c); });
}
void vMed3F16(Wave &w, const Inst &i) {
  selectLanes<SignallingHalf, SignallingHalf, SignallingHalf, SignallingHalf>(
      w, i, [](auto e, F a, F b, F c) { return e.med(a, b, c); });
}
void vDivFixupF16(Wave &w, const Inst &i) {
  lanes<Half, Half, Half, Half>(w, i, [](auto... x) { return divFixupF32(x...); });
}
void vFractF16(Wave &w, const Inst &i) {
  // Just below an integer the fraction would round to 1; it is the largest half below 1 instead.
  lanes<Half, Half>(w, i, [](F x) {
    F fraction = x - std::floor(x);
    return fraction > 0x1.ffcp-1f ? 0x1.ffcp-1f : fraction;
  });
}
void vTruncF16(Wave &w, const Inst &i) {
  lanes<Half, Half>(w, i, [](F x) { return std::trunc(x); });
}
void vCeilF16(Wave &w, const Inst &i) {
  lanes<Half, Half>(w, i, [](F x) { return std::ceil(x); });
}
void vFloorF16(Wave &w, const Inst &i) {
  lanes<Half, Half>(w, i, [](F x) { return std::floor(x); });
}
void vRndneF16(Wave &w, const Inst &i) {
  lanes<Half, Half>(w, i, [](F x) { return roundEven(x); });
}
void vFrexpMantF16(Wave &w, const Inst &i) {
  lanes<Half, Half>(w, i, [](F x) { return frexpMantF32(x); });
}
void vFrexpExpI16F16(Wave &w, const Inst &i) {
  lanes<int16_t, Half>(w, i, [](F x) { return int16_t(frexpExpF32(x)); });
}
void vLdexpF16(Wave &w, const Inst &i) {
  lanes<Half, Half, int16_t>(w, i, [](F x, int16_t n) {
    // Exact in f32 for every exponent that leaves a nonzero half; clamped so that it stays so.
    return x * std::bit_cast<F>(uint32_t(127 + std::clamp<int>(n, -60, 60)) << 23);
  });
}
void vExpF16(Wave &w, const Inst &i) { specialF16(w, i, exp2F16); }
void vLogF16(Wave &w, const Inst &i) { specialF16(w, i, log2F16); }
void vRcpF16(Wave &w, const Inst &i) { specialF16(w, i, rcpF16); }
void vRsqF16(Wave &w, const Inst &i) { specialF16(w, i, rsqF16); }
void vSqrtF16(Wave &w, const Inst &i) { specialF16(w, i, sqrtF16); }
void vSinF16(Wave &w, const Inst &i) { specialF16(w, i, sinF16); }
void vCosF16(Wave &w, const Inst &i) { specialF16(w, i, cosF16); }

} // namespace attune::sim
