// One kernel on its way through the stages. compile, emit and explain are the same walk and stop at
// different places.
#pragma once
#include "compiler/codegen/Codegen.h"
#include "compiler/dialect/attn/AttnOps.h"
#include "compiler/include/attune/Compiler.h"
#include "compiler/schedule/Plan.h"
#include "compiler/target/Arch.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace attune {

class Session {
public:
  Session(mlir::MLIRContext &context, CompileOptions options)
      : context_(context), options_(std::move(options)) {}

  /// The start: an attn module, simplified, from a spec or from text.
  Result<void> load(const spec::Model &);
  Result<void> load(std::string_view attnText);

  /// Chooses the plan that lowering will follow. Refuses what no plan can do.
  Result<void> plan();

  /// Runs the MLIR phases up to a stage no later than Rocdl.
  Result<void> lower(Stage last);

  /// Text or bytes of any stage.
  Result<std::string> emit(Stage);

  /// The code object with its sidecar.
  Result<KernelImage> compile();

  /// compile(), and the instructions with the tile ops that they came from: by line tables, which
  /// the linker strips.
  Result<ListedKernel> compileListed();

  /// Whether the spec or the call names this knob; valid when kernel() is.
  bool asks(llvm::StringRef knob);

  attn::KernelOp kernel(); ///< valid after load, until lower(Tile)
  const ProblemShape &problem() const { return problem_; }
  const schedule::Plan &chosenPlan() const { return *plan_; }
  const target::Arch &arch() const { return *arch_; }
  const std::string &specDigest() const { return digest_; }

private:
  Result<void> adopt(mlir::OwningOpRef<mlir::ModuleOp>, std::string digest);
  Error located(Error) const;
  Result<void> run(const char *phase, ErrorCode onFailure,
                   llvm::function_ref<void(mlir::OpPassManager &)> add);
  Result<codegen::LlvmKernel> optimized(); ///< of a module at Stage::Rocdl
  Result<KernelImage> image(std::vector<uint8_t> codeObject);
  Result<KernelReport> report(const std::vector<uint8_t> &codeObject);

  mlir::MLIRContext &context_;
  const CompileOptions options_;
  const spec::Model *model_ =
      nullptr; ///< for messages; the caller's, null when the kernel came as MLIR
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Stage stage_ = Stage::Attn;
  ProblemShape problem_;
  std::string digest_;
  std::optional<target::Arch> arch_;
  std::optional<schedule::Plan> plan_;
};

/// The lines of Compiler::explain.
Result<Explanation> explain(Session &);

} // namespace attune
