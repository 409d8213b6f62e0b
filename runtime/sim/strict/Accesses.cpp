// Memory and LDS accesses at their issue, when all addresses are known.
//
// Alignment. Linux runs gfx950 with unaligned access on, so a wide access needs no more than dword
// alignment of each of its dwords, and the hardware splits what has less; that and a misaligned
// short are reported, since our code never means it. Atomics need their own size, transposing reads
// 8 bytes.
#include "runtime/sim/LdsOps.h"
#include "runtime/sim/MemoryOps.h"
#include "runtime/sim/strict/Watch.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace attune::sim::strict {
namespace {

bool twoParts(const Inst &i) { return i.run == dsRead2 || i.run == dsWrite2; }
bool transposing(const Inst &i) {
  return i.run == dsReadB64TrB16 || i.run == dsReadB64TrB8 || i.run == dsReadB64TrB4 ||
         i.run == dsReadB96TrB6;
}

unsigned alignmentOf(const Inst &i, const Facts &f) {
  if (f.atomic)
    return i.memBytes;
  if (transposing(i) && i.memBytes == 8)
    return 8;
  return std::min<unsigned>(i.memBytes, 4);
}

/// All bits of 64 LDS addresses, and the highest.
std::pair<uint32_t, uint32_t> bitsAndMaximum(const uint64_t *address) {
  using Words __attribute__((vector_size(32))) = uint32_t; // upper halves, which are 0, among them
  Words bits{}, maximum{};
  for (int l = 0; l < kLanes; l += 4) {
    Words words;
    std::memcpy(&words, address + l, sizeof words);
    bits |= words;
    maximum = words > maximum ? words : maximum;
  }
  uint32_t low = 0, high = 0;
  for (unsigned k = 0; k < 8; ++k) {
    low |= bits[k];
    high = std::max(high, maximum[k]);
  }
  return {low, high};
}

} // namespace

void Watch::issued(Wave &w, const Access &a, Counter counter) {
  const Facts &f = factsAt(*a.inst);
  Scoreboard &s = boards_[w.id];
  uint64_t inLds = f.space == Space::Flat ? lanesIn(w.group->lds, a) : 0;
  Counts counts = f.space == Space::Flat     ? Counts::flat(a.exec & ~inLds, inLds)
                  : f.space == Space::Scalar ? Counts::outOfOrder(counter)
                                             : Counts::inOrder(counter);
  Pending &p = s.issue(*a.inst, f, a.exec, counts, [&](const Pending &over) { done(over); });
  switch (f.space) {
  case Space::Lds:
    ldsAccess(w, a, f, p);
    return;
  case Space::Scratch:
    scratchAccess(w, a, f, a.exec);
    return;
  case Space::Buffer:
  case Space::Global:
    memoryAccess(w, a, f, a.exec, p);
    if (a.inst->flags & ToLds)
      ldsAccess(w, a, f, p);
    return;
  case Space::Flat: {
    uint64_t inScratch = lanesIn(w.group->scratch, a);
    memoryAccess(w, a, f, a.exec & ~inLds & ~inScratch, p);
    if (inScratch)
      scratchAccess(w, a, f, inScratch);
    if (inLds)
      ldsAccess(w, flatInLds(w, a, inLds), f, p);
    return;
  }
  case Space::Scalar:
    scalarAccess(w, a, f, p);
    return;
  default:
    return;
  }
}

/// The lanes of a FLAT access whose addresses lie in LDS or in scratch.
uint64_t Watch::lanesIn(const Region &r, const Access &a) {
  uint64_t lanes = 0;
  for (int l = 0; l < kLanes; ++l)
    if (a.exec >> l & 1)
      lanes |= uint64_t(r.contains(a.address[l], a.inst->memBytes)) << l;
  return lanes;
}

/// Those in LDS, as an LDS access.
Access Watch::flatInLds(const Wave &w, const Access &a, uint64_t lanes) const {
  Access lds = a;
  lds.exec = lanes;
  for (int l = 0; l < kLanes; ++l)
    lds.address[l] = a.address[l] - w.group->lds.base;
  return lds;
}

void Watch::checkAlignment(const Wave &w, const Access &a, const Facts &f, uint64_t lanes) {
  const Inst &i = *a.inst;
  uint64_t low = 0;
  unsigned align = alignmentOf(i, f);
  for (int l = 0; l < kLanes; ++l)
    low |= a.address[l] & -((lanes >> l & 1) & uint64_t(a.bytes[l] != 0));
  if (low & (align - 1))
    for (int l = 0; l < kLanes; ++l)
      if ((lanes >> l & 1) && a.bytes[l] && (a.address[l] & (align - 1))) {
        misaligned(w, i, l, a.address[l], align, false);
        break;
      }
}

/// Scratch keeps what is undefined as a register would: a spilled register need not be whole.
void Watch::scratchAccess(Wave &w, const Access &a, const Facts &f, uint64_t lanes) {
  const Inst &i = *a.inst;
  checkAlignment(w, a, f, lanes);
  Scoreboard &s = boards_[w.id];
  unsigned first = cellOf(f.store ? i.src[3] : i.dst);
  for (uint64_t left = lanes; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint8_t *shadow = &scratch_[a.address[l] - w.group->scratch.base];
    for (unsigned b = 0; b < i.memBytes; ++b) {
      if (f.atomic)
        shadow[b] = 0;
      else if (f.store)
        shadow[b] = s.undefined(first + b / 4) >> l & 1;
      else if (shadow[b])
        s.addUndefined(first + b / 4, uint64_t(1) << l);
    }
  }
}

void Watch::ldsAccess(Wave &w, const Access &a, const Facts &f, Pending &p) {
  const Inst &i = *a.inst;
  LdsAccess access = i.flags & ToLds ? LdsAccess::Dma
                     : f.atomic      ? LdsAccess::Atomic
                     : f.store       ? LdsAccess::Write
                                     : LdsAccess::Read;
  LdsOp record{.inst = &i, .wave = w.id, .access = access, .issued = lds_.epoch()};
  if (access == LdsAccess::Dma) {
    record.first = a.ldsBase;
    record.bytes = kLanes * std::max<uint32_t>(i.memBytes, 4);
  }
  uint32_t op = lds_.add(record);
  boards_[w.id].setLdsOp(p, op);
  if (wholeLds(w, a, f, op))
    return;
  LdsConflict met;
  if (access == LdsAccess::Read)
    ldsRead(w, a, op, met);
  else
    ldsWrite(w, a, op, met);
  if (met.other)
    conflict(w, i, *met.other, met);
}

/// The common case: all lanes, whole aligned dwords, defined data, and nobody else was there.
bool Watch::wholeLds(const Wave &w, const Access &a, const Facts &f, uint32_t op) {
  const Inst &i = *a.inst;
  bool dma = i.flags & ToLds;
  if (a.exec != kAllLanes || i.memBytes < 4 || f.space == Space::Flat || twoParts(i))
    return false;
  const Scoreboard &s = boards_[w.id];
  bool own = s.anyInLds(!dma);
  if (dma)
    return wholeDma(w, a) && lds_.writeRange(op, a.ldsBase, kLanes * i.memBytes, own);
  uint64_t ldsBytes = w.group->lds.bytes;
  if (i.memBytes > ldsBytes)
    return false;
  auto [low, high] = bitsAndMaximum(a.address);
  if (low & (alignmentOf(i, f) - 1) || high > ldsBytes - i.memBytes)
    return false;
  if (!f.store)
    return lds_.readWhole(op, a.address, i.memBytes / 4, own);
  return !s.undefined(cellOf(i.src[1]), i.src[1].dwords) &&
         lds_.writeWhole(op, a.address, i.memBytes / 4, own);
}

/// Does an LDS-DMA of all lanes bring whole dwords, defined ones, to aligned places in LDS?
bool Watch::wholeDma(const Wave &w, const Access &a) const {
  return a.exec == kAllLanes && a.inst->memBytes >= 4 &&
         !(loaded_[0] | loaded_[1] | loaded_[2] | loaded_[3]) && a.ldsBase % 4 == 0 &&
         uint64_t(a.ldsBase) + kLanes * a.inst->memBytes <= w.group->lds.bytes;
}

/// Byte offsets of the one or two parts of a lane's LDS access.
struct Watch::LdsParts {
  unsigned count = 1;
  uint32_t offset[2] = {0, 0};
  explicit LdsParts(const Inst &i) {
    if (!twoParts(i))
      return;
    count = 2;
    for (unsigned n = 0; n < 2; ++n)
      offset[n] =
          (uint32_t(i.offset) >> (8 * n) & 0xff) * i.memBytes * (flagsOf(i) & St64 ? 64 : 1);
  }
};

void Watch::ldsRead(Wave &w, const Access &a, uint32_t op, LdsConflict &met) {
  const Inst &i = *a.inst;
  const LdsParts parts(i);
  Scoreboard &s = boards_[w.id];
  bool transposes = transposing(i);
  unsigned align = alignmentOf(i, factsAt(i)), words = std::max(1, i.memBytes / 4);
  int crooked = -1;
  for (uint64_t left = a.exec; left; left &= left - 1) {
    int l = std::countr_zero(left);
    for (unsigned part = 0; part < parts.count; ++part) {
      uint32_t address = uint32_t(a.address[l]) + parts.offset[part];
      if (uint64_t(address) + i.memBytes > w.group->lds.bytes)
        continue; // a fault when it completes
      if (address & (align - 1) && crooked < 0)
        crooked = l;
      unsigned undefined = lds_.read(op, address, i.memBytes, l, met);
      // A transposing read spreads a lane's data over its row of 16 lanes.
      uint64_t lanes = transposes ? uint64_t(0xffff) << (l & 48) : uint64_t(1) << l;
      for (unsigned k = 0; undefined && k < words; ++k)
        if (transposes || (undefined >> k & 1))
          s.addUndefined(cellOf(i.dst) + part * words + k, lanes & a.exec);
    }
  }
  if (crooked >= 0)
    misaligned(w, i, crooked, a.address[crooked], align, true);
}

void Watch::ldsWrite(Wave &w, const Access &a, uint32_t op, LdsConflict &met) {
  const Inst &i = *a.inst;
  bool dma = i.flags & ToLds;
  if (dma && wholeDma(w, a))
    return lds_.writeLanes(op, a.ldsBase, i.memBytes, met);
  const LdsParts parts(i);
  unsigned align = dma ? 4 : alignmentOf(i, factsAt(i)),
           bytes = dma ? std::max<unsigned>(i.memBytes, 4) : i.memBytes;
  int crooked = -1;
  for (uint64_t left = a.exec; left; left &= left - 1) {
    int l = std::countr_zero(left);
    for (unsigned part = 0; part < parts.count; ++part) {
      uint32_t address =
          dma ? a.ldsBase + uint32_t(l) * bytes : uint32_t(a.address[l]) + parts.offset[part];
      if (uint64_t(address) + bytes > w.group->lds.bytes)
        continue;
      if (address & (align - 1) && crooked < 0)
        crooked = l;
      unsigned undefined = 0;
      for (unsigned k = 0; dma && k < 4; ++k)
        undefined |= unsigned(loaded_[k] >> l & 1) << k;
      if (!dma) {
        const Operand &o = i.src[kOpcodes[i.opcode].format == Format::DS ? 1 + part : 3];
        for (unsigned k = 0; k < o.dwords; ++k)
          undefined |= unsigned(boards_[w.id].undefined(cellOf(o) + k) >> l & 1) << k;
      }
      lds_.write(op, address, bytes, l, undefined, met);
    }
  }
  if (crooked >= 0)
    misaligned(w, i, crooked, dma ? a.ldsBase : a.address[crooked], align, true);
}

void Watch::conflict(const Wave &w, const Inst &i, const LdsOp &other, const LdsConflict &met) {
  bool dma = other.access == LdsAccess::Dma || (i.flags & ToLds);
  bool late = other.issued < lds_.epoch(); // it was still on its way when the barrier was passed
  FindingKind kind = met.sameWave || (dma && late) ? FindingKind::DmaOrder : FindingKind::LdsRace;
  constexpr std::string_view kVerb[] = {"reads", "writes", "loads", "updates"};
  found_.add(kind, w, i, met.lane, other.inst, int(other.wave), [&](Finding &out) {
    out.subject = fmt::format("LDS {:#x}", met.address);
    out.message =
        fmt::format("touches {}, which {} at pc {:#x} of wave {} {}, {}", out.subject, out.other,
                    out.otherPc, other.wave, kVerb[size_t(other.access)],
                    met.sameWave ? "before an s_waitcnt covers that"
                    : late       ? "and which no s_waitcnt covered before the barrier between them"
                                 : "with no barrier in between");
  });
}

void Watch::misaligned(const Wave &w, const Inst &i, int lane, uint64_t address, unsigned align,
                       bool lds) {
  found_.add(FindingKind::Misaligned, w, i, lane, nullptr, -1, [&](Finding &out) {
    out.subject = fmt::format("{}{:#x}", lds ? "LDS " : "", address);
    out.message = fmt::format("address {} is not a multiple of {}", out.subject, align);
  });
}

} // namespace attune::sim::strict
