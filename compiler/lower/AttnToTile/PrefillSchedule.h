// Schedules build the body of a tile.kernel. Today there is one, the transposed prefill pipeline.
#pragma once
#include "compiler/lower/AttnToTile/KernelFrame.h"
#include "compiler/lower/AttnToTile/TileShapes.h"

namespace attune {

/// Emits the whole program of a workgroup at the builder's point.
void emitPrefill(const TileBuilder &, KernelFrame &, attn::KernelOp, const schedule::Plan &,
                 const TileShapes &);

} // namespace attune
