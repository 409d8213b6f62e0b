// Tile classes, once from the analysis and once by looking at every row and key.
#pragma once
#include "compiler/analysis/MaskBounds.h"
#include "tests/analysis/MaskAst.h"

namespace attune::test {

enum class TileClass { Empty, Partial, Full };

struct QBlock {
  int64_t q0 = 0, q1 = 0; ///< first and last row, as positions
  int64_t tile = 1;       ///< keys of a tile
};

/// A mask built and analysed.
struct Analysed {
  Mask mask;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::DenseMap<mlir::Value, Mask> origin;
  analysis::MaskBounds bounds;

  Analysed(mlir::MLIRContext &, Mask);
  int64_t value(const analysis::Bound &, const World &, const QBlock &) const;
  TileClass classify(const World &, const QBlock &, int64_t firstKey) const;
  std::string str(const World &, const QBlock &) const; ///< for messages of failing tests
};

TileClass bruteForce(const Node &, const World &, const QBlock &, int64_t firstKey);

} // namespace attune::test
