// v_cvt_scalef32_*: conversions between f32, f16, bf16 and the 4-, 6- and 8-bit floats with a
// power-of-two scale, taken from the exponent field of an f32 operand. Narrowing divides by the
// scale, widening multiplies; each rounds once.
//
//   8-bit pairs are a 16-bit half (source: op_sel[0], destination: op_sel[3]), single 8-bit numbers
//   a byte (source: op_sel[1:0], destination: op_sel[3:2]), fp4 pairs a byte, 32 numbers of 6 bits
//   six registers.
#include "runtime/sim/Lanes.h"
#include "runtime/sim/Stochastic.h"

namespace attune::sim {
namespace {

using F = float;
using U = uint32_t;

/// How a wide element is held: f32 in a register, f16 or bf16 two in one.
struct WideF32 {
  static constexpr bool packed = false;
  static F get(U bits) { return asFloat(bits); }
};
struct WideF16 {
  static constexpr bool packed = true;
  static F get(U bits) { return f16ToF32(uint16_t(bits)); }
  static U put(F x) { return f32ToF16(x); }
};
struct WideBf16 {
  static constexpr bool packed = true;
  static F get(U bits) { return bf16ToF32(uint16_t(bits)); }
  static U put(F x) { return f32ToBf16(x); }
};

/// Element k of a run that starts at `rows`.
template <class Wide> F element(const LaneRow *rows, int k, int l) {
  if constexpr (Wide::packed)
    return Wide::get(rows[k / 2][l] >> (16 * (k & 1)));
  else
    return Wide::get(rows[k][l]);
}

/// x / 2^(e-127); the scale that is NaN makes everything the positive one.
double unscaled(F x, uint8_t e) {
  return e == 0xff ? std::numeric_limits<double>::quiet_NaN()
                   : double(x) * asDouble(uint64_t(1023 + 127 - e) << 52);
}

template <Mini N> U narrow(const Wave &w, F x, F scale) {
  return toMiniScaled<N>(x, scaleOfF32(scale),
                         w.mode >> 23 & 1 ? Overflow::Saturate : Overflow::Special);
}
template <Mini N> U narrowStochastic(const Wave &w, F x, U seed, F scale) {
  return toMiniStochastic<N>(unscaled(x, scaleOfF32(scale)), seed,
                             w.mode >> 23 & 1 ? Overflow::Saturate : Overflow::Special);
}

/// Replaces `bits` (width bits) at bit `shift` of the destination.
void insertBits(Wave &w, const Inst &i, unsigned shift, unsigned width, const U *bits,
                uint64_t mask) {
  const U *old = w.row(i.dst);
  U keep = ~(((width == 32 ? 0 : 1u << width) - 1) << shift);
  alignas(64) LaneRow out;
  for (int l = 0; l < kLanes; ++l)
    out[l] = (old[l] & keep) | bits[l] << shift;
  commitRow(w, i, 0, out, mask);
}

/// Registers of a multi-register source; these operands are VGPRs.
const LaneRow *rowsOf(Wave &w, const Operand &o) {
  return reinterpret_cast<const LaneRow *>(&w.row(o));
}
unsigned halfShift(const Inst &i) { return i.opSel >> 3 & 1 ? 16 : 0; }
unsigned byteShift(const Inst &i) { return 8 * (i.opSel >> 2 & 3); }

/// Two elements to a half (8-bit) or byte (fp4) of the destination. Packed sources hold both in
/// src0.
template <Mini N, class Wide> void packPair(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], bits;
  Source<U> a(w, i, 0, buffer[0], mask), b(w, i, Wide::packed ? 0 : 1, buffer[1], mask);
  Source<F> scale(w, i, Wide::packed ? 1 : 2, buffer[2], mask);
  for (int l = 0; l < kLanes; ++l) {
    F x = Wide::get(a[l]), y = Wide::get(Wide::packed ? a[l] >> 16 : b[l]);
    bits[l] = narrow<N>(w, x, scale[l]) | narrow<N>(w, y, scale[l]) << N.bits();
  }
  if (N.bits() == 4)
    insertBits(w, i, byteShift(i), 8, bits, mask);
  else
    insertBits(w, i, halfShift(i), 16, bits, mask);
}

template <Mini N, class Wide> void packByteStochastic(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], bits;
  Source<U> a(w, i, 0, buffer[0], mask), seed(w, i, 1, buffer[1], mask);
  Source<F> scale(w, i, 2, buffer[2], mask);
  for (int l = 0; l < kLanes; ++l)
    bits[l] = narrowStochastic<N>(w, Wide::get(a[l]), seed[l], scale[l]);
  insertBits(w, i, byteShift(i), 8, bits, mask);
}

/// The second element's random bits are those that v_prng_b32 makes of the first one's.
template <class Wide> void packFp4Stochastic(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], bits;
  constexpr Width width = Wide::packed ? Width::B32 : Width::B64;
  SourceRows a = fetchSource(w, i, 0, width, buffer[0], mask);
  Source<U> seed(w, i, 1, buffer[1], mask);
  Source<F> scale(w, i, 2, buffer[2], mask);
  for (int l = 0; l < kLanes; ++l) {
    F x = Wide::get(a.lo[l]), y = Wide::get(Wide::packed ? a.lo[l] >> 16 : a.hi[l]);
    bits[l] = narrowStochastic<kFp4>(w, x, seed[l], scale[l]) |
              narrowStochastic<kFp4>(w, y, prngB32(seed[l]), scale[l]) << 4;
  }
  insertBits(w, i, byteShift(i), 8, bits, mask);
}

/// Bit position of what op_sel names in a narrow source, and a source without op_sel for the fetch.
template <Mini N> unsigned sourceShift(const Inst &i, bool pair) {
  bool byte = N.bits() == 4 || !pair;
  return byte ? 8 * (i.opSel & 3) : 16 * (i.opSel & 1);
}

template <Mini N, class Wide> void unpackPair(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2], out[2];
  Source<U> a(w, i, 0, buffer[0], mask);
  Source<F> scale(w, i, 1, buffer[1], mask);
  unsigned shift = sourceShift<N>(i, true);
  for (int l = 0; l < kLanes; ++l) {
    U code = a[l] >> shift;
    U all = (1u << N.bits()) - 1;
    uint8_t e = scaleOfF32(scale[l]);
    F x = fromMiniScaled<N>(code & all, e), y = fromMiniScaled<N>(code >> N.bits() & all, e);
    if constexpr (Wide::packed) {
      out[0][l] = Wide::put(x) | Wide::put(y) << 16;
    } else {
      out[0][l] = asBits(x);
      out[1][l] = asBits(y);
    }
  }
  commitRow(w, i, 0, out[0], mask);
  if constexpr (!Wide::packed)
    commitRow(w, i, 1, out[1], mask);
}

template <Mini N, class Wide> void unpackByte(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2], out;
  Source<U> a(w, i, 0, buffer[0], mask);
  Source<F> scale(w, i, 1, buffer[1], mask);
  unsigned shift = sourceShift<N>(i, false);
  for (int l = 0; l < kLanes; ++l) {
    F x = fromMiniScaled<N>(a[l] >> shift & 0xff, scaleOfF32(scale[l]));
    if constexpr (Wide::packed)
      out[l] = Wide::put(x);
    else
      out[l] = asBits(x);
  }
  if constexpr (Wide::packed)
    insertBits(w, i, halfShift(i), 16, out, mask);
  else
    commitRow(w, i, 0, out, mask);
}

/// 32 numbers of 6 bits in six registers, appended in order.
struct SixBits {
  alignas(64) LaneRow rows[6] = {};
  void set(int k, int l, U code) {
    int bit = 6 * k;
    rows[bit / 32][l] |= code << bit % 32;
    if (bit % 32 > 26)
      rows[bit / 32 + 1][l] |= code >> (32 - bit % 32);
  }
  static U get(const LaneRow *rows, int k, int l) {
    int bit = 6 * k;
    U low = rows[bit / 32][l] >> bit % 32;
    return (bit % 32 > 26 ? low | rows[bit / 32 + 1][l] << (32 - bit % 32) : low) & 0x3f;
  }
  void commit(Wave &w, const Inst &i, uint64_t mask) const {
    for (int r = 0; r < 6; ++r)
      commitRow(w, i, r, rows[r], mask);
  }
};

template <Mini N, class Wide, bool Stochastic> void pack32(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2];
  const LaneRow *in = rowsOf(w, i.src[0]);
  Source<U> seed(w, i, 1, buffer[0], mask);
  Source<F> scale(w, i, Stochastic ? 2 : 1, buffer[1], mask);
  SixBits out;
  LaneRow random; // of element k: v_prng_b32 of that of element k - 1
  for (int l = 0; l < kLanes; ++l)
    random[l] = seed[l];
  for (int k = 0; k < 32; ++k)
    for (int l = 0; l < kLanes; ++l) {
      F x = element<Wide>(in, k, l);
      out.set(k, l,
              Stochastic ? narrowStochastic<N>(w, x, random[l], scale[l])
                         : narrow<N>(w, x, scale[l]));
      random[l] = prngB32(random[l]);
    }
  out.commit(w, i, mask);
}

/// Elements of the two sources alternate.
template <Mini N> void pack2x16(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2];
  const LaneRow *a = rowsOf(w, i.src[0]), *b = rowsOf(w, i.src[1]);
  Source<F> scale(w, i, 2, buffer, mask);
  SixBits out;
  for (int k = 0; k < 16; ++k)
    for (int l = 0; l < kLanes; ++l) {
      out.set(2 * k, l, narrow<N>(w, asFloat(a[k][l]), scale[l]));
      out.set(2 * k + 1, l, narrow<N>(w, asFloat(b[k][l]), scale[l]));
    }
  out.commit(w, i, mask);
}

template <Mini N, class Wide> void unpack32(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2], out[32] = {};
  const LaneRow *in = rowsOf(w, i.src[0]);
  Source<F> scale(w, i, 1, buffer, mask);
  for (int k = 0; k < 32; ++k)
    for (int l = 0; l < kLanes; ++l) {
      F x = fromMiniScaled<N>(SixBits::get(in, k, l), scaleOfF32(scale[l]));
      if constexpr (Wide::packed)
        out[k / 2][l] |= Wide::put(x) << (16 * (k & 1));
      else
        out[k][l] = asBits(x);
    }
  for (int r = 0; r < (Wide::packed ? 16 : 32); ++r)
    commitRow(w, i, r, out[r], mask);
}

} // namespace

#define SIM_SCALE(name, body)                                                                      \
  void name(Wave &w, const Inst &i) {                                                              \
    DefaultFloatMode guard(w);                                                                     \
    body(w, i);                                                                                    \
  }
#define SIM_PAIRS(Name, Format)                                                                    \
  SIM_SCALE(vCvtScalef32Pk##Name##F32, (packPair<Format, WideF32>))                                \
  SIM_SCALE(vCvtScalef32Pk##Name##F16, (packPair<Format, WideF16>))                                \
  SIM_SCALE(vCvtScalef32Pk##Name##Bf16, (packPair<Format, WideBf16>))                              \
  SIM_SCALE(vCvtScalef32PkF32##Name, (unpackPair<Format, WideF32>))                                \
  SIM_SCALE(vCvtScalef32PkF16##Name, (unpackPair<Format, WideF16>))                                \
  SIM_SCALE(vCvtScalef32PkBf16##Name, (unpackPair<Format, WideBf16>))
#define SIM_BYTES(Name, Format)                                                                    \
  SIM_SCALE(vCvtScalef32Sr##Name##F32, (packByteStochastic<Format, WideF32>))                      \
  SIM_SCALE(vCvtScalef32Sr##Name##F16, (packByteStochastic<Format, WideF16>))                      \
  SIM_SCALE(vCvtScalef32Sr##Name##Bf16, (packByteStochastic<Format, WideBf16>))                    \
  SIM_SCALE(vCvtScalef32F32##Name, (unpackByte<Format, WideF32>))                                  \
  SIM_SCALE(vCvtScalef32F16##Name, (unpackByte<Format, WideF16>))
#define SIM_SIXES(Name, Format)                                                                    \
  SIM_SCALE(vCvtScalef322xpk16##Name##F32, (pack2x16<Format>))                                     \
  SIM_SCALE(vCvtScalef32SrPk32##Name##F32, (pack32<Format, WideF32, true>))                        \
  SIM_SCALE(vCvtScalef32SrPk32##Name##F16, (pack32<Format, WideF16, true>))                        \
  SIM_SCALE(vCvtScalef32SrPk32##Name##Bf16, (pack32<Format, WideBf16, true>))                      \
  SIM_SCALE(vCvtScalef32Pk32##Name##F16, (pack32<Format, WideF16, false>))                         \
  SIM_SCALE(vCvtScalef32Pk32##Name##Bf16, (pack32<Format, WideBf16, false>))                       \
  SIM_SCALE(vCvtScalef32Pk32F32##Name, (unpack32<Format, WideF32>))                                \
  SIM_SCALE(vCvtScalef32Pk32F16##Name, (unpack32<Format, WideF16>))                                \
  SIM_SCALE(vCvtScalef32Pk32Bf16##Name, (unpack32<Format, WideBf16>))

SIM_PAIRS(Fp8, kFp8)
SIM_PAIRS(Bf8, kBf8)
SIM_PAIRS(Fp4, kFp4)
SIM_BYTES(Fp8, kFp8)
SIM_BYTES(Bf8, kBf8)
SIM_SIXES(Fp6, kFp6)
SIM_SIXES(Bf6, kBf6)
SIM_SCALE(vCvtScalef32SrPkFp4F32, packFp4Stochastic<WideF32>)
SIM_SCALE(vCvtScalef32SrPkFp4F16, packFp4Stochastic<WideF16>)
SIM_SCALE(vCvtScalef32SrPkFp4Bf16, packFp4Stochastic<WideBf16>)
#undef SIM_PAIRS
#undef SIM_BYTES
#undef SIM_SIXES
#undef SIM_SCALE

} // namespace attune::sim
