// Accesses to memory at their issue: is what they load defined, who else touches it.
//
// A dword is undefined if nothing has written any of its bytes. (Rows whose last dword is half in
// use are common, and registers have one bit for 32.) Where an undefined value is stored, that is
// the finding; from there on the bytes count as written, so that one fault is reported once.
#include "runtime/sim/MemoryOps.h"
#include "runtime/sim/strict/Watch.h"
#include <atomic>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace attune::sim::strict {
namespace {

/// Bit n for each byte of `flags`, which is 0 or 1.
uint64_t maskOf(const uint8_t *flags) {
  uint64_t mask = 0;
  for (int l = 0; l < kLanes; l += 8) {
    uint64_t eight;
    std::memcpy(&eight, flags + l, 8);
    mask |= (eight * 0x0102040810204080 >> 56) << l;
  }
  return mask;
}

/// Bytes of [address, address + bytes) that are undefined, at most 64 of them, as bits.
uint64_t undefinedBytes(const Region &r, uint64_t address, unsigned bytes) {
  uint64_t at = address - r.base, bit = at % 64;
  auto word = [&](uint64_t n) {
    return std::atomic_ref<uint64_t>(r.defined[n]).load(std::memory_order_relaxed);
  };
  uint64_t defined = word(at / 64) >> bit;
  if (bit + bytes > 64)
    defined |= word(at / 64 + 1) << (64 - bit);
  return ~defined & (bytes == 64 ? ~uint64_t(0) : (uint64_t(1) << bytes) - 1);
}

void defineBytes(const Region &r, uint64_t address, unsigned bytes) {
  uint64_t at = address - r.base, bits = (uint64_t(1) << bytes) - 1;
  auto add = [&](uint64_t n, uint64_t mask) {
    std::atomic_ref<uint64_t> word(r.defined[n]);
    if ((word.load(std::memory_order_relaxed) & mask) != mask)
      word.fetch_or(mask, std::memory_order_relaxed);
  };
  add(at / 64, bits << (at % 64));
  if (at % 64 + bytes > 64)
    add(at / 64 + 1, bits >> (64 - at % 64));
}

MemoryAccess kindOf(const Facts &f) {
  return f.device ? MemoryAccess::Update : f.store ? MemoryAccess::Write : MemoryAccess::Read;
}

} // namespace

void Watch::findRuns(const Access &a, uint64_t lanes) {
  runCount_ = 0;
  uint64_t joined = 0; // to the lane before
  if (lanes & (lanes - 1)) {
    uint8_t flags[kLanes] = {};
    for (int l = 1; l < kLanes; ++l)
      flags[l] = (a.address[l] == a.address[l - 1] + a.bytes[l - 1]) & (a.bytes[l] != 0);
    joined = maskOf(flags) & lanes & lanes << 1;
  }
  for (uint64_t starts = lanes & ~joined; starts; starts &= starts - 1) {
    int first = std::countr_zero(starts), last = first + std::countr_one(joined >> first >> 1);
    uint64_t address = a.address[first], end = a.address[last] + a.bytes[last];
    if (end != address)
      runs_[runCount_++] = {first, address, end - address};
  }
}

const Region *Watch::regionOf(uint64_t address, uint64_t bytes) {
  if (!region_ || !region_->contains(address, bytes))
    region_ = d_.memory->find(address, bytes);
  return region_;
}

void Watch::memoryAccess(Wave &w, const Access &a, const Facts &f, uint64_t lanes, Pending &p) {
  checkAlignment(w, a, f, lanes);
  findRuns(a, lanes);
  if (f.store)
    storedData(w, a, lanes);
  loaded_ = {};
  if (!f.store || f.atomic)
    loadUndefined(w, a, f, lanes);
  if (f.store)
    defineStored(a, lanes);
  followMemory(w, a, f, lanes, p);
}

/// Is what a store or an atomic takes from registers defined?
void Watch::storedData(const Wave &w, const Access &a, uint64_t lanes) {
  const Inst &i = *a.inst;
  const Operand &data = i.src[3];
  unsigned first = cellOf(data);
  for (unsigned c = 0; c < data.dwords; ++c) {
    uint64_t bits = boards_[w.id].undefined(first + c) & lanes;
    for (uint64_t left = bits; left; left &= left - 1)
      if (int l = std::countr_zero(left); a.bytes[l] <= 4 * c)
        bits &= ~(uint64_t(1) << l); // out of a buffer's range: not stored
    if (bits) {
      undefinedUse(w, i, first + c, bits, "is stored to memory");
      return;
    }
  }
}

/// Leaves in loaded_ the lanes, dword by dword, whose memory is undefined, and marks the registers
/// that they load.
void Watch::loadUndefined(Wave &w, const Access &a, const Facts &f, uint64_t lanes) {
  const Inst &i = *a.inst;
  uint64_t any = 0, suspects = 0;
  for (auto [first, address, bytes] : runs()) {
    const Region *r = regionOf(address, bytes);
    bool defined = r && r->defined;
    for (uint64_t n = 0; defined && n < bytes; n += 64)
      defined = !undefinedBytes(*r, address + n, unsigned(std::min<uint64_t>(bytes - n, 64)));
    if (!defined)
      suspects |= ~uint64_t(0) << first;
  }
  for (uint64_t left = lanes & suspects; left; left &= left - 1) {
    int l = std::countr_zero(left);
    unsigned bytes = a.bytes[l];
    const Region *r = bytes ? regionOf(a.address[l], bytes) : nullptr;
    if (!r || !r->defined)
      continue;
    uint64_t undefined = undefinedBytes(*r, a.address[l], bytes);
    for (unsigned k = 0; undefined && 4 * k < bytes; ++k) {
      uint64_t dword = (uint64_t(1) << std::min(bytes - 4 * k, 4u)) - 1;
      bool all = (undefined >> (4 * k) & dword) == dword;
      loaded_[k] |= uint64_t(all) << l;
      any |= uint64_t(all) << l;
    }
  }
  if (!any)
    return;
  std::string_view m = kOpcodes[i.opcode].mnemonic;
  if (f.atomic && (m.find("swap") == m.npos || m.find("cmpswap") != m.npos)) {
    int l = std::countr_zero(any);
    found_.add(FindingKind::Uninitialised, w, i, l, nullptr, -1, [&](Finding &out) {
      out.subject = d_.memory->describe(a.address[l]);
      out.message = fmt::format("{}: nothing has written what the atomic updates", out.subject);
    });
    return;
  }
  if (i.dst.kind == OperandKind::None || f.partial)
    return;
  for (unsigned k = 0; k < i.dst.dwords; ++k)
    boards_[w.id].addUndefined(cellOf(i.dst) + k, loaded_[k]);
}

/// As memoryAccess, of an access whose registers are scalar: they are undefined bit by bit.
void Watch::scalarAccess(Wave &w, const Access &a, const Facts &f, Pending &p) {
  findRuns(a, 1);
  if (f.store)
    storedScalars(w, a);
  loaded_ = {};
  if (f.atomic)
    loadUndefined(w, a, f, 1);
  else if (!f.store)
    scalarUndefined(w, a);
  if (f.store)
    defineStored(a, 1);
  followMemory(w, a, f, 1, p);
}

void Watch::storedScalars(const Wave &w, const Access &a) {
  const Operand &data = a.inst->src[3];
  for (unsigned c = 0; c < data.dwords && 4 * c < a.bytes[0]; ++c)
    if (boards_[w.id].undefined(kScalarCell + data.index + c) & 0xffffffff)
      return undefinedUse(w, *a.inst, kScalarCell + data.index + c, 0, "is stored to memory");
}

void Watch::scalarUndefined(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  unsigned bytes = a.bytes[0];
  const Region *r = bytes ? regionOf(a.address[0], bytes) : nullptr;
  if (!r || !r->defined)
    return;
  uint64_t undefined = undefinedBytes(*r, a.address[0], bytes);
  unsigned dst = kScalarCell + i.dst.index;
  for (unsigned k = 0; k < i.dst.dwords && 4 * k + 4 <= bytes; ++k)
    if ((undefined >> (4 * k) & 15) == 15)
      boards_[w.id].setUndefined(dst + k, 0xffffffff);
}

void Watch::defineStored(const Access &a, uint64_t lanes) {
  for (; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    const Region *r = a.bytes[l] ? regionOf(a.address[l], a.bytes[l]) : nullptr;
    if (r && r->defined)
      defineBytes(*r, a.address[l], a.bytes[l]);
  }
}

void Watch::followMemory(Wave &w, const Access &a, const Facts &f, uint64_t lanes, Pending &p) {
  const Inst &i = *a.inst;
  MemoryAccess access = kindOf(f);
  size_t index = size_t(&i - d_.text->code.data());
  uint32_t op = memory_.issue(
      &i, index,
      {.wave = w.id, .access = access, .scalar = f.space == Space::Scalar, .coherent = f.coherent});
  p.memoryOp = op;
  WaveConflict met;
  int lane = -1;
  for (auto [first, address, bytes] : runs()) {
    if (access != MemoryAccess::Read)
      break;
    if (!regionOf(address, bytes))
      continue; // some lane is outside every buffer: a fault when it completes
    memory_.read(op, address, uint32_t(bytes), met);
    if (met.other && lane < 0)
      for (lane = first; a.address[lane] + a.bytes[lane] <= met.address;)
        ++lane;
  }
  for (; access != MemoryAccess::Read && lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    unsigned bytes = a.bytes[l];
    if (!bytes || !regionOf(a.address[l], bytes))
      continue;
    if (access == MemoryAccess::Update) {
      memory_.update(op, a.address[l], bytes, met);
    } else {
      uint8_t value[16];
      storeLane(a, l, value);
      memory_.write(op, a.address[l], bytes, value, met);
    }
    if (met.other && lane < 0)
      lane = l;
  }
  if (met.other)
    memoryConflict(w, i, met, lane);
  if (f.coherent)
    memory_.synchronise(op, f.device && (f.atomic ? i.dst.kind != OperandKind::None : !f.store),
                        f.device && f.store);
}

void Watch::memoryConflict(const Wave &w, const Inst &i, const WaveConflict &met, int lane) {
  bool own = met.other->wave == w.id;
  FindingKind kind = own             ? FindingKind::MissingWait
                     : met.sameValue ? FindingKind::SameValue
                                     : FindingKind::GlobalRace;
  bool late = met.other->epoch < memory_.epoch();
  found_.add(kind, w, i, lane, met.other->inst, int(met.other->wave), [&](Finding &out) {
    out.subject = d_.memory->describe(met.address);
    out.message =
        fmt::format("{}; {} at pc {:#x} of wave {} {}, {}",
                    raceText(kindOf(factsAt(i)), out.subject, met.sameValue), out.other,
                    out.otherPc, met.other->wave, verb(met.other->access),
                    own    ? "before an s_waitcnt covers that"
                    : late ? "and no s_waitcnt covered that before the barrier between them"
                           : "with no barrier in between");
  });
}

} // namespace attune::sim::strict
