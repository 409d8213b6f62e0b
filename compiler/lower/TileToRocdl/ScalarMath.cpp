// Functions of f32 on the hardware's own units, and the conversion to i32.
//
// v_exp_f32, v_log_f32 and v_rcp_f32 are 1-ulp instructions that treat denormals as zero, v_sin_f32
// and v_cos_f32 take turns and know no more than 256 of them; everything else is built on them. The
// library forms (llvm.exp and so on) add range fix-ups for denormal inputs that no logit needs.
#include "compiler/lower/TileToRocdl/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace attune {
using namespace mlir;

namespace {

/// f32 arithmetic of the expansions below.
struct MathBuilder {
  OpBuilder &b;
  Location loc;
  Value c(double v) const { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(v))); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, y); }
  Value neg(Value x) const { return arith::NegFOp::create(b, loc, x); }
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(b, loc, x, y, z); }
  Value rcp(Value x) const { return ROCDL::ROCDLRcp::create(b, loc, x.getType(), x).getRes(); }
  Value exp2(Value x) const { return ROCDL::ROCDLExp2::create(b, loc, x.getType(), x).getRes(); }
  Value log2(Value x) const { return ROCDL::ROCDLLog::create(b, loc, x.getType(), x).getRes(); }
  Value select(arith::CmpFPredicate p, Value x, Value y, Value yes, Value no) const {
    return arith::SelectOp::create(b, loc, arith::CmpFOp::create(b, loc, p, x, y), yes, no);
  }
};

/// An op of one f32 operand as an expression of a MathBuilder.
template <class Op, Value (*Expand)(const MathBuilder &, Value)>
struct UnaryPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rw) const override {
    if (!op.getType().isF32())
      return rw.notifyMatchFailure(op, "only f32");
    MathBuilder m{rw, op.getLoc()};
    rw.replaceOp(op, Expand(m, op->getOperand(0)));
    return success();
  }
};

Value expandExp2(const MathBuilder &m, Value x) { return m.exp2(x); }
Value expandLog2(const MathBuilder &m, Value x) { return m.log2(x); }
Value expandExp(const MathBuilder &m, Value x) {
  return m.exp2(m.mul(x, m.c(std::numbers::log2e)));
}
Value expandLog(const MathBuilder &m, Value x) {
  Value log2 = m.log2(x);
  return m.mul(log2, m.c(std::numbers::ln2));
}

/// The fraction of x / 2 pi. The rounding of the product is added back and whole turns are dropped
/// first: positions of any size keep their phase.
Value turns(const MathBuilder &m, Value x) {
  constexpr double inverse = 0.5 / std::numbers::pi;
  Value high = m.c(inverse), low = m.c(inverse - double(float(inverse)));
  Value whole = m.mul(x, high);
  Value rest = m.fma(x, low, m.fma(x, high, m.neg(whole)));
  Value fraction = m.sub(whole, math::FloorOp::create(m.b, m.loc, whole));
  return m.add(fraction, rest);
}

Value expandSin(const MathBuilder &m, Value x) {
  Value t = turns(m, x);
  return ROCDL::ROCDLSin::create(m.b, m.loc, t.getType(), t).getRes();
}
Value expandCos(const MathBuilder &m, Value x) {
  Value t = turns(m, x);
  return ROCDL::ROCDLCos::create(m.b, m.loc, t.getType(), t).getRes();
}

/// Whether every use only scales a value by a modest constant (softcap does), so that an error that
/// is small beside 1 is small in the result.
bool absoluteErrorSuffices(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    FloatAttr factor;
    return isa<arith::MulFOp>(user) &&
           (matchPattern(user->getOperand(0), m_Constant(&factor)) ||
            matchPattern(user->getOperand(1), m_Constant(&factor))) &&
           std::fabs(factor.getValueAsDouble()) <= 256;
  });
}

/// 1 - 2 / (1 + e^2x): exact limits at both ends, no overflow. Near 0 that cancels, and the series
/// x - x^3 / 3 + 2 x^5 / 15 keeps what is left.
struct TanhPattern : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rw) const override {
    if (!op.getType().isF32())
      return rw.notifyMatchFailure(op, "only f32");
    MathBuilder m{rw, op.getLoc()};
    Value x = op.getOperand();
    Value e = m.exp2(m.mul(x, m.c(2 * std::numbers::log2e)));
    Value minusTwo = m.c(-2), part = m.rcp(m.add(m.c(1), e));
    Value far = m.fma(minusTwo, part, m.c(1));
    if (absoluteErrorSuffices(op)) {
      rw.replaceOp(op, far);
      return success();
    }
    Value square = m.mul(x, x);
    Value fifth = m.c(2.0 / 15), third = m.c(-1.0 / 3);
    Value series = m.mul(square, m.fma(square, fifth, third));
    Value size = math::AbsFOp::create(rw, op.getLoc(), x);
    Value limit = m.c(0.125), near = m.fma(series, x, x);
    rw.replaceOp(op, m.select(arith::CmpFPredicate::OLT, size, limit, near, far));
    return success();
  }
};

/// Whether a value comes from the logit or from a function that rounds: its last bits mean nothing.
bool isRounded(Value root) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open{root};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!value.getType().isF32())
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      if (cast<BlockArgument>(value).getArgNumber() == 0) // of a map over scores
        return true;
    } else if (isa<math::CosOp, math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::PowFOp,
                   math::RsqrtOp, math::SinOp, math::SqrtOp, math::TanhOp>(op)) {
      return true;
    } else if (seen.insert(op).second) {
      open.append(op->operand_begin(), op->operand_end());
    }
  }
  return false;
}

/// x times the reciprocal of y, to 2 ulp; and where that is not good enough, one step of Newton's:
/// then a quotient that f32 holds comes out exact, and floor(k / 41.0) jumps where it should.
struct DivPattern : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rw) const override {
    if (!op.getType().isF32())
      return rw.notifyMatchFailure(op, "only f32");
    MathBuilder m{rw, op.getLoc()};
    FloatAttr divisor;
    bool isConstant = matchPattern(op.getRhs(), m_Constant(&divisor));
    Value inverse = isConstant ? m.c(1.0 / divisor.getValueAsDouble()) : m.rcp(op.getRhs());
    Value quotient = m.mul(op.getLhs(), inverse);
    bool exact = isConstant && divisor.getValue().getExactInverse(nullptr);
    rw.replaceOp(op, exact || mayBeRounded(op) ? quotient : refined(m, op, quotient, inverse));
    return success();
  }

  /// Said so, made of rounded numbers, or asked for by functions that do not jump.
  static bool mayBeRounded(arith::DivFOp op) {
    return arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::arcp) ||
           isRounded(op.getLhs()) || isRounded(op.getRhs()) ||
           llvm::all_of(op->getUsers(), [](Operation *user) {
             return isa<math::ExpOp, math::Exp2Op, math::TanhOp>(user);
           });
  }

  /// With zeros and infinities, and where the quotient overflows, there is nothing to correct and
  /// the error is not finite.
  static Value refined(const MathBuilder &m, arith::DivFOp op, Value quotient, Value inverse) {
    Value error = m.fma(m.neg(quotient), op.getRhs(), op.getLhs());
    Value size = math::AbsFOp::create(m.b, m.loc, error),
          infinity = m.c(std::numeric_limits<double>::infinity()),
          corrected = m.fma(error, inverse, quotient);
    return m.select(arith::CmpFPredicate::OLT, size, infinity, corrected, quotient);
  }
};

/// What a number is known to lie in, and so not to be a NaN; nothing if it may be anything.
using Range = std::optional<std::pair<double, double>>;

Range rangeOf(Value value, int depth = 12);

template <class F> Range combined(Operation *op, int depth, F f) {
  Range x = rangeOf(op->getOperand(0), depth), y = rangeOf(op->getOperand(1), depth);
  if (!x || !y)
    return std::nullopt;
  double c[] = {f(x->first, y->first), f(x->first, y->second), f(x->second, y->first),
                f(x->second, y->second)};
  return Range({*std::min_element(c, c + 4), *std::max_element(c, c + 4)});
}

/// Of whole numbers and of f32: enough for the buckets of relative positions, which are an i32 of a
/// logarithm of a clamped distance.
Range rangeOf(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || --depth < 0)
    return value.getType().isInteger(32) ? Range({-2147483648.0, 2147483647.0}) : std::nullopt;
  FloatAttr real;
  IntegerAttr whole;
  if (matchPattern(value, m_Constant(&real)))
    return Range({real.getValueAsDouble(), real.getValueAsDouble()});
  if (value.getType().isInteger(32) && matchPattern(value, m_Constant(&whole)))
    return Range({double(whole.getInt()), double(whole.getInt())});
  if (isa<arith::SIToFPOp>(op) && op->getOperand(0).getType().isInteger(32))
    return rangeOf(op->getOperand(0), depth);
  if (isa<arith::MaxSIOp>(op))
    return combined(op, depth, [](double x, double y) { return std::max(x, y); });
  if (isa<arith::MinSIOp>(op))
    return combined(op, depth, [](double x, double y) { return std::min(x, y); });
  if (isa<arith::MulFOp>(op))
    return combined(op, depth, [](double x, double y) { return x * y; });
  if (isa<arith::AddFOp>(op))
    return combined(op, depth, [](double x, double y) { return x + y; });
  if (isa<arith::DivFOp>(op)) {
    Range y = rangeOf(op->getOperand(1), depth);
    bool apart = y && (y->first > 1e-30 || y->second < -1e-30);
    return apart ? combined(op, depth, [](double x, double z) { return x / z; }) : std::nullopt;
  }
  if (isa<math::LogOp>(op))
    if (Range x = rangeOf(op->getOperand(0), depth); x && x->first > 1e-30)
      return Range({std::log(x->first), std::log(x->second)});
  return value.getType().isInteger(32) ? Range({-2147483648.0, 2147483647.0}) : std::nullopt;
}

/// Towards zero, beyond i32 the nearest i32, of NaN 0. An llvm.fptosi out of range has no value at
/// all, so such operands never reach it, or its result is not chosen.
struct ToIntPattern : OpRewritePattern<arith::FPToSIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::FPToSIOp op, PatternRewriter &rw) const override {
    if (!op.getIn().getType().isF32() || !op.getType().isInteger(32))
      return rw.notifyMatchFailure(op, "only f32 to i32");
    Location loc = op.getLoc();
    MathBuilder m{rw, loc};
    Value x = op.getIn(), limit = m.c(2147483648.0);
    if (Range r = rangeOf(x); r && r->first > -1e9 && r->second < 1e9) {
      rw.replaceOpWithNewOp<LLVM::FPToSIOp>(op, op.getType(), x);
      return success();
    }
    Value number = m.select(arith::CmpFPredicate::ORD, x, x, x, m.c(0));
    Value least = arith::MaxNumFOp::create(rw, loc, number, m.c(-2147483648.0));
    Value whole = LLVM::FPToSIOp::create(rw, loc, op.getType(), least);
    Value greatest = arith::ConstantOp::create(rw, loc, rw.getI32IntegerAttr(2147483647));
    rw.replaceOp(op, m.select(arith::CmpFPredicate::OGE, x, limit, greatest, whole));
    return success();
  }
};

/// x ^ y = 2 ^ (y log2 |x|), with the sign of an odd whole power, NaN for other powers of a
/// negative x, and x ^ 0 = 1.
struct PowPattern : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rw) const override {
    if (!op.getType().isF32())
      return rw.notifyMatchFailure(op, "only f32");
    MathBuilder m{rw, op.getLoc()};
    Location loc = op.getLoc();
    using P = arith::CmpFPredicate;
    Value x = op.getLhs(), y = op.getRhs(), zero = m.c(0);
    Value size = m.exp2(m.mul(y, m.log2(math::AbsFOp::create(rw, loc, x))));
    Value half = m.mul(y, m.c(0.5));
    Value wholeHalf = math::FloorOp::create(rw, loc, half),
          negative = arith::NegFOp::create(rw, loc, size);
    Value odd = m.select(P::OEQ, wholeHalf, half, size, negative);
    Value wholeY = math::FloorOp::create(rw, loc, y),
          none = m.c(std::numeric_limits<double>::quiet_NaN());
    Value whole = m.select(P::OEQ, wholeY, y, odd, none);
    Value any = m.select(P::OLT, x, zero, whole, size);
    rw.replaceOp(op, m.select(P::OEQ, y, zero, m.c(1), any));
    return success();
  }
};

} // namespace

void populateMathPatterns(RewritePatternSet &patterns) {
  patterns.add<UnaryPattern<math::Exp2Op, expandExp2>, UnaryPattern<math::ExpOp, expandExp>,
               UnaryPattern<math::Log2Op, expandLog2>, UnaryPattern<math::LogOp, expandLog>,
               UnaryPattern<math::SinOp, expandSin>, UnaryPattern<math::CosOp, expandCos>,
               DivPattern, PowPattern, TanhPattern, ToIntPattern>(patterns.getContext(),
                                                                  /*benefit=*/2);
}

} // namespace attune
