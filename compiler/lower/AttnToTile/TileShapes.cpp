#include "compiler/lower/AttnToTile/TileShapes.h"
#include "compiler/layout/Attention.h"
#include "llvm/Support/MathExtras.h"

namespace attune {
using namespace mlir;
using layout::LinearLayout;

namespace {

/// `atom` repeated down the rows, one copy per further register bit.
LinearLayout stacked(const LinearLayout &atom, int64_t rows) {
  return atom.product(
      LinearLayout::identity("register", "row", int(llvm::Log2_64(rows / atom.outSize("row")))));
}

/// What is left of an accumulator when the rows in a lane's registers are combined: one row per
/// setting of the lane bits that choose rows, or one row in all if `acrossLanes`.
LinearLayout reduced(const LinearLayout &accumulator, bool acrossLanes) {
  std::vector<uint64_t> columns;
  int colBits = accumulator.outBits("col"), rowBits = 0;
  for (int i = 0; i < accumulator.inBits("lane"); ++i) {
    uint64_t image = accumulator.basis("lane", i, "col");
    if (!image && !acrossLanes)
      image = uint64_t(1) << (colBits + rowBits++);
    columns.push_back(image);
  }
  return LinearLayout({{"lane", accumulator.inBits("lane")}}, {{"col", colBits}, {"row", rowBits}},
                      columns);
}

/// The first `rows` rows of a stacked layout.
LinearLayout firstRows(const LinearLayout &whole, int64_t rows) {
  int rowBits = int(llvm::Log2_64(rows)), colBits = whole.outBits("col"), registerBits = 0;
  std::vector<uint64_t> columns;
  auto image = [&](StringRef in, int bit) {
    return uint64_t(whole.basis(in, bit, "row")) | uint64_t(whole.basis(in, bit, "col")) << rowBits;
  };
  while (registerBits < whole.inBits("register") &&
         whole.basis("register", registerBits, "row") < rows)
    columns.push_back(image("register", registerBits++));
  for (int i = 0; i < whole.inBits("lane"); ++i)
    columns.push_back(image("lane", i));
  return LinearLayout({{"register", registerBits}, {"lane", whole.inBits("lane")}},
                      {{"row", rowBits}, {"col", colBits}}, columns);
}

/// The rows of a layout with one column: where a lane had a column it now holds a copy.
LinearLayout rowsOnly(const LinearLayout &l) { return l.sublayout({"register", "lane"}, {"row"}); }

/// The A operand whose contraction runs as the rows of `b` do.
LinearLayout matchingA(const LinearLayout &a, const LinearLayout &b) {
  int rowBits = a.outBits("row"), kBits = b.outBits("row");
  std::vector<uint64_t> columns;
  for (StringRef in : {"register", "lane"})
    for (int i = 0; i < b.inBits(in); ++i)
      columns.push_back(uint64_t(a.basis(in, i, "row")) | uint64_t(b.basis(in, i, "row"))
                                                              << rowBits);
  return LinearLayout({{"register", b.inBits("register")}, {"lane", b.inBits("lane")}},
                      {{"row", rowBits}, {"col", kBits}}, columns);
}

/// The layout in which a fragment of these rows and columns comes from memory or goes there.
LinearLayout sectorsOf(const LinearLayout &l, Type element) {
  return layout::sectorLayout(l.outBits("row"), l.outBits("col"), int(tile::elementBytes(element)));
}

tile::LdsType ldsType(const layout::LdsLayout &l, const schedule::Plan &plan, int64_t cols,
                      Type element) {
  SmallVector<int64_t> swizzle(l.chunkXor.begin(), l.chunkXor.end());
  return tile::LdsType::get(element.getContext(), plan.stages, plan.kvTile, cols, element,
                            l.rowPitch, swizzle);
}

} // namespace

Result<TileShapes> makeTileShapes(attn::KernelOp op, const schedule::Plan &plan) {
  ProblemShape p = op.problem();
  Type dtype = op.getDtype(), f32 = Float32Type::get(op.getContext());
  const layout::MmaShape mma = plan.mma();
  Result<layout::TileLayouts> layouts =
      attentionTileLayouts(mma, plan.kvTile, p.headDim, p.vHeadDim, plan.waves);
  if (!layouts)
    return layouts.error();
  Result<LinearLayout> a = fragmentLayout(mma, layout::Operand::A),
                       b = fragmentLayout(mma, layout::Operand::B),
                       c = fragmentLayout(mma, layout::Operand::Accumulator);
  for (const Result<LinearLayout> *l : {&a, &b, &c})
    if (!*l)
      return l->error();

  LinearLayout scores = stacked(*c, plan.kvTile), output = stacked(*c, p.vHeadDim);
  LinearLayout weightStep = firstRows(scores, mma.k);
  TileShapes s;
  s.kStep = mma.k;
  s.frags.scores = tile::FragType::get(f32, scores);
  s.frags.weights = tile::FragType::get(dtype, scores);
  s.frags.output = tile::FragType::get(f32, output);
  s.frags.stat = tile::FragType::get(f32, reduced(*c, /*acrossLanes=*/true));
  s.frags.halfStat = tile::FragType::get(f32, reduced(*c, /*acrossLanes=*/false));
  LinearLayout query = b->renameOut("k", "row"), queries = stacked(query, p.headDim);
  s.query = tile::FragType::get(dtype, query);
  s.queries = tile::FragType::get(dtype, queries);
  s.queryLoaded = tile::FragType::get(dtype, sectorsOf(queries, dtype));
  s.key = tile::FragType::get(dtype, stacked(a->renameOut("k", "col"), plan.kvTile));
  s.weightStep = tile::FragType::get(dtype, weightStep);
  s.value = tile::FragType::get(dtype, stacked(matchingA(*a, weightStep), p.vHeadDim));
  Type flag = IntegerType::get(op.getContext(), 1);
  s.seen = tile::FragType::get(flag, rowsOnly(scores));
  s.seenStep = tile::FragType::get(flag, rowsOnly(weightStep));
  Type out = op.getOutDtype();
  s.result = tile::FragType::get(out, output);
  s.stored = tile::FragType::get(out, sectorsOf(output, out));
  s.kLds = ldsType(layouts->k, plan, p.headDim, dtype);
  s.vLds = ldsType(layouts->v, plan, p.vHeadDim, dtype);
  return s;
}

} // namespace attune
