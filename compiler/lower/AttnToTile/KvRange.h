// Which kv tiles a workgroup visits, and in which of them the mask must be evaluated.
//
// From the mask's closed-form intervals (compiler/analysis/MaskBounds.h) come, per interval, three runs of tiles:
// head [start, fullStart) and tail [fullEnd, end) with the mask, and [fullStart, fullEnd) without. A run that is empty
// for every shape (the head of a causal mask) is left out, so no code is made for it. Intervals follow one another,
// each clipped to start where the one before ended; `next` steps over the gap between them.
#pragma once
#include "compiler/analysis/MaskBounds.h"
#include "compiler/lower/AttnToTile/RegionInliner.h"

namespace attune {

/// A run of tiles [begin, end), i32.
struct Phase {
  mlir::Value begin, end;
  bool masked = true;
  int interval = 0;
};

struct KvRange {
  llvm::SmallVector<Phase> phases;
  mlir::Value firstKey, endKey; ///< i32: every key that some row of the q block sees lies in [firstKey, endKey)
  mlir::Value firstTile;        ///< i32: tile of the first visit
  int64_t tileKeys = 0;
  /// True if a key between firstKey and endKey may be visible to no row of the block: the mask has a gap or a part that
  /// only its own evaluation tells.
  bool hasUnseenKeys = false;

  /// The tile visited after `tile`, which lies in phase `p`; after the last one a tile beyond endKey.
  mlir::Value next(const TileBuilder &, const Phase &p, mlir::Value tile) const;

  llvm::SmallVector<mlir::Value> intervalEnds;   ///< one past the last tile of each interval
  llvm::SmallVector<mlir::Value> followingTiles; ///< first tile of the next interval that has any
};

KvRange emitKvRange(const TileBuilder &, const KernelFrame &, const analysis::MaskBounds &, const RegionInliner &mask,
                    const schedule::Plan &);

} // namespace attune
