#include "compiler/lower/AttnToTile/TileScores.h"

namespace attune {
using namespace mlir;

namespace {

/// Vector registers of a SIMD lane, and those left for operands in flight, addresses and
/// temporaries.
constexpr int64_t kVectorRegisters = 512, kWorkingRegisters = 64;

tile::FragType withElement(tile::FragType shape, Type element) {
  return tile::FragType::get(element.getContext(), shape.getRows(), shape.getCols(), element,
                             shape.getLayoutText());
}

} // namespace

RegionInliner::Element TileScores::elementAt(const TileBuilder &t, Value tileIndex, Value row,
                                             Value col) const {
  Value qi = t.add(t.add(f_.blockRow, f_.waveRow), col);
  // A wave's rows past the sequence's end see what its last row sees: a key that only they would
  // see counts as unseen.
  if (range_.hasUnseenKeys)
    qi = t.minS(qi, t.sub(f_.qLen, t.i32(1)));
  Value k = tileIndex ? t.add(t.mul(tileIndex, t.i32(range_.tileKeys)), row) : Value();
  return {Value(), t.add(f_.ctx, qi), k, qi};
}

SmallVector<Value> TileScores::visibleRows(const TileBuilder &t, Value tileIndex) const {
  tile::FragType stat = withElement(shapes_.frags.stat, t.b.getI32Type());
  auto row = [&](const analysis::Bound &bound) {
    return t.map(stat, {}, [&](const TileBuilder &u, ValueRange, Value, Value col) {
      Value q = elementAt(u, Value(), Value(), col).q;
      Value key = analysis::materialize(u.b, u.loc, bound, q, q, f_.kvLen,
                                        [&](Value v) { return mask_.uniform(v); });
      return u.sub(key, u.mul(tileIndex, u.i32(range_.tileKeys)));
    });
  };
  SmallVector<Value> rows;
  for (const auto &[lo, hi] : bounds_.row) {
    if (!lo.isConst(0))
      rows.push_back(row(lo));
    rows.push_back(row(hi));
  }
  return rows;
}

Value TileScores::isVisible(const TileBuilder &t, Value row, ValueRange limits) const {
  Value visible;
  auto limit = limits.begin();
  for (const auto &[lo, hi] : bounds_.row) {
    Value first = lo.isConst(0) ? Value() : t.cmp(arith::CmpIPredicate::sge, row, *limit++);
    Value here = t.cmp(arith::CmpIPredicate::sle, row, *limit++);
    if (first)
      here = arith::AndIOp::create(t.b, t.loc, first, here);
    visible = visible ? arith::OrIOp::create(t.b, t.loc, visible, here).getResult() : here;
  }
  return visible;
}

Value TileScores::maskAt(const TileBuilder &t, const RegionInliner::Element &element,
                         const RegionInliner::ValueMap &given) const {
  Value exists = t.cmp(arith::CmpIPredicate::slt, element.k, f_.kvLen);
  if (mask_.empty())
    return exists;
  return arith::AndIOp::create(t.b, t.loc, exists, mask_.inlineAt(t, element, given));
}

EarlyRead TileScores::issueRead(const TileBuilder &t, const RegionInliner &region,
                                attn::ReadOp read, tile::FragType shape, Value tileIndex) const {
  Type element = read.getType().isInteger(1) ? Type(t.b.getI32Type()) : read.getType();
  tile::FragType type = withElement(shape, element);
  Value frag =
      t.map(type, {}, [&](const TileBuilder &u, ValueRange, Value row, Value col) -> Value {
        Value v = region.readAt(u, read, elementAt(u, tileIndex, row, col));
        return v.getType() == element ? v
                                      : arith::ExtUIOp::create(u.b, u.loc, element, v).getResult();
      });
  return {read, frag};
}

void TileScores::issueQueryReads(const TileBuilder &t) {
  for (const RegionInliner *region : {&score_, &mask_})
    for (attn::ReadOp read : region->queryReads())
      queryReads_.push_back(issueRead(t, *region, read, shapes_.frags.stat, Value()));
}

SmallVector<EarlyRead> TileScores::issueElementReads(const TileBuilder &t, Value tileIndex) const {
  // Registers that the tile needs anyway: Q, O, the scores, P, and room for operands and addresses.
  const int64_t perRead = shapes_.frags.scores.registers();
  int64_t room = kVectorRegisters / plan_.wavesPerEu - f_.q.cols / shapes_.kStep * 4 -
                 shapes_.frags.output.registers() - perRead - perRead / 2 - kWorkingRegisters;
  SmallVector<EarlyRead> reads;
  auto issue = [&](const RegionInliner &region) {
    for (attn::ReadOp read : region.elementReads())
      if ((room -= perRead) >= 0)
        reads.push_back(issueRead(t, region, read, shapes_.frags.scores, tileIndex));
  };
  issue(score_);
  issue(mask_);
  if (!reads.empty())
    tile::KeepOrderOp::create(t.b, t.loc, /*all=*/false);
  return reads;
}

Value TileScores::applyRegions(const TileBuilder &t, Value scores, Value tileIndex, bool score,
                               bool mask, ArrayRef<EarlyRead> elementReads) const {
  SmallVector<EarlyRead> reads(elementReads);
  reads.append(queryReads_);
  SmallVector<Value> inputs{scores};
  for (const EarlyRead &r : reads)
    inputs.push_back(r.frag);
  if (mask)
    inputs.append(visibleRows(t, tileIndex));
  return t.map(
      shapes_.frags.scores, inputs, [&](const TileBuilder &u, ValueRange e, Value row, Value col) {
        RegionInliner::ValueMap given;
        for (auto [r, v] : llvm::zip(reads, e.drop_front()))
          given[r.read.getResult()] =
              r.read.getType().isInteger(1) ? u.cmp(arith::CmpIPredicate::ne, v, u.i32(0)) : v;
        RegionInliner::Element element = elementAt(u, tileIndex, row, col);
        Value s = !score || rawScale_ ? e[0] : u.mulF(e[0], u.f32(scale_));
        element.s = s;
        if (score && !score_.empty())
          s = score_.inlineAt(u, element, given);
        if (!mask)
          return s;
        Value visible = bounds_.row.empty() ? maskAt(u, element, given)
                                            : isVisible(u, row, e.drop_front(1 + reads.size()));
        return u.select(visible, s, u.negInf());
      });
}

Value TileScores::finish(const TileBuilder &t, Value scores, Value tileIndex, Value masked,
                         ArrayRef<EarlyRead> elementReads) const {
  auto apply = [&](const TileBuilder &u, bool score, bool mask) {
    return applyRegions(u, scores, tileIndex, score, mask, elementReads);
  };
  if (!masked)
    return apply(t, /*score=*/true, /*mask=*/true);
  // A mask that has to be evaluated wants the registers that the score function frees, element by
  // element.
  const bool together = bounds_.row.empty();
  if (!rawScale_ && !together)
    scores = apply(t, /*score=*/true, /*mask=*/false);
  return t.choose(
      masked, [&](auto &u) { return apply(u, /*score=*/together, /*mask=*/true); },
      [&](auto &u) {
        return together && !rawScale_ ? apply(u, /*score=*/true, /*mask=*/false) : scores;
      });
}

} // namespace attune
