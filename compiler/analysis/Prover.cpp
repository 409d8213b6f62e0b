// provesLe: is a <= b for every value of the variables?
//
// Min and max split into cases. What is left is one Sum that must be >= 0. Floor divisions in it
// are replaced by what they are at least (or at most), after scaling by the divisor so that
// everything stays whole:
//   q + 4 - 4 * floor(q / 4) >= 0   because   4 * floor(q / 4) <= q.
#include "compiler/analysis/Symbolic.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

namespace attune::analysis {

/// A Sum without floor divisions that is >= 0 only if `sum` is; nothing if the numbers grow too
/// large to trust.
static std::optional<Sum> withoutFloors(Sum sum) {
  for (int step = 0; step < 8; ++step) {
    auto entry = llvm::find_if(
        sum.terms(), [](const auto &e) { return e.second.symbol->kind == Symbol::FloorDiv; });
    if (entry == sum.terms().end())
      return sum;
    const Symbol symbol = *entry->second.symbol;
    int64_t factor = entry->second.factor, n = symbol.divisor;
    constexpr int64_t kLargest = int64_t(1) << 24;
    if (n > kLargest || std::abs(factor) > kLargest)
      return std::nullopt;
    // n * sum = n * rest + factor * (n * floor(x / n)), and x - n + 1 <= n * floor(x / n) <= x.
    Sum rest = sum - Sum::of(entry->second.symbol, factor);
    Sum bound = factor > 0 ? symbol.operands[0] - Sum(n - 1) : symbol.operands[0];
    sum = rest * n + bound * factor;
    for (const auto &[name, term] : sum.terms())
      if (std::abs(term.factor) > kLargest)
        return std::nullopt;
  }
  return std::nullopt;
}

/// Constant >= 0, plus kv_len >= 0 and q1 - q0 >= 0 any number of times.
static bool isNonNegativeLinear(const Sum &sum) {
  int64_t q0 = 0, q1 = 0;
  for (const auto &[name, term] : sum.terms()) {
    switch (term.symbol->kind) {
    case Symbol::Q0:
      q0 = term.factor;
      break;
    case Symbol::Q1:
      q1 = term.factor;
      break;
    case Symbol::KvLen:
      if (term.factor < 0)
        return false;
      break;
    default:
      return false;
    }
  }
  return sum.constant() >= 0 && q0 + q1 == 0 && q1 >= 0;
}

static bool isNonNegative(const Sum &sum) {
  if (isNonNegativeLinear(sum))
    return true;
  std::optional<Sum> linear = withoutFloors(sum);
  return linear && isNonNegativeLinear(*linear);
}

/// The Min or Max that `sum` is but for a constant.
static const Symbol *extremumOf(const Sum &sum, Symbol::Kind kind) {
  if (sum.terms().size() != 1)
    return nullptr;
  const Sum::Term &term = sum.terms().begin()->second;
  return term.factor == 1 && term.symbol->kind == kind ? term.symbol.get() : nullptr;
}

bool provesLe(const Sum &a, const Sum &b) {
  if (isNonNegative(b - a))
    return true;
  auto aboveA = [&](const Sum &operand) { return provesLe(a, operand + b.constant()); };
  auto belowB = [&](const Sum &operand) { return provesLe(operand + a.constant(), b); };
  if (const Symbol *max = extremumOf(a, Symbol::Max))
    return llvm::all_of(max->operands, belowB);
  if (const Symbol *min = extremumOf(b, Symbol::Min))
    return llvm::all_of(min->operands, aboveA);
  if (const Symbol *min = extremumOf(a, Symbol::Min))
    if (llvm::any_of(min->operands, belowB))
      return true;
  if (const Symbol *max = extremumOf(b, Symbol::Max))
    return llvm::any_of(max->operands, aboveA);
  return false;
}

} // namespace attune::analysis
