// Conversions between number formats. The scaled conversions (v_cvt_scalef32_*) are in
// OpsScale.cpp.
#include "runtime/sim/Lanes.h"
#include "runtime/sim/Stochastic.h"
#include <algorithm>

namespace attune::sim {
namespace {

using F = float;
using D = double;
using U = uint32_t;
using I = int32_t;

Round round32(const Wave &w) { return Round(w.mode & 3); }
Overflow overflow(const Wave &w) {
  return w.mode >> 23 & 1 ? Overflow::Saturate : Overflow::Special;
}

/// Flushes a denormal f32 input; conversions by bit arithmetic do not see the host's mode, and
/// those by way of double only as far as the compiler does not take the short way.
struct FlushInput {
  bool on;
  explicit FlushInput(const Wave &w) : on(!(w.mode >> 4 & 1)) {}
  ATTUNE_SIM_INLINE F operator()(F x) const { return flushDenormalIf(x, on); }
};

/// Two 8-bit floats into the half of the destination that op_sel[3] names; the other half stays.
template <class Fn> void packPair8(Wave &w, const Inst &i, Fn fn) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], out;
  Source<F> a(w, i, 0, buffer[0], mask), b(w, i, 1, buffer[1], mask);
  const uint32_t *old = w.row(i.dst);
  bool high = i.opSel >> 3 & 1;
  for (int l = 0; l < kLanes; ++l) {
    U pair = fn(a[l]) | U(fn(b[l])) << 8;
    out[l] = high ? (old[l] & 0xffff) | pair << 16 : (old[l] & 0xffff0000) | pair;
  }
  commitRow(w, i, 0, out, mask);
}

/// One 8-bit float, rounded by the random bits of src1, into byte op_sel[3:2].
template <Mini Format> void stochasticByte(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[3][2], out;
  Source<F> a(w, i, 0, buffer[0], mask);
  Source<U> seed(w, i, 1, buffer[1], mask);
  const uint32_t *old = w.row(i.dst);
  unsigned shift = 8 * (i.opSel >> 2 & 3);
  FlushInput flush(w);
  for (int l = 0; l < kLanes; ++l) {
    U byte = toMiniStochastic<Format>(flush(a[l]), seed[l], overflow(w));
    out[l] = (old[l] & ~(0xffu << shift)) | byte << shift;
  }
  commitRow(w, i, 0, out, mask);
}

template <Mini Format> void stochasticHalf(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2], out;
  Source<F> a(w, i, 0, buffer[0], mask);
  Source<U> seed(w, i, 1, buffer[1], mask);
  const uint32_t *old = w.row(i.dst);
  bool high = i.opSel >> 3 & 1;
  FlushInput flush(w);
  for (int l = 0; l < kLanes; ++l) {
    U half = toMiniStochastic<Format>(flush(a[l]), seed[l], overflow(w));
    out[l] = high ? (old[l] & 0xffff) | half << 16 : (old[l] & 0xffff0000) | half;
  }
  commitRow(w, i, 0, out, mask);
}

/// The two low bytes of src0; SDWA, the only form with a select, has moved them there.
template <class Fn> void widenPair8(Wave &w, const Inst &i, Fn fn) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2], out[2];
  SourceRows src = fetchSource(w, i, 0, Width::B32, buffer, mask);
  for (int l = 0; l < kLanes; ++l) {
    out[0][l] = asBits(fn(uint8_t(src.lo[l])));
    out[1][l] = asBits(fn(uint8_t(src.lo[l] >> 8)));
  }
  commitRow(w, i, 0, out[0], mask);
  commitRow(w, i, 1, out[1], mask);
}
template <class Fn> void widenByte(Wave &w, const Inst &i, Fn fn) {
  lanes<F, U>(w, i, [fn](U x) { return fn(uint8_t(x)); });
}

/// D(x), from a signed conversion: compilers make an unsigned one of differences, whose zero is -0
/// when rounding down.
ATTUNE_SIM_INLINE D fromUnsigned(U x) { return D(I(x)) + (I(x) < 0 ? 0x1p32 : 0.0); }

template <int Byte> void ubyte(Wave &w, const Inst &i) {
  lanes<F, U>(w, i, [](U x) { return F(x >> (8 * Byte) & 0xff); });
}

} // namespace

// Integers and f32, f64.
void vCvtF32I32(Wave &w, const Inst &i) {
  lanes<F, I>(w, i, [](I x) { return F(x); });
}
void vCvtF32U32(Wave &w, const Inst &i) {
  lanes<F, U>(w, i, [](U x) { return F(fromUnsigned(x)); });
}
void vCvtU32F32(Wave &w, const Inst &i) {
  lanes<U, F>(w, i, [](auto... x) { return cvtU32F32(x...); });
}
void vCvtI32F32(Wave &w, const Inst &i) {
  lanes<I, F>(w, i, [](auto... x) { return cvtI32F32(x...); });
}
void vCvtRpiI32F32(Wave &w, const Inst &i) {
  DefaultFloatMode guard(w); // its sum ignores MODE
  lanes<I, F>(w, i, [](auto... x) { return cvtRpiI32F32(x...); });
}
void vCvtFlrI32F32(Wave &w, const Inst &i) {
  lanes<I, F>(w, i, [](auto... x) { return cvtFlrI32F32(x...); });
}
void vCvtOffF32I4(Wave &w, const Inst &i) { // sixteenths from -0.5 to 0.4375
  lanes<F, U>(w, i, [](U x) { return F(I(x << 28) >> 28) * 0.0625f; });
}
void vCvtF32Ubyte0(Wave &w, const Inst &i) { ubyte<0>(w, i); }
void vCvtF32Ubyte1(Wave &w, const Inst &i) { ubyte<1>(w, i); }
void vCvtF32Ubyte2(Wave &w, const Inst &i) { ubyte<2>(w, i); }
void vCvtF32Ubyte3(Wave &w, const Inst &i) { ubyte<3>(w, i); }
void vCvtI32F64(Wave &w, const Inst &i) {
  lanes<I, D>(w, i, [](D x) { return cvtToInt<I>(x); });
}
void vCvtU32F64(Wave &w, const Inst &i) {
  lanes<U, D>(w, i, [](D x) { return cvtToInt<U>(x); });
}
void vCvtF64I32(Wave &w, const Inst &i) {
  lanes<D, I>(w, i, [](I x) { return D(x); });
}
void vCvtF64U32(Wave &w, const Inst &i) {
  lanes<D, U>(w, i, [](U x) { return fromUnsigned(x); });
}
void vCvtF32F64(Wave &w, const Inst &i) {
  Round round = round32(w);
  bool in = !(w.mode >> 6 & 1), out = !(w.mode >> 5 & 1);
  DefaultFloatMode guard(w);
  lanes<F, D>(
      w, i, [=](D x) { return flushDenormalIf(cvtF32F64(in ? flushDenormal(x) : x, round), out); });
}
void vCvtF64F32(Wave &w, const Inst &i) {
  FlushInput flush(w);
  DefaultFloatMode guard(w);
  lanes<D, F>(w, i, [flush](F x) { return D(flush(x)); });
}

// f16 and bf16.
void vCvtF16F32(Wave &w, const Inst &i) {
  lanes<Half, F>(w, i, [flush = FlushInput(w)](F x) { return flush(x); });
}
void vCvtF32F16(Wave &w, const Inst &i) {
  lanes<F, Half>(w, i, [](F x) { return x; });
}
void vCvtF32Bf16(Wave &w, const Inst &i) {
  lanes<F, uint16_t>(w, i, [](uint16_t x) { return bf16ToF32(x); });
}
void vCvtF16U16(Wave &w, const Inst &i) {
  lanes<Half, uint16_t>(w, i, [](uint16_t x) { return F(x); });
}
void vCvtF16I16(Wave &w, const Inst &i) {
  lanes<Half, int16_t>(w, i, [](int16_t x) { return F(x); });
}
void vCvtU16F16(Wave &w, const Inst &i) {
  lanes<uint16_t, Half>(w, i, [](F x) { return cvtToInt<uint16_t>(x); });
}
void vCvtI16F16(Wave &w, const Inst &i) {
  lanes<int16_t, Half>(w, i, [](F x) { return cvtToInt<int16_t>(x); });
}
void vCvtNormI16F16(Wave &w, const Inst &i) {
  lanes<int16_t, Half>(w, i, [](auto... x) { return cvtNormI16F32(x...); });
}
void vCvtNormU16F16(Wave &w, const Inst &i) {
  lanes<uint16_t, Half>(w, i, [](auto... x) { return cvtNormU16F32(x...); });
}
void vCvtPkBf16F32(Wave &w, const Inst &i) {
  lanes<U, F, F>(w, i, [](auto... x) { return cvtPkBf16F32(x...); });
}
void vCvtPkrtzF16F32(Wave &w, const Inst &i) {
  lanes<U, F, F>(w, i, [](auto... x) { return cvtPkrtzF16F32(x...); });
}
void vCvtPkF16F32(Wave &w, const Inst &i) {
  lanes<U, F, F>(w, i, [o = overflow(w)](F a, F b) {
    return U(f32ToF16(a, Round::NearestEven, o)) | U(f32ToF16(b, Round::NearestEven, o)) << 16;
  });
}
void vPackB32F16(Wave &w, const Inst &i) {
  lanes<U, uint16_t, uint16_t>(w, i, [](uint16_t a, uint16_t b) { return a | U(b) << 16; });
}
void vCvtSrF16F32(Wave &w, const Inst &i) { stochasticHalf<kF16>(w, i); }
void vCvtSrBf16F32(Wave &w, const Inst &i) { stochasticHalf<kBf16>(w, i); }

// fp8 and bf8.
void vCvtF32Fp8(Wave &w, const Inst &i) {
  widenByte(w, i, [](uint8_t x) { return fp8ToF32(x); });
}
void vCvtF32Bf8(Wave &w, const Inst &i) {
  widenByte(w, i, [](uint8_t x) { return bf8ToF32(x); });
}
void vCvtPkF32Fp8(Wave &w, const Inst &i) {
  widenPair8(w, i, [](uint8_t x) { return fp8ToF32(x); });
}
void vCvtPkF32Bf8(Wave &w, const Inst &i) {
  widenPair8(w, i, [](uint8_t x) { return bf8ToF32(x); });
}
void vCvtPkFp8F32(Wave &w, const Inst &i) {
  packPair8(w, i, [o = overflow(w)](F x) { return f32ToFp8(x, o); });
}
void vCvtPkBf8F32(Wave &w, const Inst &i) {
  packPair8(w, i, [o = overflow(w)](F x) { return f32ToBf8(x, o); });
}
void vCvtSrFp8F32(Wave &w, const Inst &i) { stochasticByte<kFp8>(w, i); }
void vCvtSrBf8F32(Wave &w, const Inst &i) { stochasticByte<kBf8>(w, i); }

// Integers packed from wider numbers.
void vCvtPkU8F32(Wave &w, const Inst &i) {
  lanes<U, F, U, U>(w, i, [](auto... x) { return cvtPkU8F32(x...); });
}
void vCvtPkU16U32(Wave &w, const Inst &i) {
  lanes<U, U, U>(w, i, [](U a, U b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; });
}
void vCvtPkI16I32(Wave &w, const Inst &i) {
  lanes<U, I, I>(w, i, [](I a, I b) {
    return U(std::clamp(a, -32768, 32767) & 0xffff) | U(std::clamp(b, -32768, 32767)) << 16;
  });
}
void vCvtPknormI16F32(Wave &w, const Inst &i) {
  lanes<U, F, F>(w, i, [](F a, F b) {
    return U(uint16_t(cvtNormI16F32(a))) | U(uint16_t(cvtNormI16F32(b))) << 16;
  });
}
void vCvtPknormU16F32(Wave &w, const Inst &i) {
  lanes<U, F, F>(w, i, [](F a, F b) { return U(cvtNormU16F32(a)) | U(cvtNormU16F32(b)) << 16; });
}
void vCvtPknormI16F16(Wave &w, const Inst &i) {
  lanes<U, Half, Half>(w, i, [](F a, F b) {
    return U(uint16_t(cvtNormI16F32(a))) | U(uint16_t(cvtNormI16F32(b))) << 16;
  });
}
void vCvtPknormU16F16(Wave &w, const Inst &i) {
  lanes<U, Half, Half>(w, i,
                       [](F a, F b) { return U(cvtNormU16F32(a)) | U(cvtNormU16F32(b)) << 16; });
}

} // namespace attune::sim
