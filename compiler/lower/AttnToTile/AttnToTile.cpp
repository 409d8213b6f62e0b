// The pass from what to how: each attn.kernel gets a plan and is replaced by the tile.kernel that
// its schedule builds.
#include "compiler/lower/AttnToTile/PrefillSchedule.h"
#include "compiler/lower/Lower.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace attune {
using namespace mlir;

namespace {

using Knobs = std::vector<std::pair<std::string, std::string>>;

/// The kernel's own knobs, then the overrides.
Knobs knobsOf(attn::KernelOp op, const Knobs &overrides) {
  Knobs knobs = op.scheduleKnobs();
  knobs.insert(knobs.end(), overrides.begin(), overrides.end());
  return knobs;
}

struct AttnToTile : PassWrapper<AttnToTile, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttnToTile)

  AttnToTile(std::string arch, Knobs overrides)
      : arch(std::move(arch)), overrides(std::move(overrides)) {}

  StringRef getArgument() const final { return "attn-to-tile"; }
  StringRef getDescription() const final {
    return "choose a schedule for each attn.kernel and build its tile.kernel";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() final {
    SmallVector<attn::KernelOp> kernels(getOperation().getOps<attn::KernelOp>());
    for (attn::KernelOp op : kernels) {
      Result<target::Arch> chip = target::archByName(arch);
      if (!chip) {
        op.emitError() << chip.error().message;
        return signalPassFailure();
      }
      Result<schedule::Plan> plan =
          schedule::choosePlan(op.problem(), *chip, knobsOf(op, overrides));
      if (!plan) {
        op.emitError() << plan.error().message;
        return signalPassFailure();
      }
      Result<TileShapes> shapes = makeTileShapes(op, *plan);
      if (!shapes) {
        op.emitError() << shapes.error().message;
        return signalPassFailure();
      }
      lower(op, *plan, *shapes);
    }
  }

  void lower(attn::KernelOp op, const schedule::Plan &plan, const TileShapes &shapes) {
    OpBuilder b(op);
    OpBuilder::InsertionGuard guard(b);
    tile::KernelOp kernel = createKernel(b, op, plan);
    TileBuilder t{b, op.getLoc()};
    KernelFrame frame = emitFrame(t, kernel, op, plan);
    emitPrefill(t, frame, op, plan, shapes);
    tile::ReturnOp::create(b, op.getLoc());
    op.erase();
  }

  std::string arch;
  Knobs overrides;
};

} // namespace

std::unique_ptr<Pass> createAttnToTilePass(std::string arch, Knobs overrides) {
  return std::make_unique<AttnToTile>(std::move(arch), std::move(overrides));
}

} // namespace attune
