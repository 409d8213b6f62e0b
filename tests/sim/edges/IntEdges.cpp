// Integer and bit instructions on edge values, with carries, saturation and counts beyond the
// width.
#include "tests/sim/edges/EdgeRun.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace simtest;

namespace {

using C = const EdgeCase &;
using I128 = __int128;

/// A result of so many bits: cut, or saturated to the signed or unsigned range.
Expected cut32(I128 x) { return exactly(uint32_t(x)); }
Expected cut16(I128 x) { return exactly(uint16_t(x)); }
Expected within(I128 x, I128 low, I128 high, uint64_t mask) {
  return exactly(uint64_t(x < low ? low : x > high ? high : x) & mask);
}
Expected satU32(I128 x) { return within(x, 0, 0xffffffff, 0xffffffff); }
Expected satI32(I128 x) { return within(x, INT32_MIN, INT32_MAX, 0xffffffff); }
Expected satU16(I128 x) { return within(x, 0, 0xffff, 0xffff); }
Expected satI16(I128 x) { return within(x, -32768, 32767, 0xffff); }

I128 plus(C c) { return I128(c.u(0)) + c.u(1); }
I128 minus(C c) { return I128(c.u(0)) - c.u(1); }
I128 plusSigned(C c) { return I128(c.i(0)) + c.i(1); }
I128 minusSigned(C c) { return I128(c.i(0)) - c.i(1); }
/// Sum or difference with a carry or borrow out.
Expected withCarry(I128 x) { return {.bits = uint32_t(x), .carry = x < 0 || x > 0xffffffff}; }
Expected withCarryClamped(I128 x) {
  Expected e = satU32(x);
  e.carry = x < 0 || x > 0xffffffff;
  return e;
}

I128 unsigned24(C c, int n) { return c.u(n) % (1u << 24); }
I128 signed24(C c, int n) {
  I128 x = unsigned24(c, n);
  return x >= 1 << 23 ? x - (1 << 24) : x;
}
I128 absoluteDifference(I128 a, I128 b) { return a > b ? a - b : b - a; }
I128 sumOfDifferences(C c, int bits) {
  I128 sum = 0;
  for (int k = 0; k < 32; k += bits)
    sum += absoluteDifference(c.u(0) >> k & ((1u << bits) - 1), c.u(1) >> k & ((1u << bits) - 1));
  return sum;
}

/// Of the four dwords at bytes 0 to 3 of the first source, 16 bits each; where `masked`, bytes that
/// are 0 in the second do not count.
uint64_t fourSums(C c, bool masked, bool clamp) {
  uint64_t all = 0;
  for (int n = 0; n < 4; ++n) {
    I128 sum = c.source[2] >> 16 * n & 0xffff;
    for (int k = 0; k < 4; ++k) {
      I128 other = c.u(1) >> 8 * k & 0xff;
      sum += masked && !other ? 0 : absoluteDifference(c.source[0] >> 8 * (n + k) & 0xff, other);
    }
    all |= uint64_t(clamp && sum > 0xffff ? 0xffff : sum & 0xffff) << 16 * n;
  }
  return all;
}
I128 maskedDifferences(C c) {
  I128 sum = 0;
  for (int k = 0; k < 32; k += 8)
    if (I128 other = c.u(1) >> k & 0xff)
      sum += absoluteDifference(c.u(0) >> k & 0xff, other);
  return sum;
}

uint64_t truthTable(uint64_t a, uint64_t b, uint64_t c, unsigned table, int bits) {
  uint64_t r = 0;
  for (int k = 0; k < bits; ++k) {
    unsigned row = unsigned((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1));
    r |= uint64_t(table >> row & 1) << k;
  }
  return r;
}
template <unsigned Table> Expected bitop32(C c) {
  return exactly(truthTable(c.u(0), c.u(1), c.u(2), Table, 32));
}
template <unsigned Table> Expected bitop16(C c) {
  return exactly(truthTable(c.h(0), c.h(1), c.h(2), Table, 16));
}

/// Bits of the field at `offset`, `width` wide, counted from the low end; nothing beyond bit 31.
Expected field(C c, bool isSigned) {
  unsigned offset = c.u(1) % 32, width = c.u(2) % 32;
  uint32_t r = 0;
  for (unsigned k = 0; k < width; ++k) { // beyond the top: zeros, or copies of the sign
    unsigned bit = offset + k;
    uint32_t value = bit < 32 ? c.u(0) >> bit & 1 : isSigned ? c.u(0) >> 31 : 0;
    r |= value << k;
  }
  if (isSigned && width && r >> (width - 1) & 1)
    for (unsigned k = width; k < 32; ++k)
      r |= 1u << k;
  return exactly(r);
}

Expected leading(C c, bool isSigned) {
  uint32_t x = c.u(0), pattern = isSigned ? x >> 31 : 0;
  for (int k = isSigned ? 1 : 0; k < 32; ++k)
    if ((x >> (31 - k) & 1) != pattern)
      return exactly(uint32_t(k));
  return exactly(0xffffffff);
}
Expected trailing(C c) {
  for (int k = 0; k < 32; ++k)
    if (c.u(0) >> k & 1)
      return exactly(uint32_t(k));
  return exactly(0xffffffff);
}
Expected reversed(C c) {
  uint32_t r = 0;
  for (int k = 0; k < 32; ++k)
    r = r << 1 | (c.u(0) >> k & 1);
  return exactly(r);
}
/// v_mbcnt: bits of the mask at lanes below this one, of lanes 0..31 or 32..63.
Expected lanesBelow(C c, int first) {
  uint32_t count = c.u(1);
  for (int k = 0; k < 32; ++k)
    count += first + k < c.lane && (c.u(0) >> k & 1);
  return exactly(count);
}

template <class T> T ordered(T a, T b, T c, int rank) {
  T x[] = {a, b, c};
  std::sort(x, x + 3);
  return x[rank];
}
template <int Rank> Expected rankI32(C c) { return cut32(ordered(c.i(0), c.i(1), c.i(2), Rank)); }
template <int Rank> Expected rankU32(C c) { return cut32(ordered(c.u(0), c.u(1), c.u(2), Rank)); }
template <int Rank> Expected rankI16(C c) { return cut16(ordered(c.s(0), c.s(1), c.s(2), Rank)); }
template <int Rank> Expected rankU16(C c) { return cut16(ordered(c.h(0), c.h(1), c.h(2), Rank)); }

/// 32 x 32 + 64 bits; the 65th bit of the exact result is the carry.
Expected mad64(I128 x) { return {.bits = uint64_t(x), .carry = bool(x >> 64 & 1)}; }

Expected permute(C c) {
  uint32_t r = 0;
  for (int k = 0; k < 4; ++k) {
    uint32_t select = c.u(2) >> (8 * k) & 0xff;
    auto byteAt = [&](unsigned n) {
      return (n < 4 ? c.u(1) >> (8 * n) : c.u(0) >> (8 * n - 32)) & 0xff;
    };
    uint32_t byte = select < 8     ? byteAt(select)
                    : select < 12  ? (byteAt(2 * select - 15) & 0x80 ? 0xff : 0)
                    : select == 12 ? 0
                                   : 0xff;
    r |= byte << (8 * k);
  }
  return exactly(r);
}
Expected average(C c) {
  uint32_t r = 0;
  for (int k = 0; k < 32; k += 8)
    r |= ((c.u(0) >> k & 0xff) + (c.u(1) >> k & 0xff) + (c.u(2) >> k & 1)) / 2 << k;
  return exactly(r);
}
Expected bytes(I128 low, I128 high, I128 least, I128 most) {
  return exactly(within(low, least, most, 0xff).bits | within(high, least, most, 0xff).bits << 8);
}
uint64_t shiftLeft(uint64_t x, unsigned n) { return x << n; }

#define EDGE(op, types, ...)                                                                       \
  {op, types, [](C c) -> Expected {                                                                \
     (void)c;                                                                                      \
     return __VA_ARGS__;                                                                           \
   }}
#define EDGE_CLAMP(op, types, ...) {op, types, [](C c) -> Expected { return __VA_ARGS__; }, "clamp"}
#define EDGE_KEEP(op, types, suffix, ...)                                                          \
  {op, types, [](C c) -> Expected { return __VA_ARGS__; }, suffix, true}

const EdgeRow kOneSource[] = {
    EDGE("v_mov_b32", "u=u", exactly(c.u(0))),
    EDGE("v_mov_b64", "q=q", exactly(c.source[0])),
    EDGE("v_not_b32", "u=u", exactly(c.u(0) ^ 0xffffffff)),
    EDGE("v_bfrev_b32", "u=u", reversed(c)),
    EDGE("v_ffbh_u32", "u=u", leading(c, false)),
    EDGE("v_ffbh_i32", "u=u", leading(c, true)),
    EDGE("v_ffbl_b32", "u=u", trailing(c)),
    EDGE("v_prng_b32", "u=u", cut32(I128(c.u(0)) * 2 ^ (c.i(0) < 0 ? 197 : 0))),
    EDGE("v_sat_pk_u8_i16", "u=t", bytes(c.s(0), int16_t(c.u(0) >> 16), 0, 255)),
};

const EdgeRow kTwoSources[] = {
    EDGE("v_add_u32", "u=uu", cut32(plus(c))),
    EDGE("v_sub_u32", "u=uu", cut32(minus(c))),
    EDGE("v_subrev_u32", "u=uu", cut32(-minus(c))),
    EDGE_CLAMP("v_add_u32_e64", "u=uu", satU32(plus(c))),
    EDGE_CLAMP("v_sub_u32_e64", "u=uu", satU32(minus(c))),
    EDGE_CLAMP("v_subrev_u32_e64", "u=uu", satU32(-minus(c))),
    EDGE("v_add_i32", "u=uu", cut32(plus(c))),
    EDGE("v_sub_i32", "u=uu", cut32(minus(c))),
    EDGE_CLAMP("v_add_i32", "u=uu", satI32(plusSigned(c))),
    EDGE_CLAMP("v_sub_i32", "u=uu", satI32(minusSigned(c))),
    EDGE("v_add_co_u32_e64", "um=uu", withCarry(plus(c))),
    EDGE("v_sub_co_u32_e64", "um=uu", withCarry(minus(c))),
    EDGE("v_subrev_co_u32_e64", "um=uu", withCarry(-minus(c))),
    EDGE("v_addc_co_u32_e64", "um=uum", withCarry(plus(c) + c.mask)),
    EDGE("v_subb_co_u32_e64", "um=uum", withCarry(minus(c) - c.mask)),
    EDGE("v_subbrev_co_u32_e64", "um=uum", withCarry(-minus(c) - c.mask)),
    EDGE_CLAMP("v_add_co_u32_e64", "um=uu", withCarryClamped(plus(c))),
    EDGE_CLAMP("v_sub_co_u32_e64", "um=uu", withCarryClamped(minus(c))),
    EDGE_CLAMP("v_addc_co_u32_e64", "um=uum", withCarryClamped(plus(c) + c.mask)),
    EDGE_CLAMP("v_subb_co_u32_e64", "um=uum", withCarryClamped(minus(c) - c.mask)),
    EDGE("v_cndmask_b32_e64", "u=uum", exactly(c.mask ? c.u(1) : c.u(0))),
    EDGE("v_and_b32", "u=uu", exactly(c.u(0) & c.u(1))),
    EDGE("v_or_b32", "u=uu", exactly(c.u(0) | c.u(1))),
    EDGE("v_xor_b32", "u=uu", exactly(c.u(0) ^ c.u(1))),
    EDGE("v_xnor_b32", "u=uu", exactly(uint32_t(~(c.u(0) ^ c.u(1))))),
    EDGE("v_lshlrev_b32", "u=nu", cut32(I128(c.u(1)) << c.u(0) % 32)),
    EDGE("v_lshrrev_b32", "u=nu", cut32(c.u(1) >> c.u(0) % 32)),
    EDGE("v_ashrrev_i32", "u=nu", cut32(I128(c.i(1)) >> c.u(0) % 32)),
    EDGE("v_lshlrev_b64", "q=nq", exactly(shiftLeft(c.source[1], c.u(0) % 64))),
    EDGE("v_lshrrev_b64", "q=nq", exactly(c.source[1] >> c.u(0) % 64)),
    EDGE("v_ashrrev_i64", "q=nq", exactly(uint64_t(I128(int64_t(c.source[1])) >> c.u(0) % 64))),
    EDGE("v_min_i32", "u=uu", cut32(std::min(c.i(0), c.i(1)))),
    EDGE("v_max_i32", "u=uu", cut32(std::max(c.i(0), c.i(1)))),
    EDGE("v_min_u32", "u=uu", cut32(std::min(c.u(0), c.u(1)))),
    EDGE("v_max_u32", "u=uu", cut32(std::max(c.u(0), c.u(1)))),
    EDGE("v_mul_lo_u32", "u=uu", cut32(I128(c.u(0)) * c.u(1))),
    EDGE("v_mul_hi_u32", "u=uu", cut32(I128(c.u(0)) * c.u(1) >> 32)),
    EDGE("v_mul_hi_i32", "u=uu", cut32(I128(c.i(0)) * c.i(1) >> 32)),
    EDGE("v_mul_i32_i24", "u=uu", cut32(signed24(c, 0) * signed24(c, 1))),
    EDGE("v_mul_hi_i32_i24", "u=uu", cut32(signed24(c, 0) * signed24(c, 1) >> 32)),
    EDGE("v_mul_u32_u24", "u=uu", cut32(unsigned24(c, 0) * unsigned24(c, 1))),
    EDGE("v_mul_hi_u32_u24", "u=uu", cut32(unsigned24(c, 0) * unsigned24(c, 1) >> 32)),
    EDGE_CLAMP("v_mul_i32_i24_e64", "u=uu", satI32(signed24(c, 0) * signed24(c, 1))),
    EDGE_CLAMP("v_mul_u32_u24_e64", "u=uu", satU32(unsigned24(c, 0) * unsigned24(c, 1))),
    EDGE("v_bfm_b32", "u=nn", cut32(((I128(1) << c.u(0) % 32) - 1) << c.u(1) % 32)),
    EDGE("v_bcnt_u32_b32", "u=uu", cut32(I128(__builtin_popcount(c.u(0))) + c.u(1))),
    EDGE("v_mbcnt_lo_u32_b32", "u=uu", lanesBelow(c, 0)),
    EDGE("v_mbcnt_hi_u32_b32", "u=uu", lanesBelow(c, 32)),
    EDGE("v_cvt_pk_u16_u32", "u=uu",
         exactly(std::min(c.u(0), 0xffffu) | uint64_t(std::min(c.u(1), 0xffffu)) << 16)),
    EDGE("v_cvt_pk_i16_i32", "u=uu", exactly(satI16(c.i(0)).bits | satI16(c.i(1)).bits << 16)),
    EDGE("v_pack_b32_f16", "u=ss", exactly(c.h(0) | uint64_t(c.h(1)) << 16)),
};

const EdgeRow kHalves[] = {
    EDGE("v_add_u16", "s=ss", cut16(c.h(0) + c.h(1))),
    EDGE("v_sub_u16", "s=ss", cut16(c.h(0) - c.h(1))),
    EDGE("v_subrev_u16", "s=ss", cut16(c.h(1) - c.h(0))),
    EDGE_CLAMP("v_add_u16_e64", "s=ss", satU16(c.h(0) + c.h(1))),
    EDGE_CLAMP("v_sub_u16_e64", "s=ss", satU16(c.h(0) - c.h(1))),
    EDGE_KEEP("v_add_i16", "s=ss", "", cut16(c.h(0) + c.h(1))),
    EDGE_KEEP("v_sub_i16", "s=ss", "", cut16(c.h(0) - c.h(1))),
    EDGE_KEEP("v_add_i16", "s=ss", "clamp", satI16(c.s(0) + c.s(1))),
    EDGE_KEEP("v_sub_i16", "s=ss", "clamp", satI16(c.s(0) - c.s(1))),
    EDGE("v_mul_lo_u16", "s=ss", cut16(I128(c.h(0)) * c.h(1))),
    EDGE("v_lshlrev_b16", "s=ns", cut16(I128(c.h(1)) << c.u(0) % 16)),
    EDGE("v_lshrrev_b16", "s=ns", cut16(c.h(1) >> c.u(0) % 16)),
    EDGE("v_ashrrev_i16", "s=ns", cut16(c.s(1) >> c.u(0) % 16)),
    EDGE("v_min_u16", "s=ss", cut16(std::min(c.h(0), c.h(1)))),
    EDGE("v_max_u16", "s=ss", cut16(std::max(c.h(0), c.h(1)))),
    EDGE("v_min_i16", "s=ss", cut16(std::min(c.s(0), c.s(1)))),
    EDGE("v_max_i16", "s=ss", cut16(std::max(c.s(0), c.s(1)))),
    EDGE_KEEP("v_mad_u16", "s=sss", "", cut16(I128(c.h(0)) * c.h(1) + c.h(2))),
    EDGE_KEEP("v_mad_i16", "s=sss", "", cut16(I128(c.s(0)) * c.s(1) + c.s(2))),
    EDGE("v_mad_legacy_u16", "s=sss", cut16(I128(c.h(0)) * c.h(1) + c.h(2))),
    EDGE("v_mad_legacy_i16", "s=sss", cut16(I128(c.s(0)) * c.s(1) + c.s(2))),
    EDGE_KEEP("v_mad_u16", "s=sss", "clamp", satU16(I128(c.h(0)) * c.h(1) + c.h(2))),
    EDGE_KEEP("v_mad_i16", "s=sss", "clamp", satI16(I128(c.s(0)) * c.s(1) + c.s(2))),
    EDGE_CLAMP("v_mad_legacy_u16", "s=sss", satU16(I128(c.h(0)) * c.h(1) + c.h(2))),
    EDGE_CLAMP("v_mad_legacy_i16", "s=sss", satI16(I128(c.s(0)) * c.s(1) + c.s(2))),
    {"v_min3_i16", "s=sss", rankI16<0>, "", true},
    {"v_med3_i16", "s=sss", rankI16<1>, "", true},
    {"v_max3_i16", "s=sss", rankI16<2>, "", true},
    {"v_min3_u16", "s=sss", rankU16<0>, "", true},
    {"v_med3_u16", "s=sss", rankU16<1>, "", true},
    {"v_max3_u16", "s=sss", rankU16<2>, "", true},
    {"v_bitop3_b16", "s=sss", bitop16<0x96>, "bitop3:0x96", true},
    {"v_bitop3_b16", "s=sss", bitop16<0x1d>, "bitop3:0x1d", true},
};

const EdgeRow kThreeSources[] = {
    EDGE("v_add3_u32", "u=uuu", cut32(plus(c) + c.u(2))),
    EDGE("v_lshl_add_u32", "u=unu", cut32((I128(c.u(0)) << c.u(1) % 32) + c.u(2))),
    EDGE("v_add_lshl_u32", "u=uun", cut32(plus(c) << c.u(2) % 32)),
    EDGE("v_lshl_or_b32", "u=unu", cut32((I128(c.u(0)) << c.u(1) % 32) | c.u(2))),
    EDGE("v_lshl_add_u64", "q=qnq", exactly(shiftLeft(c.source[0], c.u(1) % 8) + c.source[2])),
    EDGE("v_and_or_b32", "u=uuu", exactly((c.u(0) & c.u(1)) | c.u(2))),
    EDGE("v_or3_b32", "u=uuu", exactly(c.u(0) | c.u(1) | c.u(2))),
    EDGE("v_xad_u32", "u=uuu", cut32(I128(c.u(0) ^ c.u(1)) + c.u(2))),
    EDGE("v_bfe_u32", "u=unn", field(c, false)),
    EDGE("v_bfe_i32", "u=unn", field(c, true)),
    EDGE("v_bfi_b32", "u=uuu", exactly(truthTable(c.u(0), c.u(1), c.u(2), 0xca, 32))),
    EDGE("v_alignbit_b32", "u=uun", cut32((I128(c.u(0)) << 32 | c.u(1)) >> c.u(2) % 32)),
    EDGE("v_alignbyte_b32", "u=uun", cut32((I128(c.u(0)) << 32 | c.u(1)) >> 8 * (c.u(2) % 4))),
    EDGE("v_perm_b32", "u=uux", permute(c)),
    EDGE("v_lerp_u8", "u=uuu", average(c)),
    EDGE("v_sad_u8", "u=uuu", cut32(sumOfDifferences(c, 8) + c.u(2))),
    EDGE("v_sad_hi_u8", "u=uuu", cut32((sumOfDifferences(c, 8) << 16) + c.u(2))),
    EDGE("v_sad_u16", "u=uuu", cut32(sumOfDifferences(c, 16) + c.u(2))),
    EDGE("v_sad_u32", "u=uuu", cut32(absoluteDifference(c.u(0), c.u(1)) + c.u(2))),
    EDGE("v_msad_u8", "u=uuu", cut32(maskedDifferences(c) + c.u(2))),
    EDGE_CLAMP("v_msad_u8", "u=uuu", satU32(maskedDifferences(c) + c.u(2))),
    EDGE("v_qsad_pk_u16_u8", "q=quq", exactly(fourSums(c, false, false))),
    EDGE("v_mqsad_pk_u16_u8", "q=quq", exactly(fourSums(c, true, false))),
    EDGE_CLAMP("v_qsad_pk_u16_u8", "q=quq", exactly(fourSums(c, false, true))),
    EDGE_CLAMP("v_mqsad_pk_u16_u8", "q=quq", exactly(fourSums(c, true, true))),
    EDGE_CLAMP("v_sad_u8", "u=uuu", satU32(sumOfDifferences(c, 8) + c.u(2))),
    EDGE_CLAMP("v_sad_hi_u8", "u=uuu", satU32((sumOfDifferences(c, 8) << 16) + c.u(2))),
    EDGE_CLAMP("v_sad_u16", "u=uuu", satU32(sumOfDifferences(c, 16) + c.u(2))),
    EDGE_CLAMP("v_sad_u32", "u=uuu", satU32(absoluteDifference(c.u(0), c.u(1)) + c.u(2))),
    EDGE("v_mad_u32_u24", "u=uuu", cut32(unsigned24(c, 0) * unsigned24(c, 1) + c.u(2))),
    EDGE("v_mad_i32_i24", "u=uuu", cut32(signed24(c, 0) * signed24(c, 1) + c.u(2))),
    EDGE_CLAMP("v_mad_u32_u24", "u=uuu", satU32(unsigned24(c, 0) * unsigned24(c, 1) + c.u(2))),
    EDGE_CLAMP("v_mad_i32_i24", "u=uuu", satI32(signed24(c, 0) * signed24(c, 1) + c.i(2))),
    EDGE("v_mad_u32_u16", "u=ssu", cut32(I128(c.h(0)) * c.h(1) + c.u(2))),
    EDGE("v_mad_i32_i16", "u=ssu", cut32(I128(c.s(0)) * c.s(1) + c.u(2))),
    EDGE_CLAMP("v_mad_u32_u16", "u=ssu", satU32(I128(c.h(0)) * c.h(1) + c.u(2))),
    EDGE_CLAMP("v_mad_i32_i16", "u=ssu", satI32(I128(c.s(0)) * c.s(1) + c.i(2))),
    EDGE("v_mad_u64_u32", "qm=uuq", mad64(I128(c.u(0)) * c.u(1) + c.source[2])),
    EDGE("v_mad_i64_i32", "qm=uuq", mad64(I128(c.i(0)) * c.i(1) + int64_t(c.source[2]))),
    EDGE("v_ashr_pk_i8_i32", "u=uun",
         bytes(c.i(0) >> c.u(2) % 32, c.i(1) >> c.u(2) % 32, -128, 127)),
    EDGE("v_ashr_pk_u8_i32", "u=uun", bytes(c.i(0) >> c.u(2) % 32, c.i(1) >> c.u(2) % 32, 0, 255)),
    {"v_min3_i32", "u=uuu", rankI32<0>},
    {"v_med3_i32", "u=uuu", rankI32<1>},
    {"v_max3_i32", "u=uuu", rankI32<2>},
    {"v_min3_u32", "u=uuu", rankU32<0>},
    {"v_med3_u32", "u=uuu", rankU32<1>},
    {"v_max3_u32", "u=uuu", rankU32<2>},
    {"v_bitop3_b32", "u=uuu", bitop32<0x96>, "bitop3:0x96"},
    {"v_bitop3_b32", "u=uuu", bitop32<0x1d>, "bitop3:0x1d"},
    {"v_bitop3_b32", "u=uuu", bitop32<0xff>, "bitop3:0xff"},
    {"v_bitop3_b32", "u=uuu", bitop32<0>, "bitop3:0"},
};
#undef EDGE
#undef EDGE_CLAMP
#undef EDGE_KEEP

const uint32_t kMode[] = {kKeep16};

} // namespace

TEST_CASE("integer instructions on edge values", "[edges]") {
  runEdges(kOneSource, kMode);
  runEdges(kTwoSources, kMode);
  runEdges(kHalves, kMode);
  runEdges(kThreeSources, kMode);
}
