// Which kv tiles a workgroup visits, and in which of them the mask must be evaluated.
//
// The mask's closed-form intervals (compiler/analysis/MaskBounds.h) become spans of tiles
// [begin, end), of which those in [fullBegin, fullEnd) are visible as a whole and need no mask.
// Parts that are empty for every shape (the head of a causal mask) are known to be. Spans follow
// one another, each clipped to start where the one before ended; `next` steps over the gap between
// them.
#pragma once
#include "compiler/analysis/MaskBounds.h"
#include "compiler/lower/AttnToTile/RegionInliner.h"

namespace attune {

/// The tiles of one interval; i32.
struct Span {
  mlir::Value begin, fullBegin, fullEnd, end;
  mlir::Value following; ///< where to go from the end: first tile of the next span that has any
};

struct KvRange {
  llvm::SmallVector<Span> spans;
  mlir::Value firstKey,
      endKey; ///< i32: every key that some row of the q block sees lies in [firstKey, endKey)
  mlir::Value firstTile; ///< i32: tile of the first visit
  int64_t tileKeys = 0;
  bool hasFree = false; ///< whether some tile may be free of the mask; the last one never is
  /// i32: no row sees a key of [gapBegin, gapEnd); null where there is one interval only.
  mlir::Value gapBegin, gapEnd;
  /// True if other keys between firstKey and endKey may be visible to no row of the block: the mask
  /// has several gaps or a part that only its own evaluation tells.
  bool hasUnseenKeys = false;

  /// Span number `index` (i32), chosen at run time.
  Span select(const TileBuilder &, mlir::Value index) const;
  /// Whether `tile` needs the mask (i1), in a range that has free ones.
  mlir::Value isMasked(const TileBuilder &, const Span &, mlir::Value tile) const;
  /// The tile visited after `tile`; after the last one a tile beyond endKey.
  mlir::Value next(const TileBuilder &, const Span &, mlir::Value tile) const;
};

KvRange emitKvRange(const TileBuilder &, const KernelFrame &, const analysis::MaskBounds &,
                    const RegionInliner &mask, const schedule::Plan &);

} // namespace attune
