#include "compiler/lower/AttnToTile/KvRange.h"
#include "llvm/Support/MathExtras.h"

namespace attune {
using namespace mlir;

namespace {

/// True if every tile of the hull that lies before the inner part is impossible: both begin at key
/// 0.
bool noHead(const analysis::VisibleInterval &i) { return i.anyLo.isConst(0) && i.allLo.isConst(0); }

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
  Value endRow = t.minS(t.add(f.blockRow, t.i32(plan.blockM())), f.qLen);
  Value afterQ1 = t.add(f.ctx, endRow);
  Value q1 = t.sub(afterQ1, t.i32(1));
  auto value = [&](const analysis::Bound &bound) {
    return analysis::materialize(t.b, t.loc, bound, q0, q1, f.kvLen,
                                 [&](Value v) { return mask.uniform(v); });
  };
  KvRange r;
  r.tileKeys = keys;
  r.hasUnseenKeys = !bounds.exactHulls || bounds.intervals.size() > 2;
  Value zero = t.i32(0), previousEnd = zero;
  for (auto [index, interval] : llvm::enumerate(bounds.intervals)) {
    Value lastKey = t.sub(f.kvLen, t.i32(1));
    Value anyLo = interval.anyLo.isConst(0) ? zero : t.maxS(value(interval.anyLo), zero),
          anyHi = t.minS(value(interval.anyHi), lastKey);
    Value endKey = t.maxS(t.add(anyHi, t.i32(1)), zero);
    if (index == 0 || anyLo == zero)
      r.firstKey = anyLo;
    else if (r.firstKey != zero)
      r.firstKey = t.minS(r.firstKey, anyLo);
    if (index == 1 && !r.hasUnseenKeys) {
      r.gapBegin = r.endKey;
      r.gapEnd = t.maxS(anyLo, r.gapBegin);
    }
    r.endKey = index == 0 ? endKey : t.maxS(r.endKey, endKey);
    Value start = t.maxS(t.shrS(anyLo, log), previousEnd);
    Value end = t.maxS(t.shrS(t.add(endKey, t.i32(keys - 1)), log), start);
    Span span{start, end, end, end, {}};
    if (!noInner(interval)) {
      span.fullBegin = start;
      if (!noHead(interval)) {
        Value allLo = value(interval.allLo);
        Value firstInner = t.shrS(t.add(allLo, t.i32(keys - 1)), log);
        span.fullBegin = t.minS(t.maxS(firstInner, start), end);
      }
      Value allHi = t.minS(value(interval.allHi), lastKey);
      Value pastInner = t.shrS(t.add(allHi, t.i32(1)), log);
      span.fullEnd = t.minS(t.maxS(pastInner, span.fullBegin), end);
      r.hasFree = true;
    }
    r.spans.push_back(span);
    previousEnd = end;
  }
  // Backwards: where to go after each span. One past the last tile lies beyond endKey.
  Value next = previousEnd;
  for (Span &span : llvm::reverse(r.spans)) {
    span.following = next;
    next = t.select(t.cmp(arith::CmpIPredicate::slt, span.begin, span.end), span.begin, next);
  }
  r.firstTile = next;
  return r;
}

Span KvRange::select(const TileBuilder &t, Value index) const {
  Span chosen = spans.back();
  for (int i = int(spans.size()) - 2; i >= 0; --i) {
    Value here = t.cmp(arith::CmpIPredicate::eq, index, t.i32(i));
    for (Value Span::*field :
         {&Span::begin, &Span::fullBegin, &Span::fullEnd, &Span::end, &Span::following})
      chosen.*field = t.select(here, spans[i].*field, chosen.*field);
  }
  return chosen;
}

Value KvRange::isMasked(const TileBuilder &t, const Span &span, Value tile) const {
  if (span.fullBegin == span.begin)
    return t.cmp(arith::CmpIPredicate::sge, tile, span.fullEnd);
  // Unsigned, a tile before the full ones is far behind them.
  Value distance = t.sub(tile, span.fullBegin);
  return t.cmp(arith::CmpIPredicate::uge, distance, t.sub(span.fullEnd, span.fullBegin));
}

Value KvRange::next(const TileBuilder &t, const Span &span, Value tile) const {
  Value plusOne = t.add(tile, t.i32(1));
  if (spans.size() == 1)
    return plusOne;
  return t.select(t.cmp(arith::CmpIPredicate::eq, plusOne, span.end), span.following, plusOne);
}

} // namespace attune
