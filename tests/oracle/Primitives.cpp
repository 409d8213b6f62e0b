// The primitive operations of the language, lane by lane: doubles, 32-bit integers that wrap, truth
// values.
#include "tests/oracle/Eval.h"
#include <algorithm>
#include <cmath>

namespace attune::oracle {

using spec::ExprKind;

namespace {

int64_t wrap(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

int64_t floorDiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t intPower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      result = wrap(result * base);
    base = wrap(base * base);
  }
  return result;
}

/// Nothing where the operation has no value.
std::optional<int64_t> integerOp(ExprKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case ExprKind::Add:
    return wrap(a + b);
  case ExprKind::Sub:
    return wrap(a - b);
  case ExprKind::Mul:
    return wrap(a * b);
  case ExprKind::Div:
    return b == 0 ? std::nullopt : std::optional(wrap(floorDiv(a, b)));
  case ExprKind::Rem:
    return b == 0 ? std::nullopt : std::optional(a - floorDiv(a, b) * b);
  case ExprKind::Min:
    return std::min(a, b);
  case ExprKind::Max:
    return std::max(a, b);
  case ExprKind::Pow:
    return b < 0 ? std::nullopt : std::optional(intPower(a, b));
  case ExprKind::Neg:
    return wrap(-a);
  case ExprKind::Abs:
    return wrap(std::abs(a));
  case ExprKind::BitAnd:
  case ExprKind::And:
    return a & b;
  case ExprKind::BitOr:
  case ExprKind::Or:
    return a | b;
  case ExprKind::BitXor:
  case ExprKind::Xor:
    return a ^ b;
  case ExprKind::Not:
    return !a;
  case ExprKind::Shl:
    return b < 0 || b > 31 ? std::nullopt : std::optional(wrap(a << b));
  case ExprKind::Shr:
    return b < 0 || b > 31 ? std::nullopt : std::optional(a >> b);
  default:
    return std::nullopt;
  }
}

double floatOp(ExprKind kind, double a, double b) {
  switch (kind) {
  case ExprKind::Add:
    return a + b;
  case ExprKind::Sub:
    return a - b;
  case ExprKind::Mul:
    return a * b;
  case ExprKind::Div:
    return a / b;
  case ExprKind::Rem:
    return a - std::floor(a / b) * b;
  case ExprKind::Min: // of a NaN and a number: the number
    return std::fmin(a, b);
  case ExprKind::Max:
    return std::fmax(a, b);
  case ExprKind::Pow:
    return std::pow(a, b);
  case ExprKind::Neg:
    return -a;
  case ExprKind::Abs:
    return std::fabs(a);
  case ExprKind::Floor:
    return std::floor(a);
  case ExprKind::Ceil:
    return std::ceil(a);
  case ExprKind::Exp:
    return std::exp(a);
  case ExprKind::Exp2:
    return std::exp2(a);
  case ExprKind::Log:
    return std::log(a);
  case ExprKind::Log2:
    return std::log2(a);
  case ExprKind::Tanh:
    return std::tanh(a);
  case ExprKind::Sigmoid:
    return 1 / (1 + std::exp(-a));
  case ExprKind::Sqrt:
    return std::sqrt(a);
  case ExprKind::Rsqrt:
    return 1 / std::sqrt(a);
  case ExprKind::Sin:
    return std::sin(a);
  case ExprKind::Cos:
    return std::cos(a);
  default:
    return std::nan("");
  }
}

template <class T> bool compare(ExprKind kind, T a, T b) {
  switch (kind) {
  case ExprKind::Eq:
    return a == b;
  case ExprKind::Ne:
    return a != b;
  case ExprKind::Lt:
    return a < b;
  case ExprKind::Le:
    return a <= b;
  case ExprKind::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

bool isComparison(ExprKind kind) { return kind >= ExprKind::Eq && kind <= ExprKind::Ge; }

size_t lanesOf(const std::vector<const Value *> &args) {
  size_t lanes = 1;
  for (const Value *arg : args)
    lanes = std::max(lanes, arg->lanes());
  return lanes;
}

void markUndefined(Value &value, size_t lane) {
  value.undefined.resize(value.lanes(), 0);
  value.undefined[lane] = 1;
}

/// Undefined if any operand is, but for the side of && and || that no longer matters.
bool lostLane(ExprKind kind, const std::vector<const Value *> &args, size_t lane) {
  bool any = false;
  for (const Value *arg : args) {
    bool undefined = arg->isUndefined(lane);
    any |= undefined;
    if (undefined)
      continue;
    if (kind == ExprKind::And && !arg->integer(lane))
      return false;
    if (kind == ExprKind::Or && arg->integer(lane))
      return false;
  }
  return any;
}

Value select(const std::vector<const Value *> &args, size_t lanes) {
  Value out{args[1]->floating, {}, {}, {}};
  (out.floating ? out.f.resize(lanes) : out.i.resize(lanes));
  for (size_t lane = 0; lane < lanes; ++lane) {
    const Value &taken = *args[args[0]->integer(lane) ? 1 : 2];
    if (out.floating)
      out.f[lane] = taken.number(lane);
    else
      out.i[lane] = taken.integer(lane);
    if (args[0]->isUndefined(lane) || taken.isUndefined(lane))
      markUndefined(out, lane);
  }
  return out;
}

Value toFloat(const Value &from) {
  Value out{true, {}, {}, from.undefined};
  out.f.assign(from.i.begin(), from.i.end());
  return from.floating ? from : out;
}

/// Towards zero; beyond i32 the nearest i32, NaN gives 0.
Value toInt(const Value &from) {
  if (!from.floating)
    return from;
  Value out{false, {}, std::vector<int64_t>(from.lanes()), from.undefined};
  for (size_t lane = 0; lane < from.lanes(); ++lane)
    if (double value = from.f[lane]; !std::isnan(value))
      out.i[lane] =
          static_cast<int64_t>(std::clamp(std::trunc(value), -2147483648.0, 2147483647.0));
  return out;
}

Value floatLanes(ExprKind kind, const Value &a, const Value &b, size_t lanes) {
  bool comparison = isComparison(kind);
  Value out{!comparison, {}, {}, {}};
  (comparison ? out.i.resize(lanes) : out.f.resize(lanes));
  for (size_t lane = 0; lane < lanes; ++lane)
    if (comparison)
      out.i[lane] = compare(kind, a.number(lane), b.number(lane));
    else
      out.f[lane] = floatOp(kind, a.number(lane), b.number(lane));
  return out;
}

Value integerLanes(ExprKind kind, const Value &a, const Value &b, size_t lanes) {
  Value out{false, {}, std::vector<int64_t>(lanes), {}};
  for (size_t lane = 0; lane < lanes; ++lane) {
    int64_t x = a.integer(lane), y = b.integer(lane);
    if (isComparison(kind)) {
      out.i[lane] = compare(kind, x, y);
    } else if (auto value = integerOp(kind, x, y)) {
      out.i[lane] = *value;
    } else {
      markUndefined(out, lane);
    }
  }
  return out;
}

} // namespace

Value applyPrimitive(ExprKind kind, const std::vector<const Value *> &args) {
  size_t lanes = lanesOf(args);
  if (kind == ExprKind::Select)
    return select(args, lanes);
  if (kind == ExprKind::ToF32)
    return toFloat(*args[0]);
  if (kind == ExprKind::ToI32)
    return toInt(*args[0]);
  const Value &a = *args[0], &b = *args[args.size() > 1 ? 1 : 0];
  Value out = a.floating ? floatLanes(kind, a, b, lanes) : integerLanes(kind, a, b, lanes);
  // And / Or with one decided side: an undefined lane holds 0, which is not what || needs.
  for (size_t lane = 0; lane < lanes; ++lane) {
    bool anyUndefined = a.isUndefined(lane) || b.isUndefined(lane);
    if (!anyUndefined)
      continue;
    if (lostLane(kind, args, lane))
      markUndefined(out, lane);
    else
      out.i[lane] = kind == ExprKind::Or;
  }
  return out;
}

} // namespace attune::oracle
