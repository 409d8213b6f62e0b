// Proofs that hulls and inner parts match brute force.
#include "compiler/analysis/Exactness.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

namespace attune::analysis {

//===-- hull of one set
//----------------------------------------------------------------------------------===//

/// The common slope of the ends that depend on q; Flat if none does; nothing if they disagree.
static std::optional<Slope> commonSlope(const std::vector<Sum> &ends) {
  Slope slope = Slope::Flat;
  for (const Sum &end : ends) {
    Slope own = slopeInQ(end);
    if (own == Slope::Mixed || (slope != Slope::Flat && own != Slope::Flat && own != slope))
      return std::nullopt;
    if (own != Slope::Flat)
      slope = own;
  }
  return slope;
}

static Sum atRow(const Sum &sum, const Sum &q) { return leastInQ(sum, q, q); }

/// Ends that move the same way: does the interval of each row meet or touch that of the next?
static bool rowsTouch(const Sum &lower, const Sum &upper, Slope slope, std::vector<Sum> &nonEmpty) {
  Sum q = variable(Symbol::Q), next = q + 1;
  Sum step = slope == Slope::Rising ? atRow(upper, q) + 1 - atRow(lower, next)
                                    : atRow(upper, next) + 1 - atRow(lower, q);
  Sum width = upper - lower;
  if (slopeInQ(width) == Slope::Flat && provesLe(width, step)) {
    if (!provesLe(0, width))
      nonEmpty.push_back(width);
    return true;
  }
  return provesLe(0, width) && provesLe(0, step);
}

bool hasExactHull(const RowSet &set, std::vector<Sum> &nonEmpty) {
  std::optional<Slope> lower = commonSlope(set.lower), upper = commonSlope(set.upper);
  if (!lower || !upper)
    return false;
  if (*lower == Slope::Flat || *upper == Slope::Flat || *lower != *upper)
    return true; // all rows share an end, or the interval of one end row holds all others
  for (const Sum &lo : set.lower)
    for (const Sum &hi : set.upper)
      if (slopeInQ(lo) != Slope::Flat && slopeInQ(hi) != Slope::Flat &&
          !rowsTouch(lo, hi, *lower, nonEmpty))
        return false;
  return true;
}

//===-- inner part of a union
//----------------------------------------------------------------------------===//

/// Everything that makes the set differ from row to row.
static std::set<std::string> rowAtoms(const RowSet &set) {
  std::set<std::string> atoms;
  auto add = [&](const char *name, const std::vector<Sum> &sums, bool always) {
    for (const Sum &sum : sums)
      if (always || slopeInQ(sum) != Slope::Flat)
        atoms.insert(name + sum.key());
  };
  add("lower ", set.lower, false);
  add("upper ", set.upper, false);
  add("first ", set.firstRow, true);
  add("last ", set.lastRow, true);
  return atoms;
}

/// For every key, the rows that see it by the one set are among those that see it by the other, or
/// either is none.
static bool nested(const RowSet &a, const RowSet &b) {
  std::set<std::string> atomsA = rowAtoms(a), atomsB = rowAtoms(b);
  return llvm::includes(atomsB, atomsA) || llvm::includes(atomsA, atomsB);
}

/// Between `below` and `above` lies a gap that a key cannot cross from one row to the next: above
/// starts beyond where below ends in the next row, both rising.
static bool apart(const RowSet &below, const RowSet &above) {
  Sum next = variable(Symbol::Q) + 1;
  return llvm::any_of(below.upper, [&](const Sum &hi) {
    return slopeInQ(hi) == Slope::Rising && llvm::any_of(above.lower, [&](const Sum &lo) {
             return slopeInQ(lo) == Slope::Rising && provesLe(atRow(hi, next) + 1, lo);
           });
  });
}

bool hasExactInner(const Formula &sets) {
  if (sets.size() == 2 && (apart(sets[0], sets[1]) || apart(sets[1], sets[0])))
    return true;
  for (size_t i = 0; i < sets.size(); ++i)
    for (size_t j = i + 1; j < sets.size(); ++j)
      if (!nested(sets[i], sets[j]) && !(sets.size() == 2 && excludeEachOther(sets[i], sets[j])))
        return false;
  return sets.size() <= 2; // parts of three sets and more are not joined where they touch
}

} // namespace attune::analysis
