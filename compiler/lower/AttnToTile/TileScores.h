// What a kernel's formula makes of a tile's dot products: the score function, the mask as -inf, and
// the captured tensors that both read.
//
// A schedule says when. Reads of a tensor are issued ahead of their use, behind no DMA
// (docs/adr/009): those that differ by query before the loops, those that differ by key at the
// start of a tile. The rest comes when the dot products are there.
#pragma once
#include "compiler/analysis/MaskBounds.h"
#include "compiler/lower/AttnToTile/KvRange.h"
#include "compiler/lower/AttnToTile/RegionInliner.h"
#include "compiler/lower/AttnToTile/TileShapes.h"

namespace attune {

/// A captured tensor's elements for a tile (or one per query), in registers before they are needed.
struct EarlyRead {
  attn::ReadOp read;
  mlir::Value frag; ///< a bool is held as i32
};

class TileScores {
public:
  /// Emits nothing. All that is referred to outlives it; `frame` has its row sources.
  TileScores(const KernelFrame &frame, attn::KernelOp op, const schedule::Plan &plan,
             const TileShapes &shapes, const KvRange &range, const analysis::MaskBounds &bounds,
             const RegionInliner &score, const RegionInliner &mask)
      : f_(frame), plan_(plan), shapes_(shapes), range_(range), bounds_(bounds), score_(score),
        mask_(mask), scale_(op.getScale().convertToDouble()),
        rawScale_(score.empty() && scale_ > 0) {}

  /// Whether a score function makes the scores.
  bool ofFunction() const { return !score_.empty(); }
  /// What finish() leaves to be multiplied with: dot products keep their scale for the exponent.
  double scaleLeft() const { return rawScale_ ? scale_ : 1.0; }

  /// Reads of what differs by query only; once, before anything else.
  void issueQueryReads(const TileBuilder &);
  /// Reads of a tile's elements, before its DMA; as many as registers allow, the others are issued
  /// where they are used.
  llvm::SmallVector<EarlyRead> issueElementReads(const TileBuilder &, mlir::Value tileIndex) const;
  /// The scores of a tile of dot products; -inf where the mask hides them, if `masked` is null or
  /// holds.
  mlir::Value finish(const TileBuilder &, mlir::Value scores, mlir::Value tileIndex,
                     mlir::Value masked, llvm::ArrayRef<EarlyRead> elementReads) const;

private:
  /// `scores` after the score function, the mask, or one after the other.
  mlir::Value applyRegions(const TileBuilder &, mlir::Value scores, mlir::Value tileIndex,
                           bool score, bool mask, llvm::ArrayRef<EarlyRead> elementReads) const;
  /// First and last key that a query sees, of each part of a mask in closed form, as rows of the
  /// tile; a first key that is 0 is left out.
  llvm::SmallVector<mlir::Value> visibleRows(const TileBuilder &, mlir::Value tileIndex) const;
  /// Whether an element's row is within one of those pairs.
  mlir::Value isVisible(const TileBuilder &, mlir::Value row, mlir::ValueRange limits) const;
  /// The mask's own arithmetic.
  mlir::Value maskAt(const TileBuilder &, const RegionInliner::Element &,
                     const RegionInliner::ValueMap &given) const;
  RegionInliner::Element elementAt(const TileBuilder &, mlir::Value tileIndex, mlir::Value row,
                                   mlir::Value col) const;
  EarlyRead issueRead(const TileBuilder &, const RegionInliner &, attn::ReadOp,
                      tile::FragType shape, mlir::Value tileIndex) const;

  const KernelFrame &f_;
  const schedule::Plan &plan_;
  const TileShapes &shapes_;
  const KvRange &range_;
  const analysis::MaskBounds &bounds_;
  const RegionInliner &score_, &mask_;
  const double scale_;
  const bool rawScale_; ///< the scale is left for the exponent
  llvm::SmallVector<EarlyRead> queryReads_;
};

} // namespace attune
