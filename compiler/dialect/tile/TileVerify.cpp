// What must hold of one op by itself. What must hold between ops (waits, barriers) is
// compiler/lower/VerifyTileSync.cpp.
#include "compiler/dialect/tile/TileOps.h"
#include "mlir/IR/OpImplementation.h"

namespace attune::tile {
using namespace mlir;

namespace {

/// The lanes and registers that hold a column, which a broadcast or reduction must not change.
layout::LinearLayout laneColumns(FragType t) { return t.layout().sublayout({"lane"}, {"col"}); }

LogicalResult inBounds(Operation *op, LdsType lds, int64_t row, int64_t col, int64_t rows,
                       int64_t cols) {
  if (row < 0 || col < 0 || row + rows > lds.getRows() || col + cols > lds.getCols())
    return op->emitOpError() << "reads rows " << row << " to " << row + rows << " and columns "
                             << col << " to " << col + cols << " of a tile of " << lds.getRows()
                             << "x" << lds.getCols();
  return success();
}

} // namespace

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getArgNames().size())
    return emitOpError() << "has " << block.getNumArguments() << " arguments and "
                         << getArgNames().size() << " names";
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError() << "must end in tile.return";
  int64_t waves = getWaves();
  if (waves < 1 || waves > 16)
    return emitOpError() << "has " << waves << " waves; a workgroup has 1 to 16";
  return success();
}

LogicalResult DmaOp::verify() {
  auto view = cast<ViewType>(getView().getType());
  auto lds = cast<LdsType>(getLds().getType());
  if (view.getElementType() != lds.getElementType() || view.getCols() != lds.getCols())
    return emitOpError() << "copies rows of " << view.getCols() << " " << view.getElementType()
                         << " into rows of " << lds.getCols() << " " << lds.getElementType();
  if (!getGap().empty() && getGap().size() != 2)
    return emitOpError() << "has a gap of " << getGap().size()
                         << " numbers; it is a first row and a count";
  int64_t rowBytes = lds.getCols() * elementBytes(lds.getElementType());
  if (lds.getPitch() != rowBytes)
    return emitOpError() << "LDS-DMA writes lane after lane, so rows can't be padded: pitch "
                         << lds.getPitch() << ", row " << rowBytes << " bytes; use a swizzle";
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel)
    return emitOpError() << "must be in a tile.kernel";
  int64_t perInstruction = int64_t(kernel.getWaves()) * kLanes * kChunkBytes;
  if ((lds.getRows() * rowBytes) % perInstruction)
    return emitOpError() << "the tile's " << lds.getRows() * rowBytes
                         << " bytes are no multiple of the " << perInstruction << " that "
                         << kernel.getWaves() << " waves bring at a time";
  const int64_t part = int64_t(getPart().value_or(0)), parts = int64_t(getParts().value_or(1));
  const int64_t instructions = lds.getRows() * rowBytes / perInstruction;
  if (parts < 1 || instructions % parts)
    return emitOpError() << "cuts " << instructions << " instructions of a wave into " << parts
                         << " parts; they must be equal";
  if (part < 0 || part >= parts)
    return emitOpError() << "is part " << part << " of " << parts << "; parts are counted from 0";
  return success();
}

LogicalResult LoadOp::verify() {
  auto view = cast<ViewType>(getView().getType());
  auto frag = cast<FragType>(getFrag().getType());
  if (view.getElementType() != frag.getElementType())
    return emitOpError() << "loads " << view.getElementType() << " as " << frag.getElementType();
  if (int64_t(getCol()) + frag.getRows() > view.getCols())
    return emitOpError() << "needs columns " << getCol() << " to " << getCol() + frag.getRows()
                         << " of " << view.getCols();
  return success();
}

LogicalResult StoreOp::verify() {
  auto view = cast<ViewType>(getView().getType());
  auto frag = cast<FragType>(getFrag().getType());
  if (view.getElementType() != frag.getElementType())
    return emitOpError() << "stores " << frag.getElementType() << " as " << view.getElementType();
  if (frag.getRows() != view.getCols())
    return emitOpError() << "stores " << frag.getRows() << " columns into rows of "
                         << view.getCols();
  return success();
}

LogicalResult ReadOp::verify() {
  auto lds = cast<LdsType>(getLds().getType());
  auto frag = cast<FragType>(getFrag().getType());
  if (lds.getElementType() != frag.getElementType())
    return emitOpError() << "reads " << lds.getElementType() << " as " << frag.getElementType();
  return inBounds(*this, lds, getRow(), getCol(), frag.getRows(), frag.getCols());
}

LogicalResult ReadTrOp::verify() {
  auto lds = cast<LdsType>(getLds().getType());
  auto frag = cast<FragType>(getFrag().getType());
  if (lds.getElementType() != frag.getElementType())
    return emitOpError() << "reads " << lds.getElementType() << " as " << frag.getElementType();
  if (elementBytes(frag.getElementType()) != 2)
    return emitOpError() << "the transposing read of this op moves 16-bit elements, got "
                         << frag.getElementType();
  return inBounds(*this, lds, getRow(), getCol(), frag.getCols(), frag.getRows());
}

LogicalResult MmaOp::verify() {
  auto a = cast<FragType>(getA().getType()), b = cast<FragType>(getB().getType()),
       c = cast<FragType>(getC().getType());
  if (a.getCols() != b.getRows() || a.getRows() != c.getRows() || b.getCols() != c.getCols())
    return emitOpError() << "shapes do not fit: " << a.getRows() << "x" << a.getCols() << " times "
                         << b.getRows() << "x" << b.getCols() << " into " << c.getRows() << "x"
                         << c.getCols();
  if (a.getElementType() != b.getElementType() || !c.getElementType().isF32())
    return emitOpError() << "takes two operands of one 16-bit type and f32 accumulators";
  // Registers beyond one instruction's operand belong to further rows or columns; K is in the first
  // ones.
  auto k = [](FragType t, bool isA) {
    layout::LinearLayout l = contractionOf(t, isA);
    std::vector<uint32_t> bits;
    for (int i = 0; i < l.inBits("register"); ++i)
      if (uint32_t image = l.basis("register", i, "k"))
        bits.push_back(image);
    for (int i = 0; i < l.inBits("lane"); ++i)
      bits.push_back(l.basis("lane", i, "k"));
    return bits;
  };
  if (k(a, true) != k(b, false))
    return emitOpError() << "operands run through the contraction in different orders: "
                         << contractionOf(a, true).str() << " against "
                         << contractionOf(b, false).str();
  return success();
}

LogicalResult MapOp::verify() {
  auto result = cast<FragType>(getResult().getType());
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size() + 2)
    return emitOpError() << "needs one region argument per input, then row and column";
  for (Value in : getInputs()) {
    auto t = cast<FragType>(in.getType());
    bool same = t.getLayoutText() == result.getLayoutText();
    if (!same && !(t.getRows() < result.getRows() && t.getCols() == result.getCols() &&
                   laneColumns(t) == laneColumns(result)))
      return emitOpError() << "input " << t
                           << " is neither laid out like the result nor one row of it";
  }
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValue().getType() != result.getElementType())
    return emitOpError() << "must yield " << result.getElementType();
  return success();
}

LogicalResult ReduceOp::verify() {
  auto in = cast<FragType>(getInput().getType()), out = cast<FragType>(getResult().getType());
  if (!in.getElementType().isF32() || !out.getElementType().isF32())
    return emitOpError() << "reduces f32";
  if (in.getCols() != out.getCols() || !(laneColumns(in) == laneColumns(out)))
    return emitOpError() << "must leave columns in their lanes";
  if (out.getRows() != 1 && out.registers() != 1)
    return emitOpError()
           << "combines every row that a lane holds, so the result has one register, not "
           << out.registers();
  return success();
}

LogicalResult SliceOp::verify() {
  auto in = cast<FragType>(getInput().getType()), out = cast<FragType>(getResult().getType());
  if (in.getElementType() != out.getElementType() || in.getCols() != out.getCols())
    return emitOpError() << "keeps element type and columns";
  int64_t row = getRow();
  if (row < 0 || row % out.getRows() || row + out.getRows() > in.getRows())
    return emitOpError() << "takes rows " << row << " to " << row + out.getRows() << " of "
                         << in.getRows();
  const layout::LinearLayout &whole = in.layout(), &part = out.layout();
  for (int bit = 0; bit < part.inBits("register"); ++bit)
    if (part.basis("register", bit, "row") != whole.basis("register", bit, "row"))
      return emitOpError() << "is a choice of registers, but register bit " << bit
                           << " moves other rows in the slice";
  if (!(part.sublayout({"lane"}, {"row"}).columns() ==
        whole.sublayout({"lane"}, {"row"}).columns()))
    return emitOpError() << "is a choice of registers, but the lanes hold other rows in the slice";
  return success();
}

LogicalResult ConvertOp::verify() {
  auto in = cast<FragType>(getInput().getType()), out = cast<FragType>(getResult().getType());
  if (in.getElementType() != out.getElementType() || in.getRows() != out.getRows() ||
      in.getCols() != out.getCols())
    return emitOpError() << "keeps element type, rows and columns";
  if (in.registers() != out.registers())
    return emitOpError() << "has " << in.registers() << " registers against " << out.registers();
  return success();
}

LogicalResult CastOp::verify() {
  auto in = cast<FragType>(getInput().getType()), out = cast<FragType>(getResult().getType());
  if (in.getLayoutText() != out.getLayoutText())
    return emitOpError() << "keeps the layout";
  return success();
}

LogicalResult SeenOp::verify() {
  auto in = cast<FragType>(getScores().getType()), out = cast<FragType>(getSeen().getType());
  if (!in.getElementType().isF32() || !out.getElementType().isInteger(1) ||
      out.getRows() != in.getRows() || out.getCols() != 1)
    return emitOpError() << "takes f32 scores and gives one i1 per row";
  layout::LinearLayout rows = in.layout().sublayout({"register", "lane"}, {"row"});
  if (!(rows == out.layout().sublayout({"register", "lane"}, {"row"})))
    return emitOpError() << "must leave rows in their lanes and registers";
  return success();
}

LogicalResult AnyGreaterOp::verify() {
  if (!cast<FragType>(getA().getType()).getElementType().isF32())
    return emitOpError() << "compares f32 fragments";
  return success();
}

LogicalResult KeepOp::verify() {
  auto a = cast<FragType>(getA().getType()), flags = cast<FragType>(getFlags().getType());
  if (!flags.getElementType().isInteger(1) || flags.getCols() != 1 ||
      flags.getRows() != a.getCols())
    return emitOpError() << "needs one i1 flag per column";
  layout::LinearLayout k = contractionOf(a, /*isA=*/true), f = contractionOf(flags, /*isA=*/false);
  for (StringRef in : {"register", "lane"})
    for (int bit = 0; bit < k.inBits(in); ++bit)
      if (k.basis(in, bit, "k") != (bit < f.inBits(in) ? f.basis(in, bit, "k") : 0))
        return emitOpError() << "flags run through the columns in another order: " << f.str()
                             << " against " << k.str();
  return success();
}

LogicalResult WaitOp::verify() {
  if (!getVmcnt() && !getLds())
    return emitOpError() << "waits for nothing; give vmcnt or lds";
  if (getVmcnt() && (int64_t(*getVmcnt()) < 0 || *getVmcnt() > 63))
    return emitOpError() << "vmcnt " << *getVmcnt() << " is outside the counter's range 0 to 63";
  return success();
}

} // namespace attune::tile
