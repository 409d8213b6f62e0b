#include "runtime/sim/Buffer.h"

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

} // namespace

void bufferAddresses(const BufferDescriptor &d, const BufferAccess &a, uint64_t exec,
                     BufferLanes &out) {
  bool structured = d.swizzle && d.stride != 0;
  // soffset is not part of the offset that is checked, so it comes off the end.
  uint64_t end = d.numRecords > a.soffset ? d.numRecords - a.soffset : 0;
  out.whole = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint64_t index = (a.vindex ? a.vindex[lane] : 0) + (d.addTid ? lane : 0);
    uint64_t offset = uint64_t(a.instOffset) + (a.voffset ? a.voffset[lane] : 0);
    uint64_t linear = offset + index * d.stride;
    out.bytes[lane] = 0;
    if (structured) {
      out.address[lane] = d.base + a.soffset + swizzledOffset(d, index, offset);
      if (index < d.numRecords && offset < d.stride)
        out.bytes[lane] = static_cast<uint8_t>(a.bytes);
    } else {
      out.address[lane] = d.base + a.soffset + linear;
      out.bytes[lane] = bytesInRange(linear, a.bytes, end);
    }
    if (!(exec >> lane & 1))
      out.bytes[lane] = 0;
    else if (out.bytes[lane] == a.bytes)
      out.whole |= uint64_t(1) << lane;
  }
}

} // namespace attune::sim
