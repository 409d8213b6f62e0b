// The regions of tile.map, before they are repeated for every register of a fragment.
//
// A region is written once and unrolled 32 times or more, so whatever can be done to it first costs
// a thirty-second of what it costs afterwards: it becomes LLVM ops here, and what does not depend
// on the element moves out of it. On specs/t5_bias.attn this takes the conversion to LLVM from 31
// ms to 4 ms (attune-opt --attune-rocdl --mlir-timing).
#include "compiler/lower/TileToRocdl/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attune {
using namespace mlir;

bool takesWholeGroups(tile::MapOp map) {
  auto isPlain = [](Operation &op) {
    return isa<arith::AddFOp, arith::MaxNumFOp, arith::MulFOp, arith::NegFOp, arith::SubFOp,
               math::Exp2Op, math::FmaOp>(op);
  };
  Block &body = map.getBody().front();
  auto coordinates = body.getArguments().take_back(2);
  return Grouping::of(cast<tile::FragType>(map.getResult().getType())).size > 1 &&
         llvm::all_of(body.without_terminator(), isPlain) && coordinates[0].use_empty() &&
         coordinates[1].use_empty();
}

namespace {

/// Moves ops without effects whose operands come from outside to before the map.
void hoistInvariants(tile::MapOp map) {
  Block &body = map.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (isMemoryEffectFree(&op) && isSpeculatable(&op) &&
        llvm::none_of(op.getOperands(), [&](Value v) { return v.getParentBlock() == &body; }))
      op.moveBefore(map);
}

} // namespace

LogicalResult lowerMapBodies(Operation *kernel, const FrozenRewritePatternSet &patterns) {
  SmallVector<Operation *> ops;
  kernel->walk([&](tile::MapOp map) {
    hoistInvariants(map);
    if (!takesWholeGroups(map))
      for (Operation &op : map.getBody().front().without_terminator())
        ops.push_back(&op);
  });
  ConversionTarget target(*kernel->getContext());
  target.addLegalDialect<LLVM::LLVMDialect, ROCDL::ROCDLDialect, tile::TileDialect>();
  target.addIllegalDialect<arith::ArithDialect, math::MathDialect>();
  target.addIllegalOp<tile::FetchOp>();
  if (failed(applyPartialConversion(ops, target, patterns)))
    return failure();
  kernel->walk(hoistInvariants); // the constants that the expansions have brought
  return success();
}

} // namespace attune
