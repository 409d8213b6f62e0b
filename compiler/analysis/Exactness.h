// When do the bounds say everything? Three questions, answered yes only with proof.
//
// 1. Hull of one set: over the rows of a q block its intervals leave no gap. k == 2 * q does,
// causal does not.
// 2. Inner part of one set: always exact, the ends are monotone.
// 3. Inner part of a union: a key that every row sees, it sees by one and the same set. Example
// where it fails:
//    k <= q - 9 || k >= q - 8 sees everything, half of it by either; simplify() joins such sets
//    where it can.
#pragma once
#include "compiler/analysis/MaskFormula.h"

namespace attune::analysis {

/// Question 1. A pair of ends that cross for some run-time values (a window of width w < 1) is no
/// gap but an empty set; what must be >= 0 for it not to be is added to `nonEmpty`, uniform for the
/// workgroup.
bool hasExactHull(const RowSet &, std::vector<Sum> &nonEmpty);

/// Question 3 for all pairs of the formula.
bool hasExactInner(const Formula &);

} // namespace attune::analysis
