// Operators of the ExprBuilder: types and constant folding.
#include "compiler/spec/ExprBuilder.h"
#include <cmath>
#include <fmt/format.h>

namespace attune::spec {

namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

double evaluate(ExprKind kind, double a, double b) {
  using enum ExprKind;
  switch (kind) {
  case Add:
    return a + b;
  case Sub:
    return a - b;
  case Mul:
    return a * b;
  case Div:
    return a / b;
  case Rem:
    return a - b * std::floor(a / b);
  case Min:
    return std::fmin(a, b);
  case Max:
    return std::fmax(a, b);
  case Pow:
    return std::pow(a, b);
  case Neg:
    return -a;
  case Abs:
    return std::fabs(a);
  case Floor:
    return std::floor(a);
  case Ceil:
    return std::ceil(a);
  case Exp:
    return std::exp(a);
  case Exp2:
    return std::exp2(a);
  case Log:
    return std::log(a);
  case Log2:
    return std::log2(a);
  case Tanh:
    return std::tanh(a);
  case Sigmoid:
    return 1 / (1 + std::exp(-a));
  case Sqrt:
    return std::sqrt(a);
  case Rsqrt:
    return 1 / std::sqrt(a);
  case Sin:
    return std::sin(a);
  case Cos:
    return std::cos(a);
  default:
    assert(false && "not a real operation");
    return 0;
  }
}

template <class T> bool holds(ExprKind kind, T a, T b) {
  using enum ExprKind;
  switch (kind) {
  case Eq:
    return a == b;
  case Ne:
    return a != b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  default:
    return a >= b;
  }
}

} // namespace

ExprId ExprBuilder::unary(ExprKind kind, ExprId a, const Location &at) {
  if (a < 0)
    return -1;
  if (kind == ExprKind::Not) {
    if (typeOf(a) != ScalarType::Bool) {
      error(at, fmt::format("! wants a condition (bool), got {}", nameOf(typeOf(a))));
      return -1;
    }
    if (isConst(a))
      return constB(!(*this)[a].i, at);
    return (*this)[a].kind == ExprKind::Not ? (*this)[a].args[0]
                                            : node(kind, ScalarType::Bool, {a}, at);
  }
  bool keepsInt = kind == ExprKind::Neg || kind == ExprKind::Abs;
  if (!keepsInt || typeOf(a) == ScalarType::Bool)
    a = toF32(a, at, spelling(kind));
  if (a < 0)
    return -1;
  const Expr &e = (*this)[a];
  if (isConst(a) && e.type == ScalarType::F32)
    return constF(evaluate(kind, e.f, 0), at);
  if (isConst(a)) {
    ExprId result = constI(kind == ExprKind::Neg ? -e.i : std::abs(e.i), at);
    if (auto lost = lostRemainder_.find(a); lost != lostRemainder_.end() && result >= 0)
      lostRemainder_.emplace(result, lost->second);
    return result;
  }
  if (kind == ExprKind::Neg && e.kind == ExprKind::Neg)
    return e.args[0];
  return node(kind, typeOf(a), {a}, at);
}

ExprId ExprBuilder::binary(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  if (a < 0 || b < 0)
    return -1;
  using enum ExprKind;
  switch (kind) {
  case Eq:
  case Ne:
  case Lt:
  case Le:
  case Gt:
  case Ge:
    return compare(kind, a, b, at);
  case And:
  case Or:
    return logic(kind, a, b, at);
  case BitAnd:
  case BitOr:
  case BitXor:
  case Shl:
  case Shr:
    return bits(kind, a, b, at);
  default:
    return arithmetic(kind, a, b, at);
  }
}

/// The operand that the operation returns unchanged, or -1. Only for i32, where these hold for
/// every value.
ExprId ExprBuilder::identity(ExprKind kind, ExprId a, ExprId b) const {
  using enum ExprKind;
  auto is = [&](ExprId e, int64_t v) { return (*this)[e].kind == ConstI && (*this)[e].i == v; };
  if ((kind == Add || kind == Sub) && is(b, 0))
    return a;
  if (kind == Add && is(a, 0))
    return b;
  if ((kind == Mul || kind == Div) && is(b, 1))
    return a;
  return kind == Mul && is(a, 1) ? b : -1;
}

ExprId ExprBuilder::arithmetic(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  if (kind == ExprKind::Pow) {
    a = toF32(a, at, "pow");
    b = toF32(b, at, "pow");
  }
  if (a < 0 || b < 0 || !sameNumeric(kind, a, b, at))
    return -1;
  bool divides = kind == ExprKind::Div || kind == ExprKind::Rem;
  const Expr &divisor = (*this)[b];
  if (divides && isConst(b) && divisor.f == 0 && divisor.i == 0) {
    error(at, fmt::format("`{}` by zero", spelling(kind)));
    return -1;
  }
  bool whole = typeOf(a) == ScalarType::I32;
  if (isConst(a) && isConst(b))
    return whole ? foldInt(kind, a, b, at) : foldReal(kind, a, b, at);
  if (ExprId same = whole ? identity(kind, a, b) : -1; same >= 0)
    return same;
  return node(kind, typeOf(a), {a, b}, at);
}

ExprId ExprBuilder::foldReal(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  return constF(evaluate(kind, (*this)[a].f, (*this)[b].f), at);
}

ExprId ExprBuilder::foldInt(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  using enum ExprKind;
  int64_t x = (*this)[a].i, y = (*this)[b].i, result = 0;
  switch (kind) {
  case Add:
    result = x + y;
    break;
  case Sub:
    result = x - y;
    break;
  case Mul:
    result = x * y;
    break;
  case Div:
    result = floorDiv(x, y);
    break;
  case Rem:
    result = x - y * floorDiv(x, y);
    break;
  case Min:
    result = std::min(x, y);
    break;
  default:
    result = std::max(x, y);
    break;
  }
  ExprId folded = constI(result, at);
  if (folded < 0)
    return -1;
  if (kind == Div && result * y != x)
    lostRemainder_.emplace(folded, at);
  for (ExprId operand : {a, b})
    if (auto lost = lostRemainder_.find(operand); lost != lostRemainder_.end())
      lostRemainder_.emplace(folded, lost->second);
  return folded;
}

ExprId ExprBuilder::compare(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  bool bothBool = typeOf(a) == ScalarType::Bool && typeOf(b) == ScalarType::Bool;
  if (bothBool && kind != ExprKind::Eq && kind != ExprKind::Ne)
    return typeError(kind, a, b, at);
  if (!bothBool && !sameNumeric(kind, a, b, at))
    return -1;
  const Expr &x = (*this)[a], &y = (*this)[b];
  if (isConst(a) && isConst(b))
    return constB(x.type == ScalarType::F32 ? holds(kind, x.f, y.f) : holds(kind, x.i, y.i), at);
  return node(kind, ScalarType::Bool, {a, b}, at);
}

ExprId ExprBuilder::logic(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  if (typeOf(a) != ScalarType::Bool || typeOf(b) != ScalarType::Bool)
    return typeError(kind, a, b, at);
  bool neutral = kind == ExprKind::And; // true && x is x, false || x is x
  if (isConst(a))
    return bool((*this)[a].i) == neutral ? b : a;
  if (isConst(b))
    return bool((*this)[b].i) == neutral ? a : b;
  return node(kind, ScalarType::Bool, {a, b}, at);
}

ExprId ExprBuilder::bits(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  using enum ExprKind;
  bool bothBool = typeOf(a) == ScalarType::Bool && typeOf(b) == ScalarType::Bool;
  if (kind == BitXor && bothBool) {
    if (isConst(a) && isConst(b))
      return constB((*this)[a].i != (*this)[b].i, at);
    return node(Xor, ScalarType::Bool, {a, b}, at);
  }
  if (typeOf(a) != ScalarType::I32 || typeOf(b) != ScalarType::I32)
    return typeError(kind, a, b, at);
  bool shifts = kind == Shl || kind == Shr;
  int64_t y = (*this)[b].i;
  if (shifts && isConst(b) && (y < 0 || y > 31)) {
    error(at, fmt::format("`{}` wants a distance of 0 to 31, got {}", spelling(kind), y));
    return -1;
  }
  if (!isConst(a) || !isConst(b))
    return node(kind, ScalarType::I32, {a, b}, at);
  int64_t x = (*this)[a].i;
  switch (kind) {
  case BitAnd:
    return constI(x & y, at);
  case BitOr:
    return constI(x | y, at);
  case BitXor:
    return constI(x ^ y, at);
  case Shl:
    return constI(int32_t(uint32_t(x) << y), at);
  default:
    return constI(x >> y, at);
  }
}

} // namespace attune::spec
