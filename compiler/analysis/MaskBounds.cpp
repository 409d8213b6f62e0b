// From the sets of a mask to intervals for a q block.
//
// Each set gives a hull (its ends at the row that reaches furthest) and an inner part (at the row
// that reaches least). Rows that a set leaves out narrow the rows of its hull and forbid its inner
// part; conditions become gates on upper ends. Then intervals are merged where that loses nothing,
// put in order, and cut down to four.
#include "compiler/analysis/MaskBounds.h"
#include "compiler/analysis/Exactness.h"
#include "compiler/analysis/MaskFormula.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <optional>

namespace attune::analysis {

namespace {

constexpr size_t kMaxIntervals = 4, kMaxRowKeys = 3;

struct Interval {
  Sum anyLo = 0, anyHi = -1, allLo = 0, allHi = -1;

  bool hasInner() const { return !provesLe(allHi + 1, allLo); }
  void dropInner() { allLo = 0, allHi = -1; }
};

//===-- one set
//------------------------------------------------------------------------------------------===//

using Condition = std::pair<mlir::Value, bool>;

/// 1 if the condition holds as wanted, else 0.
Sum indicator(const Condition &condition) {
  Sum value = valueSymbol(condition.first, /*uniform=*/true);
  return condition.second ? value : Sum(1) - value;
}

void appendAll(std::vector<Sum> &to, const std::vector<Sum> &from,
               llvm::function_ref<Sum(const Sum &)> f) {
  for (const Sum &sum : from)
    to.push_back(f(sum));
}

/// `nonEmpty`: what must be >= 0 for any row to see a key (hasExactHull).
Interval intervalOf(const RowSet &set, const std::vector<Sum> &nonEmpty) {
  Sum q0 = variable(Symbol::Q0), q1 = variable(Symbol::Q1);
  std::vector<Sum> firsts{q0}, lasts{q1}, anyLo{0}, anyHi{variable(Symbol::KvLen) - 1},
      allLo = anyLo;
  auto same = [](const Sum &sum) { return sum; };
  appendAll(firsts, set.firstRow, same);
  appendAll(lasts, set.lastRow, same);
  Sum first = maxOf(firsts), last = minOf(lasts);
  for (const auto &[key, condition] : set.conditions)
    anyHi.push_back(indicator(condition) * kNoLimit - 1);
  std::vector<Sum> allHi = anyHi;
  appendAll(anyHi, nonEmpty, gate);
  if (firsts.size() + lasts.size() > 2)
    anyHi.push_back(gate(last - first));
  appendAll(anyLo, set.lower, [&](const Sum &end) { return leastInQ(end, first, last); });
  appendAll(anyHi, set.upper, [&](const Sum &end) { return greatestInQ(end, first, last); });
  Interval interval{maxOf(anyLo), minOf(anyHi)};
  if (!set.isExact())
    return interval;
  appendAll(allLo, set.lower, [&](const Sum &end) { return greatestInQ(end, q0, q1); });
  appendAll(allHi, set.upper, [&](const Sum &end) { return leastInQ(end, q0, q1); });
  appendAll(allHi, set.firstRow, [&](const Sum &row) { return gate(q0 - row); });
  appendAll(allHi, set.lastRow, [&](const Sum &row) { return gate(row - q1); });
  interval.allLo = maxOf(allLo);
  interval.allHi = minOf(allHi);
  if (!interval.hasInner())
    interval.dropInner();
  return interval;
}

/// First and last key of a row of the set.
std::pair<Sum, Sum> keysOfRow(const RowSet &set) {
  Sum q = variable(Symbol::Q0);
  auto atRow = [&](const Sum &end) { return leastInQ(end, q, q); };
  std::vector<Sum> lo{0}, hi{variable(Symbol::KvLen) - 1};
  for (const auto &[key, condition] : set.conditions)
    hi.push_back(indicator(condition) * kNoLimit - 1);
  appendAll(lo, set.lower, atRow);
  appendAll(hi, set.upper, atRow);
  appendAll(hi, set.firstRow, [&](const Sum &row) { return gate(q - row); });
  appendAll(hi, set.lastRow, [&](const Sum &row) { return gate(row - q); });
  return {maxOf(lo), minOf(hi)};
}

/// What a row sees; sets that begin at one key are one.
std::vector<RowKeys> rowKeysOf(const Formula &sets) {
  std::vector<std::pair<Sum, Sum>> parts;
  for (const RowSet &set : sets) {
    if (!set.isExact())
      return {};
    std::pair<Sum, Sum> part = keysOfRow(set);
    auto same = llvm::find_if(parts, [&](const auto &p) { return p.first == part.first; });
    if (same == parts.end())
      parts.push_back(std::move(part));
    else
      same->second = maxOf({same->second, part.second});
  }
  if (parts.size() > kMaxRowKeys)
    return {};
  std::vector<RowKeys> keys;
  for (const auto &[lo, hi] : parts)
    keys.push_back({toBound(lo), toBound(hi)});
  return keys;
}

//===-- several sets
//-------------------------------------------------------------------------------------===//

/// Two sets of which at run time one is off: the ends of the other. Upper ends are gated to -1
/// already.
std::optional<Interval> mergeExclusive(const RowSet &setA, const RowSet &setB, const Interval &a,
                                       const Interval &b) {
  for (const auto &[key, condition] : setA.conditions) {
    auto other = setB.conditions.find(key);
    if (other == setB.conditions.end() || other->second.second == condition.second)
      continue;
    Sum offA = (Sum(1) - indicator(condition)) * kNoLimit, offB = indicator(condition) * kNoLimit;
    return Interval{
        minOf({maxOf({a.anyLo, offA}), maxOf({b.anyLo, offB})}), maxOf({a.anyHi, b.anyHi}),
        minOf({maxOf({a.allLo, offA}), maxOf({b.allLo, offB})}), maxOf({a.allHi, b.allHi})};
  }
  return std::nullopt;
}

/// Both hulls start at one key and both inner parts at one key, or all end there.
bool shareAnEnd(const Interval &a, const Interval &b) {
  return (a.anyLo == b.anyLo && a.allLo == b.allLo) || (a.anyHi == b.anyHi && a.allHi == b.allHi);
}

/// The hull of the one lies within the hull of the other.
bool holds(const Interval &outer, const Interval &inner) {
  return provesLe(outer.anyLo, inner.anyLo) && provesLe(inner.anyHi, outer.anyHi);
}

/// One has no inner part, and the hull of both together is no larger than the two hulls.
bool shareAHull(const Interval &a, const Interval &b) {
  return (!a.hasInner() || !b.hasInner()) && (a.anyLo == b.anyLo || holds(a, b) || holds(b, a));
}

/// Two intervals as one, if that loses nothing.
std::optional<Interval> merge(const Interval &a, const Interval &b) {
  Interval merged{minOf({a.anyLo, b.anyLo}), maxOf({a.anyHi, b.anyHi}), minOf({a.allLo, b.allLo}),
                  maxOf({a.allHi, b.allHi})};
  if (shareAnEnd(a, b))
    return merged;
  if (!shareAHull(a, b))
    return std::nullopt;
  const Interval &inner = a.hasInner() ? a : b;
  merged.allLo = inner.allLo;
  merged.allHi = inner.allHi;
  return merged;
}

/// Where one hull holds the other, nobody will visit a tile for the sake of the other: its inner
/// part goes.
std::optional<Interval> absorb(const Interval &a, const Interval &b) {
  if (holds(a, b))
    return a;
  return holds(b, a) ? std::optional(b) : std::nullopt;
}

bool mergeOnePair(std::vector<Interval> &intervals, bool lossless) {
  for (size_t i = 0; i < intervals.size(); ++i)
    for (size_t j = i + 1; j < intervals.size(); ++j)
      if (auto merged =
              lossless ? merge(intervals[i], intervals[j]) : absorb(intervals[i], intervals[j])) {
        intervals[i] = *merged;
        intervals.erase(intervals.begin() + j);
        return true;
      }
  return false;
}

/// Inner parts that touch for these q0 and q1 become one, so that a tile across both is full. With
/// touching ends an empty part lies within the other one's ends, so it needs no care.
void joinInner(Interval &a, Interval &b) {
  if (!a.hasInner() || !b.hasInner() || provesLe(a.allHi + 2, b.allLo) ||
      provesLe(b.allHi + 2, a.allLo))
    return;
  Sum overlap = minOf({a.allHi + 1 - b.allLo, b.allHi + 1 - a.allLo});
  Sum apart = Sum(kNoLimit - 1) - gate(overlap); // 0 if they touch, else 2^30
  Sum lo = minOf({a.allLo, b.allLo}), hi = maxOf({a.allHi, b.allHi});
  for (Interval *interval : {&a, &b}) {
    if (interval->allLo != lo)
      interval->allLo = minOf({interval->allLo, lo + apart});
    if (interval->allHi != hi)
      interval->allHi = maxOf({interval->allHi, hi - apart});
  }
}

/// By lower ends of hulls, as far as that can be proven. Where it cannot, a hull is widened: false.
bool putInOrder(std::vector<Interval> &intervals) {
  for (auto next = intervals.begin(); next != intervals.end(); ++next) {
    auto first = std::find_if(next, intervals.end(), [&](const Interval &candidate) {
      return std::all_of(next, intervals.end(), [&](const Interval &other) {
        return provesLe(candidate.anyLo, other.anyLo);
      });
    });
    if (first != intervals.end())
      std::rotate(next, first, first + 1);
  }
  bool proven = true;
  for (size_t i = intervals.size(); i-- > 1;)
    if (!provesLe(intervals[i - 1].anyLo, intervals[i].anyLo)) {
      intervals[i - 1].anyLo = minOf({intervals[i - 1].anyLo, intervals[i].anyLo});
      proven = false;
    }
  return proven;
}

/// The last intervals become one without an inner part: false if there were too many.
bool cutDown(std::vector<Interval> &intervals) {
  bool fits = intervals.size() <= kMaxIntervals;
  while (intervals.size() > kMaxIntervals) {
    Interval last = intervals.back();
    intervals.pop_back();
    intervals.back().anyHi = maxOf({intervals.back().anyHi, last.anyHi});
    intervals.back().dropInner();
  }
  return fits;
}

/// What keeps the bounds from being exact, in words.
class Reasons {
public:
  enum What { Hulls, InnerParts };
  void check(bool exact, const char *reason, What what = Hulls) {
    if (!exact)
      add({reason}, what);
  }
  void add(const std::set<std::string> &texts, What what = Hulls) {
    texts_.insert(texts.begin(), texts.end());
    widenHulls_ |= what == Hulls && !texts.empty();
  }
  bool widenHulls() const { return widenHulls_; }
  bool isEmpty() const { return texts_.empty(); }
  std::string str() const { return llvm::join(texts_, "; "); }

private:
  std::set<std::string> texts_;
  bool widenHulls_ = false; ///< some hull may hold keys that no row sees
};

std::vector<Interval> intervalsOf(const Formula &sets, Reasons &reasons) {
  std::vector<Interval> all;
  for (const RowSet &set : sets) {
    std::vector<Sum> nonEmpty;
    reasons.check(!set.isExact() || hasExactHull(set, nonEmpty),
                  "gaps between the keys of neighbouring rows");
    reasons.add(set.unknown);
    all.push_back(intervalOf(set, nonEmpty));
  }
  reasons.check(hasExactInner(sets), "keys that rows see by different parts of the mask",
                Reasons::InnerParts);
  std::vector<Interval> merged;
  std::vector<bool> used(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (used[i])
      continue;
    Interval interval = all[i];
    for (size_t j = i + 1; j < all.size(); ++j)
      if (std::optional<Interval> both =
              used[j] ? std::nullopt : mergeExclusive(sets[i], sets[j], all[i], all[j])) {
        interval = *both;
        used[j] = true;
        break;
      }
    merged.push_back(interval);
  }
  return merged;
}

} // namespace

MaskBounds analyzeMask(attn::KernelOp kernel) {
  Formula sets = readMask(kernel);
  Reasons reasons;
  std::vector<Interval> intervals = intervalsOf(sets, reasons);
  while (mergeOnePair(intervals, /*lossless=*/true) ||
         (!reasons.isEmpty() && mergeOnePair(intervals, /*lossless=*/false)))
    continue;
  if (intervals.size() == 2)
    joinInner(intervals[0], intervals[1]);
  reasons.check(putInOrder(intervals), "parts of the mask in no fixed order");
  reasons.check(cutDown(intervals), "more separate intervals than four");
  if (intervals.empty())
    intervals.emplace_back(); // hides everything
  MaskBounds bounds;
  for (const Interval &i : intervals)
    bounds.intervals.push_back(
        {toBound(i.anyLo), toBound(i.anyHi), toBound(i.allLo), toBound(i.allHi)});
  bounds.row = rowKeysOf(sets);
  bounds.exactHulls = !reasons.widenHulls();
  bounds.unanalysed = reasons.str();
  bounds.exact = bounds.unanalysed.empty();
  return bounds;
}

} // namespace attune::analysis
