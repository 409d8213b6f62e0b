#include "compiler/lower/AttnToTile/SoftmaxCore.h"
#include <limits>
#include <numbers>

namespace attune {
using namespace mlir;

namespace {
/// How far a score may lie above m, in units of log2.
constexpr double kSlack = 8;
} // namespace

SoftmaxState SoftmaxCore::initial(const TileBuilder &t) const {
  Value zero = t.f32(0);
  return {t.splat(types_.stat, t.negInf()), t.splat(types_.halfStat, zero),
          t.splat(types_.output, zero)};
}

Value SoftmaxCore::power(const TileBuilder &t, tile::FragType type, Value scores, Value m) const {
  Value c = t.f32(c_), zero = t.f32(0), minusInf = t.negInf();
  Value base = t.map(types_.stat, {m}, [&](auto &u, ValueRange e, Value, Value) -> Value {
    Value none = arith::CmpFOp::create(u.b, u.loc, arith::CmpFPredicate::OEQ, e[0], minusInf);
    Value seen = u.select(none, zero, e[0]);
    return exact_ ? seen : arith::NegFOp::create(u.b, u.loc, u.mulF(seen, c)).getResult();
  });
  return t.map(type, {scores, base}, [&](auto &u, ValueRange e, Value, Value) {
    return u.exp2(exact_ ? u.mulF(u.subF(e[0], e[1]), c) : u.fma(e[0], c, e[1]));
  });
}

SoftmaxState SoftmaxCore::raised(const TileBuilder &t, const SoftmaxState &in, Value scores) const {
  Value tileMax =
      tile::ReduceOp::create(t.b, t.loc, types_.halfStat, tile::ReduceKind::Max, scores);
  tileMax = tile::ReduceOp::create(t.b, t.loc, types_.stat, tile::ReduceKind::Max, tileMax);
  Value slack = t.f32(std::min<double>(kSlack / c_, std::numeric_limits<float>::max()));
  Value limit = t.map(types_.stat, {in.m},
                      [&](auto &u, ValueRange e, Value, Value) { return u.addF(e[0], slack); });
  Value higher = tile::AnyGreaterOp::create(t.b, t.loc, tileMax, limit);
  auto raise = [&](OpBuilder &, Location) {
    Value m = t.map(types_.stat, {in.m, tileMax},
                    [&](auto &u, ValueRange e, Value, Value) { return u.maxF(e[0], e[1]); });
    Value alpha = power(t, types_.stat, in.m, m);
    auto times = [&](auto &u, ValueRange e, Value, Value) { return u.mulF(e[0], e[1]); };
    Value l = t.map(types_.halfStat, {in.l, alpha}, times);
    Value o = t.map(types_.output, {in.o, alpha}, times);
    t.yield({m, l, o});
  };
  auto branch = scf::IfOp::create(t.b, t.loc, higher, raise,
                                  [&](OpBuilder &, Location) { t.yield({in.m, in.l, in.o}); });
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
}

std::pair<Value, Value> SoftmaxCore::weights(const TileBuilder &t, const SoftmaxState &in,
                                             Value scores) const {
  Value p = power(t, types_.scores, scores, in.m);
  Value sum = tile::ReduceOp::create(t.b, t.loc, types_.halfStat, tile::ReduceKind::Add, p);
  Value l = t.map(types_.halfStat, {in.l, sum},
                  [&](auto &u, ValueRange e, Value, Value) { return u.addF(e[0], e[1]); });
  return {l, tile::CastOp::create(t.b, t.loc, types_.weights, p)};
}

SoftmaxCore::Final SoftmaxCore::finish(const TileBuilder &t, const SoftmaxState &in, Value sink,
                                       bool natural) const {
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
  // A maximum near f32's own would overflow in units of log2.
  const bool direct = natural && exact_ && !sink;
  Value lse =
      t.map(types_.stat, {direct ? in.m : top, l}, [&](auto &u, ValueRange e, Value, Value) {
        Value log = u.log2(e[1]);
        return u.addF(e[0], direct ? u.mulF(log, u.f32(std::numbers::ln2)) : log);
      });
  Value inverse = t.map(types_.stat, {l, factor}, [&](auto &u, ValueRange e, Value, Value) {
    Value none = arith::CmpFOp::create(u.b, u.loc, arith::CmpFPredicate::OEQ, e[0], zero);
    Value quotient =
        arith::DivFOp::create(u.b, u.loc, e[1], e[0], arith::FastMathFlags::arcp).getResult();
    return u.select(none, zero, quotient);
  });
  Value output = t.map(types_.output, {in.o, inverse},
                       [&](auto &u, ValueRange e, Value, Value) { return u.mulF(e[0], e[1]); });
  return {output, lse, direct};
}

} // namespace attune
