// Conversions on edge values: saturation, NaN, overflow, the OCP formats with and without scales,
// stochastic rounding.
#include "tests/sim/edges/EdgeRun.h"
#include "tests/sim/edges/MiniFloat.h"
#include <catch2/catch.hpp>

using namespace simtest;

namespace {

using C = const EdgeCase &;
using I128 = __int128;

Num half() { return scaled(fromInt(1), -1); }
Expected integer(const Num &x, I128 low, I128 high, uint64_t mask) {
  return exactly(uint64_t(toInt(x, low, high)) & mask);
}
Expected toI32(const Num &x) { return integer(x, INT32_MIN, INT32_MAX, 0xffffffff); }
Expected toU32(const Num &x) { return integer(x, 0, 0xffffffff, 0xffffffff); }

/// floor(x + 1/2), the sum rounded to f32.
Expected roundHalfUp(C c) {
  Num sum = decode(kF32Format, encode(kF32Format, add(c.f32(0), half())));
  return toI32(toIntegral(sum, Rounding::Down));
}
/// Normalised integers: clamped to [-1, 1] or [0, 1], times the largest one, to nearest even.
uint64_t normalised(const Num &x, bool isSigned) {
  Num one = fromInt(1), low = isSigned ? fromInt(-1) : Num();
  Num y = x.nan ? Num() : compare(x, one) > 0 ? one : compare(x, low) < 0 ? low : x;
  Num whole = toIntegral(mul(y, fromInt(isSigned ? 32767 : 65535)), Rounding::Even);
  return uint64_t(toInt(whole, -32768, 65535)) & 0xffff;
}
uint64_t halfBits(const Num &x, Rounding r) { return encode(kF16Format, x, r); }
Expected pairOf(uint64_t low, uint64_t high, bool any = true) {
  return {.bits = low | high << 16, .any = any};
}
/// To nearest whatever the mode, but it clamps an overflow.
Expected nearestHalves(C c) {
  EdgeCase nearest = c;
  nearest.mode = (c.mode & ~kRound16) | kKeep16;
  return pairOf(nearest.toF16(c.f32(0)).bits, nearest.toF16(c.f32(1)).bits, false);
}
Num raw32(C c, int n) { return decode(kF32Format, c.u(n)); }

/// A byte of the third source replaced by the first one rounded and clamped.
Expected insertByte(C c) {
  unsigned shift = 8 * (c.u(1) % 4);
  uint64_t value = uint64_t(toInt(toIntegral(c.f32(0), Rounding::Even), 0, 255));
  return exactly((c.u(2) & ~(0xffu << shift)) | value << shift);
}

template <const MiniFormat &F> Expected widened(C c) {
  Num x = decodeMini(F, c.u(0) & 0xff);
  return {.bits = encode(kF32Format, x), .any = x.nan};
}
template <const MiniFormat &F> Expected widenedPair(C c) {
  Expected low = widened<F>(c);
  Num high = decodeMini(F, c.u(0) >> 8 & 0xff);
  return {.bits = low.bits | encode(kF32Format, high) << 32, .any = low.any || high.nan};
}

/// Two narrow numbers at bit `at` of the destination, the rest kept.
Expected inserted(C c, const MiniResult *part, int count, int bits, int at) {
  Expected e{.bits = c.old & 0xffffffff};
  for (int k = 0; k < count; ++k) {
    uint64_t mask = ((uint64_t(1) << bits) - 1) << (at + bits * k);
    e.bits = (e.bits & ~mask) | uint64_t(part[k].code) << (at + bits * k);
    e.skip = e.skip || part[k].undocumented;
  }
  return e;
}
bool saturates(C c) { return c.mode & kFp16Overflow; }

template <const MiniFormat &F, int At> Expected packed8(C c) {
  MiniResult parts[] = {encodeMini(F, c.f32(0), saturates(c)),
                        encodeMini(F, c.f32(1), saturates(c))};
  return inserted(c, parts, 2, 8, At);
}

/// x / 2^s, or NaN for the scale that is one.
Num descaled(const Num &x, uint32_t scale) {
  int e;
  if (!scaleExponent(scale, e))
    return aNan();
  return x.finite() ? scaled(x, -e) : x;
}
enum class From { F32, F16, Bf16 };
Num elementOf(C c, From from, int k) {
  if (from == From::F32)
    return raw32(c, k);
  return decode(from == From::F16 ? kF16Format : kBf16Format, c.u(0) >> (16 * k) & 0xffff);
}
/// Two elements divided by the scale, which is the last source.
template <const MiniFormat &F, From S, int At> Expected packedScaled(C c) {
  MiniResult parts[2];
  for (int k = 0; k < 2; ++k)
    parts[k] =
        encodeMini(F, descaled(elementOf(c, S, k), c.u(S == From::F32 ? 2 : 1)), saturates(c));
  return inserted(c, parts, 2, F.bits(), At);
}

/// Narrow numbers times the scale, which is the second source.
template <const MiniFormat &F> Num rescaled(C c, int at) {
  Num x = decodeMini(F, c.u(0) >> at & ((1u << F.bits()) - 1));
  int e;
  if (!scaleExponent(c.u(1), e))
    return x.nan ? x : aNan();
  return x.finite() ? scaled(x, e) : x;
}
template <const MiniFormat &F, int At> Expected unpackedF32(C c) {
  Num low = rescaled<F>(c, At), high = rescaled<F>(c, At + F.bits());
  return {.bits = encode(kF32Format, low) | encode(kF32Format, high) << 32,
          .any = low.nan || high.nan};
}
/// Whether MODE.fp16_ovfl reaches these is not documented.
template <const Format &To> bool overflowing(C c, const Num &x) {
  return saturates(c) && x.finite() && (encode(To, x) & ~To.sign()) == To.infinity();
}
template <const MiniFormat &F, const Format &To, int At> Expected unpackedHalves(C c) {
  // Through f32, as its result would be without the narrowing.
  auto narrow = [](const Num &x) { return encode(To, x); };
  Num low = rescaled<F>(c, At), high = rescaled<F>(c, At + F.bits());
  Expected e = pairOf(narrow(low), narrow(high), low.nan || high.nan);
  e.skip = overflowing<To>(c, low) || overflowing<To>(c, high);
  return e;
}
template <const MiniFormat &F, int At> Expected unpackedOne(C c) {
  Num x = rescaled<F>(c, At);
  return {.bits = encode(kF32Format, x), .any = x.nan};
}
template <const MiniFormat &F, int At> Expected unpackedHalf(C c) {
  Num x = rescaled<F>(c, At);
  return {.bits = encode(kF16Format, x), .any = x.nan, .skip = overflowing<kF16Format>(c, x)};
}

/// Stochastic rounding: the upper neighbour if fraction + seed / 2^32 reaches 1. How many bits of
/// the seed count differs between instructions, so that close cases may go either way.
MiniResult stochastic(const MiniFormat &f, const Num &x, uint32_t seed, bool saturate) {
  MiniResult nearest = encodeMini(f, x, saturate);
  if (!x.finite() || compare(magnitude(x), decodeMini(f, f.largest())) >= 0) {
    nearest.undocumented |= x.finite() && compare(magnitude(x), decodeMini(f, f.largest())) != 0;
    return nearest;
  }
  Neighbours n = neighbours(f, x);
  double reached = n.fraction + seed * 0x1p-32;
  bool close = n.fraction != 0 && reached > 1 - 0x1p-9 && reached < 1 + 0x1p-9;
  uint32_t code = n.fraction != 0 && reached >= 1 ? n.high : n.low;
  return {(x.neg ? f.sign() : 0) | code, false, close};
}
template <const MiniFormat &F, int At> Expected stochasticByte(C c) {
  MiniResult r = stochastic(F, raw32(c, 0), c.u(1), saturates(c));
  return inserted(c, &r, 1, 8, At);
}
template <const MiniFormat &F, From S, int At> Expected stochasticScaled(C c) {
  MiniResult r = stochastic(F, descaled(elementOf(c, S, 0), c.u(2)), c.u(1), saturates(c));
  return inserted(c, &r, 1, 8, At);
}
/// f16 and bf16 have the shape of a narrow format too.
constexpr MiniFormat kHalf{5, 10, 15, true, true}, kBrain{8, 7, 127, true, true};
template <const MiniFormat &F, int At> Expected stochasticHalf(C c) {
  MiniResult r = stochastic(F, c.f32(0), c.u(1), false);
  r.undocumented |= c.f32(0).nan;
  return inserted(c, &r, 1, 16, At);
}

#define EDGE(op, types, ...) {op, types, [](C c) -> Expected { return __VA_ARGS__; }}

const EdgeRow kNumbers[] = {
    EDGE("v_cvt_f32_i32", "f=u", c.toF32(fromInt(c.i(0)))),
    EDGE("v_cvt_f32_u32", "f=u", c.toF32(fromInt(c.u(0)))),
    EDGE("v_cvt_i32_f32", "u=f", toI32(c.f32(0))),
    EDGE("v_cvt_u32_f32", "u=f", toU32(c.f32(0))),
    {"v_cvt_rpi_i32_f32", "u=f", roundHalfUp},
    EDGE("v_cvt_flr_i32_f32", "u=f", toI32(toIntegral(c.f32(0), Rounding::Down))),
    EDGE("v_cvt_off_f32_i4", "f=x", c.toF32(scaled(fromInt(int(c.u(0) % 16 ^ 8) - 8), -4))),
    EDGE("v_cvt_f32_ubyte0", "f=u", c.toF32(fromInt(c.u(0) & 0xff))),
    EDGE("v_cvt_f32_ubyte1", "f=u", c.toF32(fromInt(c.u(0) >> 8 & 0xff))),
    EDGE("v_cvt_f32_ubyte2", "f=u", c.toF32(fromInt(c.u(0) >> 16 & 0xff))),
    EDGE("v_cvt_f32_ubyte3", "f=u", c.toF32(fromInt(c.u(0) >> 24))),
    EDGE("v_cvt_i32_f64", "u=d", toI32(c.f64(0))),
    EDGE("v_cvt_u32_f64", "u=d", toU32(c.f64(0))),
    EDGE("v_cvt_f64_i32", "d=u", c.toF64(fromInt(c.i(0)))),
    EDGE("v_cvt_f64_u32", "d=u", c.toF64(fromInt(c.u(0)))),
    EDGE("v_cvt_f32_f64", "f=d", c.toF32(c.f64(0))),
    EDGE("v_cvt_f64_f32", "d=f", c.toF64(c.f32(0))),
    EDGE("v_cvt_f16_f32", "h=f", c.toF16(c.f32(0))),
    EDGE("v_cvt_f32_f16", "f=h", c.toF32(c.f16(0))),
    EDGE("v_cvt_f16_u16", "h=s", c.toF16(fromInt(c.h(0)))),
    EDGE("v_cvt_f16_i16", "h=s", c.toF16(fromInt(c.s(0)))),
    EDGE("v_cvt_u16_f16", "s=h", integer(c.f16(0), 0, 65535, 0xffff)),
    EDGE("v_cvt_i16_f16", "s=h", integer(c.f16(0), -32768, 32767, 0xffff)),
    EDGE("v_cvt_norm_i16_f16", "s=h", exactly(normalised(c.f16(0), true))),
    EDGE("v_cvt_norm_u16_f16", "s=h", exactly(normalised(c.f16(0), false))),
    EDGE("v_cvt_pknorm_i16_f32", "u=ff",
         pairOf(normalised(c.f32(0), true), normalised(c.f32(1), true))),
    EDGE("v_cvt_pknorm_u16_f32", "u=ff",
         pairOf(normalised(c.f32(0), false), normalised(c.f32(1), false))),
    EDGE("v_cvt_pknorm_i16_f16", "u=hh",
         pairOf(normalised(c.f16(0), true), normalised(c.f16(1), true))),
    EDGE("v_cvt_pknorm_u16_f16", "u=hh",
         pairOf(normalised(c.f16(0), false), normalised(c.f16(1), false))),
    EDGE("v_cvt_pkrtz_f16_f32", "p=ff",
         pairOf(halfBits(c.f32(0), Rounding::Zero), halfBits(c.f32(1), Rounding::Zero), false)),
    {"v_cvt_pk_f16_f32", "p=ff", nearestHalves},
    {"v_cvt_pk_u8_f32", "u=fnu", insertByte},
    {"v_cvt_pk_fp8_f32", "u=ff", packed8<kOcpFp8, 0>},
    {"v_cvt_pk_fp8_f32", "u=ff", packed8<kOcpFp8, 16>, "op_sel:[0,0,1]"},
    {"v_cvt_pk_bf8_f32", "u=ff", packed8<kOcpBf8, 0>},
    {"v_cvt_pk_bf8_f32", "u=ff", packed8<kOcpBf8, 16>, "op_sel:[0,0,1]"},
};

/// Conversions that look at bits: denormals are numbers in every mode.
const EdgeRow kBits[] = {
    EDGE("v_cvt_f32_bf16", "f=b", {.bits = c.source[0] << 16, .any = true}),
    EDGE("v_cvt_pk_bf16_f32", "o=ff",
         pairOf(encode(kBf16Format, raw32(c, 0)), encode(kBf16Format, raw32(c, 1)), false)),
    {"v_cvt_f32_fp8", "f=x", widened<kOcpFp8>},
    {"v_cvt_f32_bf8", "f=x", widened<kOcpBf8>},
    {"v_cvt_pk_f32_fp8", "F=x", widenedPair<kOcpFp8>},
    {"v_cvt_pk_f32_bf8", "F=x", widenedPair<kOcpBf8>},
    {"v_cvt_sr_fp8_f32", "u=fu", stochasticByte<kOcpFp8, 0>},
    {"v_cvt_sr_fp8_f32", "u=fu", stochasticByte<kOcpFp8, 24>, "op_sel:[0,0,1,1]"},
    {"v_cvt_sr_bf8_f32", "u=fu", stochasticByte<kOcpBf8, 0>},
    {"v_cvt_sr_f16_f32", "u=fu", stochasticHalf<kHalf, 0>},
    {"v_cvt_sr_f16_f32", "u=fu", stochasticHalf<kHalf, 16>, "op_sel:[0,0,1]"},
    {"v_cvt_sr_bf16_f32", "u=fu", stochasticHalf<kBrain, 0>},
};

#define EDGE_NARROW8(name, F)                                                                      \
  {"v_cvt_scalef32_pk_" name "_f32", "u=ffz", packedScaled<F, From::F32, 0>},                      \
      {"v_cvt_scalef32_pk_" name "_f16", "u=pz", packedScaled<F, From::F16, 0>},                   \
      {"v_cvt_scalef32_pk_" name "_bf16", "u=oz", packedScaled<F, From::Bf16, 0>},                 \
      {"v_cvt_scalef32_pk_" name "_f16", "u=pz", packedScaled<F, From::F16, 16>,                   \
       "op_sel:[0,0,1]"},                                                                          \
      {"v_cvt_scalef32_pk_f32_" name, "F=xz", unpackedF32<F, 0>},                                  \
      {"v_cvt_scalef32_pk_f32_" name, "F=xz", unpackedF32<F, 16>, "op_sel:[1,0,0]"},               \
      {"v_cvt_scalef32_pk_f16_" name, "p=xz", unpackedHalves<F, kF16Format, 0>},                   \
      {"v_cvt_scalef32_pk_bf16_" name, "o=xz", unpackedHalves<F, kBf16Format, 0>},                 \
      {"v_cvt_scalef32_f32_" name, "f=xz", unpackedOne<F, 0>},                                     \
      {"v_cvt_scalef32_f32_" name, "f=xz", unpackedOne<F, 24>, "op_sel:[1,1,0]"},                  \
      {"v_cvt_scalef32_f16_" name, "h=xz", unpackedHalf<F, 0>, "", true},                          \
      {"v_cvt_scalef32_sr_" name "_f32", "u=fuz", stochasticScaled<F, From::F32, 0>},              \
      {"v_cvt_scalef32_sr_" name "_f16", "u=puz", stochasticScaled<F, From::F16, 0>},              \
      {"v_cvt_scalef32_sr_" name "_bf16", "u=ouz", stochasticScaled<F, From::Bf16, 8>,             \
       "op_sel:[0,0,1,0]"}

const EdgeRow kScaled[] = {
    EDGE_NARROW8("fp8", kOcpFp8),
    EDGE_NARROW8("bf8", kOcpBf8),
    {"v_cvt_scalef32_pk_fp4_f32", "u=ffz", packedScaled<kOcpFp4, From::F32, 0>},
    {"v_cvt_scalef32_pk_fp4_f16", "u=pz", packedScaled<kOcpFp4, From::F16, 8>, "op_sel:[0,0,1,0]"},
    {"v_cvt_scalef32_pk_fp4_bf16", "u=oz", packedScaled<kOcpFp4, From::Bf16, 24>,
     "op_sel:[0,0,1,1]"},
    {"v_cvt_scalef32_pk_f32_fp4", "F=xz", unpackedF32<kOcpFp4, 0>},
    {"v_cvt_scalef32_pk_f32_fp4", "F=xz", unpackedF32<kOcpFp4, 24>, "op_sel:[1,1,0]"},
    {"v_cvt_scalef32_pk_f16_fp4", "p=xz", unpackedHalves<kOcpFp4, kF16Format, 0>},
    {"v_cvt_scalef32_pk_bf16_fp4", "o=xz", unpackedHalves<kOcpFp4, kBf16Format, 8>,
     "op_sel:[1,0,0]"},
};
#undef EDGE
#undef EDGE_NARROW8

const uint32_t kAllModes[] = {kKeep16,
                              kKeep16 | kKeep32,
                              kKeep16 | kKeep32 | 1,
                              kKeep16 | kKeep32 | 2,
                              kKeep16 | kKeep32 | 3,
                              kKeep32 | 4,
                              kKeep16 | 8,
                              kKeepIn16 | 12,
                              kKeepIn32 | kKeepOut16,
                              kKeep16 | kFp16Overflow};
const uint32_t kBitModes[] = {kKeep16 | kKeep32, kKeep16 | 1, kKeep16 | kFp16Overflow};

} // namespace

TEST_CASE("conversions on edge values", "[edges]") {
  runEdges(kNumbers, kAllModes);
  runEdges(kBits, kBitModes);
}

TEST_CASE("scaled conversions on edge values, saturating and not", "[edges]") {
  const uint32_t modes[] = {kKeep16, kKeep16 | kKeep32 | kFp16Overflow | 1};
  runEdges(kScaled, modes);
}
