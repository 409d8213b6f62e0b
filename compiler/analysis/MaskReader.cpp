// From the ops of a mask region to a Formula.
//
// Booleans are read with a sign, so that `!` disappears on the way down. A comparison becomes D >=
// 0 for a Sum D; min, max and select in D become unions and intersections; what is left is solved
// for k, or without k for q.
#include "compiler/analysis/MaskFormula.h"
#include "compiler/analysis/ValueText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <array>
#include <optional>

namespace attune::analysis {
using namespace mlir;

namespace {

Formula everything() { return {RowSet()}; }
Formula nothing() { return {}; }

class MaskReader {
public:
  explicit MaskReader(Block *body) : body_(body) {}
  Formula condition(Value, bool positive);

private:
  bool isUniform(Value);
  Sum number(Value);
  Sum numberOfOp(Operation *, Value);
  Formula conditionOfOp(Operation *, Value, bool positive);
  Formula choice(Value condition, Formula ifTrue, Formula ifFalse);
  Formula comparison(arith::CmpIOp, bool positive);
  Formula nonNegative(const Sum &, const std::string &text);
  Formula solve(const Sum &, Symbol::Kind variable, const std::string &text);
  Formula guard(Value, bool positive);
  Formula gated(const Sum &);
  Formula unknown(std::string text);

  Block *body_;
  int budget_ = 256; ///< of comparisons, cases of min, max and select counted apart: they multiply
  llvm::DenseMap<Value, bool> uniform_;
  llvm::DenseMap<Value, Sum> numbers_;
  llvm::DenseMap<std::pair<Value, int>, Formula> conditions_;
};

//===-- values
//-------------------------------------------------------------------------------------------===//

bool MaskReader::isUniform(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    using enum attn::BodyArg;
    return llvm::all_of(std::array{Q, K, QI},
                        [&](attn::BodyArg a) { return arg != attn::maskArg(body_, a); });
  }
  auto [it, isNew] = uniform_.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool uniform =
      llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value v) { return isUniform(v); });
  return uniform_[value] = uniform;
}

/// A literal of an i32 value; nothing if it is too large for the analysis to trust sums of it.
std::optional<int64_t> smallConstant(Value value) {
  llvm::APInt literal;
  if (!matchPattern(value, m_ConstantInt(&literal)) ||
      std::abs(literal.getSExtValue()) > (kNoLimit >> 1))
    return std::nullopt;
  return literal.getSExtValue();
}

Sum MaskReader::number(Value value) {
  if (auto known = numbers_.find(value); known != numbers_.end())
    return known->second;
  Sum sum;
  if (Operation *op = value.getDefiningOp()) {
    sum = numberOfOp(op, value);
  } else {
    Sum ctx = valueSymbol(attn::maskArg(body_, attn::BodyArg::Ctx), /*uniform=*/true);
    if (value == attn::maskArg(body_, attn::BodyArg::K))
      sum = variable(Symbol::K);
    else if (value == attn::maskArg(body_, attn::BodyArg::Q))
      sum = variable(Symbol::Q);
    else if (value == attn::maskArg(body_, attn::BodyArg::QI))
      sum = variable(Symbol::Q) - ctx;
    else if (value == attn::maskArg(body_, attn::BodyArg::KvLen))
      sum = variable(Symbol::KvLen);
    else if (value == attn::maskArg(body_, attn::BodyArg::QLen))
      sum = variable(Symbol::KvLen) - ctx;
    else
      sum = valueSymbol(value, /*uniform=*/true);
  }
  return numbers_.insert({value, sum}).first->second;
}

/// Factors and divisors beyond this are left alone: a product with a position would leave i32.
constexpr int64_t kLargestFactor = 1 << 12;

Sum MaskReader::numberOfOp(Operation *op, Value value) {
  auto opaque = [&] { return valueSymbol(value, isUniform(value)); };
  auto operand = [&](int i) { return number(op->getOperand(i)); };
  auto literal = [&](int i) { return smallConstant(op->getOperand(i)); };
  auto times = [&](const Sum &sum, std::optional<int64_t> factor) {
    return factor && std::abs(*factor) <= kLargestFactor ? sum * *factor : opaque();
  };
  auto divided = [&](const Sum &sum, std::optional<int64_t> n) {
    // Dividing a sum of several minima multiplies their operands; nobody writes that.
    bool tangled = llvm::count_if(sum.terms(), [](const auto &t) {
                     return t.second.symbol->operands.size() > 1;
                   }) > 1;
    if (isUniform(value) || tangled || !n || *n == 0 || std::abs(*n) > (kNoLimit >> 1))
      return opaque();
    return *n > 0 ? floorDiv(sum, *n) : floorDiv(sum * -1, -*n);
  };
  auto power = [](std::optional<int64_t> exponent) -> std::optional<int64_t> {
    return exponent && *exponent >= 0 && *exponent < 30 ? std::optional(int64_t(1) << *exponent)
                                                        : std::nullopt;
  };
  return TypeSwitch<Operation *, Sum>(op)
      .Case([&](arith::ConstantOp) {
        std::optional<int64_t> constant = smallConstant(value);
        return constant ? Sum(*constant) : opaque();
      })
      .Case([&](arith::AddIOp) { return operand(0) + operand(1); })
      .Case([&](arith::SubIOp) { return operand(0) - operand(1); })
      .Case([&](arith::MulIOp) {
        return literal(0) ? times(operand(1), literal(0)) : times(operand(0), literal(1));
      })
      .Case([&](arith::ShLIOp) { return times(operand(0), power(literal(1))); })
      .Case([&](arith::ShRSIOp) { return divided(operand(0), power(literal(1))); })
      .Case([&](arith::FloorDivSIOp) { return divided(operand(0), literal(1)); })
      .Case([&](arith::MinSIOp) {
        return isUniform(value) ? opaque() : minOf({operand(0), operand(1)});
      })
      .Case([&](arith::MaxSIOp) {
        return isUniform(value) ? opaque() : maxOf({operand(0), operand(1)});
      })
      .Default([&](Operation *) { return opaque(); });
}

//===-- conditions
//---------------------------------------------------------------------------------------===//

Formula MaskReader::unknown(std::string text) {
  RowSet set;
  set.unknown.insert(std::move(text));
  return {set};
}

Formula MaskReader::guard(Value condition, bool positive) {
  RowSet set;
  set.conditions.emplace(valueSymbol(condition, /*uniform=*/true).key(),
                         std::pair(condition, positive));
  return {set};
}

/// d >= 0 as an upper end: it has no k, or q only in ways that cannot be solved for.
Formula MaskReader::gated(const Sum &d) {
  RowSet set;
  set.upper.push_back(gate(d));
  return {set};
}

Formula MaskReader::choice(Value condition, Formula ifTrue, Formula ifFalse) {
  return unite(intersect(this->condition(condition, true), ifTrue),
               intersect(this->condition(condition, false), ifFalse));
}

Formula MaskReader::condition(Value value, bool positive) {
  if (auto known = conditions_.find({value, positive}); known != conditions_.end())
    return known->second;
  Formula formula;
  llvm::APInt literal;
  if (matchPattern(value, m_ConstantInt(&literal)))
    formula = literal.isZero() == positive ? nothing() : everything();
  else if (isUniform(value))
    formula = guard(value, positive);
  else
    formula = conditionOfOp(value.getDefiningOp(), value, positive);
  return conditions_.insert({{value, positive}, formula}).first->second;
}

Formula MaskReader::conditionOfOp(Operation *op, Value value, bool positive) {
  auto operand = [&](int i, bool sign) { return condition(op->getOperand(i), sign); };
  auto differ = [&](bool sign) {
    return choice(op->getOperand(0), operand(1, !sign), operand(1, sign));
  };
  return TypeSwitch<Operation *, Formula>(op)
      .Case([&](arith::AndIOp) { // !(a && b) is !a || !b
        return positive ? intersect(operand(0, true), operand(1, true))
                        : unite(operand(0, false), operand(1, false));
      })
      .Case([&](arith::OrIOp) {
        return positive ? unite(operand(0, true), operand(1, true))
                        : intersect(operand(0, false), operand(1, false));
      })
      .Case([&](arith::XOrIOp) { return differ(positive); })
      .Case([&](arith::SelectOp o) {
        return choice(o.getCondition(), operand(1, positive), operand(2, positive));
      })
      .Case([&](arith::CmpIOp o) {
        if (!o.getLhs().getType().isInteger(1))
          return comparison(o, positive);
        if (o.getPredicate() == arith::CmpIPredicate::eq)
          return differ(!positive);
        if (o.getPredicate() == arith::CmpIPredicate::ne)
          return differ(positive);
        return unknown(valueText(value));
      })
      .Default([&](Operation *) { return unknown((positive ? "" : "!") + valueText(value)); });
}

Formula MaskReader::comparison(arith::CmpIOp op, bool positive) {
  using enum arith::CmpIPredicate;
  std::string text = valueText(op);
  Sum d = number(op.getLhs()) - number(op.getRhs());
  auto predicate = positive ? op.getPredicate() : arith::invertPredicate(op.getPredicate());
  switch (predicate) {
  case sge:
    return nonNegative(d, text);
  case sgt:
    return nonNegative(d - 1, text);
  case sle:
    return nonNegative(d * -1, text);
  case slt:
    return nonNegative(d * -1 - 1, text);
  case eq:
    return intersect(nonNegative(d, text), nonNegative(d * -1, text));
  case ne:
    return unite(nonNegative(d - 1, text), nonNegative(d * -1 - 1, text));
  default:
    return unknown(text);
  }
}

//===-- solving
//------------------------------------------------------------------------------------------===//

/// The first symbol of one of the kinds, at any depth.
const Symbol *find(const Sum &sum, ArrayRef<Symbol::Kind> kinds) {
  for (const auto &[name, term] : sum.terms()) {
    if (llvm::is_contained(kinds, term.symbol->kind))
      return term.symbol.get();
    for (const Sum &operand : term.symbol->operands)
      if (const Symbol *inner = find(operand, kinds))
        return inner;
  }
  return nullptr;
}

/// Sums that might leave i32 for positions below 2^30. A multiple of x / n is no larger than that
/// of x over n.
bool isLarge(const Sum &sum) {
  return std::abs(sum.constant()) >= kNoLimit || llvm::any_of(sum.terms(), [](const auto &entry) {
           const Sum::Term &term = entry.second;
           return std::abs(term.factor) / term.symbol->divisor > kLargestFactor;
         });
}

Formula MaskReader::nonNegative(const Sum &d, const std::string &text) {
  if (--budget_ < 0)
    return unknown(text);
  for (const auto &[name, term] : d.terms()) {
    if (term.symbol->kind != Symbol::Min && term.symbol->kind != Symbol::Max)
      continue;
    bool all = (term.symbol->kind == Symbol::Min) == (term.factor > 0); // min(a, b) >= 0: both are
    Formula parts = all ? everything() : nothing();
    for (const Sum &operand : term.symbol->operands) {
      Formula part = nonNegative(replaceTerm(d, name, operand), text);
      parts = all ? intersect(parts, part) : unite(parts, part);
    }
    return parts;
  }
  if (const Symbol *opaque = find(d, {Symbol::Opaque})) {
    Value value = opaque->value;
    auto with = [&](const Sum &sum) { return nonNegative(replace(d, opaque->key, sum), text); };
    if (auto select = value.getDefiningOp<arith::SelectOp>())
      return choice(select.getCondition(), with(number(select.getTrueValue())),
                    with(number(select.getFalseValue())));
    if (auto extended = value.getDefiningOp<arith::ExtUIOp>();
        extended && extended.getIn().getType().isInteger(1))
      return choice(extended.getIn(), with(1), with(0));
    return unknown(text);
  }
  if (isLarge(d))
    return unknown(text);
  return solve(d, contains(d, Symbol::K) ? Symbol::K : Symbol::Q, text);
}

/// d >= 0 with one term c * T that holds the variable: T >= -floor(rest / c), or T <= floor(rest /
/// -c) for c < 0. A T that is floor(P / n) is solved further: it is >= x if P >= n * x, and <= x if
/// P <= n * x + n - 1.
Formula MaskReader::solve(const Sum &d, Symbol::Kind kind, const std::string &text) {
  const Sum::Term *holder = nullptr;
  for (const auto &[name, term] : d.terms()) {
    Sum alone = Sum::of(term.symbol);
    if (!contains(alone, kind))
      continue;
    if (holder) // k + k / 2: grows with k, but has no inverse in closed form
      return kind == Symbol::K ? unknown(text) : gated(d);
    holder = &term;
  }
  if (!holder)
    return d.isConstant() ? (d.constant() >= 0 ? everything() : nothing()) : gated(d);
  int64_t c = holder->factor;
  Sum rest = d - Sum::of(holder->symbol, c);
  Sum end = c > 0 ? floorDiv(rest, c) * -1 : floorDiv(rest, -c);
  if (holder->symbol->kind == Symbol::FloorDiv) {
    const Sum &dividend = holder->symbol->operands[0];
    int64_t n = holder->symbol->divisor;
    return nonNegative(c > 0 ? dividend - end * n : end * n + Sum(n - 1) - dividend, text);
  }
  RowSet set;
  std::vector<Sum> &lower = kind == Symbol::K ? set.lower : set.firstRow;
  std::vector<Sum> &upper = kind == Symbol::K ? set.upper : set.lastRow;
  (c > 0 ? lower : upper).push_back(end);
  return {set};
}

} // namespace

Formula readMask(attn::KernelOp kernel) {
  Block *body = kernel.maskBody();
  if (!body)
    return everything();
  Value visible = cast<attn::YieldOp>(body->getTerminator()).getValue();
  return simplify(MaskReader(body).condition(visible, /*positive=*/true));
}

} // namespace attune::analysis
