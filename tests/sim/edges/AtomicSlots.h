// The memory that tests of atomics and scalar stores work on: 64 slots of 8 bytes behind an offset,
// one for each pair of values, and a buffer that ends before the last of them.
#pragma once
#include <cstdint>
#include <vector>

namespace simtest {

constexpr unsigned kOffset = 16, kInRange = 48; ///< bytes; slots inside the buffer

struct Slots {
  std::vector<uint64_t> words = std::vector<uint64_t>(kOffset / 4 + 128, 0x66666666);
  void set(unsigned slot, unsigned bytes, uint64_t value) {
    words[kOffset / 4 + 2 * slot] = value & 0xffffffff;
    if (bytes == 8)
      words[kOffset / 4 + 2 * slot + 1] = value >> 32;
  }
};

} // namespace simtest
