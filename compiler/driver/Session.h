// One kernel on its way through the stages, with one set of knobs. Whatever the compiler is asked
// for, it is this walk, to its end: what is wanted of a stage is taken on the way.
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

/// What a walk is to bring back.
struct Wanted {
  std::set<Stage> stages;
  bool listing = false; ///< the instructions with the tile ops that they came from
};

struct Walk {
  schedule::Plan plan;
  Sidecar sidecar;
  std::map<Stage, std::string> stages; ///< those wanted
  Listing listing;
};

class Session {
public:
  Session(mlir::MLIRContext &context, CompileOptions options)
      : context_(context), options_(std::move(options)) {}

  /// The start: an attn module, simplified, from a spec or from text.
  Result<void> load(const spec::Model &);
  Result<void> load(std::string_view attnText);

  /// Chooses the plan that lowering will follow. Refuses what no plan can do.
  Result<void> plan();

  /// The problem alone, as text: what no kernel can be made of may be shown.
  Result<std::string> attnText();

  /// From where load() ended to the kernel; once. Stages that are not wanted are not printed.
  Result<Walk> walk(const Wanted &);

  /// Whether the spec or the call names this knob; valid when kernel() is.
  bool asks(llvm::StringRef knob);

  attn::KernelOp kernel(); ///< valid after load, until walk
  const ProblemShape &problem() const { return problem_; }
  const schedule::Plan &chosenPlan() const { return *plan_; }
  const target::Arch &arch() const { return *arch_; }

private:
  Result<void> adopt(mlir::OwningOpRef<mlir::ModuleOp>, std::string digest);
  Error located(Error) const;
  Result<void> run(const char *phase, ErrorCode onFailure,
                   llvm::function_ref<void(mlir::OpPassManager &)> add);
  Result<void> lowerToTile();
  Result<void> lowerToRocdl(const Wanted &, Walk &);
  Result<codegen::LlvmKernel> optimized(); ///< of a module at Stage::Rocdl
  Result<codegen::KernelInfo> generate(const Wanted &, Walk &);
  Result<codegen::KernelInfo> generateObject(codegen::LlvmKernel, const Wanted &, Walk &);
  Result<KernelReport> report(const codegen::KernelInfo &);

  mlir::MLIRContext &context_;
  const CompileOptions options_;
  const spec::Model *model_ =
      nullptr; ///< for messages; the caller's, null when the kernel came as MLIR
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  ProblemShape problem_;
  std::string digest_;
  std::optional<target::Arch> arch_;
  std::optional<schedule::Plan> plan_;
};

/// The walk whose kernel is taken, after all that the compiler tries.
struct Settled {
  Walk walk;
  bool oneWave = false; ///< made for one wave per SIMD, because it would have spilled at two
};

/// The lines of Compiler::explain. `settle` goes the way from `loaded`, a session with its kernel.
Result<Explanation> explain(Session &loaded, llvm::function_ref<Result<Settled>()> settle);

} // namespace attune
