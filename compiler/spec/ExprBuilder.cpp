#include "compiler/spec/ExprBuilder.h"
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attune::spec {

std::string_view nameOf(ScalarType t) {
  return t == ScalarType::F32 ? "f32" : t == ScalarType::I32 ? "i32" : "bool";
}

std::string_view spelling(ExprKind kind) {
  using enum ExprKind;
  switch (kind) {
  case Add:
    return "+";
  case Sub:
  case Neg:
    return "-";
  case Mul:
    return "*";
  case Div:
    return "/";
  case Rem:
    return "%";
  case Eq:
    return "==";
  case Ne:
    return "!=";
  case Lt:
    return "<";
  case Le:
    return "<=";
  case Gt:
    return ">";
  case Ge:
    return ">=";
  case And:
    return "&&";
  case Or:
    return "||";
  case Xor:
  case BitXor:
    return "^";
  case Not:
    return "!";
  case BitAnd:
    return "&";
  case BitOr:
    return "|";
  case Shl:
    return "<<";
  case Shr:
    return ">>";
  default:
    break;
  }
  for (const Maths &row : mathsFunctions())
    if (row.kind == kind)
      return row.name;
  return "?";
}

bool ExprBuilder::isConst(ExprId e) const {
  ExprKind kind = (*this)[e].kind;
  return kind == ExprKind::ConstF || kind == ExprKind::ConstI || kind == ExprKind::ConstB;
}

ExprId ExprBuilder::add(Expr e, const Location &at) {
  Shape shape;
  auto include = [&](ExprId arg) {
    shape.depth = std::max(shape.depth, shape_[size_t(arg)].depth + 1);
    shape.size = std::min(shape.size + shape_[size_t(arg)].size, kMaxExprSize + 1);
  };
  for (ExprId arg : e.args) {
    if (arg < 0)
      return -1;
    include(arg);
  }
  if (e.body >= 0)
    include(e.body);
  if (shape.depth > kMaxExprDepth) {
    error(at, fmt::format("the expression nests deeper than {} levels with its functions expanded",
                          kMaxExprDepth));
    return -1;
  }
  if (shape.size > kMaxExprSize) {
    error(at, fmt::format("the expression has more than {} operations with its functions expanded",
                          kMaxExprSize));
    return -1;
  }
  e.range = site.value_or(at.range);
  model_.exprs.push_back(std::move(e));
  shape_.push_back(shape);
  return ExprId(model_.exprs.size() - 1);
}

ExprId ExprBuilder::node(ExprKind kind, ScalarType type, std::vector<ExprId> args,
                         const Location &at) {
  Expr e{};
  e.kind = kind;
  e.type = type;
  e.args = std::move(args);
  return add(std::move(e), at);
}

ExprId ExprBuilder::constF(double v, const Location &at) {
  if (!(std::abs(v) <= double(std::numeric_limits<float>::max()))) {
    error(at, "the constant is not a finite f32 value",
          "to hide a key write the condition in mask; scores are finite.");
    return -1;
  }
  Expr e{};
  e.kind = ExprKind::ConstF;
  e.type = ScalarType::F32;
  e.f = v;
  return add(std::move(e), at);
}

ExprId ExprBuilder::constI(int64_t v, const Location &at) {
  if (v != int64_t(int32_t(v))) {
    error(at, fmt::format("the constant {} does not fit in i32", v));
    return -1;
  }
  Expr e{};
  e.kind = ExprKind::ConstI;
  e.type = ScalarType::I32;
  e.i = v;
  return add(std::move(e), at);
}

ExprId ExprBuilder::constB(bool v, const Location &at) {
  Expr e{};
  e.kind = ExprKind::ConstB;
  e.type = ScalarType::Bool;
  e.i = v;
  return add(std::move(e), at);
}

ExprId ExprBuilder::index(IndexName name, const Location &at) {
  Expr e{};
  e.kind = ExprKind::Index;
  e.type = name == IndexName::Score ? ScalarType::F32 : ScalarType::I32;
  e.i = int64_t(name);
  return add(std::move(e), at);
}

ExprId ExprBuilder::scalar(int number, const Location &at) {
  Expr e{};
  e.kind = ExprKind::Scalar;
  e.type = model_.problem.scalars[size_t(number)].dtype == DType::F32 ? ScalarType::F32
                                                                      : ScalarType::I32;
  e.i = number;
  return add(std::move(e), at);
}

ExprId ExprBuilder::read(int tensor, std::vector<ExprId> indices, const Location &at) {
  Expr e{};
  e.kind = ExprKind::Read;
  switch (model_.tensors[size_t(tensor)].info.dtype) {
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    e.type = ScalarType::F32;
    break;
  case DType::Bool:
    e.type = ScalarType::Bool;
    break;
  default:
    e.type = ScalarType::I32;
    break;
  }
  e.i = tensor;
  e.args = std::move(indices);
  return add(std::move(e), at);
}

ExprId ExprBuilder::call(std::string name, bool builtin, std::vector<ExprId> args, ExprId body,
                         const Location &at) {
  // A body that folded to a constant or to something that needs no name stays as it is: its calls
  // would say nothing.
  if (body < 0 || isConst(body))
    return body;
  Expr e{};
  e.kind = ExprKind::Call;
  e.type = typeOf(body);
  e.name = std::move(name);
  e.builtin = builtin;
  e.args = std::move(args);
  e.body = body;
  return add(std::move(e), at);
}

ExprId ExprBuilder::toF32(ExprId a, const Location &at, std::string_view what) {
  if (a < 0 || typeOf(a) == ScalarType::F32)
    return a;
  if (typeOf(a) == ScalarType::Bool) {
    error(at, fmt::format("{} wants a number, got a condition (bool)", what),
          "write f32(condition) for 0 or 1, or select(condition, a, b).");
    return -1;
  }
  return convert(ExprKind::ToF32, a, at);
}

ExprId ExprBuilder::convert(ExprKind kind, ExprId a, const Location &at) {
  if (a < 0)
    return -1;
  ScalarType target = kind == ExprKind::ToF32 ? ScalarType::F32 : ScalarType::I32;
  if (typeOf(a) == target)
    return a;
  const Expr &e = (*this)[a];
  if (!isConst(a))
    return node(kind, target, {a}, at);
  if (target == ScalarType::I32)
    return constI(
        e.kind == ExprKind::ConstF ? int64_t(std::trunc(std::clamp(e.f, -3e9, 3e9))) : e.i, at);
  if (auto lost = lostRemainder_.find(a); lost != lostRemainder_.end()) {
    error(lost->second,
          "the division of two whole numbers rounds down here, and its value is used as a float",
          "write a decimal point for a real quotient: 1.0 / 2, not 1 / 2.");
    return -1;
  }
  return constF(double(e.i), at);
}

ExprId ExprBuilder::select(ExprId condition, ExprId a, ExprId b, const Location &at) {
  if (condition < 0 || a < 0 || b < 0)
    return -1;
  if (typeOf(condition) != ScalarType::Bool) {
    error(at,
          fmt::format("select wants a condition (bool) first, got {}", nameOf(typeOf(condition))));
    return -1;
  }
  if (typeOf(a) != typeOf(b) && !sameNumeric(ExprKind::Select, a, b, at))
    return -1;
  if (isConst(condition))
    return (*this)[condition].i ? a : b;
  return node(ExprKind::Select, typeOf(a), {condition, a, b}, at);
}

ExprId ExprBuilder::typeError(ExprKind kind, ExprId a, ExprId b, const Location &at) {
  std::string help;
  bool logicalBits = kind == ExprKind::BitAnd || kind == ExprKind::BitOr;
  if (logicalBits && typeOf(a) == ScalarType::Bool && typeOf(b) == ScalarType::Bool)
    help = kind == ExprKind::BitAnd ? "conditions are joined with &&."
                                    : "conditions are joined with ||.";
  else if (typeOf(a) == ScalarType::Bool || typeOf(b) == ScalarType::Bool)
    help = "a condition becomes a number by f32(c), i32(c) or select(c, a, b).";
  error(at,
        fmt::format("`{}` does not take {} and {}", spelling(kind), nameOf(typeOf(a)),
                    nameOf(typeOf(b))),
        std::move(help));
  return -1;
}

/// Brings both to i32 or both to f32.
bool ExprBuilder::sameNumeric(ExprKind kind, ExprId &a, ExprId &b, const Location &at) {
  if (typeOf(a) == ScalarType::Bool || typeOf(b) == ScalarType::Bool) {
    typeError(kind, a, b, at);
    return false;
  }
  if (typeOf(a) == typeOf(b))
    return true;
  a = toF32(a, at, spelling(kind));
  b = toF32(b, at, spelling(kind));
  return a >= 0 && b >= 0;
}

} // namespace attune::spec
