#include "compiler/lower/AttnToTile/RegionInliner.h"
#include "mlir/IR/IRMapping.h"

namespace attune {
using namespace mlir;

RegionInliner::RegionInliner(const TileBuilder &t, KernelFrame &frame, attn::KernelOp op,
                             Region &region)
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
  for (Operation &inner : region.front().without_terminator())
    if (llvm::all_of(inner.getOperands(), [&](Value v) { return uniform_.contains(v); }))
      uniform_[inner.getResult(0)] = emitOp(
          t, inner, llvm::map_to_vector(inner.getOperands(), [&](Value v) { return uniform_[v]; }),
          /*uniform=*/true);
  findEarlyReads();
}

void RegionInliner::findEarlyReads() {
  // What a value needs besides uniform ones, as bits.
  enum { Query = 1, Key = 2, Late = 4 };
  DenseMap<Value, int> needs;
  auto args = region_.getArguments();
  if (args.size() == 10) {
    needs[args[0]] = Late;
    args = args.drop_front();
  }
  needs[args[3]] = needs[args[5]] = Query;
  needs[args[4]] = Key;
  for (Operation &inner : region_.front().without_terminator()) {
    if (isUniform(inner.getResult(0)))
      continue;
    int all = 0;
    for (Value v : inner.getOperands())
      all |= needs.lookup(v);
    if (auto read = dyn_cast<attn::ReadOp>(inner)) {
      if (!(all & Late))
        (all & Key ? elementReads_ : queryReads_).push_back(read);
      all |= Late; // an index that needs another read can't be issued with it
    }
    needs[inner.getResult(0)] = all;
  }
}

RegionInliner::ValueMap RegionInliner::locals(const Element &element) const {
  ValueMap local;
  auto args = region_.getArguments();
  if (args.size() == 10) {
    local[args[0]] = element.s;
    args = args.drop_front();
  }
  local[args[3]] = element.q;
  local[args[4]] = element.k;
  local[args[5]] = element.qi;
  return local;
}

Value RegionInliner::inlineAt(const TileBuilder &t, const Element &element,
                              const ValueMap &given) const {
  ValueMap local = locals(element);
  for (auto [read, value] : given)
    local[read] = value;
  return emit(t, region_.front().getTerminator()->getOperand(0), local);
}

Value RegionInliner::readAt(const TileBuilder &t, attn::ReadOp read, const Element &element) const {
  ValueMap local = locals(element);
  return emit(t, read.getResult(), local);
}

Value RegionInliner::emit(const TileBuilder &t, Value value, ValueMap &local) const {
  if (auto it = uniform_.find(value); it != uniform_.end())
    return it->second;
  if (auto it = local.find(value); it != local.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(emit(t, v, local));
  Value result = emitOp(t, *op, operands, /*uniform=*/false);
  local[value] = result;
  return result;
}

Value RegionInliner::emitOp(const TileBuilder &t, Operation &op, ArrayRef<Value> operands,
                            bool uniform) const {
  if (auto scalar = dyn_cast<attn::ScalarOp>(op))
    return frame_.arg(("scalar." + scalar.getScalar()).str());
  if (auto read = dyn_cast<attn::ReadOp>(op))
    return emitRead(t, read, operands, uniform);
  IRMapping mapping;
  mapping.map(op.getOperands(), operands);
  return t.b.clone(op, mapping)->getResult(0);
}

Value RegionInliner::emitRead(const TileBuilder &t, attn::ReadOp read, ArrayRef<Value> indices,
                              bool uniform) const {
  attn::KernelOp kernel = op_; // a handle; its accessors are not const
  attn::CaptureAttr capture = kernel.capture(read.getTensor());
  std::string name = ("tensor." + capture.getName()).str();
  // The uniform part of the address is 64 bits wide; what differs by lane fits in 32 (planLaunch
  // checks the extent).
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
  auto fetch = tile::FetchOp::create(t.b, t.loc, read.getType(), frame_.arg(name), base, offset,
                                     frame_.arg(name + ".elements"), capture.getElementType(),
                                     capture.getElementType().isUnsignedInteger(), uniform);
  return fetch.getValue();
}

} // namespace attune
