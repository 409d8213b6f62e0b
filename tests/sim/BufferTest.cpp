// Buffer descriptors: address arithmetic and the range check, at its edges.
#include "runtime/sim/Buffer.h"
#include <catch2/catch.hpp>

using namespace attune::sim;

namespace {

constexpr uint64_t kAll = ~uint64_t(0);

struct BufferLanes {
  uint64_t address[64], whole;
  uint8_t bytes[64];
};

BufferDescriptor descriptor(uint64_t base, uint32_t records, uint32_t stride = 0,
                            bool swizzle = false, uint32_t word3 = 0x00020000) {
  const uint32_t words[4] = {uint32_t(base),
                             uint32_t(base >> 32) | stride << 16 | uint32_t(swizzle) << 31, records,
                             word3};
  return decodeBuffer(words);
}

/// Bytes in range of an access at this voffset, in lane 0.
unsigned inRange(const BufferDescriptor &d, uint32_t voffset, unsigned bytes, uint32_t soffset = 0,
                 uint32_t inst = 0) {
  uint32_t offsets[64] = {voffset};
  BufferLanes out;
  BufferAccess access;
  access.soffset = soffset;
  access.instOffset = inst;
  access.voffset = offsets;
  access.bytes = bytes;
  out.whole = bufferAddresses(d, access, 1, out.address, out.bytes);
  CHECK(out.whole == (out.bytes[0] == bytes ? 1u : 0u));
  return out.bytes[0];
}

} // namespace

TEST_CASE("descriptor fields", "[buffer]") {
  const uint32_t words[4] = {0x89abcdefu, 0x80040123u | 0x3fffu << 16, 0x80000000u,
                             0x00020000u | 3u << 21 | 1u << 23};
  BufferDescriptor d = decodeBuffer(words);
  CHECK(d.base == 0x012389abcdefu);
  CHECK(d.stride == 0x3fff);
  CHECK(d.numRecords == 0x80000000u);
  CHECK(d.swizzle);
  CHECK(d.indexStride == 64);
  CHECK(d.addTid);
  CHECK_FALSE(descriptor(0, 0).addTid);
}

TEST_CASE("range at num_records - 4, num_records, beyond, and none at all", "[buffer][F90]") {
  BufferDescriptor d = descriptor(0x1000, 256);
  CHECK(inRange(d, 252, 4) == 4);
  CHECK(inRange(d, 256, 4) == 0);
  CHECK(inRange(d, 320, 4) == 0);
  CHECK(inRange(descriptor(0x1000, 0), 0, 4) == 0);
  CHECK(inRange(d, 255, 1) == 1);
  CHECK(inRange(d, 0xfffffff0u, 4) == 0); // a negative offset
}

TEST_CASE("each dword of a wide access is checked by itself", "[buffer]") {
  BufferDescriptor d = descriptor(0x1000, 256);
  CHECK(inRange(d, 240, 16) == 16);
  CHECK(inRange(d, 244, 16) == 12);
  CHECK(inRange(d, 252, 16) == 4);
  CHECK(inRange(d, 252, 8) == 4);
  CHECK(inRange(d, 256, 16) == 0);
}

TEST_CASE("soffset comes off the range, the instruction's offset counts in it", "[buffer]") {
  BufferDescriptor d = descriptor(0x1000, 256);
  CHECK(inRange(d, 152, 4, 100) == 4);
  CHECK(inRange(d, 156, 4, 100) == 0);
  CHECK(inRange(d, 0, 4, 256) == 0);
  CHECK(inRange(d, 0, 4, 300) == 0);
  CHECK(inRange(d, 100, 4, 0, 152) == 4);
  CHECK(inRange(d, 100, 4, 0, 156) == 0);
}

TEST_CASE("num_records counts bytes whatever the stride", "[buffer]") {
  // A stride of 4 with a byte count, as the PA and MLA kernels set it.
  BufferDescriptor d = descriptor(0x1000, 4096, 4);
  CHECK(inRange(d, 4092, 4) == 4);
  CHECK(inRange(d, 4096, 4) == 0);
  CHECK(inRange(descriptor(0, 0x80000000u, 4), 0x7ffffffcu, 4) == 4);
}

TEST_CASE("addresses add up in 64 bits", "[buffer]") {
  BufferDescriptor d = descriptor(0x7ffffffff000u, 0xffffffffu, 32);
  uint32_t voffset[64], vindex[64];
  for (uint32_t l = 0; l < 64; ++l) {
    voffset[l] = 8 * l;
    vindex[l] = 1000 + l;
  }
  BufferAccess access;
  access.soffset = 0x10;
  access.instOffset = 0xffc;
  access.voffset = voffset;
  access.vindex = vindex;
  BufferLanes out;
  out.whole = bufferAddresses(d, access, kAll & ~uint64_t(2), out.address, out.bytes);
  CHECK(out.address[5] == 0x7ffffffff000u + 0x10 + 0xffc + 40 + 32 * 1005);
  CHECK(out.bytes[5] == 4);
  CHECK(out.bytes[1] == 0); // inactive
  CHECK(out.whole == (kAll & ~uint64_t(2)));
  access.voffset = nullptr;
  access.vindex = nullptr;
  out.whole = bufferAddresses(d, access, kAll, out.address, out.bytes);
  CHECK(out.address[63] == 0x7ffffffff000u + 0x10 + 0xffc);
}

TEST_CASE("swizzled descriptors interleave records and check structures", "[buffer]") {
  // Scratch-like: stride 16, 64 records interleaved by dwords, thread id added to the index.
  BufferDescriptor d = descriptor(0x1000, 128, 16, true, 0x00020000 | 3u << 21 | 1u << 23);
  uint32_t voffset[64];
  std::fill(voffset, voffset + 64, 8u);
  BufferAccess access;
  access.voffset = voffset;
  BufferLanes out;
  out.whole = bufferAddresses(d, access, kAll, out.address, out.bytes);
  CHECK(out.address[0] == 0x1000 + 8 * 64);
  CHECK(out.address[5] == 0x1000 + 8 * 64 + 5 * 4);
  CHECK(out.whole == kAll);
  std::fill(voffset, voffset + 64, 16u); // past the record
  out.whole = bufferAddresses(d, access, kAll, out.address, out.bytes);
  CHECK(out.whole == 0);
  uint32_t vindex[64] = {127, 127}; // lane 1 adds 1: past the last record
  std::fill(voffset, voffset + 64, 0u);
  access.vindex = vindex;
  out.whole = bufferAddresses(d, access, 3, out.address, out.bytes);
  CHECK(out.whole == 1);
  CHECK(out.address[0] == 0x1000 + 64 * 16 + 63 * 4);
}
