// Scalar loads; buffer, global, flat and scratch loads and stores; loads from memory straight into
// LDS.
//
// Every handler works out 64 addresses, then issues an Access whose completion moves the bytes. The
// forms differ in the addresses only: buffers have a descriptor with a range, global and flat a
// 64-bit address, scratch an offset per lane.
#include "runtime/sim/Buffer.h"
#include "runtime/sim/LdsOps.h"
#include "runtime/sim/MemoryAddress.h"
#include <algorithm>
#include <fmt/format.h>

namespace attune::sim {
namespace {

/// All lanes whole and inside the region that the first one hits.
bool oneRegion(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  if (a.exec != kAllLanes || i.memBytes < 4)
    return false;
  unsigned partial = 0;
  for (int l = 0; l < kLanes; ++l)
    partial |= a.bytes[l] ^ i.memBytes;
  return !partial && w.memory(a.address[0], i.memBytes, 0) &&
         wholeAccess(a, w.lastRegion->base, w.lastRegion->bytes);
}

void completeLoad(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  if (oneRegion(w, a)) {
    loadAll(i.memBytes, &w.row(i.dst), 0, a.address);
    return;
  }
  forLanes(w, a.exec, [&](int l) {
    uint8_t bytes[16] = {};
    if (a.bytes[l]) {
      const uint8_t *from = w.memory(a.address[l], a.bytes[l], l);
      if (!from)
        return;
      if (a.bytes[l] == i.memBytes) {
        loadLane(w, i, l, from);
        return;
      }
      std::memcpy(bytes, from, a.bytes[l]);
    }
    loadLane(w, i, l, bytes);
  });
}

void completeStore(Wave &w, const Access &a) {
  if (oneRegion(w, a)) {
    storeAll(a.inst->memBytes, a.data, 0, a.address);
    return;
  }
  forLanes(w, a.exec, [&](int l) {
    if (!a.bytes[l])
      return;
    uint8_t *to = w.memory(a.address[l], a.bytes[l], l);
    if (!to)
      return;
    uint8_t bytes[16];
    storeLane(a, l, bytes);
    std::memcpy(to, bytes, a.bytes[l]);
  });
}

/// LDS-DMA slots of whole lanes, one after another. The size is known when compiling: each copy is
/// a load and a store.
template <unsigned Bytes> void copyToSlots(uint8_t *to, const uint64_t *address) {
  for (int l = 0; l < kLanes; ++l, to += Bytes)
    std::memcpy(to, Memory::host(address[l]), Bytes);
}
void copyToSlots(unsigned slot, uint8_t *to, const uint64_t *address) {
  if (slot == 16)
    copyToSlots<16>(to, address);
  else if (slot == 12)
    copyToSlots<12>(to, address);
  else
    copyToSlots<4>(to, address);
}

/// A loop's DMA reads as far from its last turn as that was from the one before: what the next turn
/// will read is brought into the host's caches meanwhile. A wrong guess costs these instructions.
void prefetchNext(Wave &w, const Inst &i, const uint64_t *address) {
  Wave::Stream &stream = w.streams[i.pc / 8 % std::size(w.streams)];
  if (stream.inst == &i)
    for (int l = 0; l < kLanes; l += 4) // 64 bytes of neighbours that read 16 each
      __builtin_prefetch(Memory::host(address[l] + address[0] - stream.address));
  stream = {&i, address[0]};
}

/// LDS-DMA: lane l owns the slot ldsBase + l * size; lanes out of a buffer's range write 0.
void completeDma(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  unsigned slot = std::max<unsigned>(i.memBytes, 4); // bytes and shorts are widened to a dword
  if (uint64_t(a.ldsBase) + kLanes * slot <= w.group->lds.bytes && oneRegion(w, a)) {
    uint8_t *to = reinterpret_cast<uint8_t *>(w.group->lds.base) + a.ldsBase;
    prefetchNext(w, i, a.address);
    copyToSlots(slot, to, a.address);
    return;
  }
  forLanes(w, a.exec, [&](int l) {
    uint32_t words[4] = {};
    if (a.bytes[l]) {
      const uint8_t *from = w.memory(a.address[l], a.bytes[l], l);
      if (!from)
        return;
      std::memcpy(words, from, a.bytes[l]);
    }
    if (i.memBytes < 4)
      words[0] = widenElement(flagsOf(i), words[0], 0);
    if (uint8_t *to = w.lds(ldsDmaAddress(a.ldsBase, 0, unsigned(l), slot), slot, l))
      std::memcpy(to, words, slot);
  });
}

void prepareDma(Wave &w, Access &a) {
  a.ldsBase = w.s[reg::kM0] + uint32_t(a.inst->offset);
  a.complete = completeDma;
}

/// Fills in addresses by one of the address forms and issues.
using Addresses = bool (*)(Wave &, Access &);
void issueLoad(Wave &w, const Inst &i, Addresses addresses, Counter counter) {
  Access a;
  a.inst = &i;
  a.exec = w.exec();
  a.complete = completeLoad;
  if (!addresses(w, a))
    return;
  if (i.flags & ToLds)
    prepareDma(w, a);
  w.issue(a, counter);
}
void issueStore(Wave &w, const Inst &i, Addresses addresses, Counter counter) {
  Access a;
  a.inst = &i;
  a.exec = w.exec();
  a.complete = completeStore;
  if (!addresses(w, a))
    return;
  captureData(w, a, i.src[3]);
  w.issue(a, counter);
}

/// Scalar loads use address[0] only.
void completeScalarLoad(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  uint32_t words[16] = {};
  if (a.bytes[0]) {
    const uint8_t *from = w.memory(a.address[0], a.bytes[0], -1);
    if (!from)
      return;
    std::memcpy(words, from, a.bytes[0]);
  }
  std::copy_n(words, i.dst.dwords, &w.s[i.dst.index]);
}

uint64_t scalarOffset(const Wave &w, const Inst &i) {
  uint64_t offset = uint64_t(int64_t(i.offset));
  return i.src[1].kind == OperandKind::None ? offset : offset + scalar32(w, i, i.src[1]);
}

void completeScalarStore(Wave &w, const Access &a) {
  uint8_t bytes[16];
  storeLane(a, 0, bytes);
  if (uint8_t *to = a.bytes[0] ? w.memory(a.address[0], a.bytes[0], -1) : nullptr)
    std::memcpy(to, bytes, a.bytes[0]);
}

void issueScalar(Wave &w, const Inst &i, Addresses addresses, Access::Complete complete) {
  Access a;
  a.inst = &i;
  a.complete = complete;
  a.exec = 1;
  addresses(w, a);
  captureData(w, a, i.src[3]);
  w.issue(a, Counter::Lgkm);
}

} // namespace

bool bufferAddress(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  BufferDescriptor descriptor = decodeBuffer(&w.s[i.src[1].index]);
  const Operand &v = i.src[0];
  bool offen = i.flags & Offen, idxen = i.flags & Idxen;
  BufferAccess access{.soffset = scalar32(w, i, i.src[2]),
                      .instOffset = uint32_t(i.offset),
                      .voffset = offen ? w.row(v, idxen ? 1 : 0) : nullptr,
                      .vindex = idxen ? w.row(v) : nullptr,
                      .bytes = i.memBytes};
  bufferAddresses(descriptor, access, a.exec, a.address, a.bytes);
  return true;
}

bool globalAddress(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  const LaneRow *v = &w.row(i.src[0]);
  bool saddr = i.src[1].kind != OperandKind::None;
  uint64_t base = uint64_t(int64_t(i.offset)) + (saddr ? w.pair(i.src[1].index) : 0);
  for (int l = 0; l < kLanes; ++l)
    a.address[l] = base + (saddr ? v[0][l] : v[0][l] | uint64_t(v[1][l]) << 32);
  std::memset(a.bytes, i.memBytes, sizeof a.bytes);
  return true;
}

/// A per-lane scratch offset as a host address.
static bool scratchLane(Wave &w, Access &a, int l, int64_t offset) {
  uint32_t size = w.group->scratchBytes;
  if (offset < 0 || uint64_t(offset) + a.inst->memBytes > size) {
    w.fault(fmt::format("scratch access of {} bytes at {:#x}: a lane has {} bytes",
                        a.inst->memBytes, offset, size),
            l);
    return false;
  }
  a.address[l] =
      w.group->scratch.base + (uint64_t(w.id) * kLanes + uint64_t(l)) * size + uint64_t(offset);
  return true;
}

bool scratchAddress(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  int64_t base = i.offset;
  if (i.src[1].kind != OperandKind::None)
    base += scalar32(w, i, i.src[1]);
  const uint32_t *v = i.flags & Vaddr ? w.row(i.src[0]) : nullptr;
  std::memset(a.bytes, i.memBytes, sizeof a.bytes);
  forLanes(w, a.exec, [&](int l) { scratchLane(w, a, l, base + (v ? v[l] : 0)); });
  return w.state == WaveState::Running;
}

/// A flat address in the LDS or scratch aperture is translated to where that memory lies on the
/// host.
bool flatAddress(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  const LaneRow *v = &w.row(i.src[0]);
  std::memset(a.bytes, i.memBytes, sizeof a.bytes);
  forLanes(w, a.exec, [&](int l) {
    uint64_t address = (v[0][l] | uint64_t(v[1][l]) << 32) + uint64_t(int64_t(i.offset));
    uint64_t aperture = address >> 32 << 32, low = address & 0xffffffff;
    if (aperture == uint64_t(kPrivateAperture))
      scratchLane(w, a, l, int64_t(low));
    else if (aperture != uint64_t(kSharedAperture))
      a.address[l] = address;
    else if (const uint8_t *p = w.lds(uint32_t(low), i.memBytes, l))
      a.address[l] = reinterpret_cast<uint64_t>(p);
  });
  return w.state == WaveState::Running;
}

void bufferLoad(Wave &w, const Inst &i) { issueLoad(w, i, bufferAddress, Counter::Vm); }
void bufferStore(Wave &w, const Inst &i) { issueStore(w, i, bufferAddress, Counter::Vm); }
void globalLoad(Wave &w, const Inst &i) { issueLoad(w, i, globalAddress, Counter::Vm); }
void globalLoadLds(Wave &w, const Inst &i) { issueLoad(w, i, globalAddress, Counter::Vm); }
void globalStore(Wave &w, const Inst &i) { issueStore(w, i, globalAddress, Counter::Vm); }
void scratchLoad(Wave &w, const Inst &i) { issueLoad(w, i, scratchAddress, Counter::Vm); }
void scratchStore(Wave &w, const Inst &i) { issueStore(w, i, scratchAddress, Counter::Vm); }
void flatLoad(Wave &w, const Inst &i) { issueLoad(w, i, flatAddress, Counter::Both); }
void flatStore(Wave &w, const Inst &i) { issueStore(w, i, flatAddress, Counter::Both); }

bool scalarAddress(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  a.address[0] = (w.pair(i.src[0].index) + scalarOffset(w, i)) & ~uint64_t(3);
  a.bytes[0] = i.memBytes;
  return true;
}
/// Dwords at or past num_records read 0 and are not written.
bool scalarBufferAddress(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  BufferDescriptor d = decodeBuffer(&w.s[i.src[0].index]);
  uint64_t offset = scalarOffset(w, i) & ~uint64_t(3);
  uint64_t limit = uint64_t(d.numRecords) * (d.stride ? d.stride : 1);
  uint64_t left = offset < limit ? (limit - offset) / 4 * 4 : 0;
  a.address[0] = d.base + offset;
  a.bytes[0] = uint8_t(std::min<uint64_t>(left, i.memBytes));
  return true;
}
void sLoad(Wave &w, const Inst &i) { issueScalar(w, i, scalarAddress, completeScalarLoad); }
void sBufferLoad(Wave &w, const Inst &i) {
  issueScalar(w, i, scalarBufferAddress, completeScalarLoad);
}
void sStore(Wave &w, const Inst &i) { issueScalar(w, i, scalarAddress, completeScalarStore); }
void sBufferStore(Wave &w, const Inst &i) {
  issueScalar(w, i, scalarBufferAddress, completeScalarStore);
}

} // namespace attune::sim
