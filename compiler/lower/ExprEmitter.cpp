// Two tables say which op an operation becomes; what needs several ops follows them.
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
  const Expr &e = model_.normal.exprs[id];
  SmallVector<Value> args;
  for (ExprId arg : e.args)
    args.push_back(emit(arg));
  loc_ = FileLineColLoc::get(b_.getContext(), model_.fileName, e.range.line, e.range.column);
  return done_[id] = emitNode(e, args);
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
  case Select:
    return make<arith::SelectOp>(args[0], args[1], args[2]);
  case ToF32:
    return toF32(args[0]);
  case ToI32:
    return toI32(args[0]);
  case Call:
    llvm_unreachable("the normal form has none");
  case And:
  case Or: {
    Value all = args.front();
    for (Value arg : args.drop_front())
      all = operation(e.kind, e.type, {all, arg});
    return all;
  }
  default:
    return operation(e.kind, e.type, args);
  }
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

//===-- tables
//-------------------------------------------------------------------------------------------===//

namespace {

using MakeOp = Value (*)(OpBuilder &, Location, Value, Value);

template <class OpT> Value unary(OpBuilder &b, Location loc, Value x, Value) {
  return OpT::create(b, loc, x);
}
template <class OpT> Value binary(OpBuilder &b, Location loc, Value x, Value y) {
  return OpT::create(b, loc, x, y);
}

struct Direct {
  ExprKind kind;
  ScalarType type;
  MakeOp make;
};

/// The operations that are one op.
constexpr Direct kDirect[] = {
    {ExprKind::Abs, ScalarType::F32, unary<math::AbsFOp>},
    {ExprKind::Add, ScalarType::F32, binary<arith::AddFOp>},
    {ExprKind::Add, ScalarType::I32, binary<arith::AddIOp>},
    {ExprKind::And, ScalarType::Bool, binary<arith::AndIOp>},
    {ExprKind::BitAnd, ScalarType::I32, binary<arith::AndIOp>},
    {ExprKind::BitOr, ScalarType::I32, binary<arith::OrIOp>},
    {ExprKind::BitXor, ScalarType::I32, binary<arith::XOrIOp>},
    {ExprKind::Ceil, ScalarType::F32, unary<math::CeilOp>},
    {ExprKind::Cos, ScalarType::F32, unary<math::CosOp>},
    {ExprKind::Div, ScalarType::F32, binary<arith::DivFOp>},
    {ExprKind::Exp, ScalarType::F32, unary<math::ExpOp>},
    {ExprKind::Exp2, ScalarType::F32, unary<math::Exp2Op>},
    {ExprKind::Floor, ScalarType::F32, unary<math::FloorOp>},
    {ExprKind::Log, ScalarType::F32, unary<math::LogOp>},
    {ExprKind::Log2, ScalarType::F32, unary<math::Log2Op>},
    {ExprKind::Max, ScalarType::F32, binary<arith::MaxNumFOp>},
    {ExprKind::Max, ScalarType::I32, binary<arith::MaxSIOp>},
    {ExprKind::Min, ScalarType::F32, binary<arith::MinNumFOp>},
    {ExprKind::Min, ScalarType::I32, binary<arith::MinSIOp>},
    {ExprKind::Mul, ScalarType::F32, binary<arith::MulFOp>},
    {ExprKind::Mul, ScalarType::I32, binary<arith::MulIOp>},
    {ExprKind::Neg, ScalarType::F32, unary<arith::NegFOp>},
    {ExprKind::Or, ScalarType::Bool, binary<arith::OrIOp>},
    {ExprKind::Pow, ScalarType::F32, binary<math::PowFOp>},
    {ExprKind::Rsqrt, ScalarType::F32, unary<math::RsqrtOp>},
    {ExprKind::Sin, ScalarType::F32, unary<math::SinOp>},
    {ExprKind::Sqrt, ScalarType::F32, unary<math::SqrtOp>},
    {ExprKind::Sub, ScalarType::F32, binary<arith::SubFOp>},
    {ExprKind::Sub, ScalarType::I32, binary<arith::SubIOp>},
    {ExprKind::Tanh, ScalarType::F32, unary<math::TanhOp>},
    {ExprKind::Xor, ScalarType::Bool, binary<arith::XOrIOp>},
};

struct Comparison {
  ExprKind kind;
  arith::CmpIPredicate whole;
  arith::CmpFPredicate real;
};

/// A comparison with NaN is false, and != true, as in C.
constexpr Comparison kComparisons[] = {
    {ExprKind::Eq, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ},
    {ExprKind::Ge, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE},
    {ExprKind::Gt, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT},
    {ExprKind::Le, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE},
    {ExprKind::Lt, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT},
    {ExprKind::Ne, arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE},
};

} // namespace

Value ExprEmitter::operation(ExprKind kind, ScalarType type, ArrayRef<Value> args) {
  Value x = args.front(), y = args.back();
  for (const Direct &row : kDirect)
    if (row.kind == kind && row.type == type)
      return row.make(b_, loc_, x, y);
  for (const Comparison &row : kComparisons)
    if (row.kind == kind)
      return isa<FloatType>(x.getType()) ? make<arith::CmpFOp>(row.real, x, y)
                                         : make<arith::CmpIOp>(row.whole, x, y);
  return type == ScalarType::F32 ? realSequence(kind, x, y) : wholeSequence(kind, x, y);
}

//===-- operations of several ops
//------------------------------------------------------------------------===//

Value ExprEmitter::realSequence(ExprKind kind, Value x, Value y) {
  if (kind == ExprKind::Rem) { // of the divisor's sign, like the whole one
    Value quotient = make<math::FloorOp>(make<arith::DivFOp>(x, y));
    return make<arith::SubFOp>(x, make<arith::MulFOp>(quotient, y));
  }
  assert(kind == ExprKind::Sigmoid && "the spec checks which operations f32 has");
  Value one = constF(1);
  Value power = make<math::ExpOp>(make<arith::NegFOp>(x));
  return make<arith::DivFOp>(one, make<arith::AddFOp>(one, power), arith::FastMathFlags::arcp);
}

Value ExprEmitter::wholeSequence(ExprKind kind, Value x, Value y) {
  auto distance = [&] { return make<arith::AndIOp>(y, constI(31)); };
  switch (kind) {
  case ExprKind::Abs:
    return make<arith::MaxSIOp>(x, make<arith::SubIOp>(constI(0), x));
  case ExprKind::Div:
    return floorDiv(x, nonZero(y));
  case ExprKind::Neg:
    return make<arith::SubIOp>(constI(0), x);
  case ExprKind::Not:
    return make<arith::XOrIOp>(x, make<arith::ConstantOp>(b_.getBoolAttr(true)));
  case ExprKind::Rem:
    return floorMod(x, nonZero(y));
  case ExprKind::Shl:
    return make<arith::ShLIOp>(x, distance());
  case ExprKind::Shr:
    return make<arith::ShRSIOp>(x, distance());
  default:
    llvm_unreachable("the spec checks which operations i32 and bool have");
  }
}

Value ExprEmitter::toF32(Value x) {
  if (x.getType().isInteger(1)) // an i1 read as signed would give -1
    return make<arith::UIToFPOp>(b_.getF32Type(), x);
  return make<arith::SIToFPOp>(b_.getF32Type(), x);
}

Value ExprEmitter::toI32(Value x) {
  if (x.getType().isInteger(1))
    return make<arith::ExtUIOp>(b_.getI32Type(), x);
  return make<arith::FPToSIOp>(b_.getI32Type(), x); // saturates: the lowering sees to it
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
