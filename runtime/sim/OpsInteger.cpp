// Integer and bit instructions on VGPRs.
#include "runtime/sim/Lanes.h"
#include <algorithm>

namespace attune::sim {
namespace {

using U = uint32_t;
using I = int32_t;
using H = uint16_t;
using S = int16_t;
using Q = uint64_t;

constexpr U mulHigh(U a, U b) { return U(uint64_t(a) * b >> 32); }
constexpr I sext24(U x) { return I(x << 8) >> 8; }
constexpr U saturateU32(int64_t x) { return U(std::clamp<int64_t>(x, 0, 0xffffffff)); }
constexpr I saturateI32(int64_t x) { return I(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX)); }
template <class T> constexpr T saturate(int32_t x) {
  return T(std::clamp<int32_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
template <class T> constexpr T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
constexpr U reverseBits(U x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}
constexpr U absoluteDifferences(U a, U b, bool masked = false) {
  U sum = 0;
  for (int k = 0; k < 32; k += 8) {
    I d = I(a >> k & 0xff) - I(b >> k & 0xff);
    if (!masked || (b >> k & 0xff)) // a 0 in b takes its byte out
      sum += U(d < 0 ? -d : d);
  }
  return sum;
}
/// Four such sums, of the dwords that start at bytes 0 to 3 of a, each added to 16 bits of c.
Q fourDifferences(Q a, U b, Q c, bool masked, bool clamp) {
  Q sums = 0;
  for (int k = 0; k < 4; ++k) {
    U sum = absoluteDifferences(U(a >> (8 * k)), b, masked) + U(c >> (16 * k) & 0xffff);
    sums |= Q(clamp ? std::min<U>(sum, 0xffff) : sum & 0xffff) << (16 * k);
  }
  return sums;
}
/// Byte `sel` of the eight bytes {a, b} (b low), or one of v_perm's constants.
constexpr U permByte(U a, U b, U sel) {
  uint64_t both = uint64_t(a) << 32 | b;
  if (sel < 8)
    return U(both >> (8 * sel)) & 0xff;
  if (sel < 12) // signs of bytes 1, 3, 5, 7
    return both >> (16 * (sel - 8) + 15) & 1 ? 0xff : 0;
  return sel == 12 ? 0 : 0xff;
}
/// Any function of three bits, by truth table: bit 4a + 2b + c of `table`.
constexpr U bitop3(U a, U b, U c, U table) {
  U r = 0;
  for (U k = 0; k < 8; ++k)
    if (table >> k & 1)
      r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}

} // namespace

// Sums and products saturate under clamp.
void vAddU32(Wave &w, const Inst &i) {
  if (i.clamp)
    lanes<U, U, U>(w, i, [](U a, U b) { return saturateU32(int64_t(a) + b); });
  else
    lanes<U, U, U>(w, i, [](U a, U b) { return a + b; });
}
void vSubU32(Wave &w, const Inst &i) {
  if (i.clamp)
    lanes<U, U, U>(w, i, [](U a, U b) { return saturateU32(int64_t(a) - b); });
  else
    lanes<U, U, U>(w, i, [](U a, U b) { return a - b; });
}
void vSubrevU32(Wave &w, const Inst &i) {
  if (i.clamp)
    lanes<U, U, U>(w, i, [](U a, U b) { return saturateU32(int64_t(b) - a); });
  else
    lanes<U, U, U>(w, i, [](U a, U b) { return b - a; });
}
void vAddI32(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<I, I, I>(
      w, i, [clamp](I a, I b) { return clamp ? saturateI32(int64_t(a) + b) : I(U(a) + U(b)); });
}
void vSubI32(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<I, I, I>(
      w, i, [clamp](I a, I b) { return clamp ? saturateI32(int64_t(a) - b) : I(U(a) - U(b)); });
}
void vAddU16(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<H, H, H>(w, i, [clamp](H a, H b) { return clamp ? saturate<H>(a + b) : H(a + b); });
}
void vSubU16(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<H, H, H>(w, i, [clamp](H a, H b) { return clamp ? saturate<H>(a - b) : H(a - b); });
}
void vSubrevU16(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<H, H, H>(w, i, [clamp](H a, H b) { return clamp ? saturate<H>(b - a) : H(b - a); });
}
void vAddI16(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<S, S, S>(w, i, [clamp](S a, S b) { return clamp ? saturate<S>(a + b) : S(a + b); });
}
void vSubI16(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<S, S, S>(w, i, [clamp](S a, S b) { return clamp ? saturate<S>(a - b) : S(a - b); });
}

/// A sum or product that fits in 64 bits: cut to the result, or saturated under clamp.
template <class R, class... S, class Fn> void clampedLanes(Wave &w, const Inst &i, Fn exact) {
  if (i.clamp)
    lanes<R, S...>(w, i, [exact](S... x) {
      return R(std::clamp<int64_t>(exact(x...), std::numeric_limits<R>::min(),
                                   std::numeric_limits<R>::max()));
    });
  else
    lanes<R, S...>(w, i, [exact](S... x) { return R(exact(x...)); });
}
#define SIM_CLAMPED2(name, R, A, B, expression)                                                    \
  void name(Wave &w, const Inst &i) {                                                              \
    clampedLanes<R, A, B>(w, i, [](A a, B b) { return expression; });                              \
  }
#define SIM_CLAMPED3(name, R, A, B, C, expression)                                                 \
  void name(Wave &w, const Inst &i) {                                                              \
    clampedLanes<R, A, B, C>(w, i, [](A a, B b, C c) { return expression; });                      \
  }
SIM_CLAMPED2(vMulI32I24, I, U, U, int64_t(sext24(a)) * sext24(b))
SIM_CLAMPED2(vMulU32U24, U, U, U, int64_t(a & 0xffffff) * (b & 0xffffff))
SIM_CLAMPED3(vMadI32I24, I, U, U, I, int64_t(sext24(a)) * sext24(b) + c)
SIM_CLAMPED3(vMadU32U24, U, U, U, U, int64_t(a & 0xffffff) * (b & 0xffffff) + c)
SIM_CLAMPED3(vMadU32U16, U, H, H, U, int64_t(a) * b + c)
SIM_CLAMPED3(vMadI32I16, I, S, S, I, int64_t(a) * b + c)
SIM_CLAMPED3(vMadU16, H, H, H, H, int64_t(a) * b + c)
SIM_CLAMPED3(vMadI16, S, S, S, S, int64_t(a) * b + c)
SIM_CLAMPED3(vSadU8, U, U, U, U, int64_t(absoluteDifferences(a, b)) + c)
SIM_CLAMPED3(vSadHiU8, U, U, U, U, (int64_t(absoluteDifferences(a, b)) << 16) + c)
SIM_CLAMPED3(vMsadU8, U, U, U, U, int64_t(absoluteDifferences(a, b, true)) + c)
SIM_CLAMPED3(vSadU16, U, U, U, U,
             int64_t(std::abs(I(a & 0xffff) - I(b & 0xffff))) + std::abs(I(a >> 16) - I(b >> 16)) +
                 c)
SIM_CLAMPED3(vSadU32, U, U, U, U, int64_t(a > b ? a - b : b - a) + c)
void vQsadPkU16U8(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<Q, Q, U, Q>(w, i,
                    [clamp](Q a, U b, Q c) { return fourDifferences(a, b, c, false, clamp); });
}
void vMqsadPkU16U8(Wave &w, const Inst &i) {
  bool clamp = i.clamp;
  lanes<Q, Q, U, Q>(w, i, [clamp](Q a, U b, Q c) { return fourDifferences(a, b, c, true, clamp); });
}
#undef SIM_CLAMPED2
#undef SIM_CLAMPED3

#define SIM_LANES1(name, D, A, expression)                                                         \
  void name(Wave &w, const Inst &i) {                                                              \
    lanes<D, A>(w, i, [](A a) { return D(expression); });                                          \
  }
#define SIM_LANES2(name, D, A, B, expression)                                                      \
  void name(Wave &w, const Inst &i) {                                                              \
    lanes<D, A, B>(w, i, [](A a, B b) { return D(expression); });                                  \
  }
#define SIM_LANES3(name, D, A, B, C, expression)                                                   \
  void name(Wave &w, const Inst &i) {                                                              \
    lanes<D, A, B, C>(w, i, [](A a, B b, C c) { return D(expression); });                          \
  }

// One source.
SIM_LANES1(vMovB32, U, U, a)
SIM_LANES1(vMovB64, Q, Q, a)
SIM_LANES1(vNotB32, U, U, ~a)
SIM_LANES1(vBfrevB32, U, U, reverseBits(a))
SIM_LANES1(vFfbhU32, U, U, a ? std::countl_zero(a) : -1)
SIM_LANES1(vFfblB32, U, U, a ? std::countr_zero(a) : -1)
SIM_LANES1(vFfbhI32, U, I, a == 0 || a == -1 ? -1 : std::countl_zero(U(a < 0 ? ~a : a)))
SIM_LANES1(vPrngB32, U, U, prngB32(a))
SIM_LANES1(vSatPkU8I16, U, U, U(saturate<uint8_t>(S(a))) | U(saturate<uint8_t>(S(a >> 16))) << 8)

// 32 bits, two sources.
SIM_LANES2(vAndB32, U, U, U, a &b)
SIM_LANES2(vOrB32, U, U, U, a | b)
SIM_LANES2(vXorB32, U, U, U, a ^ b)
SIM_LANES2(vXnorB32, U, U, U, ~(a ^ b))
SIM_LANES2(vLshlrevB32, U, U, U, b << (a & 31))
SIM_LANES2(vLshrrevB32, U, U, U, b >> (a & 31))
SIM_LANES2(vAshrrevI32, I, U, I, b >> (a & 31))
SIM_LANES2(vMinI32, I, I, I, std::min(a, b))
SIM_LANES2(vMaxI32, I, I, I, std::max(a, b))
SIM_LANES2(vMinU32, U, U, U, std::min(a, b))
SIM_LANES2(vMaxU32, U, U, U, std::max(a, b))
SIM_LANES2(vMulLoU32, U, U, U, a *b)
SIM_LANES2(vMulHiU32, U, U, U, mulHigh(a, b))
SIM_LANES2(vMulHiI32, I, I, I, int64_t(a) * b >> 32)
SIM_LANES2(vMulHiI32I24, I, U, U, int64_t(sext24(a)) * sext24(b) >> 32)
SIM_LANES2(vMulHiU32U24, U, U, U, mulHigh(a & 0xffffff, b & 0xffffff))
SIM_LANES2(vBfmB32, U, U, U, ((1u << (a & 31)) - 1) << (b & 31))
SIM_LANES2(vBcntU32B32, U, U, U, U(std::popcount(a)) + b)

// 64 bits.
SIM_LANES2(vLshlrevB64, Q, U, Q, b << (a & 63))
SIM_LANES2(vLshrrevB64, Q, U, Q, b >> (a & 63))
SIM_LANES2(vAshrrevI64, int64_t, U, int64_t, b >> (a & 63))
SIM_LANES3(vLshlAddU64, Q, Q, U, Q, (a << (b & 7)) + c)

// 32 bits, three sources.
SIM_LANES3(vBfeU32, U, U, U, U, (a >> (b & 31)) & ((1u << (c & 31)) - 1))
SIM_LANES3(vBfiB32, U, U, U, U, (a & b) | (~a & c))
SIM_LANES3(vLerpU8, U, U, U, U,
           (a >> 1 & 0x7f7f7f7f) + (b >> 1 & 0x7f7f7f7f) + (((a & b) | ((a | b) & c)) & 0x01010101))
SIM_LANES3(vAlignbitB32, U, U, U, U, (uint64_t(a) << 32 | b) >> (c & 31))
SIM_LANES3(vAlignbyteB32, U, U, U, U, (uint64_t(a) << 32 | b) >> (8 * (c & 3)))
SIM_LANES3(vMin3I32, I, I, I, I, std::min(std::min(a, b), c))
SIM_LANES3(vMin3U32, U, U, U, U, std::min(std::min(a, b), c))
SIM_LANES3(vMax3I32, I, I, I, I, std::max(std::max(a, b), c))
SIM_LANES3(vMax3U32, U, U, U, U, std::max(std::max(a, b), c))
SIM_LANES3(vMed3I32, I, I, I, I, median(a, b, c))
SIM_LANES3(vMed3U32, U, U, U, U, median(a, b, c))
SIM_LANES3(vPermB32, U, U, U, U,
           permByte(a, b, c & 0xff) | permByte(a, b, c >> 8 & 0xff) << 8 |
               permByte(a, b, c >> 16 & 0xff) << 16 | permByte(a, b, c >> 24) << 24)
SIM_LANES3(vXadU32, U, U, U, U, (a ^ b) + c)
SIM_LANES3(vLshlAddU32, U, U, U, U, (a << (b & 31)) + c)
SIM_LANES3(vAddLshlU32, U, U, U, U, (a + b) << (c & 31))
SIM_LANES3(vAdd3U32, U, U, U, U, a + b + c)
SIM_LANES3(vLshlOrB32, U, U, U, U, (a << (b & 31)) | c)
SIM_LANES3(vAndOrB32, U, U, U, U, (a & b) | c)
SIM_LANES3(vOr3B32, U, U, U, U, a | b | c)
SIM_LANES3(vAshrPkI8I32, U, I, I, U,
           U(uint8_t(saturate<int8_t>(a >> (c & 31)))) | U(uint8_t(saturate<int8_t>(b >> (c & 31))))
                                                             << 8)
SIM_LANES3(vAshrPkU8I32, U, I, I, U,
           U(saturate<uint8_t>(a >> (c & 31))) | U(saturate<uint8_t>(b >> (c & 31))) << 8)
void vBfeI32(Wave &w, const Inst &i) {
  lanes<I, I, U, U>(w, i, [](I a, U b, U c) {
    U offset = b & 31, width = c & 31;
    if (width == 0)
      return 0;
    if (offset + width < 32)
      return I(U(a) << (32 - offset - width)) >> (32 - width);
    return a >> offset;
  });
}
// v_bitop3 keeps its truth table where other instructions have their modifiers: omod, abs, neg.
void vBitop3B32(Wave &w, const Inst &i) {
  lanes<U, U, U, U>(w, i, [t = i.literal](U a, U b, U c) { return bitop3(a, b, c, t); });
}
void vBitop3B16(Wave &w, const Inst &i) {
  lanes<H, H, H, H>(w, i, [t = i.literal](H a, H b, H c) { return H(bitop3(a, b, c, t)); });
}

// 16 bits.
SIM_LANES2(vMulLoU16, H, H, H, U(a) * b)
SIM_LANES2(vLshlrevB16, H, H, H, U(b) << (a & 15))
SIM_LANES2(vLshrrevB16, H, H, H, b >> (a & 15))
SIM_LANES2(vAshrrevI16, S, H, S, b >> (a & 15))
SIM_LANES2(vMaxU16, H, H, H, std::max(a, b))
SIM_LANES2(vMinU16, H, H, H, std::min(a, b))
SIM_LANES2(vMaxI16, S, S, S, std::max(a, b))
SIM_LANES2(vMinI16, S, S, S, std::min(a, b))
SIM_LANES3(vMin3U16, H, H, H, H, std::min(std::min(a, b), c))
SIM_LANES3(vMax3U16, H, H, H, H, std::max(std::max(a, b), c))
SIM_LANES3(vMed3U16, H, H, H, H, median(a, b, c))
SIM_LANES3(vMin3I16, S, S, S, S, std::min(std::min(a, b), c))
SIM_LANES3(vMax3I16, S, S, S, S, std::max(std::max(a, b), c))
SIM_LANES3(vMed3I16, S, S, S, S, median(a, b, c))
#undef SIM_LANES1
#undef SIM_LANES2
#undef SIM_LANES3

// Sums with carry: a lane mask out and, in the c forms, in.
template <class Fn> static void carryLanes(Wave &w, const Inst &i, bool carryIn, Fn fn) {
  uint64_t mask = w.exec(), in = carryIn ? scalar64(w, i, i.src[2]) : 0, carry = 0;
  alignas(64) LaneRow buffer[2][2], out;
  Source<U> a(w, i, 0, buffer[0], mask), b(w, i, 1, buffer[1], mask);
  for (int l = 0; l < kLanes; ++l) {
    uint64_t r = fn(uint64_t(a[l]), uint64_t(b[l]), in >> l & 1);
    out[l] = i.clamp && r >> 63 ? 0 : i.clamp && r >> 32 ? ~0u : U(r);
    carry |= (r >> 32 & 1) << l;
  }
  commitRow(w, i, 0, out, mask);
  writeScalar64(w, i.sdst, carry & mask);
}
void vAddCoU32(Wave &w, const Inst &i) {
  carryLanes(w, i, false, [](Q a, Q b, Q) { return a + b; });
}
void vSubCoU32(Wave &w, const Inst &i) {
  carryLanes(w, i, false, [](Q a, Q b, Q) { return a - b; });
}
void vSubrevCoU32(Wave &w, const Inst &i) {
  carryLanes(w, i, false, [](Q a, Q b, Q) { return b - a; });
}
void vAddcCoU32(Wave &w, const Inst &i) {
  carryLanes(w, i, true, [](Q a, Q b, Q c) { return a + b + c; });
}
void vSubbCoU32(Wave &w, const Inst &i) {
  carryLanes(w, i, true, [](Q a, Q b, Q c) { return a - b - c; });
}
void vSubbrevCoU32(Wave &w, const Inst &i) {
  carryLanes(w, i, true, [](Q a, Q b, Q c) { return b - a - c; });
}

/// 32 x 32 + 64 bits; the mask is bit 64 of the exact sum: the carry, or for i64 the sign.
template <class T, class Wide> static void madLanes(Wave &w, const Inst &i) {
  uint64_t mask = w.exec(), carry = 0;
  alignas(64) LaneRow buffer[3][2], out[2];
  Source<T> a(w, i, 0, buffer[0], mask), b(w, i, 1, buffer[1], mask);
  Source<Wide> c(w, i, 2, buffer[2], mask);
  for (int l = 0; l < kLanes; ++l) {
    __int128 sum = (__int128)(Wide(a[l]) * Wide(b[l])) + c[l];
    put<uint64_t>(uint64_t(sum), out[0], out[1], l);
    carry |= uint64_t(sum >> 64 & 1) << l;
  }
  commit<uint64_t>(w, i, out, mask);
  writeScalar64(w, i.sdst, carry & mask);
}
void vMadU64U32(Wave &w, const Inst &i) { madLanes<uint32_t, uint64_t>(w, i); }
void vMadI64I32(Wave &w, const Inst &i) { madLanes<int32_t, int64_t>(w, i); }

} // namespace attune::sim
