// One function per family of operations; the tables say which op a kind becomes.
#include "compiler/lower/ExprEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <bit>

namespace attune {
using namespace mlir;
using spec::Expr;
using spec::ExprId;
using spec::ExprKind;
using spec::ScalarType;

ExprEmitter::ExprEmitter(OpBuilder &b, attn::KernelOp kernel, const spec::Model &model, Block *body)
    : b_(b), kernel_(kernel), model_(model), body_(body),
      logit_(body->getNumArguments() == attn::kNumScoreArgs ? body->getArgument(0) : Value()),
      loc_(kernel.getLoc()) {}

ExprEmitter::Key ExprEmitter::keyOf(ExprKind kind, ScalarType type, double f, int64_t i,
                                    ArrayRef<Value> args) {
  Key key{static_cast<uint64_t>(kind), static_cast<uint64_t>(type), std::bit_cast<uint64_t>(f),
          static_cast<uint64_t>(i)};
  for (Value arg : args)
    key.push_back(reinterpret_cast<uintptr_t>(arg.getAsOpaquePointer()));
  return key;
}

Value ExprEmitter::emit(ExprId id) {
  if (Value value = done_.lookup(id))
    return value;
  const Expr &e = model_.exprs[id];
  Value value;
  if (e.kind == ExprKind::Call) {
    value = emit(e.body);
  } else {
    SmallVector<Value> args;
    for (ExprId arg : e.args)
      args.push_back(emit(arg));
    Value &known = known_[keyOf(e.kind, e.type, e.f, e.i, args)];
    if (!known) {
      loc_ = FileLineColLoc::get(b_.getContext(), model_.fileName, e.range.line, e.range.column);
      known = emitNode(e, args);
    }
    value = known;
  }
  done_[id] = value;
  return value;
}

Value ExprEmitter::emitNode(const Expr &e, ArrayRef<Value> args) {
  using enum ExprKind;
  switch (e.kind) {
  case ConstF:
    return constF(e.f);
  case ConstI:
    return constI(e.i);
  case ConstB:
    return make<arith::ConstantOp>(b_.getBoolAttr(e.i != 0));
  case Index:
    return index(static_cast<spec::IndexName>(e.i));
  case Scalar:
    return scalar(e.i);
  case Read:
    return read(e.i, args);
  case Eq:
  case Ne:
  case Lt:
  case Le:
  case Gt:
  case Ge:
    return compare(e.kind, args);
  case Select:
    return make<arith::SelectOp>(args[0], args[1], args[2]);
  case ToF32:
    return toF32(args[0]);
  case ToI32:
    return toI32(args[0]);
  case Call:
    llvm_unreachable("emit follows calls into their bodies");
  default:
    break;
  }
  switch (e.type) {
  case spec::ScalarType::F32:
    return real(e.kind, args);
  case spec::ScalarType::I32:
    return whole(e.kind, args);
  case spec::ScalarType::Bool:
    return logic(e.kind, args);
  }
  llvm_unreachable("all types are listed");
}

Value ExprEmitter::index(spec::IndexName name) const {
  if (name == spec::IndexName::Score)
    return logit_;
  // IndexName and BodyArg list the same names in the same order.
  static_assert(static_cast<int>(spec::IndexName::Score) == static_cast<int>(attn::BodyArg::S) &&
                static_cast<int>(spec::IndexName::HK) == static_cast<int>(attn::BodyArg::HK) &&
                static_cast<int>(spec::IndexName::K) == static_cast<int>(attn::BodyArg::K) &&
                static_cast<int>(spec::IndexName::KvLen) == static_cast<int>(attn::BodyArg::KvLen));
  unsigned first = logit_ ? 0 : 1;
  return body_->getArgument(static_cast<unsigned>(name) - first);
}

Value ExprEmitter::read(int64_t tensor, ArrayRef<Value> indices) {
  const std::string &name = model_.tensors[tensor].info.name;
  return make<attn::ReadOp>(kernel_.capture(name).readType(), name, indices);
}

Value ExprEmitter::scalar(int64_t number) {
  const std::string &name = model_.problem.scalars[number].name;
  return make<attn::ScalarOp>(kernel_.scalar(name).getType(), name);
}

Value ExprEmitter::real(ExprKind kind, ArrayRef<Value> args) {
  using enum ExprKind;
  Value x = args[0], y = args.back();
  switch (kind) {
  case Add:
    return make<arith::AddFOp>(x, y);
  case Sub:
    return make<arith::SubFOp>(x, y);
  case Mul:
    return make<arith::MulFOp>(x, y);
  case Div:
    return make<arith::DivFOp>(x, y);
  case Rem: { // of the divisor's sign, like the whole one
    Value quotient = make<math::FloorOp>(make<arith::DivFOp>(x, y));
    return make<arith::SubFOp>(x, make<arith::MulFOp>(quotient, y));
  }
  case Min:
    return make<arith::MinNumFOp>(x, y);
  case Max:
    return make<arith::MaxNumFOp>(x, y);
  case Pow:
    return make<math::PowFOp>(x, y);
  case Neg:
    return make<arith::NegFOp>(x);
  case Abs:
    return make<math::AbsFOp>(x);
  case Floor:
    return make<math::FloorOp>(x);
  case Ceil:
    return make<math::CeilOp>(x);
  case Exp:
    return make<math::ExpOp>(x);
  case Exp2:
    return make<math::Exp2Op>(x);
  case Log:
    return make<math::LogOp>(x);
  case Log2:
    return make<math::Log2Op>(x);
  case Tanh:
    return make<math::TanhOp>(x);
  case Sigmoid: {
    Value one = constF(1);
    Value power = make<math::ExpOp>(make<arith::NegFOp>(x));
    return make<arith::DivFOp>(one, make<arith::AddFOp>(one, power));
  }
  case Sqrt:
    return make<math::SqrtOp>(x);
  case Rsqrt:
    return make<math::RsqrtOp>(x);
  case Sin:
    return make<math::SinOp>(x);
  case Cos:
    return make<math::CosOp>(x);
  default:
    llvm_unreachable("the spec checks which operations f32 has");
  }
}

Value ExprEmitter::whole(ExprKind kind, ArrayRef<Value> args) {
  using enum ExprKind;
  Value x = args[0], y = args.back();
  auto distance = [&] { return make<arith::AndIOp>(y, constI(31)); };
  switch (kind) {
  case Add:
    return make<arith::AddIOp>(x, y);
  case Sub:
    return make<arith::SubIOp>(x, y);
  case Mul:
    return make<arith::MulIOp>(x, y);
  case Div:
    return floorDiv(x, nonZero(y));
  case Rem:
    return floorMod(x, nonZero(y));
  case Min:
    return make<arith::MinSIOp>(x, y);
  case Max:
    return make<arith::MaxSIOp>(x, y);
  case Neg:
    return make<arith::SubIOp>(constI(0), x);
  case Abs:
    return make<arith::MaxSIOp>(x, make<arith::SubIOp>(constI(0), x));
  case BitAnd:
    return make<arith::AndIOp>(x, y);
  case BitOr:
    return make<arith::OrIOp>(x, y);
  case BitXor:
    return make<arith::XOrIOp>(x, y);
  case Shl:
    return make<arith::ShLIOp>(x, distance());
  case Shr:
    return make<arith::ShRSIOp>(x, distance());
  default:
    llvm_unreachable("the spec checks which operations i32 has");
  }
}

Value ExprEmitter::logic(ExprKind kind, ArrayRef<Value> args) {
  using enum ExprKind;
  switch (kind) {
  case And:
    return make<arith::AndIOp>(args[0], args[1]);
  case Or:
    return make<arith::OrIOp>(args[0], args[1]);
  case Xor:
    return make<arith::XOrIOp>(args[0], args[1]);
  case Not:
    return make<arith::XOrIOp>(args[0], make<arith::ConstantOp>(b_.getBoolAttr(true)));
  default:
    llvm_unreachable("the spec checks which operations bool has");
  }
}

Value ExprEmitter::compare(ExprKind kind, ArrayRef<Value> args) {
  struct Row {
    ExprKind kind;
    arith::CmpIPredicate whole;
    arith::CmpFPredicate real;
  };
  // A comparison with NaN is false, and != true, as in C.
  static constexpr Row kRows[] = {
      {ExprKind::Eq, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ},
      {ExprKind::Ge, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE},
      {ExprKind::Gt, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT},
      {ExprKind::Le, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE},
      {ExprKind::Lt, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT},
      {ExprKind::Ne, arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE},
  };
  const Row *row = llvm::find_if(kRows, [&](const Row &r) { return r.kind == kind; });
  if (isa<FloatType>(args[0].getType()))
    return make<arith::CmpFOp>(row->real, args[0], args[1]);
  return make<arith::CmpIOp>(row->whole, args[0], args[1]);
}

Value ExprEmitter::toF32(Value x) {
  if (x.getType().isInteger(1)) // an i1 read as signed would give -1
    return make<arith::UIToFPOp>(b_.getF32Type(), x);
  return make<arith::SIToFPOp>(b_.getF32Type(), x);
}

/// Clamped to what i32 holds: outside of that the conversion has no value at all.
Value ExprEmitter::toI32(Value x) {
  if (x.getType().isInteger(1))
    return make<arith::ExtUIOp>(b_.getI32Type(), x);
  Value least = make<arith::MaxNumFOp>(x, constF(-2147483648.0));
  Value clamped =
      make<arith::MinNumFOp>(least, constF(2147483520.0)); // the greatest f32 below 2^31
  return make<arith::FPToSIOp>(b_.getI32Type(), clamped);
}

/// The divisor, or 1 where it is 0.
Value ExprEmitter::nonZero(Value divisor) {
  Value &known = nonZero_[divisor];
  if (known)
    return known;
  if (matchPattern(divisor, m_Constant()))
    return known = divisor;
  Value isZero = make<arith::CmpIOp>(arith::CmpIPredicate::eq, divisor, constI(0));
  return known = make<arith::SelectOp>(isZero, constI(1), divisor);
}

/// Shared by x / n and x % n.
Value ExprEmitter::floorDiv(Value x, Value divisor) {
  Value &known = known_[keyOf(ExprKind::Div, ScalarType::I32, 0, 0, {x, divisor})];
  if (!known)
    known = make<arith::FloorDivSIOp>(x, divisor);
  return known;
}

/// The remainder with the divisor's sign.
Value ExprEmitter::floorMod(Value x, Value divisor) {
  llvm::APInt constant;
  if (matchPattern(divisor, m_ConstantInt(&constant)) && constant.isStrictlyPositive() &&
      constant.isPowerOf2())
    return make<arith::AndIOp>(x, constI(constant.getSExtValue() - 1));
  return make<arith::SubIOp>(x, make<arith::MulIOp>(floorDiv(x, divisor), divisor));
}

/// Constants are shared like any other node, those that only the lowering needs included.
Value ExprEmitter::constI(int64_t value) {
  Value &known = known_[keyOf(ExprKind::ConstI, ScalarType::I32, 0, value, {})];
  if (!known)
    known = make<arith::ConstantOp>(b_.getI32IntegerAttr(static_cast<int32_t>(value)));
  return known;
}

Value ExprEmitter::constF(double value) {
  Value &known = known_[keyOf(ExprKind::ConstF, ScalarType::F32, value, 0, {})];
  if (!known)
    known = make<arith::ConstantOp>(b_.getF32FloatAttr(static_cast<float>(value)));
  return known;
}

} // namespace attune
