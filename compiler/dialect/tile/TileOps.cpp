// Small behaviour of the tile ops.
#include "compiler/dialect/tile/TileOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_OP_CLASSES
#include "compiler/dialect/tile/Tile.cpp.inc"

namespace attune::tile {
using namespace mlir;

Value KernelOp::arg(StringRef name) {
  for (auto [attr, arg] : llvm::zip(getArgNames(), getBody().getArguments()))
    if (cast<StringAttr>(attr).getValue() == name)
      return arg;
  return {};
}

void DmaOp::build(OpBuilder &b, OperationState &state, Value view, Value lds, Value buffer,
                  ValueRange gap, int64_t part, int64_t parts) {
  IntegerAttr none;
  const bool whole = parts == 1;
  build(b, state, view, lds, buffer, gap, whole ? none : b.getI64IntegerAttr(part),
        whole ? none : b.getI64IntegerAttr(parts));
}

int64_t DmaOp::instructions() {
  auto lds = cast<LdsType>(getLds().getType());
  int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves();
  return lds.getRows() * lds.getCols() * elementBytes(lds.getElementType()) /
         (waves * kLanes * kChunkBytes * int64_t(getParts().value_or(1)));
}

layout::LinearLayout contractionOf(FragType operand, bool isA) {
  return operand.layout()
      .sublayout({"register", "lane"}, {isA ? "col" : "row"})
      .renameOut(isA ? "col" : "row", "k");
}

} // namespace attune::tile
