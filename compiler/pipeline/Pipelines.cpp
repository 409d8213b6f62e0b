// The three phases, top to bottom in the order in which they run.
#include "compiler/pipeline/Pipelines.h"
#include "compiler/dialect/attn/AttnDialect.h"
#include "compiler/dialect/tile/TileOps.h"
#include "compiler/lower/Lower.h"
#include "compiler/pipeline/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace attune {
namespace {

using mlir::OpPassManager;

#define GEN_PASS_REGISTRATION
#include "compiler/pipeline/Passes.h.inc"

/// Checks what a phase promises to leave.
void checkRemaining(OpPassManager &pm, const char *phase, llvm::ArrayRef<std::string> remaining) {
  CheckDialectsOptions check;
  check.phase = phase;
  check.allowed.assign(remaining.begin(), remaining.end());
  pm.addPass(createCheckDialects(check));
}

} // namespace

void addAttnPhase(OpPassManager &pm) {
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  checkRemaining(pm, "attn", {"builtin", "attn", "arith", "math"});
}

void addTilePhase(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createAttnToTilePass(options.arch, options.knobs));
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  checkRemaining(pm, "tile", {"builtin", "tile", "arith", "math", "scf", "llvm"});
  pm.addPass(createVerifyTileSyncPass());
}

void addRocdlPhase(OpPassManager &pm) {
  pm.addPass(createTileToRocdlPass());
  checkRemaining(pm, "rocdl", {"builtin", "llvm", "rocdl"});
}

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, tile::TileDialect, mlir::LLVM::LLVMDialect,
                  mlir::ROCDL::ROCDLDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
}

namespace {

/// The options of a phase as text: --attune-tile="arch=gfx950 knobs=waves=4,stages=3".
struct TextOptions : mlir::PassPipelineOptions<TextOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("target chip; always needed")};
  ListOption<std::string> knobs{*this, "knobs", llvm::cl::desc("name=value, ... of the schedule")};

  PipelineOptions value() const {
    PipelineOptions options;
    options.arch = arch;
    for (llvm::StringRef knob : knobs) {
      auto [name, text] = knob.split('=');
      options.knobs.emplace_back(name, text);
    }
    return options;
  }
};

} // namespace

void registerPipelines() {
  registerAttunePasses();
  mlir::registerPass([] { return createAttnToTilePass(); });
  mlir::registerPass(createTileToRocdlPass);
  mlir::registerPass(createVerifyTileSyncPass);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();

  mlir::PassPipelineRegistration<>("attune-attn", "simplify attn kernels", addAttnPhase);
  mlir::PassPipelineRegistration<TextOptions>(
      "attune-tile", "attn to tile",
      [](OpPassManager &pm, const TextOptions &options) { addTilePhase(pm, options.value()); });
  mlir::PassPipelineRegistration<>("attune-rocdl", "tile to llvm and rocdl", addRocdlPhase);
  mlir::PassPipelineRegistration<TextOptions>("attune", "the whole way from attn to llvm and rocdl",
                                              [](OpPassManager &pm, const TextOptions &options) {
                                                addAttnPhase(pm);
                                                addTilePhase(pm, options.value());
                                                addRocdlPhase(pm);
                                              });
}

} // namespace attune
