// Addresses of an LDS tile; see LdsLayout.h.
#include "compiler/layout/LdsLayout.h"
#include <bit>
#include <cassert>
#include <fmt/format.h>

namespace attune::layout {

uint32_t LdsLayout::swizzle(uint32_t row) const {
  uint32_t f = 0;
  for (size_t i = 0; i < chunkXor.size(); ++i)
    if (row >> i & 1)
      f ^= chunkXor[i];
  return f;
}

uint32_t LdsLayout::address(uint32_t row, uint32_t byte) const {
  return row * rowPitch + (byte ^ swizzle(row) * chunkBytes);
}

LinearLayout LdsLayout::map(int rows) const {
  assert(rowPitch == rowBytes && std::has_single_bit(unsigned(rowBytes)) &&
         std::has_single_bit(unsigned(rows)) && "a padded layout is not linear");
  const int rowBits = std::countr_zero(unsigned(rows)),
            byteBits = std::countr_zero(unsigned(rowBytes));
  gf2::Columns columns;
  for (int i = 0; i < rowBits; ++i)
    columns.push_back(address(1u << i, 0));
  for (int i = 0; i < byteBits; ++i)
    columns.push_back(uint64_t(1) << i);
  return {
      {{"row", rowBits}, {"byte", byteBits}}, {{"lds", rowBits + byteBits}}, std::move(columns)};
}

std::string LdsLayout::str() const {
  std::string text = fmt::format("{}-byte rows", rowBytes);
  if (rowPitch != rowBytes)
    text += fmt::format(" + {}", rowPitch - rowBytes);
  if (!chunkXor.empty())
    text += fmt::format(", chunk ^= row({})", fmt::join(chunkXor, ","));
  return text;
}

} // namespace attune::layout
