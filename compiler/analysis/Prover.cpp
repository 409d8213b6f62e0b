// provesLe: is a <= b for every value of the variables?
//
// Min and max split into cases. What is left is one Sum that must be >= 0. Floor divisions in it
// are replaced by what they are at least (or at most), after scaling by the divisor so that
// everything stays whole:
//   q + 4 - 4 * floor(q / 4) >= 0   because   4 * floor(q / 4) <= q.
#include "compiler/analysis/Symbolic.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
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
    int64_t common = std::gcd(n, factor), scale = n / common, times = factor / common;
    if (scale > kLargest || std::abs(times) > kLargest)
      return std::nullopt;
    // scale * sum = scale * rest + times * (n * floor(x / n)), and x - n + 1 <= n * floor(x / n) <=
    // x.
    Sum rest = sum - Sum::of(entry->second.symbol, factor);
    Sum bound = factor > 0 ? symbol.operands[0] - Sum(n - 1) : symbol.operands[0];
    sum = rest * scale + bound * times;
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

namespace {

/// Splits min and max into cases, as far as the budget goes.
class CaseSplit {
public:
  bool isNonNegative(const Sum &sum) {
    if (--budget_ < 0)
      return false;
    if (isNonNegativeLinear(sum))
      return true;
    auto holdsWith = [&](const std::string &key) {
      return [&, key](const Sum &operand) { return isNonNegative(replaceTerm(sum, key, operand)); };
    };
    for (const auto &[name, term] : sum.terms())
      if (needsAll(term))
        return llvm::all_of(term.symbol->operands, holdsWith(name));
    bool isSplit = false;
    for (const auto &[name, term] : sum.terms()) {
      if (!needsAny(term))
        continue;
      isSplit = true;
      if (llvm::any_of(term.symbol->operands, holdsWith(name)))
        return true;
    }
    if (isSplit)
      return false;
    std::optional<Sum> linear = withoutFloors(sum);
    return linear && isNonNegativeLinear(*linear);
  }

private:
  static bool needsAll(const Sum::Term &term) {
    return term.symbol->kind == (term.factor > 0 ? Symbol::Min : Symbol::Max);
  }
  static bool needsAny(const Sum::Term &term) {
    return term.symbol->kind == (term.factor > 0 ? Symbol::Max : Symbol::Min);
  }

  int budget_ = 40;
};

} // namespace

bool provesLe(const Sum &a, const Sum &b) { return CaseSplit().isNonNegative(b - a); }

} // namespace attune::analysis
