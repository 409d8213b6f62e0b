// The transposed prefill pipeline, the one schedule of today.
//
// A workgroup owns blockM query rows of one head of one sequence, a wave qPerWave of them. Per kv
// tile t, with K and V double-buffered in LDS and `cur` the buffer of t:
//
//   1. Wait for K(t) (vmcnt leaves V(t) in flight) and for the LDS reads of the tile before.
//   2. Barrier: K(t) is there for all waves, and the other buffer has no reader left.
//   3. S^T = K(t) Q^T, and among its steps the DMA of K(t+1) and V(t+1) into the other buffer.
//   4. Wait for V(t); vmcnt leaves K(t+1) and V(t+1) in flight. Barrier: V(t) is there for all.
//   5. Score function, mask (partial tiles only), softmax.
//   6. O^T += V(t)^T P, with P used as it lies in the accumulator.
//
// So no wait of the loop drains the memory pipe. After the last tile the DMA of a tile beyond the
// end was issued; its view is empty, it reads nothing, and the epilogue drains it before the
// workgroup's LDS is given up.
#include "compiler/lower/AttnToTile/PrefillSchedule.h"
#include "compiler/lower/AttnToTile/KvRange.h"
#include "compiler/lower/AttnToTile/SoftmaxCore.h"
#include "compiler/lower/AttnToTile/TileScores.h"
#include "compiler/lower/AttnToTile/TileShapes.h"
#include "mlir/IR/Matchers.h"
#include <numbers>

namespace attune {
using namespace mlir;

namespace {

/// What goes from tile to tile: the softmax state and the LDS buffer that the next tile is in.
struct Carried {
  SoftmaxState state;
  Value buffer;
  SmallVector<Value> values() const { return {state.m, state.l, state.o, buffer}; }
  static Carried from(ValueRange v) { return {{v[0], v[1], v[2]}, v[3]}; }
};

/// Steps of K that are read before they are multiplied. Two hide the latency of LDS; left to the
/// scheduler, which saves registers, a read is waited for as soon as it is issued.
constexpr int64_t kReadAhead = 2;

/// The operand of a wait that leaves the last `count` memory operations in flight, or as many as
/// the counter tells apart: its greatest value, 63, waits for nothing.
IntegerAttr leaving(const TileBuilder &t, int64_t count) {
  return t.b.getI64IntegerAttr(std::min<int64_t>(count, 62));
}

/// A DMA to be issued, or a part of one.
struct Fetch {
  Value view, lds, buffer;
  SmallVector<Value, 2> gap;
  int64_t part = 0, parts = 1;
  tile::DmaOp issue(const TileBuilder &t) const {
    return tile::DmaOp::create(t.b, t.loc, view, lds, buffer, gap, part, parts);
  }
};

class PrefillSchedule {
public:
  PrefillSchedule(KernelFrame &f, LseKind lse, const schedule::Plan &plan, const TileShapes &shapes,
                  const KvRange &range, TileScores &scores)
      : f_(f), lse_(lse), plan_(plan), shapes_(shapes), range_(range), scores_(scores),
        softmax_(shapes.frags, scores.scaleLeft() * std::numbers::log2e, scores.ofFunction()) {}

  void emit(const TileBuilder &t);

private:
  /// The workgroup's own rows of a tensor that has a row per query; rows past the sequence's end
  /// are out of bounds.
  Value blockView(const TileBuilder &t, const RowSource &r) const;
  /// `loaded` as operands of the matrix instruction, a step each.
  void setQ(const TileBuilder &t, Value loaded);
  /// All of a tile. `gap`: no row of a gap of the mask may come in.
  Fetch fetchTile(const TileBuilder &t, const RowSource &source, Value lds, Value tileIndex,
                  Value buffer, bool gap) const;
  /// K and V of a tile into `buffer`, in parts to be issued one by one.
  SmallVector<Fetch> fetches(const TileBuilder &t, Value tileIndex, Value buffer) const;
  /// All tiles of all spans; returns the state after them.
  SoftmaxState emitSpans(const TileBuilder &t, Carried carried) const;
  Carried emitSpan(const TileBuilder &t, const Span &span, const Carried &carried) const;
  /// One tile, given the state before it.
  Carried emitTile(const TileBuilder &t, const Span &span, Value tileIndex,
                   const Carried &carried) const;
  Value emitScores(const TileBuilder &t, Value buffer, ArrayRef<Fetch>) const;
  Value readValues(const TileBuilder &t, Value buffer, int64_t key) const;
  /// `seen`, if given, are the keys whose values may be used; `values`: those of the first step, if
  /// they have been read.
  Value emitOutput(const TileBuilder &t, Value weights, Value seen, Value o, Value values,
                   Value buffer) const;
  void emitEpilogue(const TileBuilder &t, const SoftmaxState &state) const;

  KernelFrame &f_;
  const LseKind lse_;
  const schedule::Plan &plan_;
  const TileShapes &shapes_;
  const KvRange &range_;
  TileScores &scores_;
  SoftmaxCore softmax_;
  Value kLds_, vLds_, outView_, lseView_;
  SmallVector<Value> q_; // one fragment per step of 16 head_dim columns
  int64_t kDmas_ = 0, vDmas_ = 0;
};

Value PrefillSchedule::blockView(const TileBuilder &t, const RowSource &r) const {
  auto type = tile::ViewType::get(t.b.getContext(), r.cols, r.element);
  Value offset = t.mul(t.widen(f_.blockRow), r.stride);
  Value rows = t.sub(f_.qLen, f_.blockRow);
  Value end = t.minS(rows, t.i32(plan_.blockM()));
  return tile::ViewOp::create(t.b, t.loc, type, r.ptr, offset, r.stride, t.i32(0), end);
}

void PrefillSchedule::setQ(const TileBuilder &t, Value loaded) {
  Value all = tile::ConvertOp::create(t.b, t.loc, shapes_.queries, loaded);
  for (int64_t step = 0; step < f_.q.cols; step += shapes_.kStep)
    q_.push_back(tile::SliceOp::create(t.b, t.loc, shapes_.query, all, step));
}

Fetch PrefillSchedule::fetchTile(const TileBuilder &t, const RowSource &source, Value lds,
                                 Value tileIndex, Value buffer, bool gap) const {
  // Rows no query of the block sees come in as zeros: whatever lies there, NaN or not, has no way
  // in.
  Value key0 = t.mul(tileIndex, t.i32(range_.tileKeys));
  Value first = t.i32(0);
  if (!matchPattern(range_.firstKey, m_Zero()))
    first = t.maxS(t.sub(range_.firstKey, key0), first);
  Value rest = t.sub(range_.endKey, key0);
  Value end = t.minS(rest, t.i32(range_.tileKeys));
  Value offset = t.mul(t.widen(key0), source.stride);
  auto type = tile::ViewType::get(t.b.getContext(), source.cols, source.element);
  Value view =
      tile::ViewOp::create(t.b, t.loc, type, source.ptr, offset, source.stride, first, end);
  SmallVector<Value, 2> rows;
  if (gap && range_.gapBegin)
    rows = {t.sub(range_.gapBegin, key0), t.sub(range_.gapEnd, range_.gapBegin)};
  return {view, lds, buffer, rows};
}

SmallVector<Fetch> PrefillSchedule::fetches(const TileBuilder &t, Value tileIndex,
                                            Value buffer) const {
  Fetch k = fetchTile(t, f_.k, kLds_, tileIndex, buffer, /*gap=*/false); // their scores are masked
  Fetch v = fetchTile(t, f_.v, vLds_, tileIndex, buffer, /*gap=*/true);
  // Issued all at once they fill the compute unit's queue and the wave waits for room in it; spread
  // over fewer than eight steps they come too late.
  const int64_t steps = int64_t(q_.size()), perTile = steps < 8 ? 1 : steps / 2;
  SmallVector<Fetch> all;
  for (auto [fetch, dmas] : {std::pair(k, kDmas_), std::pair(v, vDmas_)})
    for (fetch.parts = std::min(dmas, perTile); fetch.part < fetch.parts; ++fetch.part)
      all.push_back(fetch);
  return all;
}

Value PrefillSchedule::emitScores(const TileBuilder &t, Value buffer,
                                  ArrayRef<Fetch> fetches) const {
  Value scores = t.splat(shapes_.frags.scores, t.f32(0));
  SmallVector<Value> keys;
  auto read = [&] {
    if (keys.size() < q_.size())
      keys.push_back(tile::ReadOp::create(t.b, t.loc, shapes_.key, kLds_, buffer, 0,
                                          int64_t(keys.size()) * shapes_.kStep));
  };
  const bool spread = fetches.size() > 2;
  if (!spread)
    for (const Fetch &fetch : fetches)
      fetch.issue(t);
  for (int64_t i = 0; i < kReadAhead; ++i)
    read();
  for (auto [step, q] : llvm::enumerate(q_)) {
    tile::KeepOrderOp::create(t.b, t.loc, /*all=*/true);
    if (spread && step < fetches.size())
      fetches[step].issue(t);
    read();
    scores = tile::MmaOp::create(t.b, t.loc, scores.getType(), keys[step], q, scores);
  }
  return scores;
}

Value PrefillSchedule::readValues(const TileBuilder &t, Value buffer, int64_t key) const {
  return tile::ReadTrOp::create(t.b, t.loc, shapes_.value, vLds_, buffer, key, 0);
}

Value PrefillSchedule::emitOutput(const TileBuilder &t, Value weights, Value seen, Value o,
                                  Value values, Value buffer) const {
  for (int64_t key = 0; key < plan_.kvTile; key += shapes_.kStep) {
    Value p = tile::SliceOp::create(t.b, t.loc, shapes_.weightStep, weights, key);
    Value v = values && !key ? values : readValues(t, buffer, key);
    if (seen) {
      Value flags = tile::SliceOp::create(t.b, t.loc, shapes_.seenStep, seen, key);
      v = tile::KeepOp::create(t.b, t.loc, v.getType(), v, flags);
    }
    o = tile::MmaOp::create(t.b, t.loc, o.getType(), v, p, o);
  }
  return o;
}

Carried PrefillSchedule::emitTile(const TileBuilder &t, const Span &span, Value tileIndex,
                                  const Carried &carried) const {
  auto [in, cur] = carried;
  Value other = arith::XOrIOp::create(t.b, t.loc, cur, t.i32(1));
  tile::WaitOp::create(t.b, t.loc, leaving(t, vDmas_), /*lds=*/true);
  tile::BarrierOp::create(t.b, t.loc);
  SmallVector<EarlyRead> reads = scores_.issueElementReads(t, tileIndex);
  Value next = range_.next(t, span, tileIndex);
  Value masked = range_.hasFree ? range_.isMasked(t, span, tileIndex) : Value();
  Value scores = emitScores(t, cur, fetches(t, next, other));
  tile::WaitOp::create(t.b, t.loc, leaving(t, kDmas_ + vDmas_), /*lds=*/false);
  tile::BarrierOp::create(t.b, t.loc);
  // On their way while softmax works; two ways to use them would keep too many registers alive.
  Value values = masked && range_.hasUnseenKeys ? Value() : readValues(t, cur, 0);
  scores = scores_.finish(t, scores, tileIndex, masked, reads);
  SoftmaxState out = softmax_.raised(t, in, scores);
  Value weights;
  std::tie(out.l, weights) = softmax_.weights(t, out, scores);
  // The view's bounds zero the keys outside the hull; those inside that nobody sees are told by the
  // scores.
  auto withFlags = [&](auto &u) {
    Value seen = tile::SeenOp::create(u.b, u.loc, shapes_.seen, scores);
    return emitOutput(u, weights, seen, out.o, values, cur);
  };
  auto all = [&](auto &u) { return emitOutput(u, weights, Value(), out.o, values, cur); };
  if (!range_.hasUnseenKeys)
    out.o = all(t);
  else
    out.o = masked ? t.choose(masked, withFlags, all) : withFlags(t);
  return {out, other};
}

Carried PrefillSchedule::emitSpan(const TileBuilder &t, const Span &span,
                                  const Carried &carried) const {
  return t.loop(span.begin, span.end, carried, [&](auto &u, Value tileIndex, const Carried &in) {
    return emitTile(u, span, tileIndex, in);
  });
}

SoftmaxState PrefillSchedule::emitSpans(const TileBuilder &t, Carried carried) const {
  if (range_.spans.size() == 1)
    return emitSpan(t, range_.spans[0], carried).state;
  Value count = t.i32(int64_t(range_.spans.size()));
  return t
      .loop(t.i32(0), count, carried,
            [&](auto &u, Value index, const Carried &in) {
              return emitSpan(u, range_.select(u, index), in);
            })
      .state;
}

void PrefillSchedule::emitEpilogue(const TileBuilder &t, const SoftmaxState &state) const {
  tile::WaitOp::create(t.b, t.loc, t.b.getI64IntegerAttr(0), /*lds=*/false);
  Value sink;
  if (Value ptr = f_.kernel.arg("sink"))
    sink = tile::LoadScalarOp::create(t.b, t.loc, t.b.getF32Type(), ptr, f_.head);
  SoftmaxCore::Final result = softmax_.finish(t, state, sink, lse_ == LseKind::Natural);
  Value output = result.output;
  if (shapes_.result != output.getType())
    output = tile::CastOp::create(t.b, t.loc, shapes_.result, output);
  output = tile::ConvertOp::create(t.b, t.loc, shapes_.stored, output);
  tile::StoreOp::create(t.b, t.loc, output, outView_, f_.waveRow);
  if (!lseView_)
    return;
  Value lse = result.lse;
  if (lse_ == LseKind::Natural && !result.natural)
    lse = t.map(shapes_.frags.stat, {lse}, [&](auto &u, ValueRange e, Value, Value) {
      return u.mulF(e[0], u.f32(std::numbers::ln2));
    });
  tile::StoreOp::create(t.b, t.loc, lse, lseView_, f_.waveRow);
}

void PrefillSchedule::emit(const TileBuilder &t) {
  kLds_ = tile::AllocOp::create(t.b, t.loc, shapes_.kLds);
  vLds_ = tile::AllocOp::create(t.b, t.loc, shapes_.vLds);
  Value buffer = t.i32(0);
  Value q =
      tile::LoadOp::create(t.b, t.loc, shapes_.queryLoaded, blockView(t, f_.q), f_.waveRow, 0);
  scores_.issueQueryReads(t);
  // Made here, a result's view keeps a descriptor alive through the loop; made later, its arguments
  // and the lengths.
  outView_ = blockView(t, f_.out);
  if (f_.lse.ptr)
    lseView_ = blockView(t, f_.lse);
  kDmas_ = fetchTile(t, f_.k, kLds_, range_.firstTile, buffer, false).issue(t).instructions();
  vDmas_ = fetchTile(t, f_.v, vLds_, range_.firstTile, buffer, true).issue(t).instructions();
  // Q is there before the loops, so no wait for it ends up in one.
  tile::WaitOp::create(t.b, t.loc, leaving(t, kDmas_ + vDmas_), /*lds=*/false);
  setQ(t, q);
  emitEpilogue(t, emitSpans(t, {softmax_.initial(t), buffer}));
}

} // namespace

void emitPrefill(const TileBuilder &t, KernelFrame &frame, attn::KernelOp op,
                 const schedule::Plan &plan, const TileShapes &shapes) {
  // A q block past the end of its sequence (varlen grids are made for the longest) has nothing to
  // do.
  auto guarded = scf::IfOp::create(
      t.b, t.loc, t.cmp(arith::CmpIPredicate::slt, frame.blockRow, frame.qLen), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(&guarded.getThenRegion().front());
  emitRowSources(t, frame, op);
  RegionInliner score(t, frame, op, op.getScore()), mask(t, frame, op, op.getMask());
  const analysis::MaskBounds bounds = analysis::analyzeMask(op);
  const KvRange range = emitKvRange(t, frame, bounds, mask, plan);
  TileScores scores(frame, op, plan, shapes, range, bounds, score, mask);
  PrefillSchedule(frame, op.problem().lse, plan, shapes, range, scores).emit(t);
}

} // namespace attune
