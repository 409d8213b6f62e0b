// Linear algebra over GF(2), on vectors of at most 64 bits held in one integer.
//
// A matrix is the list of its columns: column i is the image of input bit i. Applying it XORs the
// columns of the input's set bits, so every layout question (is it one to one, what undoes it, what
// is left free) is elimination on a handful of integers.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace attune::layout::gf2 {

using Columns = std::vector<uint64_t>;

/// The image of `x`.
uint64_t apply(const Columns &matrix, uint64_t x);

/// Columns of `outer` after `inner`.
Columns multiply(const Columns &outer, const Columns &inner);

int rank(const Columns &vectors);

/// The inverse of a square matrix of size() rows; nullopt if it is singular.
std::optional<Columns> inverse(const Columns &matrix);

/// The transpose of a matrix with `rows` rows.
Columns transpose(const Columns &matrix, int rows);

/// A growing set of independent vectors that answers "is v in the span, and as the sum of which
/// members?".
class Span {
public:
  /// Adds `v`; false, and nothing changes, if it was in the span already.
  bool insert(uint64_t v);
  bool contains(uint64_t v) const { return reduce(v).first == 0; }
  /// Which inserted members sum to `v` (bit i: the i-th that was accepted); nullopt if v is
  /// outside.
  std::optional<uint64_t> combination(uint64_t v) const;
  const Columns &members() const { return members_; }

private:
  /// What is left of v after elimination, and the members that were used.
  std::pair<uint64_t, uint64_t> reduce(uint64_t v) const;

  Columns members_;  // as given
  Columns reduced_;  // eliminated, each with its own leading bit
  Columns combined_; // which members make each reduced vector
};

} // namespace attune::layout::gf2
