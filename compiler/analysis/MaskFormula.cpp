// Unions and intersections of row sets, and their simplification.
#include "compiler/analysis/MaskFormula.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

namespace attune::analysis {

/// A formula of more sets than this is cut down: the cost of comparing all with all grows with the
/// square.
static constexpr size_t kMaxSets = 16;

static std::set<std::string> keysOf(const std::vector<Sum> &sums) {
  std::set<std::string> keys;
  for (const Sum &sum : sums)
    keys.insert(sum.key());
  return keys;
}

bool RowSet::sameRows(const RowSet &other) const {
  return keysOf(firstRow) == keysOf(other.firstRow) && keysOf(lastRow) == keysOf(other.lastRow);
}

//===-- one set
//------------------------------------------------------------------------------------------===//

/// Keeps of several lower ends (or upper, with `upper`) those that no other makes superfluous.
static void prune(std::vector<Sum> &ends, bool upper) {
  auto tighter = [&](const Sum &a, const Sum &b) {
    return upper ? provesLe(a, b) : provesLe(b, a);
  };
  std::vector<Sum> kept;
  for (Sum &end : ends) {
    if (llvm::any_of(kept, [&](const Sum &other) { return tighter(other, end); }))
      continue;
    llvm::erase_if(kept, [&](const Sum &other) { return tighter(end, other); });
    kept.push_back(std::move(end));
  }
  ends = std::move(kept);
}

/// Some upper end lies below some lower end, whatever the values.
static bool cross(const std::vector<Sum> &lower, const std::vector<Sum> &upper) {
  return llvm::any_of(lower, [&](const Sum &lo) {
    return llvm::any_of(upper, [&](const Sum &hi) { return provesLe(hi + 1, lo); });
  });
}

/// The intersection of two sets; nothing if it is certainly empty.
static std::optional<RowSet> intersect(RowSet a, const RowSet &b) {
  for (const auto &[key, condition] : b.conditions)
    if (a.conditions.emplace(key, condition).first->second.second != condition.second)
      return std::nullopt;
  auto append = [](std::vector<Sum> &to, const std::vector<Sum> &from, bool upper) {
    to.insert(to.end(), from.begin(), from.end());
    prune(to, upper);
  };
  append(a.lower, b.lower, false);
  append(a.upper, b.upper, true);
  append(a.firstRow, b.firstRow, false);
  append(a.lastRow, b.lastRow, true);
  a.unknown.insert(b.unknown.begin(), b.unknown.end());
  if (cross(a.lower, a.upper) || cross(a.firstRow, a.lastRow))
    return std::nullopt;
  return a;
}

/// Every end of `outer` is implied by one of `inner`.
static bool implies(const std::vector<Sum> &inner, const std::vector<Sum> &outer, bool upper) {
  return llvm::all_of(outer, [&](const Sum &end) {
    return llvm::any_of(
        inner, [&](const Sum &own) { return upper ? provesLe(own, end) : provesLe(end, own); });
  });
}

/// a lies within b.
static bool within(const RowSet &a, const RowSet &b) {
  bool conditions = llvm::all_of(b.conditions, [&](const auto &c) {
    auto it = a.conditions.find(c.first);
    return it != a.conditions.end() && it->second.second == c.second.second;
  });
  return conditions && llvm::includes(a.unknown, b.unknown) && implies(a.lower, b.lower, false) &&
         implies(a.upper, b.upper, true) && implies(a.firstRow, b.firstRow, false) &&
         implies(a.lastRow, b.lastRow, true);
}

//===-- joining two sets
//---------------------------------------------------------------------------------===//

/// min(common, max(own ends of a, own ends of b)): the upper ends of a union whose lower ends are
/// the same.
static std::vector<Sum> joinEnds(const std::vector<Sum> &a, const std::vector<Sum> &b, bool upper) {
  std::set<std::string> keysA = keysOf(a), keysB = keysOf(b);
  std::vector<Sum> joined, ownA, ownB;
  for (const Sum &end : a)
    (keysB.count(end.key()) ? joined : ownA).push_back(end);
  for (const Sum &end : b)
    if (!keysA.count(end.key()))
      ownB.push_back(end);
  if (ownA.empty() || ownB.empty())
    return joined;
  Sum both = upper ? maxOf({minOf(ownA), minOf(ownB)}) : minOf({maxOf(ownA), maxOf(ownB)});
  joined.push_back(both);
  return joined;
}

static bool neverEmpty(const RowSet &set) {
  return llvm::all_of(set.lower, [&](const Sum &lo) {
    return llvm::all_of(set.upper, [&](const Sum &hi) { return provesLe(lo, hi); });
  });
}

/// For every row, no key lies between a and b.
static bool touch(const RowSet &a, const RowSet &b) {
  auto reaches = [](const RowSet &below, const RowSet &above) {
    return llvm::all_of(above.lower, [&](const Sum &lo) {
      return llvm::all_of(below.upper, [&](const Sum &hi) { return provesLe(lo, hi + 1); });
    });
  };
  return neverEmpty(a) && neverEmpty(b) && reaches(a, b) && reaches(b, a);
}

bool excludeEachOther(const RowSet &a, const RowSet &b) {
  return llvm::any_of(a.conditions, [&](const auto &entry) {
    auto it = b.conditions.find(entry.first);
    return it != b.conditions.end() && it->second.second != entry.second.second;
  });
}

/// Without the one condition in which they differ, if a and b are the same but for that.
static std::optional<RowSet> dropCondition(const RowSet &a, const RowSet &b) {
  RowSet joined = a;
  joined.conditions.clear();
  for (const auto &[key, condition] : a.conditions) {
    auto it = b.conditions.find(key);
    if (it == b.conditions.end())
      return std::nullopt;
    if (it->second.second == condition.second)
      joined.conditions.emplace(key, condition);
  }
  bool one = joined.conditions.size() + 1 == a.conditions.size();
  return one && a.conditions.size() == b.conditions.size() ? std::optional(joined) : std::nullopt;
}

/// The union of two sets if it is one set for every row.
static std::optional<RowSet> join(const RowSet &a, const RowSet &b) {
  if (a.unknown != b.unknown || !a.sameRows(b))
    return std::nullopt;
  bool sameLower = keysOf(a.lower) == keysOf(b.lower),
       sameUpper = keysOf(a.upper) == keysOf(b.upper);
  if (sameLower && sameUpper && a.conditions != b.conditions)
    return dropCondition(a, b);
  if (a.conditions != b.conditions || !a.isExact() || (!sameLower && !sameUpper && !touch(a, b)))
    return std::nullopt;
  RowSet joined = a;
  joined.lower = joinEnds(a.lower, b.lower, false);
  joined.upper = joinEnds(a.upper, b.upper, true);
  return joined;
}

//===-- formulas
//-----------------------------------------------------------------------------------------===//

static bool joinOnePair(Formula &sets) {
  for (size_t i = 0; i < sets.size(); ++i)
    for (size_t j = i + 1; j < sets.size(); ++j)
      if (std::optional<RowSet> joined = join(sets[i], sets[j])) {
        sets[i] = std::move(*joined);
        sets.erase(sets.begin() + j);
        return true;
      }
  return false;
}

static Formula dropCovered(Formula sets) {
  Formula kept;
  for (RowSet &set : sets) {
    if (llvm::any_of(kept, [&](const RowSet &other) { return within(set, other); }))
      continue;
    llvm::erase_if(kept, [&](const RowSet &other) { return within(other, set); });
    kept.push_back(std::move(set));
  }
  return kept;
}

Formula simplify(Formula sets) {
  sets = dropCovered(std::move(sets));
  while (joinOnePair(sets))
    sets = dropCovered(std::move(sets));
  return sets;
}

static void blur(RowSet &set) {
  set.unknown.insert("a mask of more than " + std::to_string(kMaxSets) + " cases");
}

/// Too many sets become one that says nothing but that something may be visible.
Formula unite(Formula a, const Formula &b) {
  a.insert(a.end(), b.begin(), b.end());
  a = simplify(std::move(a));
  if (a.size() <= kMaxSets)
    return a;
  RowSet something;
  blur(something);
  return {something};
}

/// Too many sets become those of one side.
Formula intersect(const Formula &a, const Formula &b) {
  Formula all;
  for (const RowSet &left : a)
    for (const RowSet &right : b)
      if (std::optional<RowSet> both = intersect(left, right))
        all.push_back(std::move(*both));
  all = simplify(std::move(all));
  if (all.size() <= kMaxSets)
    return all;
  Formula side = a;
  llvm::for_each(side, blur);
  return side;
}

} // namespace attune::analysis
