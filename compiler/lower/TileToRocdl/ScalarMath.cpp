// Transcendental functions on the hardware's base-2 units.
//
// v_exp_f32, v_log_f32 and v_rcp_f32 are 1-ulp instructions that treat denormals as zero;
// everything else is built on them. The library forms (llvm.exp and so on) add range fix-ups for
// denormal inputs that no logit needs.
#include "compiler/lower/TileToRocdl/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numbers>

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
Value expandLog(const MathBuilder &m, Value x) { return m.mul(m.log2(x), m.c(std::numbers::ln2)); }
/// 1 - 2 / (1 + e^2x): exact limits at both ends, no overflow.
Value expandTanh(const MathBuilder &m, Value x) {
  Value e = m.exp2(m.mul(x, m.c(2 * std::numbers::log2e)));
  return m.fma(m.c(-2), m.rcp(m.add(m.c(1), e)), m.c(1));
}

struct DivPattern : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rw) const override {
    if (!op.getType().isF32())
      return rw.notifyMatchFailure(op, "only f32");
    MathBuilder m{rw, op.getLoc()};
    FloatAttr divisor;
    if (matchPattern(op.getRhs(), m_Constant(&divisor)))
      rw.replaceOp(op, m.mul(op.getLhs(), m.c(1.0 / divisor.getValueAsDouble())));
    else
      rw.replaceOp(op, m.mul(op.getLhs(), m.rcp(op.getRhs())));
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
    Value odd = m.select(P::OEQ, math::FloorOp::create(rw, loc, half), half, size,
                         arith::NegFOp::create(rw, loc, size));
    Value whole = m.select(P::OEQ, math::FloorOp::create(rw, loc, y), y, odd,
                           m.c(std::numeric_limits<double>::quiet_NaN()));
    Value any = m.select(P::OLT, x, zero, whole, size);
    rw.replaceOp(op, m.select(P::OEQ, y, zero, m.c(1), any));
    return success();
  }
};

} // namespace

void populateMathPatterns(RewritePatternSet &patterns) {
  patterns.add<UnaryPattern<math::Exp2Op, expandExp2>, UnaryPattern<math::ExpOp, expandExp>,
               UnaryPattern<math::Log2Op, expandLog2>, UnaryPattern<math::LogOp, expandLog>,
               UnaryPattern<math::TanhOp, expandTanh>, DivPattern, PowPattern>(
      patterns.getContext(), /*benefit=*/2);
}

} // namespace attune
