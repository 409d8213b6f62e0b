#include "compiler/lower/AttnToTile/RegionInliner.h"
#include "mlir/IR/IRMapping.h"

namespace attune {
using namespace mlir;

RegionInliner::RegionInliner(const TileBuilder &t, KernelFrame &frame, attn::KernelOp op, Region &region)
    : frame_(frame), op_(op), region_(region) {
  if (region.empty())
    return;
  // The block arguments are (s,) b, h, hk, q, k, qi, ctx, q_len, kv_len.
  auto args = region.getArguments();
  if (args.size() == 10)
    args = args.drop_front();
  uniform_[args[0]] = frame.batch;
  uniform_[args[1]] = frame.head;
  uniform_[args[2]] = frame.kvHead;
  uniform_[args[6]] = frame.ctx;
  uniform_[args[7]] = frame.qLen;
  uniform_[args[8]] = frame.kvLen;
  ValueMap results;
  for (Operation &inner : region.front().without_terminator())
    if (llvm::all_of(inner.getOperands(), [&](Value v) { return uniform_.contains(v); }))
      emit(t, inner, uniform_, uniform_, /*uniform=*/true);
}

Value RegionInliner::inlineAt(const TileBuilder &t, Value s, Value q, Value k, Value qi) const {
  ValueMap local;
  auto args = region_.getArguments();
  if (args.size() == 10) {
    local[args[0]] = s;
    args = args.drop_front();
  }
  local[args[3]] = q;
  local[args[4]] = k;
  local[args[5]] = qi;
  for (Operation &inner : region_.front().without_terminator())
    if (!llvm::all_of(inner.getResults(), [&](Value v) { return uniform_.contains(v); }))
      emit(t, inner, uniform_, local, /*uniform=*/false);
  Value yielded = region_.front().getTerminator()->getOperand(0);
  return isUniform(yielded) ? uniform(yielded) : local.lookup(yielded);
}

void RegionInliner::emit(const TileBuilder &t, Operation &inner, const ValueMap &outer, ValueMap &results, bool uniform) const {
  auto mapped = [&](Value v) {
    auto it = outer.find(v);
    return it != outer.end() ? it->second : results.lookup(v);
  };
  if (auto scalar = dyn_cast<attn::ScalarOp>(inner)) {
    results[scalar.getResult()] = frame_.arg(("scalar." + scalar.getScalar()).str());
    return;
  }
  if (auto read = dyn_cast<attn::ReadOp>(inner)) {
    SmallVector<Value> indices;
    for (Value index : read.getIndices())
      indices.push_back(mapped(index));
    results[read.getResult()] = emitRead(t, read, indices, uniform);
    return;
  }
  IRMapping mapping;
  for (Value v : inner.getOperands())
    mapping.map(v, mapped(v));
  Operation *clone = t.b.clone(inner, mapping);
  for (auto [from, to] : llvm::zip(inner.getResults(), clone->getResults()))
    results[from] = to;
}

Value RegionInliner::emitRead(const TileBuilder &t, attn::ReadOp read, ArrayRef<Value> indices, bool uniform) const {
  attn::KernelOp kernel = op_; // a handle; its accessors are not const
  attn::CaptureAttr capture = kernel.capture(read.getTensor());
  std::string name = ("tensor." + capture.getName()).str();
  // The uniform part of the address is 64 bits wide; what differs by lane fits in 32 (planLaunch checks the extent).
  Value base = t.i64(0), offset = t.i32(0);
  for (auto [i, index] : llvm::enumerate(indices)) {
    Value stride = frame_.arg(name + ".stride." + std::to_string(i));
    if (capture.getDims()[i] == "tokens")
      base = t.add(base, t.mul(frame_.kvStart, stride));
    if (isUniform(read.getIndices()[i]))
      base = t.add(base, t.mul(t.widen(index), stride));
    else
      offset = t.add(offset, t.mul(index, t.narrow(stride)));
  }
  auto fetch = tile::FetchOp::create(t.b, t.loc, read.getType(), frame_.arg(name), base, offset, frame_.arg(name + ".elements"),
                                     capture.getElementType(), capture.getElementType().isUnsignedInteger(), uniform);
  return fetch.getValue();
}

} // namespace attune
