// The two lowerings of the pipeline, as passes: attn (what) to tile (how), and tile to the ROCDL
// and LLVM dialects. After AttnToTile no attn op remains; after TileToRocdl nothing but those two
// dialects.
#pragma once
#include "compiler/schedule/Plan.h"
#include <memory>

namespace mlir {
class Pass;
}

namespace attune {

/// Builds one tile.kernel from each attn.kernel. The plan is chosen by schedule::choosePlan for
/// `arch` and the kernel's own schedule knobs, with `overrides` on top; what no plan can do is an
/// error on the kernel.
std::unique_ptr<mlir::Pass>
createAttnToTilePass(std::string arch = "gfx950",
                     std::vector<std::pair<std::string, std::string>> overrides = {});

/// Rewrites every tile.kernel into an llvm.func with ROCDL intrinsics, with nothing left of the
/// other dialects.
std::unique_ptr<mlir::Pass> createTileToRocdlPass();

/// Proves that every LDS read is covered by the wait and the barrier of the DMA that fills it and
/// that no buffer is overwritten while a reader can be in flight
/// (compiler/lower/VerifyTileSync.cpp). Changes nothing.
std::unique_ptr<mlir::Pass> createVerifyTileSyncPass();

} // namespace attune
