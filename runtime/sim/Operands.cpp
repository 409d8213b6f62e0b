#include "runtime/sim/CrossLane.h"
#include "runtime/sim/Numerics.h"
#include "runtime/sim/Ops.h"
#include <algorithm>
#include <immintrin.h>

namespace attune::sim {
namespace {

// Source codes of the 9-bit operand field that are neither registers nor the literal.
enum SourceCode : uint16_t {
  kZero = 128,
  kMinusOne = 193,
  kSharedBase = 235,
  kSharedLimit = 236,
  kPrivateBase = 237,
  kPrivateLimit = 238,
  kHalf = 240,
  kInverse2Pi = 248,
  kVccz = 251,
  kExecz = 252,
  kScc = 253,
};

// 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi), in each float width.
constexpr uint16_t kFloat16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint32_t kFloat32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint64_t kFloat64[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                 0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

bool isFloatCode(uint16_t code) { return code >= kHalf && code <= kInverse2Pi; }

/// Integer constants and special registers, sign-extended.
int64_t integerCode(const Wave &w, uint16_t code) {
  if (code >= kZero && code < kMinusOne)
    return code - kZero;
  if (code >= kMinusOne && code <= 208)
    return kMinusOne - 1 - code;
  switch (code) {
  case kSharedBase:
    return kSharedAperture;
  case kSharedLimit:
    return kSharedAperture | 0xffffffff;
  case kPrivateBase:
    return kPrivateAperture;
  case kPrivateLimit:
    return kPrivateAperture | 0xffffffff;
  case kVccz:
    return w.vcc() == 0;
  case kExecz:
    return w.exec() == 0;
  case kScc:
    return w.scc;
  default:
    return 0; // the decoder accepts no other code
  }
}

void broadcast(uint32_t *row, uint32_t value) { std::fill_n(row, kLanes, value); }

/// A scalar, constant or literal source in all lanes.
void broadcastSource(const Wave &w, const Inst &i, const Operand &o, Width width, LaneRow *buffer) {
  switch (width) {
  case Width::B16:
    broadcast(buffer[0], o.kind == OperandKind::Inline && isFloatCode(o.index)
                             ? kFloat16[o.index - kHalf]
                             : scalar32(w, i, o));
    return;
  case Width::B32:
    broadcast(buffer[0], scalar32(w, i, o));
    return;
  case Width::B64:
  case Width::F64: {
    uint64_t value = width == Width::F64 && o.kind == OperandKind::Literal
                         ? uint64_t(i.literal) << 32 // the literal is the high half of a double
                         : scalar64(w, i, o);
    broadcast(buffer[0], uint32_t(value));
    broadcast(buffer[1], uint32_t(value >> 32));
    return;
  }
  }
}

/// SDWA dword: select, sign extension and the source's own position in `ext`.
const uint32_t *sdwaSource(const Inst &i, int n, const uint32_t *in, uint32_t *out) {
  if (n > 1)
    return in;
  unsigned shift = n == 0 ? 16 : 24;
  auto sel = SdwaSel(i.ext >> shift & 7);
  bool extend = i.ext >> (shift + 3) & 1;
  for (int l = 0; l < kLanes; ++l)
    out[l] = sdwaSelect(in[l], sel, extend);
  return out;
}

/// Applies DPP to one row of src0; `lanes` becomes the lanes that the instruction writes.
const uint32_t *dppSource(const Inst &i, uint64_t exec, const uint32_t *in, uint32_t *out,
                          uint64_t &lanes) {
  unsigned control = i.ext >> 8 & 0x1ff;
  DppTable table = *dppTable(control); // the decoder refuses controls without one
  lanes = applyDpp(table, i.ext >> 19 & 1, i.ext >> 28 & 15, i.ext >> 24 & 15, exec, in, out);
  return out;
}

/// abs and neg of source n as masks: x is (x & keep) ^ flip.
struct Signs {
  uint32_t keep, flip;
  Signs(const Inst &i, int n, Width width) {
    uint32_t sign = width == Width::B16 ? 0x8000u : 0x80000000u;
    keep = i.abs >> n & 1 ? ~sign : ~0u;
    flip = i.neg >> n & 1 ? sign : 0;
  }
};

const uint32_t *signs(const Inst &i, int n, Width width, const uint32_t *in, uint32_t *out) {
  Signs s(i, n, width);
  if (s.keep == ~0u && !s.flip)
    return in;
  SIM_LANE_LOOP
  for (int l = 0; l < kLanes; ++l)
    out[l] = (in[l] & s.keep) ^ s.flip;
  return out;
}

const uint32_t *highHalves(const uint32_t *in, uint32_t *out) {
  for (int l = 0; l < kLanes; ++l)
    out[l] = in[l] >> 16;
  return out;
}

void modifySource(const Wave &w, const Inst &i, int n, Width width, SourceRows &rows,
                  LaneRow *buffer, uint64_t &mask) {
  if (i.flags & Sdwa)
    rows.lo = sdwaSource(i, n, rows.lo, buffer[0]);
  if ((i.flags & Dpp) && n == 0) {
    uint64_t exec = w.exec();
    rows.lo = dppSource(i, exec, rows.lo, buffer[0], mask);
    if (rows.hi)
      rows.hi = dppSource(i, exec, rows.hi, buffer[1], mask);
  }
  if (width == Width::B16 && (i.opSel >> n & 1))
    rows.lo = highHalves(rows.lo, buffer[0]);
  if (rows.hi)
    rows.hi = signs(i, n, width, rows.hi, buffer[1]);
  else
    rows.lo = signs(i, n, width, rows.lo, buffer[0]);
}

void storeMasked(uint32_t *row, const uint32_t *value, uint64_t mask) {
  if (mask == kAllLanes) {
    std::memcpy(row, value, sizeof(LaneRow));
    return;
  }
  for (int l = 0; l < kLanes; ++l)
    row[l] = mask >> l & 1 ? value[l] : row[l];
}

} // namespace

uint32_t scalar32(const Wave &w, const Inst &i, const Operand &o) {
  switch (o.kind) {
  case OperandKind::Sgpr:
    return w.s[o.index];
  case OperandKind::Literal:
    return i.literal;
  case OperandKind::Inline:
    // An aperture register holds its base in the high dword of a pair; its 32-bit form is that
    // dword.
    if (o.index >= kSharedBase && o.index <= kPrivateLimit)
      return uint32_t(integerCode(w, o.index) >> 32);
    return isFloatCode(o.index) ? kFloat32[o.index - kHalf] : uint32_t(integerCode(w, o.index));
  default:
    return 0;
  }
}

uint64_t scalar64(const Wave &w, const Inst &i, const Operand &o) {
  switch (o.kind) {
  case OperandKind::Sgpr:
    return w.pair(o.index);
  case OperandKind::Literal:
    return i.literal;
  case OperandKind::Inline:
    return isFloatCode(o.index) ? kFloat64[o.index - kHalf] : uint64_t(integerCode(w, o.index));
  default:
    return 0;
  }
}

void writeScalar32(Wave &w, const Operand &o, uint32_t value) { w.s[o.index] = value; }
void writeScalar64(Wave &w, const Operand &o, uint64_t value) { w.setPair(o.index, value); }

SourceRows fetchSource(Wave &w, const Inst &i, int n, Width width, LaneRow *buffer,
                       uint64_t &mask) {
  const Operand &o = i.src[n];
  bool wide = width == Width::B64 || width == Width::F64;
  if (width == Width::B32 && !(i.flags & (Sdwa | Dpp))) {
    // Nothing but signs, and not of every source of the instruction.
    bool modified = i.flags & SourceModified;
    if (inVgprs(o))
      return {modified ? signs(i, n, width, w.row(o), buffer[0]) : w.row(o), nullptr};
    uint32_t value = scalar32(w, i, o);
    if (modified) {
      Signs s(i, n, width);
      value = (value & s.keep) ^ s.flip;
    }
    broadcast(buffer[0], value);
    return {buffer[0], nullptr};
  }
  SourceRows rows;
  if (inVgprs(o)) {
    rows = {w.row(o), wide ? w.row(o, 1) : nullptr};
  } else {
    broadcastSource(w, i, o, width, buffer);
    rows = {buffer[0], wide ? buffer[1] : nullptr};
  }
  if (i.flags & SourceModified) [[unlikely]]
    modifySource(w, i, n, width, rows, buffer, mask);
  return rows;
}

void commitRow(Wave &w, const Inst &i, int dword, const uint32_t *value, uint64_t mask) {
  uint32_t *row = w.row(i.dst, dword);
  if (!(i.flags & Sdwa)) {
    storeMasked(row, value, mask);
    return;
  }
  auto sel = SdwaSel(i.ext >> 8 & 7);
  auto unused = SdwaUnused(i.ext >> 11 & 3);
  for (int l = 0; l < kLanes; ++l)
    if (mask >> l & 1)
      row[l] = sdwaMerge(row[l], value[l], sel, unused);
}

void commitHalf(Wave &w, const Inst &i, const uint32_t *value, uint64_t mask) {
  if (!(kOpcodes[i.opcode].flags & HalfDst)) {
    commitRow(w, i, 0, value, mask);
    return;
  }
  bool high = i.opSel >> 3 & 1;
  const uint32_t *row = w.row(i.dst);
  alignas(64) LaneRow merged;
  for (int l = 0; l < kLanes; ++l)
    merged[l] =
        high ? (row[l] & 0xffff) | value[l] << 16 : (row[l] & 0xffff0000) | (value[l] & 0xffff);
  commitRow(w, i, 0, merged, mask);
}

void setHostFloatMode(uint32_t mode) {
  // MXCSR: DAZ bit 6, masks 7..12, rounding 13..14 (nearest, down, up, zero), FTZ bit 15.
  constexpr uint32_t kRound[] = {0, 2, 1, 3}; // hardware: nearest, up, down, zero
  uint32_t csr = 0x1f80 | kRound[mode & 3] << 13;
  if (!(mode >> 4 & 1))
    csr |= 1u << 6; // inputs
  if (!(mode >> 5 & 1))
    csr |= 1u << 15; // results
  _mm_setcsr(csr);
}

void setMode(Wave &w, uint32_t mode) {
  w.mode = mode;
  w.vectorMode = (w.vectorMode & ~Wave::kSkipped) | (mode & kModeVskip ? Wave::kSkipped : 0);
  setHostFloatMode(mode);
}

} // namespace attune::sim
