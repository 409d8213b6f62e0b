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

bool isNot(arith::XOrIOp op) {
  return op.getType().isInteger(1) && matchPattern(op.getRhs(), m_One());
}

Text callText(Operation *op, StringRef name) {
  return {name.str() + "(" + list(op->getOperands()) + ")"};
}

Text opText(Operation *op) {
  bool isBool = op->getResult(0).getType().isInteger(1);
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

std::string valueText(Value value) { return textOf(value).text; }

} // namespace attune::analysis
