// attn-print-mask-bounds: the analysis as remarks, one for each interval of each kernel, for lit
// tests.
#include "compiler/analysis/MaskBounds.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace attune::analysis {
using namespace mlir;

namespace {

struct PrintMaskBounds : PassWrapper<PrintMaskBounds, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintMaskBounds)

  StringRef getArgument() const final { return "attn-print-mask-bounds"; }
  StringRef getDescription() const final {
    return "Reports which keys a q block sees, as remarks on each attn.kernel";
  }

  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      MaskBounds bounds = analyzeMask(kernel);
      for (const VisibleInterval &i : bounds.intervals)
        kernel.emitRemark() << "any [" << i.anyLo.str() << ", " << i.anyHi.str() << "] all ["
                            << i.allLo.str() << ", " << i.allHi.str() << "]";
      if (!bounds.exact)
        kernel.emitRemark() << "not exact: " << bounds.unanalysed;
    });
    markAllAnalysesPreserved();
  }
};

} // namespace

void registerPrintMaskBoundsPass() { PassRegistration<PrintMaskBounds>(); }

} // namespace attune::analysis
