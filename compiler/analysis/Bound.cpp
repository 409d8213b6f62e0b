// Bounds as text, as numbers and as arith ops; and how a Sum becomes one.
#include "compiler/analysis/MaskBounds.h"
#include "compiler/analysis/Symbolic.h"
#include "compiler/analysis/ValueText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

namespace attune::analysis {
using namespace mlir;

//===-- building
//-----------------------------------------------------------------------------------------===//

static Bound constant(int64_t value) { return {Bound::Const, value, {}, {}}; }

static Bound binary(Bound::Kind kind, Bound a, Bound b) {
  return {kind, 0, {}, {std::move(a), std::move(b)}};
}

static Bound boundOf(const Symbol &symbol) {
  switch (symbol.kind) {
  case Symbol::Q0:
    return {Bound::Q0, 0, {}, {}};
  case Symbol::Q1:
    return {Bound::Q1, 0, {}, {}};
  case Symbol::KvLen:
    return {Bound::KvLen, 0, {}, {}};
  case Symbol::Uniform:
    return {Bound::Uniform, 0, symbol.value, {}};
  case Symbol::FloorDiv:
    return {Bound::FloorDivConst, symbol.divisor, {}, {toBound(symbol.operands[0])}};
  case Symbol::Min:
  case Symbol::Max: {
    Bound::Kind kind = symbol.kind == Symbol::Min ? Bound::Min : Bound::Max;
    Bound all = toBound(symbol.operands[0]);
    for (const Sum &operand : llvm::drop_begin(symbol.operands))
      all = binary(kind, std::move(all), toBound(operand));
    return all;
  }
  case Symbol::Q:
  case Symbol::K:
  case Symbol::Opaque:
    break;
  }
  llvm_unreachable("a bound is the same for the whole workgroup");
}

static Bound scaled(const Sum::Term &term, int64_t factor) {
  Bound bound = boundOf(*term.symbol);
  return factor == 1 ? bound : Bound{Bound::MulConst, factor, {}, {std::move(bound)}};
}

/// Positive terms, then negative ones subtracted, then the constant: "q0 - w + 1".
Bound toBound(const Sum &sum) {
  std::optional<Bound> all;
  for (const auto &[name, term] : sum.terms())
    if (term.factor > 0) {
      Bound bound = scaled(term, term.factor);
      all = all ? binary(Bound::Add, std::move(*all), std::move(bound)) : std::move(bound);
    }
  bool constantFirst = !all;
  if (constantFirst)
    all = constant(sum.constant());
  for (const auto &[name, term] : sum.terms())
    if (term.factor < 0)
      all = binary(Bound::Sub, std::move(*all), scaled(term, -term.factor));
  int64_t c = sum.constant();
  if (constantFirst || c == 0)
    return std::move(*all);
  return c > 0 ? binary(Bound::Add, std::move(*all), constant(c))
               : binary(Bound::Sub, std::move(*all), constant(-c));
}

//===-- text
//---------------------------------------------------------------------------------------------===//

/// The operand beside a constant, if the bound is an operation of this kind with it.
static const Bound *besideConst(const Bound &b, Bound::Kind kind, int64_t value) {
  if (b.kind != kind)
    return nullptr;
  if (b.operands[0].isConst(value))
    return &b.operands[1];
  return b.operands[1].isConst(value) ? &b.operands[0] : nullptr;
}

/// x if the bound is 2^30 * min(max(x, -1), 0), the part of gate(x) that is 0 if x >= 0.
static const Bound *penalty(const Bound &b) {
  if (b.kind != Bound::MulConst || b.value != kNoLimit)
    return nullptr;
  const Bound *max = besideConst(b.operands[0], Bound::Min, 0);
  return max ? besideConst(*max, Bound::Max, -1) : nullptr;
}

/// The i1 value c if the bound is 2^30 * c.
static const Bound *scaledCondition(const Bound &b) {
  bool matches = b.kind == Bound::MulConst && b.value == kNoLimit &&
                 b.operands[0].kind == Bound::Uniform &&
                 b.operands[0].uniform.getType().isInteger(1);
  return matches ? &b.operands[0] : nullptr;
}

/// Gates read as choices: "(x >= 0 ? inf : -1)" for gate(x), "(x >= 0 ? 0 : -inf)" for its penalty
/// alone,
/// "(c ? inf : -1)" for 2^30 * c - 1 and "(c ? -1 : inf)" for 2^30 - 1 - 2^30 * c.
static std::optional<std::string> conditionText(const Bound &b) {
  if (b.kind == Bound::Sub && b.operands[1].isConst(1))
    if (const Bound *condition = scaledCondition(b.operands[0]))
      return "(" + condition->str() + " ? inf : -1)";
  if (b.kind == Bound::Sub && b.operands[0].isConst(kNoLimit - 1))
    if (const Bound *condition = scaledCondition(b.operands[1]))
      return "(" + condition->str() + " ? -1 : inf)";
  const Bound *scaled = besideConst(b, Bound::Add, kNoLimit - 1);
  const Bound *condition = penalty(scaled ? *scaled : b);
  if (!condition)
    return std::nullopt;
  return "(" + condition->str() + (scaled ? " >= 0 ? inf : -1)" : " >= 0 ? 0 : -inf)");
}

static std::string factorText(const Bound &b) {
  if (b.kind == Bound::Uniform)
    return valueText(b.uniform, 8);
  bool isSum = b.kind == Bound::Add || b.kind == Bound::Sub;
  bool isProduct = b.kind == Bound::MulConst || b.kind == Bound::FloorDivConst;
  return (isSum || isProduct) && !conditionText(b) ? "(" + b.str() + ")" : b.str();
}

/// The operands of nested min or max, "a, b, c".
static std::string operandsText(const Bound &b) {
  std::string text;
  for (const Bound &operand : b.operands)
    text += (text.empty() ? "" : ", ") +
            (operand.kind == b.kind ? operandsText(operand) : operand.str());
  return text;
}

std::string Bound::str() const {
  if (std::optional<std::string> condition = conditionText(*this))
    return *condition;
  switch (kind) {
  case Const:
    return std::to_string(value);
  case NegInf:
    return "-inf";
  case PosInf:
    return "inf";
  case Q0:
    return "q0";
  case Q1:
    return "q1";
  case KvLen:
    return "kv_len";
  case Uniform:
    return valueText(uniform);
  case Add:
    return operands[0].str() + " + " + operands[1].str();
  case Sub: {
    bool isProduct = operands[1].kind == MulConst;
    return operands[0].str() + " - " + (isProduct ? operands[1].str() : factorText(operands[1]));
  }
  case MulConst:
    return std::to_string(value) + " * " + factorText(operands[0]);
  case FloorDivConst:
    return factorText(operands[0]) + " / " + std::to_string(value);
  case Min:
    return "min(" + operandsText(*this) + ")";
  case Max:
    return "max(" + operandsText(*this) + ")";
  }
  llvm_unreachable("all kinds are listed");
}

//===-- numbers and ops
//----------------------------------------------------------------------------------===//

int64_t evaluate(const Bound &b, int64_t q0, int64_t q1, int64_t kvLen,
                 llvm::function_ref<int64_t(Value)> uniform) {
  auto operand = [&](int i) { return evaluate(b.operands[i], q0, q1, kvLen, uniform); };
  switch (b.kind) {
  case Bound::Const:
    return b.value;
  case Bound::NegInf:
    return -kNoLimit;
  case Bound::PosInf:
    return kNoLimit;
  case Bound::Q0:
    return q0;
  case Bound::Q1:
    return q1;
  case Bound::KvLen:
    return kvLen;
  case Bound::Uniform:
    return uniform(b.uniform);
  case Bound::Add:
    return operand(0) + operand(1);
  case Bound::Sub:
    return operand(0) - operand(1);
  case Bound::MulConst:
    return b.value * operand(0);
  case Bound::FloorDivConst:
    return llvm::divideFloorSigned(operand(0), b.value);
  case Bound::Min:
    return std::min(operand(0), operand(1));
  case Bound::Max:
    return std::max(operand(0), operand(1));
  }
  llvm_unreachable("all kinds are listed");
}

namespace {

struct Materializer {
  OpBuilder &b;
  Location loc;
  Value q0, q1, kvLen;
  llvm::function_ref<Value(Value)> mapUniform;

  Value constantOp(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  /// A caller may pass 2^31 - 1 as a width to mean no limit. Half of what positions can reach keeps
  /// sums within i32.
  Value uniform(Value region) {
    Value value = mapUniform(region);
    if (value.getType().isInteger(1))
      return b.createOrFold<arith::ExtUIOp>(loc, b.getI32Type(), value);
    if (isa<BlockArgument>(region))
      return value;
    Value least = b.createOrFold<arith::MaxSIOp>(loc, value, constantOp(-kNoLimit / 2));
    return b.createOrFold<arith::MinSIOp>(loc, least, constantOp(kNoLimit / 2));
  }

  Value floorDivide(Value x, int64_t divisor) {
    if (llvm::isPowerOf2_64(static_cast<uint64_t>(divisor)))
      return b.createOrFold<arith::ShRSIOp>(
          loc, x, constantOp(llvm::Log2_64(static_cast<uint64_t>(divisor))));
    return b.createOrFold<arith::FloorDivSIOp>(loc, x, constantOp(divisor));
  }

  Value emit(const Bound &bound) {
    SmallVector<Value, 2> x;
    for (const Bound &operand : bound.operands)
      x.push_back(emit(operand));
    switch (bound.kind) {
    case Bound::Const:
      return constantOp(bound.value);
    case Bound::NegInf:
      return constantOp(-kNoLimit);
    case Bound::PosInf:
      return constantOp(kNoLimit);
    case Bound::Q0:
      return q0;
    case Bound::Q1:
      return q1;
    case Bound::KvLen:
      return kvLen;
    case Bound::Uniform:
      return uniform(bound.uniform);
    case Bound::Add:
      return b.createOrFold<arith::AddIOp>(loc, x[0], x[1]);
    case Bound::Sub:
      return b.createOrFold<arith::SubIOp>(loc, x[0], x[1]);
    case Bound::MulConst:
      return b.createOrFold<arith::MulIOp>(loc, x[0], constantOp(bound.value));
    case Bound::FloorDivConst:
      return floorDivide(x[0], bound.value);
    case Bound::Min:
      return b.createOrFold<arith::MinSIOp>(loc, x[0], x[1]);
    case Bound::Max:
      return b.createOrFold<arith::MaxSIOp>(loc, x[0], x[1]);
    }
    llvm_unreachable("all kinds are listed");
  }
};

} // namespace

Value materialize(OpBuilder &b, Location loc, const Bound &bound, Value q0, Value q1, Value kvLen,
                  llvm::function_ref<Value(Value)> mapUniform) {
  return Materializer{b, loc, q0, q1, kvLen, mapUniform}.emit(bound);
}

} // namespace attune::analysis
