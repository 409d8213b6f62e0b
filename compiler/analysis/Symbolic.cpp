// The algebra of Sum: building, comparing, substituting.
#include "compiler/analysis/Symbolic.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

namespace attune::analysis {

Sum Sum::of(std::shared_ptr<const Symbol> symbol, int64_t factor) {
  Sum sum;
  if (factor != 0) {
    std::string key = symbol->key;
    sum.terms_.emplace(std::move(key), Term{std::move(symbol), factor});
  }
  return sum;
}

const Symbol *Sum::asSymbol() const {
  if (constant_ != 0 || terms_.size() != 1 || terms_.begin()->second.factor != 1)
    return nullptr;
  return terms_.begin()->second.symbol.get();
}

std::string Sum::key() const {
  std::string key;
  for (const auto &[name, term] : terms_)
    key += std::to_string(term.factor) + "*" + name + "+";
  return key + std::to_string(constant_);
}

Sum &Sum::operator+=(const Sum &other) {
  constant_ += other.constant_;
  for (const auto &[name, term] : other.terms_) {
    auto [it, isNew] = terms_.emplace(name, term);
    if (!isNew && (it->second.factor += term.factor) == 0)
      terms_.erase(it);
  }
  return *this;
}

Sum operator*(const Sum &sum, int64_t factor) {
  Sum result(sum.constant_ * factor);
  if (factor != 0)
    for (const auto &[name, term] : sum.terms_)
      result.terms_.emplace(name, Sum::Term{term.symbol, term.factor * factor});
  return result;
}

//===-- symbols
//------------------------------------------------------------------------------------------===//

/// Keys begin with a digit that gives the order in which terms print: q before lengths before
/// values.
static Sum symbolOf(Symbol symbol) {
  return Sum::of(std::make_shared<const Symbol>(std::move(symbol)));
}

Sum variable(Symbol::Kind kind) {
  static constexpr const char *kKeys[] = {"0q", "0q0", "0q1", "0k", "1kv_len"};
  assert(kind <= Symbol::KvLen && "not a variable");
  return symbolOf({kind, {}, {}, 1, kKeys[kind]});
}

/// Where the value stands in its block: the same in every run, unlike its address.
static std::string positionOf(mlir::Value value) {
  if (auto arg = mlir::dyn_cast<mlir::BlockArgument>(value))
    return "a" + std::to_string(arg.getArgNumber());
  auto result = mlir::cast<mlir::OpResult>(value);
  mlir::Operation *op = result.getOwner();
  auto index = std::distance(op->getBlock()->begin(), op->getIterator());
  return "v" + std::to_string(index) + "." + std::to_string(result.getResultNumber());
}

Sum valueSymbol(mlir::Value value, bool uniform) {
  return symbolOf({uniform ? Symbol::Uniform : Symbol::Opaque,
                   value,
                   {},
                   1,
                   (uniform ? "2" : "3") + positionOf(value)});
}

static std::string keyOf(const char *name, const std::vector<Sum> &operands) {
  std::string key = name;
  for (const Sum &operand : operands)
    key += operand.key() + ";";
  return key + ")";
}

/// floor((c * min(a, b) + r) / n) is min(floor((c * a + r) / n), floor((c * b + r) / n)) for c > 0,
/// max for c < 0.
static std::optional<Sum> floorOfMinMax(const Sum &sum, int64_t divisor) {
  for (const auto &[name, term] : sum.terms()) {
    const Symbol &symbol = *term.symbol;
    if (symbol.kind != Symbol::Min && symbol.kind != Symbol::Max)
      continue;
    std::vector<Sum> parts;
    for (const Sum &operand : symbol.operands)
      parts.push_back(floorDiv(replaceTerm(sum, name, operand), divisor));
    bool least = (symbol.kind == Symbol::Min) == (term.factor > 0);
    return least ? minOf(parts) : maxOf(parts);
  }
  return std::nullopt;
}

static int64_t floorDivide(int64_t x, int64_t n) { return x / n - (x % n < 0 ? 1 : 0); }

Sum floorDiv(const Sum &sum, int64_t divisor) {
  assert(divisor > 0 && "the sign goes into the dividend");
  if (divisor == 1)
    return sum;
  if (std::optional<Sum> distributed = floorOfMinMax(sum, divisor))
    return *distributed;
  // What the divisor divides comes out of the division.
  Sum whole(floorDivide(sum.constant(), divisor));
  Sum rest(sum.constant() - whole.constant() * divisor);
  for (const auto &[name, term] : sum.terms()) {
    if (term.factor % divisor == 0)
      whole += Sum::of(term.symbol, term.factor / divisor);
    else
      rest += Sum::of(term.symbol, term.factor);
  }
  if (rest.isConstant())
    return whole;
  std::string key = "4(" + rest.key() + "/" + std::to_string(divisor) + ")";
  return whole + symbolOf({Symbol::FloorDiv, {}, {rest}, divisor, std::move(key)});
}

/// min(min(a, b), c) is min(a, b, c); operands that another one beats for sure are left out.
static Sum extremum(Symbol::Kind kind, std::vector<Sum> operands) {
  std::map<std::pair<bool, std::string>, Sum> flat; // constants last: max(q0 - 7, 0)
  auto add = [&](const Sum &operand) {
    flat.emplace(std::pair(operand.isConstant(), operand.key()), operand);
  };
  for (const Sum &operand : operands) {
    const Symbol *inner = operand.asSymbol();
    if (inner && inner->kind == kind)
      llvm::for_each(inner->operands, add);
    else
      add(operand);
  }
  std::vector<Sum> kept;
  for (auto &[key, operand] : flat) {
    auto beats = [&](const Sum &other) {
      return kind == Symbol::Min ? provesLe(other, operand) : provesLe(operand, other);
    };
    if (llvm::any_of(kept, beats))
      continue;
    llvm::erase_if(kept, [&](const Sum &other) {
      return kind == Symbol::Min ? provesLe(operand, other) : provesLe(other, operand);
    });
    kept.push_back(operand);
  }
  if (kept.size() == 1)
    return kept.front();
  std::string key = keyOf(kind == Symbol::Min ? "5min(" : "5max(", kept);
  return symbolOf({kind, {}, std::move(kept), 1, std::move(key)});
}

Sum minOf(std::vector<Sum> operands) { return extremum(Symbol::Min, std::move(operands)); }
Sum maxOf(std::vector<Sum> operands) { return extremum(Symbol::Max, std::move(operands)); }

Sum gate(const Sum &x) { return minOf({maxOf({x, -1}), 0}) * kNoLimit + (kNoLimit - 1); }

//===-- walks
//--------------------------------------------------------------------------------------------===//

bool contains(const Sum &sum, Symbol::Kind kind) {
  return llvm::any_of(sum.terms(), [&](const auto &entry) {
    const Symbol &symbol = *entry.second.symbol;
    return symbol.kind == kind || llvm::any_of(symbol.operands, [&](const Sum &operand) {
             return contains(operand, kind);
           });
  });
}

/// Rebuilds a symbol of FloorDiv, Min or Max over changed operands.
static Sum rebuild(const Symbol &symbol, std::vector<Sum> operands) {
  switch (symbol.kind) {
  case Symbol::FloorDiv:
    return floorDiv(operands.front(), symbol.divisor);
  case Symbol::Min:
    return minOf(std::move(operands));
  case Symbol::Max:
    return maxOf(std::move(operands));
  default:
    llvm_unreachable("only these have operands");
  }
}

Sum replace(const Sum &sum, const std::string &key, const Sum &with) {
  Sum result(sum.constant());
  for (const auto &[name, term] : sum.terms()) {
    const Symbol &symbol = *term.symbol;
    if (name == key) {
      result += with * term.factor;
    } else if (symbol.operands.empty()) {
      result += Sum::of(term.symbol, term.factor);
    } else {
      std::vector<Sum> operands;
      for (const Sum &operand : symbol.operands)
        operands.push_back(replace(operand, key, with));
      result += rebuild(symbol, std::move(operands)) * term.factor;
    }
  }
  return result;
}

Sum replaceTerm(const Sum &sum, const std::string &key, const Sum &with) {
  const Sum::Term &term = sum.terms().at(key);
  return sum - Sum::of(term.symbol, term.factor) + with * term.factor;
}

static Slope join(Slope a, Slope b) {
  if (a == Slope::Flat || a == b)
    return b;
  return b == Slope::Flat ? a : Slope::Mixed;
}

static Slope flip(Slope s) {
  if (s == Slope::Rising)
    return Slope::Falling;
  return s == Slope::Falling ? Slope::Rising : s;
}

Slope slopeInQ(const Sum &sum) {
  Slope total = Slope::Flat;
  for (const auto &[name, term] : sum.terms()) {
    const Symbol &symbol = *term.symbol;
    Slope own = symbol.kind == Symbol::Q ? Slope::Rising : Slope::Flat;
    if (symbol.kind == Symbol::Opaque)
      own = Slope::Mixed;
    for (const Sum &operand : symbol.operands)
      own = join(own, slopeInQ(operand));
    total = join(total, term.factor > 0 ? own : flip(own));
  }
  return total;
}

/// q becomes `first` where the value grows with q (for the least), `last` where it falls.
static Sum extremeInQ(const Sum &sum, bool least, const Sum &first, const Sum &last) {
  Sum result(sum.constant());
  for (const auto &[name, term] : sum.terms()) {
    const Symbol &symbol = *term.symbol;
    bool leastOfSymbol = least == (term.factor > 0);
    if (symbol.kind == Symbol::Q) {
      result += (leastOfSymbol ? first : last) * term.factor;
    } else if (symbol.operands.empty()) {
      result += Sum::of(term.symbol, term.factor);
    } else {
      std::vector<Sum> operands;
      for (const Sum &operand : symbol.operands)
        operands.push_back(extremeInQ(operand, leastOfSymbol, first, last));
      result += rebuild(symbol, std::move(operands)) * term.factor;
    }
  }
  return result;
}

Sum leastInQ(const Sum &sum, const Sum &first, const Sum &last) {
  return extremeInQ(sum, /*least=*/true, first, last);
}
Sum greatestInQ(const Sum &sum, const Sum &first, const Sum &last) {
  return extremeInQ(sum, /*least=*/false, first, last);
}

} // namespace attune::analysis
