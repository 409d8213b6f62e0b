// Edge tests of vector instructions, one table row each:
//
//   {"v_add_f32", "f=ff",
//    [](const EdgeCase &c) { return c.toF32(add(c.f32(0), c.f32(1), c.round32())); }},
//
// `types` gives a letter to each operand, "results=sources". A source letter names a list of edge
// values; every combination of them is run, 64 at a time, under every MODE of the list that the
// caller gives, and each lane's result is compared with what the function says. The functions state
// the meaning of the instruction in terms of SoftFloat.h and plain integers, never of the
// simulator's code.
//
//   f d h b  f32, f64, f16, bf16
//   u q s    32, 64, 16 bits of integer or pattern
//   p o      pairs of f16, of bf16
//   t        pair of 16-bit integers
//   F        pair of f32, two registers
//   n        shift counts, field widths
//   e        exponents for ldexp
//   x        any bits: bytes of fp8, fields of a dot product
//   z        f32 whose exponent is a scale
//   c        masks of v_cmp_class
//   m        a bit of a lane mask (source: VCC or SGPR pair; second result: carry)
//   E        EXEC, as the second result of v_cmpx
//   +        after the sources: the destination's old value is one more source
#pragma once
#include "tests/sim/edges/SoftFloat.h"
#include <span>
#include <string>
#include <vector>

namespace simtest {

/// MODE bits by name.
enum ModeBits : uint32_t {
  kRound32 = 3,
  kRound16 = 3 << 2,
  kKeepIn32 = 1 << 4,
  kKeepOut32 = 1 << 5,
  kKeepIn16 = 1 << 6,
  kKeepOut16 = 1 << 7,
  kKeep32 = kKeepIn32 | kKeepOut32,
  kKeep16 = kKeepIn16 | kKeepOut16,
  kDx10Clamp = 1 << 8,
  kIeee = 1 << 9,
  kFp16Overflow = 1 << 23,
};

/// What a lane must hold. `any`: a NaN is enough (which one is not documented); `skip`: no promise.
struct Expected {
  uint64_t bits = 0;
  bool any = false, skip = false;
  bool carry = false; ///< the second result
  double ulps = 0;    ///< tolerance, for approximate instructions
};

/// One lane: sources as the instruction sees them, that is after neg, abs and op_sel.
struct EdgeCase {
  uint64_t source[4] = {}; ///< the old destination last, where it is a source
  uint64_t old = 0;        ///< of the destination
  bool mask = false;       ///< this lane's bit of the mask source
  int lane = 0;
  uint32_t mode = 0;

  Rounding round32() const { return Rounding(mode & 3); }
  Rounding round16() const { return Rounding(mode >> 2 & 3); }
  bool ieee() const { return mode & kIeee; }
  uint32_t u(int n) const { return uint32_t(source[n]); }
  int32_t i(int n) const { return int32_t(source[n]); }
  uint16_t h(int n) const { return uint16_t(source[n]); }
  int16_t s(int n) const { return int16_t(source[n]); }

  /// A float source, denormals flushed as MODE says.
  Num f32(int n) const { return input(kF32Format, source[n]); }
  Num f64(int n) const { return input(kF64Format, source[n]); }
  Num f16(int n) const { return input(kF16Format, source[n] & 0xffff); }
  Num input(Format, uint64_t bits) const;
  /// A float result, rounded and flushed as MODE says. Generated NaNs match any NaN.
  Expected toF32(const Num &) const;
  Expected toF64(const Num &) const;
  Expected toF16(const Num &) const;
  Expected output(Format, const Num &, Rounding) const;
  bool flushesIn(Format f) const { return !(mode & (f.bits() == 32 ? kKeepIn32 : kKeepIn16)); }
  bool flushesOut(Format f) const { return !(mode & (f.bits() == 32 ? kKeepOut32 : kKeepOut16)); }
  Rounding round(Format f) const { return f.bits() == 32 ? round32() : round16(); }
};
inline Expected exactly(uint64_t bits) { return {.bits = bits}; }

using Reference = Expected (*)(const EdgeCase &);

struct EdgeRow {
  const char *op, *types;
  Reference reference;
  const char *suffix = ""; ///< after the operands: "clamp", "op_sel:[1,0,0]"
  /// 16-bit results: the upper half is kept (VOP3 forms of 16-bit instructions) or cleared.
  bool keepsHalf = false;
  /// In place of the instruction written from op and types: several lines, sources in v0, v2, v4,
  /// result in v8.
  const char *text = nullptr;
};

/// Neg, abs, clamp and omod applied to a row.
struct Modifiers {
  unsigned neg = 0, abs = 0; ///< bit n: source n
  bool clamp = false;
  int omod = 0; ///< 1: times 2, 2: times 4, 3: by 2
};

/// Runs rows; CHECKs each. With modifiers the operands are written -v0, |v2|, ...
void runEdges(std::span<const EdgeRow>, std::span<const uint32_t> modes, const Modifiers & = {});

/// Every list of edge values by its letter; `few`: a shorter one, for three sources.
std::vector<uint64_t> edgeValues(char letter, bool few = false);
Format formatOf(char letter);
bool isFloatLetter(char letter);

} // namespace simtest
