// Puts a score or mask region of the attn dialect into tile IR.
//
// A region's values fall in two kinds. Uniform ones depend on nothing but the sequence, the head, the lengths and
// run-time scalars: they are computed once, where the inliner is made. The others depend on s, q, k or qi and are
// cloned into each tile.map that asks for them.
#pragma once
#include "compiler/lower/AttnToTile/KernelFrame.h"
#include "llvm/ADT/DenseMap.h"

namespace attune {

class RegionInliner {
public:
  /// Emits the uniform values of `region` (which may be empty: then nothing is ever inlined).
  RegionInliner(const TileBuilder &, KernelFrame &, attn::KernelOp, mlir::Region &region);

  bool empty() const { return region_.empty(); }
  /// True if the value is the same for the whole workgroup.
  bool isUniform(mlir::Value regionValue) const { return uniform_.contains(regionValue); }
  /// The tile IR value of a uniform value of the region.
  mlir::Value uniform(mlir::Value regionValue) const { return uniform_.lookup(regionValue); }

  /// Clones the rest at the builder of `t`; returns what the region yields. `s` is null for masks.
  mlir::Value inlineAt(const TileBuilder &t, mlir::Value s, mlir::Value q, mlir::Value k, mlir::Value qi) const;

private:
  using ValueMap = llvm::DenseMap<mlir::Value, mlir::Value>;

  void emit(const TileBuilder &, mlir::Operation &, const ValueMap &outer, ValueMap &results, bool uniform) const;
  mlir::Value emitRead(const TileBuilder &, attn::ReadOp, llvm::ArrayRef<mlir::Value> indices, bool uniform) const;

  KernelFrame &frame_;
  attn::KernelOp op_;
  mlir::Region &region_;
  ValueMap uniform_;
};

} // namespace attune
