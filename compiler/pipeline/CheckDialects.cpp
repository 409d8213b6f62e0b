// The post-condition of a phase, checked: only the dialects it names remain.
#include "compiler/pipeline/Passes.h"

namespace attune {

#define GEN_PASS_DEF_CHECKDIALECTS
#include "compiler/pipeline/Passes.h.inc"

namespace {

struct CheckDialects : impl::CheckDialectsBase<CheckDialects> {
  using CheckDialectsBase::CheckDialectsBase;

  void runOnOperation() override {
    const mlir::WalkResult walk =
        getOperation().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
          if (llvm::is_contained(allowed, op->getName().getDialectNamespace()))
            return mlir::WalkResult::advance();
          op->emitOpError() << "is left after the phase '" << phase << "', which should leave only "
                            << llvm::join(allowed, ", ");
          return mlir::WalkResult::interrupt();
        });
    if (walk.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace attune
