// Buffer instructions: the descriptor (V#) and each lane's address and range check.
//
//   address = base + soffset + offset,   offset = inst_offset + voffset + stride * vindex
//
// Unswizzled, a dword is out of range if its offset reaches num_records - soffset, num_records
// counting bytes whatever the stride is; each dword of a wide access is checked by itself. Only a
// swizzled descriptor with a stride is checked as a structure (index >= num_records or offset past
// the stride, all or nothing). Out-of-range loads give 0, stores are dropped.
#pragma once
#include <cstdint>

namespace attune::sim {

struct BufferDescriptor {
  uint64_t base = 0;   ///< 48 bits
  uint32_t stride = 0; ///< bytes, 14 bits
  uint32_t numRecords = 0;
  bool swizzle = false;
  bool addTid = false;     ///< the lane number is added to the index
  uint8_t indexStride = 8; ///< swizzle: 8, 16, 32 or 64 records are interleaved
};

BufferDescriptor decodeBuffer(const uint32_t words[4]);

struct BufferAccess {
  uint32_t soffset = 0;
  uint32_t instOffset = 0;           ///< 12 bits
  const uint32_t *voffset = nullptr; ///< 64 lanes; null without offen
  const uint32_t *vindex = nullptr;  ///< 64 lanes; null without idxen
  unsigned bytes = 4;                ///< 1, 2, 4, 8, 12, 16
};

/// Fills in, for every lane, the address (meaningless where nothing is in range) and how many
/// leading bytes of the access are in range: 0 .. access.bytes, 0 for inactive lanes. Returns the
/// active lanes that are in range altogether.
uint64_t bufferAddresses(const BufferDescriptor &, const BufferAccess &, uint64_t exec,
                         uint64_t *address, uint8_t *bytes);

} // namespace attune::sim
