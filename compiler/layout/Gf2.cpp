// Elimination over GF(2); see Gf2.h.
#include "compiler/layout/Gf2.h"
#include <bit>

namespace attune::layout::gf2 {

uint64_t apply(const Columns &matrix, uint64_t x) {
  uint64_t y = 0;
  for (; x; x &= x - 1)
    y ^= matrix[std::countr_zero(x)];
  return y;
}

Columns multiply(const Columns &outer, const Columns &inner) {
  Columns product;
  for (uint64_t column : inner)
    product.push_back(apply(outer, column));
  return product;
}

int rank(const Columns &vectors) {
  Span span;
  for (uint64_t v : vectors)
    span.insert(v);
  return int(span.members().size());
}

std::optional<Columns> inverse(const Columns &matrix) {
  Span span;
  for (uint64_t column : matrix)
    if (!span.insert(column))
      return std::nullopt;
  Columns result;
  for (size_t i = 0; i < matrix.size(); ++i) {
    auto combination = span.combination(uint64_t(1) << i);
    if (!combination)
      return std::nullopt;
    result.push_back(*combination);
  }
  return result;
}

Columns transpose(const Columns &matrix, int rows) {
  Columns result(rows, 0);
  for (size_t c = 0; c < matrix.size(); ++c)
    for (int r = 0; r < rows; ++r)
      result[r] |= (matrix[c] >> r & 1) << c;
  return result;
}

std::pair<uint64_t, uint64_t> Span::reduce(uint64_t v) const {
  uint64_t used = 0;
  for (size_t i = 0; i < reduced_.size(); ++i)
    if (v & std::bit_floor(reduced_[i])) {
      v ^= reduced_[i];
      used ^= combined_[i];
    }
  return {v, used};
}

bool Span::insert(uint64_t v) {
  auto [rest, used] = reduce(v);
  if (!rest)
    return false;
  reduced_.push_back(rest);
  combined_.push_back(used ^ uint64_t(1) << members_.size());
  members_.push_back(v);
  return true;
}

std::optional<uint64_t> Span::combination(uint64_t v) const {
  auto [rest, used] = reduce(v);
  if (rest)
    return std::nullopt;
  return used;
}

} // namespace attune::layout::gf2
