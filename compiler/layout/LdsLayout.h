// Where a tile's elements lie in LDS: rows of `rowBytes` at a distance of `rowPitch`, and within a
// row the 16-byte chunks in an order that depends on the row, chunk -> chunk XOR f(row) with f
// linear over GF(2).
//
// Padding (rowPitch > rowBytes) and the XOR swizzle are two cures for bank conflicts. Padding
// wastes LDS and can't be written by LDS-DMA, which fills memory lane after lane; the swizzle costs
// nothing there, since each lane may fetch any chunk. Without padding the whole map is linear.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include <cstdint>
#include <vector>

namespace attune::layout {

inline constexpr int chunkBytes = 16;

struct LdsLayout {
  int rowBytes = 0; ///< a multiple of 16; with a swizzle, a power of two
  int rowPitch = 0; ///< >= rowBytes
  std::vector<uint32_t>
      chunkXor; ///< f: the image of row bit i on the chunk index; missing bits are 0

  static LdsLayout plain(int rowBytes) { return {rowBytes, rowBytes, {}}; }
  static LdsLayout padded(int rowBytes, int padBytes) {
    return {rowBytes, rowBytes + padBytes, {}};
  }
  static LdsLayout swizzled(int rowBytes, std::vector<uint32_t> f) {
    return {rowBytes, rowBytes, std::move(f)};
  }

  uint32_t swizzle(uint32_t row) const; ///< f(row)
  uint32_t address(uint32_t row, uint32_t byte) const;
  int bytes(int rows) const { return rows * rowPitch; }
  /// (row, byte) -> lds. Only for an unpadded layout with rows of a power of two.
  LinearLayout map(int rows) const;
  std::string str() const; ///< "256-byte rows, chunk ^= row(4,8,1,2)"
  bool operator==(const LdsLayout &) const = default;
};

} // namespace attune::layout
