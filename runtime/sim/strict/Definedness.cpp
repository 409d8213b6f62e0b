// How undefined bits travel. A register that nothing wrote is undefined, so is what is computed
// from it; that is no fault until it decides something: an address, data stored to memory, a
// branch, EXEC. Vector registers are tracked by lane, scalar registers by bit (lane masks are built
// and combined there).
//
// Nearly every instruction has defined sources only; `define` then marks its results. The rest of
// this file is for the others. Where an instruction's effect is not worth modelling, undefinedness
// is dropped rather than invented: a finding must be a fault.
#include "runtime/sim/Buffer.h"
#include "runtime/sim/CrossLane.h"
#include "runtime/sim/LdsOps.h"
#include "runtime/sim/Ops.h"
#include "runtime/sim/strict/Watch.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <optional>

namespace attune::sim::strict {
namespace {

constexpr uint64_t kDword = 0xffffffff;

bool isVector(const Operand &o) {
  return o.kind == OperandKind::Vgpr || o.kind == OperandKind::Agpr;
}
/// Is source n a lane mask?
bool isMask(const Inst &i, unsigned n) {
  std::string_view s = kOpcodes[i.opcode].signature;
  size_t at = s.find('=') + 1 + n;
  return at < s.size() && s[at] == 'm';
}

/// Bits as lanes of a row and back, for the functions that move rows.
void toRow(uint64_t bits, uint32_t *row) {
  for (int l = 0; l < kLanes; ++l)
    row[l] = bits >> l & 1;
}
uint64_t fromRow(const uint32_t *row) {
  uint64_t bits = 0;
  for (int l = 0; l < kLanes; ++l)
    bits |= uint64_t(row[l] & 1) << l;
  return bits;
}

} // namespace

/// All sources are defined: so are the results.
void Watch::define(const Wave &w, const Inst &i, const Facts &f, uint64_t lanes) {
  Scoreboard &s = boards_[w.id];
  if (f.flow == Flow::WriteLane)
    lanes = uint64_t(1) << (scalar32(w, i, i.src[1]) & 63);
  for (unsigned n = 0; n < f.writes; ++n) {
    uint64_t keep = f.write[n].first < kScalarCell ? ~lanes : 0;
    for (unsigned c = f.write[n].first; c < unsigned(f.write[n].first) + f.write[n].count; ++c)
      s.setUndefined(c, s.undefined(c) & keep);
  }
}

/// Lanes in which a source is undefined; `dword` -1: any of its dwords.
uint64_t Watch::lanesOf(const Wave &w, const Inst &i, unsigned source, int dword) {
  const Operand &o = i.src[source];
  if (o.kind == OperandKind::Sgpr) {
    uint64_t bits = bitsOf(w, o);
    if (dword >= 0 && o.dwords == 2)
      bits = bits >> (32 * dword) & kDword;
    return isMask(i, source) ? bits : bits ? kAllLanes : 0;
  }
  if (!isVector(o))
    return 0;
  const Scoreboard &s = boards_[w.id];
  return dword >= 0 ? s.undefined(cellOf(o) + unsigned(dword)) : s.undefined(cellOf(o), o.dwords);
}

/// Undefined bits of a scalar operand of up to 64 bits; of a wider one, of any pair.
uint64_t Watch::bitsOf(const Wave &w, const Operand &o) const {
  uint64_t bits = 0;
  if (o.kind == OperandKind::Sgpr)
    for (unsigned c = 0; c < o.dwords; ++c)
      bits |= (boards_[w.id].undefined(kScalarCell + o.index + c) & kDword) << (c % 2 * 32);
  return bits;
}

void Watch::flow(Wave &w, const Inst &i, const Facts &f, uint64_t lanes) {
  switch (f.flow) {
  case Flow::None:
    return;
  case Flow::Matrix:
    flowMatrix(w, i, f);
    return;
  case Flow::Memory:
    flowMemory(w, i, f, lanes);
    return;
  case Flow::Scalar:
  case Flow::BitAnd:
  case Flow::BitMix:
  case Flow::ScalarPick:
  case Flow::SaveExec:
  case Flow::Branch:
    flowScalar(w, i, f);
    break;
  default:
    flowLanes(w, i, f, lanes);
  }
  Scoreboard &s = boards_[w.id];
  unsigned exec = kScalarCell + reg::kExec;
  for (unsigned c = exec; f.writesExec && c < exec + 2; ++c)
    if (s.undefined(c) & kDword) {
      undefinedUse(w, i, c, 0, "decides which lanes are active");
      s.setUndefined(c, 0);
    }
}

/// Lanes in which a source is a defined 0.
uint64_t Watch::zeroLanes(Wave &w, const Inst &i, unsigned source) {
  const Operand &o = i.src[source];
  if (!isVector(o))
    return !scalar32(w, i, o) && !bitsOf(w, o) ? kAllLanes : 0;
  uint64_t zero = 0;
  for (int l = 0; l < kLanes; ++l)
    zero |= uint64_t(!w.row(o)[l]) << l;
  return zero & ~lanesOf(w, i, source);
}

void Watch::flowLanes(Wave &w, const Inst &i, const Facts &f, uint64_t lanes) {
  Scoreboard &s = boards_[w.id];
  unsigned dst = f.write[0].first;
  auto setScalar = [&](const Span &span, uint64_t bits) {
    for (unsigned c = 0; c < span.count; ++c)
      s.setUndefined(span.first + c, bits >> (c * 32) & kDword);
  };
  uint64_t u = 0, written = lanes;
  unsigned count = f.partial && (kOpcodes[i.opcode].flags & ReadsDst) ? 2 : 4;
  for (unsigned n = 0; n < count; ++n) {
    uint64_t of = lanesOf(w, i, n);
    if ((i.flags & Dpp) && n == 0) {
      uint32_t row[kLanes];
      toRow(of, row);
      written = applyDpp(*dppTable(i.ext >> 8 & 0x1ff), i.ext >> 19 & 1, i.ext >> 28 & 15,
                         i.ext >> 24 & 15, w.exec(), row, row);
      of = fromRow(row);
    }
    u |= of;
  }
  uint32_t a[kLanes], b[kLanes];
  switch (f.flow) {
  case Flow::Halves: {
    bool move = i.run == vPkMovB32;
    uint64_t half[2] = {};
    for (unsigned d = 0; d < 2; ++d)
      for (unsigned n = 0; n < 3; ++n)
        if (!move || n == d)
          half[d] |= lanesOf(
              w, i, n, isVector(i.src[n]) ? ((d && !move ? i.opSelHi : i.opSel) >> n & 1) : -1);
    for (unsigned d = 0; d < 2; ++d)
      s.setUndefined(dst + d, half[d], lanes);
    return;
  }
  case Flow::Dwords: {
    uint64_t lo = lanesOf(w, i, 0, 0), hi = lanesOf(w, i, 0, 1);
    s.setUndefined(dst, lo, lanes);
    s.setUndefined(dst + 1, hi, lanes);
    return;
  }
  case Flow::Carries: {
    uint64_t lo = 0;
    for (unsigned n = 0; n < 3; ++n)
      lo |= lanesOf(w, i, n, isVector(i.src[n]) ? 0 : -1);
    s.setUndefined(dst, lo, lanes);
    s.setUndefined(dst + 1, u, lanes);
    if (f.writes > 1)
      setScalar(f.write[1], u & lanes);
    return;
  }
  case Flow::Shift:
    flowShift(w, i, dst, lanes);
    return;
  case Flow::Select: {
    uint64_t mask = scalar64(w, i, i.src[2]);
    u = (lanesOf(w, i, 0) & ~mask) | (lanesOf(w, i, 1) & mask) | lanesOf(w, i, 2);
    break;
  }
  case Flow::Compare:
    for (unsigned n = 0; n < f.writes; ++n)
      setScalar(f.write[n], u & lanes);
    return;
  case Flow::ReadLane:
  case Flow::FirstLane: {
    unsigned lane = f.flow == Flow::ReadLane ? scalar32(w, i, i.src[1]) & 63 : firstLane(w.exec());
    setScalar(f.write[0], (lanesOf(w, i, 0) >> lane & 1) || bitsOf(w, i.src[1]) ? kDword : 0);
    return;
  }
  case Flow::WriteLane: {
    // One lane, one bit: a scalar that is undefined in part counts as defined. Spilled masks are
    // that where lanes have never been in a loop.
    uint64_t undefined = (bitsOf(w, i.src[0]) & kDword) == kDword;
    unsigned lane = scalar32(w, i, i.src[1]) & 63;
    s.setUndefined(dst, undefined << lane, uint64_t(1) << lane);
    return;
  }
  case Flow::Swap:
  case Flow::PermSwap16:
  case Flow::PermSwap32: {
    unsigned other = f.write[1].first;
    toRow(s.undefined(dst), a);
    toRow(s.undefined(other), b);
    if (f.flow == Flow::PermSwap16)
      permlane16Swap(a, b, lanes);
    else if (f.flow == Flow::PermSwap32)
      permlane32Swap(a, b, lanes);
    else
      for (int l = 0; l < kLanes; ++l)
        if (lanes >> l & 1)
          std::swap(a[l], b[l]);
    s.setUndefined(dst, fromRow(a));
    s.setUndefined(other, fromRow(b));
    return;
  }
  case Flow::Pair:
    u = lanesOf(w, i, 0) & lanesOf(w, i, 1);
    break;
  case Flow::Lanes:
    if (f.zeroes)
      u &= ~(zeroLanes(w, i, 0) | zeroLanes(w, i, 1));
    break;
  default:
    break;
  }
  for (unsigned n = 0; n < f.writes; ++n)
    for (unsigned c = 0; c < f.write[n].count; ++c)
      if (f.write[n].first < kScalarCell)
        s.setUndefined(f.write[n].first + c, u, written);
      else
        s.setUndefined(f.write[n].first + c, (u & lanes) >> (c * 32) & kDword);
}

/// Bits move from one dword into the other; by 32 and more nothing of the other stays. (Compilers
/// leave the upper dword undefined where they shift a lower one up.)
void Watch::flowShift(Wave &w, const Inst &i, unsigned dst, uint64_t lanes) {
  bool left = i.run == vLshlrevB64, keepsSign = i.run == vAshrrevI64;
  uint64_t any = 0, far = 0;
  for (int l = 0; l < kLanes; ++l) {
    uint32_t count = isVector(i.src[0]) ? w.row(i.src[0])[l] : scalar32(w, i, i.src[0]);
    any |= uint64_t((count & 63) != 0) << l;
    far |= uint64_t(count >> 5 & 1) << l;
  }
  uint64_t count = lanesOf(w, i, 0), from = lanesOf(w, i, 1, left ? 0 : 1),
           into = lanesOf(w, i, 1, left ? 1 : 0);
  Scoreboard &s = boards_[w.id];
  s.setUndefined(dst + (left ? 0 : 1), count | (keepsSign ? from : from & ~far), lanes);
  s.setUndefined(dst + (left ? 1 : 0), count | (into & ~far) | (from & any), lanes);
}

/// Where shifts and fields of scalars, given what they are shifted by, take undefined bits.
static std::optional<uint64_t> movedBits(Wave &w, const Inst &i, std::string_view m, uint64_t u) {
  bool wide = m.ends_with("64");
  unsigned bits = wide ? 64 : 32;
  auto signExtended = [](uint64_t value, unsigned from) {
    return from ? uint64_t(int64_t(value << (64 - from)) >> (64 - from)) : 0;
  };
  if (m == "s_sext_i32_i8" || m == "s_sext_i32_i16")
    return signExtended(u, m == "s_sext_i32_i8" ? 8 : 16);
  bool shift = m.starts_with("s_lshl_b") || m.starts_with("s_lshr_b") || m.starts_with("s_ashr_i");
  if (!shift && !m.starts_with("s_bfe_"))
    return std::nullopt;
  uint32_t by = scalar32(w, i, i.src[1]);
  unsigned offset = by & (bits - 1);
  if (m[2] == 'l')
    return m.starts_with("s_lshl") ? u << offset : u >> offset;
  if (m[2] == 'a')
    return uint64_t(int64_t(signExtended(u, bits)) >> offset);
  unsigned width = std::min(by >> 16 & 0x7f, bits - offset);
  uint64_t field = width < 64 ? u >> offset & ((uint64_t(1) << width) - 1) : u >> offset;
  return m.starts_with("s_bfe_i") ? signExtended(field, width) : field;
}

void Watch::flowScalar(Wave &w, const Inst &i, const Facts &f) {
  Scoreboard &s = boards_[w.id];
  if (f.flow == Flow::Branch) {
    for (unsigned n = 0; n < f.reads; ++n)
      for (unsigned c = 0; c < f.read[n].count; ++c)
        if (s.undefined(f.read[n].first + c) & kDword)
          return undefinedUse(w, i, f.read[n].first + c, 0, "decides a branch");
    return define(w, i, f, kAllLanes);
  }
  uint64_t ua = bitsOf(w, i.src[0]), ub = bitsOf(w, i.src[1]), ud = bitsOf(w, i.src[2]);
  bool wide = f.write[0].count == 2;
  uint64_t a = wide ? scalar64(w, i, i.src[0]) : scalar32(w, i, i.src[0]);
  uint64_t b = wide ? scalar64(w, i, i.src[1]) : scalar32(w, i, i.src[1]);
  std::string_view m = kOpcodes[i.opcode].mnemonic;
  bool sccIn = false;
  for (unsigned n = 0; n < f.reads; ++n)
    sccIn |= f.read[n].first == kSccCell && s.undefined(kSccCell);
  uint64_t u = ua | ub | ud || sccIn ? ~uint64_t(0) : 0, value = 0;
  if (f.flow == Flow::BitAnd) {
    if (m.starts_with("s_andn2"))
      b = ~b;
    u = (ua & ub) | (ua & b) | (ub & a);
    value = a & b;
  } else if (f.flow == Flow::BitMix) {
    bool either = m.starts_with("s_or_");
    u = either ? (ua & ub) | (ua & ~b) | (ub & ~a) : ua | ub;
    value = either ? a | b : 0;
  } else if (std::optional<uint64_t> moved = movedBits(w, i, m, ua); moved && !ub) {
    u = *moved;
  } else if (m.starts_with("s_mul_") && ((!ua && !a) || (!ub && !b))) {
    u = 0;
  } else if (f.flow == Flow::ScalarPick && !sccIn) {
    u = w.scc ? ua : ub;
  } else if (f.flow == Flow::SaveExec) {
    u = m.starts_with("s_and_save") ? ua & w.exec() : ua;
  }
  for (unsigned n = 0; n < f.writes; ++n)
    for (unsigned c = 0; c < f.write[n].count; ++c) {
      unsigned cell = f.write[n].first + c;
      if (cell == kSccCell) // a defined 1 in the result already says "not zero"
        s.setUndefined(cell, u && !(value & ~u) ? kDword : 0);
      else if (f.flow == Flow::SaveExec && n == 0 && m.find("wrexec") == m.npos)
        s.setUndefined(cell, 0); // the old EXEC
      else
        s.setUndefined(cell, u >> (c % 2 * 32) & kDword);
    }
}

/// D(row, column) depends on row `row` of A and column `column` of B. Lane l holds row or column l
/// % M.
void Watch::flowMatrix(Wave &w, const Inst &i, const Facts &f) {
  std::string_view m = kOpcodes[i.opcode].mnemonic;
  bool sparse = m.starts_with("v_smfmac");
  unsigned size = f.write[0].count == 16 ? 32 : 16;
  bool known = (m.find("_16x16x") != m.npos || m.find("_32x32x") != m.npos) &&
               m.find("b_") == m.npos && !m.ends_with("f64");
  auto fold = [&](uint64_t lanes) {
    uint64_t all = lanes;
    for (unsigned g = size; g < 64; g += size)
      all |= lanes >> g;
    return all & ((uint64_t(1) << size) - 1);
  };
  uint64_t a = fold(lanesOf(w, i, 0) | lanesOf(w, i, 3) * !sparse | lanesOf(w, i, 2) * sparse);
  uint64_t b = fold(lanesOf(w, i, 1) | lanesOf(w, i, 4));
  uint64_t columns = 0;
  for (unsigned g = 0; g < 64; g += size)
    columns |= b << g;
  unsigned cSource = sparse ? 3 : 2;
  std::array<uint64_t, 32> c{};
  for (unsigned r = 0; r < f.write[0].count; ++r)
    if (isVector(i.src[cSource]))
      c[r] = lanesOf(w, i, cSource, int(r));
  for (unsigned r = 0; r < f.write[0].count; ++r) {
    uint64_t u = c[r] | columns;
    for (unsigned g = 0; g < 64 / size; ++g)
      if (a >> (8 * (r / 4) + 4 * g + r % 4) & 1)
        u |= ((uint64_t(1) << size) - 1) << (g * size);
    boards_[w.id].setUndefined(f.write[0].first + r, known ? u : (a | b | c[r] ? kAllLanes : 0));
  }
}

void Watch::flowMemory(Wave &w, const Inst &i, const Facts &f, uint64_t lanes) {
  Scoreboard &s = boards_[w.id];
  if (f.space == Space::Exchange)
    return flowExchange(w, i, lanes);
  for (unsigned n = 0; n < f.reads; ++n) {
    const Span &span = f.read[n];
    bool vector = span.first < kScalarCell;
    if (vector ? span.source != 0 : f.space == Space::Scalar && span.source == 3)
      continue; // data
    for (unsigned c = 0; c < span.count; ++c)
      if (uint64_t bits = s.undefined(span.first + c) & (vector ? lanes : kDword)) {
        undefinedUse(w, i, span.first + c, vector ? bits : 0, "is an address");
        break;
      }
  }
  define(w, i, f, lanes);
}

/// ds_bpermute, ds_permute and ds_swizzle: the data's bits move with the data.
void Watch::flowExchange(Wave &w, const Inst &i, uint64_t lanes) {
  std::string_view m = kOpcodes[i.opcode].mnemonic;
  bool swizzle = m == "ds_swizzle_b32";
  uint32_t data[kLanes], out[kLanes] = {};
  toRow(lanesOf(w, i, swizzle ? 0 : 1), data);
  if (swizzle)
    dsSwizzle(swizzleMap(uint16_t(i.offset)), lanes, data, out);
  else if (m == "ds_bpermute_b32")
    dsBpermute(w.row(i.src[0]), data, uint16_t(i.offset), lanes, out);
  else
    dsPermute(w.row(i.src[0]), data, uint16_t(i.offset), lanes, out);
  uint64_t u = fromRow(out) | (swizzle ? 0 : lanesOf(w, i, 0));
  boards_[w.id].setUndefined(cellOf(i.dst), u, lanes);
}

void Watch::undefinedUse(const Wave &w, const Inst &i, unsigned cell, uint64_t lanes,
                         std::string_view what) {
  int lane = lanes ? std::countr_zero(lanes) : -1;
  found_.add(FindingKind::Uninitialised, w, i, lane, nullptr, -1, [&](Finding &out) {
    out.subject = cellName(cell, false, accumOffset_);
    out.message = fmt::format("{} holds what nothing wrote and {}", out.subject, what);
  });
}

} // namespace attune::sim::strict
