// The shape of nearly every vector handler: for each lane, destination = f(sources).
//
//   void vAddF32(Wave &w, const Inst &i) {
//     lanes<float, float, float>(w, i, [](float a, float b) { return a + b; });
//   }
//
// The first type is the result's, the others are the sources'. A type says how registers become
// values: float, double and the integers are bits; Half is an f16 that the lambda sees as float,
// and its result is rounded once to f16.
//
// There is one loop: into the destination row if all lanes are active and nothing is done to the
// result, else into a buffer that modifiers and EXEC are applied to afterwards. Lanes are
// independent and a row overlaps another wholly or not at all, so the loop is marked safe to
// vectorise.
#pragma once
#include "runtime/sim/Numerics.h"
#include "runtime/sim/Ops.h"
#include <bit>
#include <tuple>
#include <utility>

namespace attune::sim {

struct Half {};           ///< f16 in the low 16 bits
struct SignallingHalf {}; ///< the same; signalling NaNs stay so

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, SignallingHalf>;

/// A half as the lambda sees it.
template <class T> ATTUNE_SIM_INLINE float halfValue(uint16_t bits) {
  float x = f16ToF32(bits);
  bool signalling =
      std::is_same_v<T, SignallingHalf> && (bits & 0x7fff) > 0x7c00 && !(bits & 0x200);
  return signalling ? asFloat(asBits(x) & ~0x00400000u) : x;
}

template <class T> struct LaneType {
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr Width width = std::is_same_v<T, double> ? Width::F64
                                 : wide                    ? Width::B64
                                 : sizeof(T) == 2          ? Width::B16
                                                           : Width::B32;
  using Value = T;
};
template <> struct LaneType<Half> {
  static constexpr bool wide = false;
  static constexpr Width width = Width::B16;
  using Value = float;
};
template <> struct LaneType<SignallingHalf> : LaneType<Half> {};

inline void flushHalves(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < kLanes; ++l)
    out[l] = flushDenormalF16(uint16_t(in[l]));
}

template <class T> struct Source {
  SourceRows rows;
  Source(Wave &w, const Inst &i, int n, LaneRow *buffer, uint64_t &mask) {
    const Operand &o = i.src[n];
    if (inVgprs(o) && !(i.flags & SourceModified))
      rows = {w.row(o), LaneType<T>::wide ? w.row(o, 1) : nullptr};
    else
      rows = fetchSource(w, i, n, LaneType<T>::width, buffer, mask);
    if constexpr (kIsHalf<T>)
      if (!(w.mode >> 6 & 1)) [[unlikely]] {
        flushHalves(rows.lo, buffer[0]);
        rows.lo = buffer[0];
      }
  }
  ATTUNE_SIM_INLINE auto operator[](int l) const {
    if constexpr (kIsHalf<T>)
      return halfValue<T>(uint16_t(rows.lo[l]));
    else if constexpr (sizeof(T) == 8)
      return std::bit_cast<T>(rows.lo[l] | uint64_t(rows.hi[l]) << 32);
    else if constexpr (sizeof(T) == 4)
      return std::bit_cast<T>(rows.lo[l]);
    else
      return T(rows.lo[l]);
  }
};

/// How a number becomes a half: by MODE's rounding and flushing of f16, and with MODE.fp16_ovfl the
/// largest number in place of an overflow.
struct HalfRounding {
  Round direction;
  bool flush;
  Overflow overflow;
  explicit HalfRounding(const Wave &w)
      : direction(Round(w.mode >> 2 & 3)), flush(!(w.mode >> 7 & 1)),
        overflow(w.mode >> 23 & 1 ? Overflow::Saturate : Overflow::Special) {}
  bool usual() const {
    return direction == Round::NearestEven && !flush && overflow == Overflow::Special;
  }
  /// D: Half or SignallingHalf.
  template <class D = Half> ATTUNE_SIM_INLINE uint16_t round(float x) const {
    uint16_t half = f32ToF16(x, direction, overflow);
    half &= std::is_same_v<D, SignallingHalf> && isSignalling(x) ? ~0x200u : ~0u;
    return flush ? flushDenormalF16(half) : half;
  }
};

/// Arithmetic on halves is done in f32, which rounds in the halves' direction where that is not the
/// host's already. (Rounding twice in one direction, or to nearest with as many bits as f32 has, is
/// rounding once.)
struct HalfArithmetic : HostFloatMode {
  explicit HalfArithmetic(const Wave &w)
      : HostFloatMode(w, (w.mode & 3) == (w.mode >> 2 & 3) ? w.mode : DoubleFloatMode::of(w.mode)) {
  }
};

struct PlainArithmetic {
  explicit PlainArithmetic(const Wave &) {}
};
template <class D>
using ArithmeticOf = std::conditional_t<kIsHalf<D>, HalfArithmetic, PlainArithmetic>;

/// Result modifiers of floating-point results. As hardware has it, omod does nothing under
/// MODE.ieee or where denormal results are kept, and leaves no negative zero.
struct ResultMods {
  float scale = 1;
  bool clamp = false, dx10 = false, modified = false;
  /// `narrow`: f32; else MODE's bits of f16 and f64.
  ResultMods(const Wave &w, const Inst &i, bool narrow = true)
      : clamp(i.clamp), dx10(w.mode >> 8 & 1) {
    bool keeps = w.mode >> (narrow ? 5 : 7) & 1, ieee = w.mode >> 9 & 1;
    if (i.omod && !keeps && !ieee)
      scale = i.omod == 1 ? 2.0f : i.omod == 2 ? 4.0f : 0.5f;
    modified = scale != 1 || clamp;
  }
  template <class T> ATTUNE_SIM_INLINE T apply(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (scale != 1) {
        x *= T(scale);
        x = x == T(0) ? T(0) : x;
      }
      return clamp ? clampUnit(x, dx10) : x;
    } else {
      return x;
    }
  }
};

template <class D, class V> ATTUNE_SIM_INLINE void put(V value, uint32_t *lo, uint32_t *hi, int l) {
  if constexpr (kIsHalf<D>) {
    float x = static_cast<float>(value);
    bool signalling = std::is_same_v<D, SignallingHalf> && isSignalling(x);
    lo[l] = f32ToF16(x) & (signalling ? ~0x200u : ~0u);
  } else if constexpr (sizeof(D) == 8) {
    uint64_t bits = std::bit_cast<uint64_t>(static_cast<D>(value));
    lo[l] = uint32_t(bits);
    hi[l] = uint32_t(bits >> 32);
  } else if constexpr (sizeof(D) == 4) {
    lo[l] = std::bit_cast<uint32_t>(static_cast<D>(value));
  } else {
    lo[l] = uint16_t(value);
  }
}

/// Applies omod and clamp to `out` (one or two rows) and writes it as the result of type D. An f16
/// has had them before it was rounded.
template <class D>
[[gnu::noinline]] void commit(Wave &w, const Inst &i, LaneRow *out, uint64_t mask) {
  if constexpr (LaneType<D>::width == Width::B16) {
    commitHalf(w, i, out[0], mask);
  } else {
    ResultMods mods(w, i, std::is_same_v<D, float>);
    if (std::is_floating_point_v<D> && mods.modified)
      for (int l = 0; l < kLanes; ++l) {
        uint64_t bits = out[0][l] | (LaneType<D>::wide ? uint64_t(out[1][l]) << 32 : 0);
        if constexpr (LaneType<D>::wide)
          put<D>(mods.apply(std::bit_cast<D>(bits)), out[0], out[1], l);
        else
          put<D>(mods.apply(std::bit_cast<D>(uint32_t(bits))), out[0], nullptr, l);
      }
    commitRow(w, i, 0, out[0], mask);
    if constexpr (LaneType<D>::wide)
      commitRow(w, i, 1, out[1], mask);
  }
}

template <class D, class Fn, class... Sources>
void computeLanes(Wave &w, const Inst &i, uint64_t mask, Fn fn, const Sources &...src) {
  if constexpr (kIsHalf<D>)
    if (HalfRounding half(w); !half.usual()) [[unlikely]] {
      ResultMods mods(w, i, false);
      alignas(64) LaneRow out;
      for (int l = 0; l < kLanes; ++l)
        out[l] = half.template round<D>(mods.apply(fn(src[l]...)));
      commitHalf(w, i, out, mask);
      return;
    }
  bool direct =
      mask == kAllLanes && !(i.flags & ResultModified) && LaneType<D>::width != Width::B16;
  alignas(64) LaneRow out[2];
  uint32_t *lo = direct ? w.row(i.dst) : out[0];
  uint32_t *hi = !LaneType<D>::wide ? nullptr : direct ? w.row(i.dst, 1) : out[1];
  ResultMods mods(w, i, std::is_same_v<D, float>);
  if (kIsHalf<D> && mods.modified) {
    for (int l = 0; l < kLanes; ++l)
      put<D>(mods.apply(fn(src[l]...)), lo, hi, l);
  } else {
    SIM_LANE_LOOP
    for (int l = 0; l < kLanes; ++l)
      put<D>(fn(src[l]...), lo, hi, l);
  }
  if (!direct)
    commit<D>(w, i, out, mask);
}

template <class D, class... S, class Fn, size_t... K>
void lanesOf(Wave &w, const Inst &i, Fn fn, std::index_sequence<K...>) {
  [[maybe_unused]] ArithmeticOf<D> arithmetic(w);
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[sizeof...(S)][2];
  std::tuple<Source<S>...> src{Source<S>(w, i, int(K), buffer[K], mask)...};
  computeLanes<D>(w, i, mask, fn, std::get<K>(src)...);
}

template <class D, class... S, class Fn> void lanes(Wave &w, const Inst &i, Fn fn) {
  lanesOf<D, S...>(w, i, fn, std::index_sequence_for<S...>());
}

} // namespace attune::sim
