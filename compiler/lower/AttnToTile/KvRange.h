// Which kv tiles a workgroup visits, and in which of them the mask must be evaluated.
//
// From the mask's closed-form intervals (compiler/analysis/MaskBounds.h) come rounds: in a round
// some tiles are visited with the mask and then some without. An interval gives two: its head
// [start, fullStart) masked and its inner part [fullStart, fullEnd) free, then its tail [fullEnd,
// end) masked. Parts that are empty for every shape (the head of a causal mask) are known to be.
// Intervals follow one another, each clipped to start where the one before ended; `next` steps over
// the gap between them. Whatever the mask, a schedule needs two loop bodies, one with the mask and
// one without (docs/adr/005).
#pragma once
#include "compiler/analysis/MaskBounds.h"
#include "compiler/lower/AttnToTile/RegionInliner.h"

namespace attune {

/// Tiles [begin, middle) with the mask, then [middle, end) without; i32. Parts known to be empty
/// share their ends.
struct Round {
  mlir::Value begin, middle, end;
  mlir::Value intervalEnd; ///< one past the last tile of the interval at hand
  mlir::Value following;   ///< where to go from there: first tile of the next interval that has any

  bool hasMasked() const { return begin != middle; }
  bool hasFree() const { return middle != end; }
};

struct KvRange {
  llvm::SmallVector<Round> rounds;
  mlir::Value firstKey,
      endKey; ///< i32: every key that some row of the q block sees lies in [firstKey, endKey)
  mlir::Value firstTile; ///< i32: tile of the first visit
  int64_t tileKeys = 0;
  int64_t intervals = 0;
  /// True if a key between firstKey and endKey may be visible to no row of the block: the mask has
  /// a gap or a part that only its own evaluation tells.
  bool hasUnseenKeys = false;

  /// Round number `index` (i32), chosen at run time.
  Round select(const TileBuilder &, mlir::Value index) const;
  /// The tile visited after `tile`; after the last one a tile beyond endKey.
  mlir::Value next(const TileBuilder &, const Round &, mlir::Value tile) const;
};

KvRange emitKvRange(const TileBuilder &, const KernelFrame &, const analysis::MaskBounds &,
                    const RegionInliner &mask, const schedule::Plan &);

} // namespace attune
