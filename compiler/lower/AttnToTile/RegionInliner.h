// Puts a score or mask region of the attn dialect into tile IR.
//
// A region's values fall in two kinds. Uniform ones depend on nothing but the sequence, the head,
// the lengths and run-time scalars: they are computed once, where the inliner is made. The others
// depend on s, q, k or qi and are cloned into each tile.map that asks for them.
//
// Reads of captured tensors are memory instructions, and where they are issued matters: behind a
// DMA they can only be waited for together with it. So a schedule may take reads whose indices need
// no score and no other read, issue them where it wants (readAt) and hand their values back when it
// inlines the rest.
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

  using ValueMap = llvm::DenseMap<mlir::Value, mlir::Value>;
  /// One element's coordinates. `s` is null for masks.
  struct Element {
    mlir::Value s, q, k, qi;
  };

  /// What the region yields for an element, cloned at the builder of `t`; `given` holds values of
  /// reads issued before.
  mlir::Value inlineAt(const TileBuilder &t, const Element &element, const ValueMap &given) const;

  /// Reads that may be issued early: those that differ by query only, and those that differ by key.
  llvm::ArrayRef<attn::ReadOp> queryReads() const { return queryReads_; }
  llvm::ArrayRef<attn::ReadOp> elementReads() const { return elementReads_; }
  /// The value of such a read, at the builder of `t`.
  mlir::Value readAt(const TileBuilder &t, attn::ReadOp read, const Element &element) const;

private:
  ValueMap locals(const Element &) const;
  void findEarlyReads();
  mlir::Value emit(const TileBuilder &, mlir::Value, ValueMap &locals) const;
  mlir::Value emitOp(const TileBuilder &, mlir::Operation &, llvm::ArrayRef<mlir::Value> operands,
                     bool uniform) const;
  mlir::Value emitRead(const TileBuilder &, attn::ReadOp, llvm::ArrayRef<mlir::Value> indices,
                       bool uniform) const;

  KernelFrame &frame_;
  attn::KernelOp op_;
  mlir::Region &region_;
  ValueMap uniform_;
  llvm::SmallVector<attn::ReadOp> queryReads_, elementReads_;
};

} // namespace attune
