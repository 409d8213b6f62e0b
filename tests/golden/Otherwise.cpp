// A compiler that makes one instruction otherwise, for tests of the golden gate: the `attune`
// command linked a second time, with doors between the compiler's parts replaced by the linker
// (--wrap). Behind each door one operation of what came out is exchanged, as if its lowering had
// been edited. The variable OTHERWISE names the door; without it nothing is exchanged. The product
// has no such switch.
#include "compiler/codegen/Codegen.h"
#include "compiler/pipeline/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include <cstdlib>

using namespace attune;
using mlir::OpPassManager;

namespace {

bool otherwise(llvm::StringRef door) {
  const char *wanted = std::getenv("OTHERWISE");
  return wanted && door == wanted;
}

/// Exchanges the first `From` of the module, in the order in which it is printed, for a `To` of the
/// same operands.
template <class From, class To>
struct ExchangeFirst : mlir::PassWrapper<ExchangeFirst<From, To>, mlir::OperationPass<>> {
  llvm::StringRef getArgument() const override { return "exchange-first"; }

  void runOnOperation() override {
    this->getOperation()->template walk<mlir::WalkOrder::PreOrder>([](From op) {
      mlir::IRRewriter rewriter(op->getContext());
      rewriter.setInsertionPoint(op);
      rewriter.replaceOpWithNewOp<To>(op, op.getType(), op->getOperands());
      return mlir::WalkResult::interrupt();
    });
  }
};

/// A mask's `<=` becomes `<`.
struct LoosenFirstCompare : mlir::PassWrapper<LoosenFirstCompare, mlir::OperationPass<>> {
  llvm::StringRef getArgument() const override { return "loosen-first-compare"; }

  void runOnOperation() override {
    getOperation()->walk<mlir::WalkOrder::PreOrder>([](mlir::arith::CmpIOp op) {
      op.setPredicate(mlir::arith::CmpIPredicate::slt);
      return mlir::WalkResult::interrupt();
    });
  }
};

/// As LLVM's own optimiser or instruction selection might: the first subtraction becomes an
/// addition.
void exchangeFirstSub(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::instructions(function))
      if (one.getOpcode() == llvm::Instruction::Sub) {
        auto *sum = llvm::BinaryOperator::CreateAdd(one.getOperand(0), one.getOperand(1));
        sum->insertBefore(one.getIterator());
        one.replaceAllUsesWith(sum);
        one.eraseFromParent();
        return;
      }
}

} // namespace

// The doors by their mangled names, as CMakeLists.txt gives them to the linker.
#define ATTN_PHASE "_ZN6attune12addAttnPhaseERN4mlir13OpPassManagerE"
#define TILE_PHASE "_ZN6attune12addTilePhaseERN4mlir13OpPassManagerERKNS_15PipelineOptionsE"
#define ROCDL_PHASE "_ZN6attune13addRocdlPhaseERN4mlir13OpPassManagerE"
#define OPTIMIZE "_ZN6attune7codegen8optimizeERNS0_10LlvmKernelE"
#define EMIT_ISA "_ZN6attune7codegen7emitIsaB5cxx11ERNS0_10LlvmKernelE"

void realAttnPhase(OpPassManager &) asm("__real_" ATTN_PHASE);
void realTilePhase(OpPassManager &, const PipelineOptions &) asm("__real_" TILE_PHASE);
void realRocdlPhase(OpPassManager &) asm("__real_" ROCDL_PHASE);
Result<void> realOptimize(codegen::LlvmKernel &) asm("__real_" OPTIMIZE);
Result<std::string> realEmitIsa(codegen::LlvmKernel &) asm("__real_" EMIT_ISA);

void attnPhase(OpPassManager &) asm("__wrap_" ATTN_PHASE);
void tilePhase(OpPassManager &, const PipelineOptions &) asm("__wrap_" TILE_PHASE);
void rocdlPhase(OpPassManager &) asm("__wrap_" ROCDL_PHASE);
Result<void> optimize(codegen::LlvmKernel &) asm("__wrap_" OPTIMIZE);
Result<std::string> emitIsa(codegen::LlvmKernel &) asm("__wrap_" EMIT_ISA);

void attnPhase(OpPassManager &passes) {
  realAttnPhase(passes);
  if (otherwise("attn"))
    passes.addPass(std::make_unique<LoosenFirstCompare>());
}

void tilePhase(OpPassManager &passes, const PipelineOptions &options) {
  realTilePhase(passes, options);
  if (otherwise("tile"))
    passes.addPass(std::make_unique<ExchangeFirst<mlir::arith::MinSIOp, mlir::arith::MaxSIOp>>());
}

void rocdlPhase(OpPassManager &passes) {
  realRocdlPhase(passes);
  if (otherwise("rocdl"))
    passes.addPass(std::make_unique<ExchangeFirst<mlir::LLVM::SMinOp, mlir::LLVM::SMaxOp>>());
}

Result<void> optimize(codegen::LlvmKernel &kernel) {
  Result<void> done = realOptimize(kernel);
  if (done && otherwise("llvm"))
    exchangeFirstSub(kernel.module());
  return done;
}

Result<std::string> emitIsa(codegen::LlvmKernel &kernel) {
  if (otherwise("isa"))
    exchangeFirstSub(kernel.module());
  return realEmitIsa(kernel);
}
