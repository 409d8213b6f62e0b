// A mask region as a union of simple sets: what the analysis can say about it in closed form.
//
// One RowSet is, for a query row q, an interval of keys whose ends are Sums in q, seen only by some
// rows and only if some conditions hold that are the same for the whole workgroup:
//   causal && window(W) || h < 4 && k < G
//   { k >= q - W + 1, k <= q }  or  { k <= G - 1, if h < 4 }
// What cannot be said that way is noted in `unknown`: the set may then be smaller than the rest
// says, never larger.
#pragma once
#include "compiler/analysis/Symbolic.h"
#include <set>
#include <utility>

namespace attune::analysis {

struct RowSet {
  std::vector<Sum> lower, upper;      ///< k >= each, k <= each
  std::vector<Sum> firstRow, lastRow; ///< q >= each, q <= each; free of q
  std::map<std::string, std::pair<mlir::Value, bool>>
      conditions;                ///< uniform i1 values and what they must be
  std::set<std::string> unknown; ///< further conditions, in words

  bool isExact() const { return unknown.empty(); }
  bool sameRows(const RowSet &) const;
};

/// The union of the sets; none at all: nothing is visible.
using Formula = std::vector<RowSet>;

/// The mask region of the kernel; one RowSet without limits if there is none.
Formula readMask(attn::KernelOp);

/// Some condition of the one forbids the other.
bool excludeEachOther(const RowSet &, const RowSet &);

Formula unite(Formula, const Formula &);
Formula intersect(const Formula &, const Formula &);

/// Drops sets that are empty or lie within another, ends that another end makes superfluous, and
/// joins sets whose union is again one interval of keys for every row.
Formula simplify(Formula);

} // namespace attune::analysis
