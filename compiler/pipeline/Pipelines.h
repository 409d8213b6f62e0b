// THE order of passes. Three phases, each with what remains after it, checked on every compile:
//
//   attn    what is computed, simplified                      attn, arith, math
//   tile    how one workgroup computes it, proven race-free   tile, arith, math, scf
//   rocdl   the same in LLVM's terms                          llvm, rocdl
//
// Nothing else adds a pass. The verifier runs after each one. As text for attune-opt:
// --attune-attn, --attune-tile,
// --attune-rocdl, or --attune for all three.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace attune {

struct PipelineOptions {
  std::string arch;                                       ///< a name of compiler/target/Arch.def
  std::vector<std::pair<std::string, std::string>> knobs; ///< override the kernel's own schedule
};

void addAttnPhase(mlir::OpPassManager &);
void addTilePhase(mlir::OpPassManager &, const PipelineOptions &);
void addRocdlPhase(mlir::OpPassManager &);

/// Every dialect that a phase may meet, and the conversions to llvm that the last phase finds by
/// interface.
void registerDialects(mlir::DialectRegistry &);

/// Makes passes and phases known by name, for tools. May be called more than once.
void registerPipelines();

} // namespace attune
