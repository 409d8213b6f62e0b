// What LDS, buffer, global, flat and scratch instructions share: elements, and the lanes that move
// them.
//
// Most accesses have all lanes active, whole dwords and every address inside one region.
// wholeAccess() recognises them with one pass over the addresses; they take the loops loadAll and
// storeAll. Everything else goes lane by lane.
#pragma once
#include "runtime/sim/MatrixTile.h"
#include "runtime/sim/Ops.h"
#include <bit>

namespace attune::sim {

inline OpFlags flagsOf(const Inst &i) { return kOpcodes[i.opcode].flags; }

/// Calls fn(lane) for each set bit, in order, until the wave faults.
template <class Fn> void forLanes(Wave &w, uint64_t mask, Fn fn) {
  for (; mask; mask &= mask - 1) {
    fn(std::countr_zero(mask));
    if (w.state == WaveState::Faulted)
      return;
  }
}

/// A loaded element of less than 4 bytes as the register content that the opcode makes of it.
inline uint32_t widenElement(OpFlags flags, uint32_t raw, uint32_t old) {
  uint32_t value = raw;
  if (flags & MemU8)
    value = uint8_t(raw);
  else if (flags & MemI8)
    value = uint32_t(int32_t(int8_t(raw)));
  else if (flags & MemU16)
    value = uint16_t(raw);
  else if (flags & MemI16)
    value = uint32_t(int32_t(int16_t(raw)));
  if (flags & D16)
    return (old & 0xffff0000) | (value & 0xffff);
  if (flags & D16Hi)
    return (old & 0xffff) | value << 16;
  return value;
}

/// Puts what one lane loaded (memBytes at `from`) into the destination registers.
inline void loadLane(Wave &w, const Inst &i, int lane, const uint8_t *from) {
  if (i.memBytes < 4) {
    uint32_t raw = 0;
    std::memcpy(&raw, from, i.memBytes);
    uint32_t *row = w.row(i.dst);
    row[lane] = widenElement(flagsOf(i), raw, row[lane]);
    return;
  }
  uint32_t words[4];
  std::memcpy(words, from, i.memBytes);
  LaneRow *rows = &w.row(i.dst);
  for (int k = 0; k < i.memBytes / 4; ++k)
    rows[k][lane] = words[k];
}

/// The bytes that one lane stores, from data captured at issue.
inline void storeLane(const Access &a, int lane, uint8_t *to, int firstRow = 0) {
  const Inst &i = *a.inst;
  if (i.memBytes < 4) {
    uint32_t value = a.data[firstRow][lane] >> (flagsOf(i) & D16Hi ? 16 : 0);
    std::memcpy(to, &value, i.memBytes);
    return;
  }
  uint32_t words[4];
  for (int k = 0; k < i.memBytes / 4; ++k)
    words[k] = a.data[firstRow + k][lane];
  std::memcpy(to, words, i.memBytes);
}

/// Copies the registers of `o` into the access, from row `firstRow` on; scalar ones are lane 0's.
inline void captureData(Wave &w, Access &a, const Operand &o, int firstRow = 0) {
  if (o.kind == OperandKind::None)
    return;
  if (o.kind == OperandKind::Sgpr) {
    for (int k = 0; k < o.dwords; ++k)
      a.data[firstRow + k][0] = w.s[o.index + k];
    return;
  }
  for (int k = 0; k < o.dwords; ++k)
    std::memcpy(a.data[firstRow + k], w.row(o, k), sizeof(LaneRow));
}

/// All lanes active, dwords, and all addresses in [base, base + bytes).
inline bool wholeAccess(const Access &a, uint64_t base, uint64_t bytes) {
  unsigned size = a.inst->memBytes;
  if (a.exec != kAllLanes || size < 4 || bytes < size)
    return false;
  uint64_t last = bytes - size, outside = 0;
  for (int l = 0; l < kLanes; ++l)
    outside |= a.address[l] - base > last;
  return !outside;
}

/// What eight lanes read, 16 bytes each, turned into four pieces of rows: four lanes side by side
/// in each half of a register, then a 4 x 4 transpose in both halves at once.
template <class Address>
inline void loadEight(LaneRow *rows, int lane, uint64_t base, const Address *address) {
  using Quad = Vector<uint32_t, 4>;
  using Row = Vector<uint32_t, 8>;
  Row in[4];
  for (int n = 0; n < 4; ++n) {
    Quad low, high;
    std::memcpy(&low, Memory::host(base + address[lane + n]), sizeof low);
    std::memcpy(&high, Memory::host(base + address[lane + n + 4]), sizeof high);
    in[n] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  Row a = __builtin_shufflevector(in[0], in[1], 0, 8, 1, 9, 4, 12, 5, 13);
  Row b = __builtin_shufflevector(in[2], in[3], 0, 8, 1, 9, 4, 12, 5, 13);
  Row c = __builtin_shufflevector(in[0], in[1], 2, 10, 3, 11, 6, 14, 7, 15);
  Row d = __builtin_shufflevector(in[2], in[3], 2, 10, 3, 11, 6, 14, 7, 15);
  const Row out[4] = {__builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13),
                      __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15),
                      __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13),
                      __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15)};
  for (int k = 0; k < 4; ++k)
    store<uint32_t, 8>(rows[k] + lane, out[k]);
}

/// rows[k][l] = dword k at base + address[l]. A row may be where the addresses are: a lane's
/// address is read before the lane is written.
template <int Words, class Address>
void loadAll(LaneRow *rows, uint64_t base, const Address *address) {
  if constexpr (Words == 4) {
    for (int l = 0; l < kLanes; l += 8)
      loadEight(rows, l, base, address);
    return;
  }
  for (int l = 0; l < kLanes; ++l) {
    uint32_t words[Words];
    std::memcpy(words, Memory::host(base + address[l]), 4 * Words);
    for (int k = 0; k < Words; ++k)
      rows[k][l] = words[k];
  }
}
template <class Address>
void loadAll(unsigned bytes, LaneRow *rows, uint64_t base, const Address *address) {
  switch (bytes) {
  case 4:
    return loadAll<1>(rows, base, address);
  case 8:
    return loadAll<2>(rows, base, address);
  case 12:
    return loadAll<3>(rows, base, address);
  default:
    return loadAll<4>(rows, base, address);
  }
}

/// dword k at base + address[l] = rows[k][l], lanes in ascending order.
template <int Words, class Address>
void storeAll(const LaneRow *rows, uint64_t base, const Address *address) {
  for (int l = 0; l < kLanes; ++l) {
    uint32_t words[Words];
    for (int k = 0; k < Words; ++k)
      words[k] = rows[k][l];
    std::memcpy(Memory::host(base + address[l]), words, 4 * Words);
  }
}
template <class Address>
void storeAll(unsigned bytes, const LaneRow *rows, uint64_t base, const Address *address) {
  switch (bytes) {
  case 4:
    return storeAll<1>(rows, base, address);
  case 8:
    return storeAll<2>(rows, base, address);
  case 12:
    return storeAll<3>(rows, base, address);
  default:
    return storeAll<4>(rows, base, address);
  }
}

} // namespace attune::sim
