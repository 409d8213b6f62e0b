#include "runtime/sim/Buffer.h"
#include <cstring>

namespace attune::sim {

BufferDescriptor decodeBuffer(const uint32_t words[4]) {
  BufferDescriptor d;
  d.base = words[0] | uint64_t(words[1] & 0xffff) << 32;
  d.stride = words[1] >> 16 & 0x3fff;
  d.numRecords = words[2];
  d.swizzle = words[1] >> 31;
  d.indexStride = static_cast<uint8_t>(8u << (words[3] >> 21 & 3));
  d.addTid = words[3] >> 23 & 1;
  return d;
}

namespace {

/// Bytes that stay together when records are interleaved; fixed since gfx9.
constexpr uint64_t kElementBytes = 4;

/// Swizzled: records are interleaved in groups of indexStride, element by element.
uint64_t swizzledOffset(const BufferDescriptor &d, uint64_t index, uint64_t offset) {
  uint64_t group = index / d.indexStride, inGroup = index % d.indexStride;
  uint64_t element = offset / kElementBytes, inElement = offset % kElementBytes;
  return (group * d.stride + element * kElementBytes) * d.indexStride + inGroup * kElementBytes +
         inElement;
}

/// Bytes of [offset, offset + bytes) below `end`, in whole dwords (accesses narrower than one: all
/// or nothing).
uint8_t bytesInRange(uint64_t offset, unsigned bytes, uint64_t end) {
  if (bytes <= 4)
    return static_cast<uint8_t>(offset < end ? bytes : 0);
  unsigned good = 0;
  while (good < bytes && offset + good < end)
    good += 4;
  return static_cast<uint8_t>(good);
}

/// Nearly every access: linear, all lanes active and in range. Addresses are written in any case.
bool allInRange(const BufferDescriptor &d, const BufferAccess &a, uint64_t end, uint64_t *address) {
  uint64_t base = d.base + a.soffset, largest = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint64_t linear = uint64_t(a.instOffset) + (a.voffset ? a.voffset[lane] : 0);
    if (a.vindex)
      linear += uint64_t(a.vindex[lane]) * d.stride;
    address[lane] = base + linear;
    largest = linear > largest ? linear : largest;
  }
  unsigned lastDword = a.bytes > 4 ? a.bytes - 4 : 0;
  return largest + lastDword < end;
}

} // namespace

uint64_t bufferAddresses(const BufferDescriptor &d, const BufferAccess &a, uint64_t exec,
                         uint64_t *address, uint8_t *bytes) {
  bool structured = d.swizzle && d.stride != 0;
  // soffset is not part of the offset that is checked, so it comes off the end.
  uint64_t end = d.numRecords > a.soffset ? d.numRecords - a.soffset : 0;
  if (!structured && !d.addTid && exec == ~uint64_t(0) && allInRange(d, a, end, address)) {
    std::memset(bytes, static_cast<int>(a.bytes), 64);
    return exec;
  }
  uint64_t whole = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint64_t index = (a.vindex ? a.vindex[lane] : 0) + (d.addTid ? lane : 0);
    uint64_t offset = uint64_t(a.instOffset) + (a.voffset ? a.voffset[lane] : 0);
    uint64_t linear = offset + index * d.stride;
    bytes[lane] = 0;
    if (structured) {
      address[lane] = d.base + a.soffset + swizzledOffset(d, index, offset);
      if (index < d.numRecords && offset < d.stride)
        bytes[lane] = static_cast<uint8_t>(a.bytes);
    } else {
      address[lane] = d.base + a.soffset + linear;
      bytes[lane] = bytesInRange(linear, a.bytes, end);
    }
    if (!(exec >> lane & 1))
      bytes[lane] = 0;
    else if (bytes[lane] == a.bytes)
      whole |= uint64_t(1) << lane;
  }
  return whole;
}

} // namespace attune::sim
