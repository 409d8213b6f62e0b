// Operators print with parentheses around operands that bind looser; what has no operator prints as
// a call.
#include "compiler/analysis/ValueText.h"
#include "compiler/dialect/attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attune::analysis {
using namespace mlir;

namespace {

struct Text {
  std::string text;
  int binding = 9; ///< of the outermost operator, as in C: 9 a name or call, 1 ||
};

Text textOf(Value);

std::string operand(Value value, int binding) {
  Text t = textOf(value);
  return t.binding < binding ? "(" + t.text + ")" : t.text;
}

Text binary(Operation *op, StringRef symbol, int binding) {
  std::string left = operand(op->getOperand(0), binding),
              right = operand(op->getOperand(1), binding + 1);
  return {left + " " + symbol.str() + " " + right, binding};
}

std::string list(OperandRange values) {
  std::string text;
  for (Value v : values)
    text += (text.empty() ? "" : ", ") + textOf(v).text;
  return text;
}

StringRef spelling(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "==";
  case arith::CmpIPredicate::ne:
    return "!=";
  case arith::CmpIPredicate::sge:
    return ">=";
  case arith::CmpIPredicate::sgt:
    return ">";
  case arith::CmpIPredicate::sle:
    return "<=";
  case arith::CmpIPredicate::slt:
    return "<";
  default:
    return arith::stringifyCmpIPredicate(predicate); // unsigned: the spec language has none
  }
}

StringRef spelling(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return "==";
  case arith::CmpFPredicate::OGE:
    return ">=";
  case arith::CmpFPredicate::OGT:
    return ">";
  case arith::CmpFPredicate::OLE:
    return "<=";
  case arith::CmpFPredicate::OLT:
    return "<";
  case arith::CmpFPredicate::UNE:
    return "!=";
  default:
    return arith::stringifyCmpFPredicate(predicate);
  }
}

Text constantText(Attribute value) {
  if (auto boolean = dyn_cast<BoolAttr>(value))
    return {boolean.getValue() ? "true" : "false"};
  if (auto whole = dyn_cast<IntegerAttr>(value))
    return {std::to_string(whole.getValue().getSExtValue())};
  SmallString<16> digits;
  cast<FloatAttr>(value).getValue().toString(digits);
  return {std::string(digits)};
}

/// The divisor n if the op is x & (n - 1) or x - x / n * n, which is what the spec's x % n becomes.
std::string divisorText(Operation *op) {
  llvm::APInt mask;
  if (isa<arith::AndIOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&mask)) &&
      (mask + 1).isPowerOf2())
    return std::to_string(mask.getSExtValue() + 1);
  auto product = op->getOperand(1).getDefiningOp<arith::MulIOp>();
  auto quotient = product ? product.getLhs().getDefiningOp<arith::FloorDivSIOp>() : nullptr;
  bool isRest = isa<arith::SubIOp>(op) && quotient && quotient.getLhs() == op->getOperand(0) &&
                quotient.getRhs() == product.getRhs();
  return isRest ? operand(product.getRhs(), 8) : "";
}

/// n if the op is select(n == 0, 1, n), which the lowering puts where the spec divides by n.
Value guardedDivisor(arith::SelectOp op) {
  auto isZero = op.getCondition().getDefiningOp<arith::CmpIOp>();
  bool guards = isZero && isZero.getPredicate() == arith::CmpIPredicate::eq &&
                isZero.getLhs() == op.getFalseValue() && matchPattern(isZero.getRhs(), m_Zero()) &&
                matchPattern(op.getTrueValue(), m_One());
  return guards ? op.getFalseValue() : Value();
}

bool isNot(arith::XOrIOp op) {
  return op.getType().isInteger(1) && matchPattern(op.getRhs(), m_One());
}

Text callText(Operation *op, StringRef name) {
  return {name.str() + "(" + list(op->getOperands()) + ")"};
}

Text opText(Operation *op) {
  bool isBool = op->getResult(0).getType().isInteger(1);
  if (op->getNumOperands() == 2 && !isBool)
    if (std::string divisor = divisorText(op); !divisor.empty())
      return {operand(op->getOperand(0), 7) + " % " + divisor, 7};
  return TypeSwitch<Operation *, Text>(op)
      .Case([](arith::ConstantOp o) { return constantText(o.getValue()); })
      .Case([](attn::ReadOp o) {
        return Text{o.getTensor().str() + "[" + list(o.getIndices()) + "]"};
      })
      .Case([](attn::ScalarOp o) { return Text{o.getScalar().str()}; })
      .Case([&](arith::CmpIOp o) { return binary(op, spelling(o.getPredicate()), 3); })
      .Case([&](arith::CmpFOp o) { return binary(op, spelling(o.getPredicate()), 3); })
      .Case([&](arith::OrIOp) { return isBool ? binary(op, "||", 1) : binary(op, "|", 4); })
      .Case([&](arith::AndIOp) { return isBool ? binary(op, "&&", 2) : binary(op, "&", 4); })
      .Case([&](arith::XOrIOp o) {
        return isNot(o) ? Text{"!" + operand(o.getLhs(), 8), 8} : binary(op, "^", 4);
      })
      .Case([&](arith::SelectOp o) {
        Value divisor = guardedDivisor(o);
        return divisor ? textOf(divisor) : callText(op, "select");
      })
      .Case<arith::ShLIOp>([&](auto) { return binary(op, "<<", 5); })
      .Case<arith::ShRSIOp>([&](auto) { return binary(op, ">>", 5); })
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return binary(op, "+", 6); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return binary(op, "-", 6); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return binary(op, "*", 7); })
      .Case<arith::FloorDivSIOp, arith::DivFOp>([&](auto) { return binary(op, "/", 7); })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) { return callText(op, "f32"); })
      .Case<arith::FPToSIOp, arith::ExtUIOp>([&](auto) { return callText(op, "i32"); })
      .Case<arith::MaxSIOp, arith::MaxNumFOp>([&](auto) { return callText(op, "max"); })
      .Case<arith::MinSIOp, arith::MinNumFOp>([&](auto) { return callText(op, "min"); })
      .Default([](Operation *o) { return callText(o, o->getName().stripDialect()); });
}

Text textOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return opText(op);
  auto arg = cast<BlockArgument>(value);
  unsigned first = attn::kNumScoreArgs - arg.getOwner()->getNumArguments();
  return {attn::kBodyArgNames[arg.getArgNumber() + first].str()};
}

} // namespace

std::string valueText(Value value, int binding) { return operand(value, binding); }

} // namespace attune::analysis
