#include "compiler/lower/AttnToTile/KvRange.h"
#include "llvm/Support/MathExtras.h"

namespace attune {
using namespace mlir;

namespace {

bool isConst(const analysis::Bound &b, int64_t value) {
  return b.kind == analysis::Bound::Const && b.value == value;
}

/// True if every tile of the hull that lies before the inner part is impossible: both begin at key
/// 0.
bool noHead(const analysis::VisibleInterval &i) {
  return isConst(i.anyLo, 0) && isConst(i.allLo, 0);
}

/// True if no tile can be full, whatever the lengths.
bool noInner(const analysis::VisibleInterval &i) {
  return i.allLo.kind == analysis::Bound::PosInf || i.allHi.kind == analysis::Bound::NegInf ||
         (i.allLo.kind == analysis::Bound::Const && i.allHi.kind == analysis::Bound::Const &&
          i.allLo.value > i.allHi.value);
}

} // namespace

KvRange emitKvRange(const TileBuilder &t, const KernelFrame &f, const analysis::MaskBounds &bounds,
                    const RegionInliner &mask, const schedule::Plan &plan) {
  const int64_t keys = plan.kvTile, log = llvm::Log2_64(keys);
  // Positions of the first and the last row of the q block.
  Value q0 = t.add(f.ctx, f.blockRow);
  Value q1 = t.sub(t.add(f.ctx, t.minS(t.add(f.blockRow, t.i32(plan.blockM())), f.qLen)), t.i32(1));
  auto value = [&](const analysis::Bound &bound) {
    return analysis::materialize(t.b, t.loc, bound, q0, q1, f.kvLen,
                                 [&](Value v) { return mask.uniform(v); });
  };
  KvRange r;
  r.tileKeys = keys;
  r.intervals = int64_t(bounds.intervals.size());
  r.hasUnseenKeys = !bounds.exact || r.intervals > 1;
  Value zero = t.i32(0), previousEnd = zero;
  SmallVector<Value> starts, ends;
  SmallVector<int64_t> intervalOf; // of each round
  for (auto [index, interval] : llvm::enumerate(bounds.intervals)) {
    Value lastKey = t.sub(f.kvLen, t.i32(1));
    Value anyLo = isConst(interval.anyLo, 0) ? zero : t.maxS(value(interval.anyLo), zero),
          anyHi = t.minS(value(interval.anyHi), lastKey);
    Value endKey = t.maxS(t.add(anyHi, t.i32(1)), zero);
    if (index == 0 || anyLo == zero)
      r.firstKey = anyLo;
    else if (r.firstKey != zero)
      r.firstKey = t.minS(r.firstKey, anyLo);
    r.endKey = index == 0 ? endKey : t.maxS(r.endKey, endKey);
    Value start = t.maxS(t.shrS(anyLo, log), previousEnd);
    Value end = t.maxS(t.shrS(t.add(endKey, t.i32(keys - 1)), log), start);
    if (noInner(interval)) {
      r.rounds.push_back({start, end, end, {}, {}});
    } else {
      Value fullStart = start;
      if (!noHead(interval))
        fullStart =
            t.minS(t.maxS(t.shrS(t.add(value(interval.allLo), t.i32(keys - 1)), log), start), end);
      Value pastInner = t.shrS(t.add(t.minS(value(interval.allHi), lastKey), t.i32(1)), log);
      Value fullEnd = t.minS(t.maxS(pastInner, fullStart), end);
      r.rounds.push_back({start, fullStart, fullEnd, {}, {}});
      r.rounds.push_back({fullEnd, end, end, {}, {}});
    }
    intervalOf.resize(r.rounds.size(), int64_t(index));
    starts.push_back(start);
    ends.push_back(end);
    previousEnd = end;
  }
  // Backwards: where to go after each interval. One past the last tile lies beyond endKey.
  SmallVector<Value> following(starts.size());
  Value next = previousEnd;
  for (int i = int(starts.size()) - 1; i >= 0; --i) {
    following[i] = next;
    next = t.select(t.cmp(arith::CmpIPredicate::slt, starts[i], ends[i]), starts[i], next);
  }
  r.firstTile = next;
  for (auto [round, i] : llvm::zip(r.rounds, intervalOf)) {
    round.intervalEnd = ends[i];
    round.following = following[i];
  }
  return r;
}

Round KvRange::select(const TileBuilder &t, Value index) const {
  Round chosen = rounds.back();
  for (int i = int(rounds.size()) - 2; i >= 0; --i) {
    Value here = t.cmp(arith::CmpIPredicate::eq, index, t.i32(i));
    for (Value Round::*field :
         {&Round::begin, &Round::middle, &Round::end, &Round::intervalEnd, &Round::following})
      chosen.*field = t.select(here, rounds[i].*field, chosen.*field);
  }
  return chosen;
}

Value KvRange::next(const TileBuilder &t, const Round &round, Value tile) const {
  Value plusOne = t.add(tile, t.i32(1));
  if (intervals == 1)
    return plusOne;
  return t.select(t.cmp(arith::CmpIPredicate::eq, plusOne, round.intervalEnd), round.following,
                  plusOne);
}

} // namespace attune
