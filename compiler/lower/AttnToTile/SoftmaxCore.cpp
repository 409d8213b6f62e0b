#include "compiler/lower/AttnToTile/SoftmaxCore.h"
#include <numbers>

namespace attune {
using namespace mlir;

SoftmaxState SoftmaxCore::initial(const TileBuilder &t) const {
  Value zero = t.f32(0);
  return {t.splat(types_.stat, t.negInf()), t.splat(types_.halfStat, zero),
          t.splat(types_.output, zero)};
}

std::pair<SoftmaxState, Value> SoftmaxCore::step(const TileBuilder &t, const SoftmaxState &in,
                                                 Value scores) const {
  Value tileMax =
      tile::ReduceOp::create(t.b, t.loc, types_.halfStat, tile::ReduceKind::Max, scores);
  tileMax = tile::ReduceOp::create(t.b, t.loc, types_.stat, tile::ReduceKind::Max, tileMax);
  Value c = t.f32(c_), zero = t.f32(0), minusInf = t.negInf();

  SoftmaxState out;
  out.m = t.map(types_.stat, {in.m, tileMax},
                [&](auto &u, ValueRange e, Value, Value) { return u.maxF(e[0], e[1]); });
  // -m2 * c, or -0 while nothing has been seen.
  Value shift = t.map(types_.stat, {out.m}, [&](auto &u, ValueRange e, Value, Value) {
    Value none = arith::CmpFOp::create(u.b, u.loc, arith::CmpFPredicate::OEQ, e[0], minusInf);
    return arith::NegFOp::create(u.b, u.loc, u.mulF(u.select(none, zero, e[0]), c)).getResult();
  });
  Value alpha = t.map(types_.stat, {in.m, shift}, [&](auto &u, ValueRange e, Value, Value) {
    return u.exp2(u.fma(e[0], c, e[1]));
  });
  Value p = t.map(types_.scores, {scores, shift}, [&](auto &u, ValueRange e, Value, Value) {
    return u.exp2(u.fma(e[0], c, e[1]));
  });
  Value sum = tile::ReduceOp::create(t.b, t.loc, types_.halfStat, tile::ReduceKind::Add, p);
  out.l = t.map(types_.halfStat, {in.l, sum, alpha},
                [&](auto &u, ValueRange e, Value, Value) { return u.fma(e[0], e[2], e[1]); });
  out.o = t.map(types_.output, {in.o, alpha},
                [&](auto &u, ValueRange e, Value, Value) { return u.mulF(e[0], e[1]); });
  return {out, tile::CastOp::create(t.b, t.loc, types_.weights, p)};
}

SoftmaxCore::Final SoftmaxCore::finish(const TileBuilder &t, const SoftmaxState &in,
                                       Value sink) const {
  Value l = tile::ReduceOp::create(t.b, t.loc, types_.stat, tile::ReduceKind::Add, in.l);
  Value c = t.f32(c_), zero = t.f32(0), one = t.f32(1), minusInf = t.negInf();
  // From here in units of log2: top = m * c.
  Value top = t.map(types_.stat, {in.m},
                    [&](auto &u, ValueRange e, Value, Value) { return u.mulF(e[0], c); });
  Value factor = t.splat(types_.stat, one); // what O is multiplied with besides 1 / l
  if (sink) {
    Value sink2 = t.mulF(sink, t.f32(std::numbers::log2e));
    Value newTop = t.map(types_.stat, {top},
                         [&](auto &u, ValueRange e, Value, Value) { return u.maxF(e[0], sink2); });
    // A sink of -inf on an empty row leaves nothing: exp2(-inf - 0) on both sides.
    Value base = t.map(types_.stat, {newTop}, [&](auto &u, ValueRange e, Value, Value) {
      return u.select(arith::CmpFOp::create(u.b, u.loc, arith::CmpFPredicate::OEQ, e[0], minusInf),
                      zero, e[0]);
    });
    factor = t.map(types_.stat, {top, base},
                   [&](auto &u, ValueRange e, Value, Value) { return u.exp2(u.subF(e[0], e[1])); });
    l = t.map(types_.stat, {l, factor, base}, [&](auto &u, ValueRange e, Value, Value) {
      return u.fma(e[0], e[1], u.exp2(u.subF(sink2, e[2])));
    });
    top = newTop;
  }
  Value lse2 = t.map(types_.stat, {top, l}, [&](auto &u, ValueRange e, Value, Value) {
    return u.addF(e[0], u.log2(e[1]));
  });
  Value inverse = t.map(types_.stat, {l, factor}, [&](auto &u, ValueRange e, Value, Value) {
    Value none = arith::CmpFOp::create(u.b, u.loc, arith::CmpFPredicate::OEQ, e[0], zero);
    Value quotient =
        arith::DivFOp::create(u.b, u.loc, e[1], e[0], arith::FastMathFlags::arcp).getResult();
    return u.select(none, zero, quotient);
  });
  Value output = t.map(types_.output, {in.o, inverse},
                       [&](auto &u, ValueRange e, Value, Value) { return u.mulF(e[0], e[1]); });
  return {output, lse2};
}

} // namespace attune
