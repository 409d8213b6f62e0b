// attune-opt: runs our passes and phases on MLIR text, for tests and for looking at one step.
//
//   attune-opt kernel.mlir --attune-tile=arch=gfx950        the tile program of an attn.kernel
//   attune-opt tile.mlir --tile-to-rocdl                    one pass alone
#include "compiler/analysis/MaskBounds.h"
#include "compiler/pipeline/Pipelines.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  attune::registerDialects(registry);
  attune::registerPipelines();
  attune::analysis::registerPrintMaskBoundsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Attune's passes and phases\n", registry));
}
