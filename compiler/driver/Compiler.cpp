// The public face: one MLIR context, and a Session for each call.
#include "compiler/include/attune/Compiler.h"
#include "compiler/driver/Session.h"
#include "compiler/pipeline/Pipelines.h"
#include "mlir/IR/MLIRContext.h"
#include <chrono>

namespace attune {

struct Compiler::Impl {
  /// Kernels are small: a thread pool costs more than it gives.
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

namespace {

using Clock = std::chrono::steady_clock;
double msSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr auto occupancyKnob = "waves_per_eu";

CompileOptions withOneWave(CompileOptions options) {
  options.knobs.emplace_back(occupancyKnob, "1");
  return options;
}

int scratchOf(const Walk &walk) { return walk.sidecar.kernel.resources.scratchBytes; }

/// Registers that spill to memory cost more than a second wave hides (docs/adr/017): a kernel that
/// needs scratch is made once more for one wave per SIMD, unless the number was asked for, and the
/// one with less scratch is taken. `session` has loaded `source`.
template <class Source>
Result<Settled> settle(Session &session, mlir::MLIRContext &context, const Source &source,
                       const CompileOptions &options, const Wanted &wanted) {
  const bool asked = session.asks(occupancyKnob);
  Result<Walk> first = session.walk(wanted);
  if (!first)
    return first.error();
  if (scratchOf(*first) == 0 || asked)
    return Settled{std::move(*first)};
  Session oneWave(context, withOneWave(options));
  if (Result<void> loaded = oneWave.load(source); !loaded)
    return loaded.error();
  if (Result<Walk> second = oneWave.walk(wanted); second && scratchOf(*second) < scratchOf(*first))
    return Settled{std::move(*second), true};
  return Settled{std::move(*first)};
}

template <class Source>
Result<Walk> walk(mlir::MLIRContext &context, const Source &source, const CompileOptions &options,
                  const Wanted &wanted) {
  const auto start = Clock::now();
  Session session(context, options);
  if (Result<void> loaded = session.load(source); !loaded)
    return loaded.error();
  Result<Settled> settled = settle(session, context, source, options, wanted);
  if (!settled)
    return settled.error();
  settled->walk.sidecar.compileMs = msSince(start);
  return std::move(settled->walk);
}

KernelImage imageOf(Walk &walk) {
  const std::string &code = walk.stages[Stage::Hsaco];
  return {std::vector<uint8_t>(code.begin(), code.end()), std::move(walk.sidecar)};
}

template <class Source>
Result<KernelImage> compileFrom(mlir::MLIRContext &context, const Source &source,
                                const CompileOptions &options) {
  Result<Walk> done = walk(context, source, options, {.stages = {Stage::Hsaco}});
  if (!done)
    return done.error();
  return imageOf(*done);
}

template <class Source>
Result<std::string> emitFrom(mlir::MLIRContext &context, const Source &source, Stage stage,
                             const CompileOptions &options) {
  if (stage == Stage::Attn) {
    Session session(context, options);
    if (Result<void> loaded = session.load(source); !loaded)
      return loaded.error();
    return session.attnText();
  }
  Result<Walk> done = walk(context, source, options, {.stages = {stage}});
  if (!done)
    return done.error();
  return std::move(done->stages[stage]);
}

} // namespace

Compiler::Compiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Compiler::Compiler(Compiler &&) noexcept = default;
Compiler &Compiler::operator=(Compiler &&) noexcept = default;
Compiler::~Compiler() = default;

Result<Compiler> Compiler::create() {
  auto impl = std::make_unique<Impl>();
  mlir::DialectRegistry registry;
  registerDialects(registry);
  impl->context.appendDialectRegistry(registry);
  impl->context.loadAllAvailableDialects();
  impl->context.printOpOnDiagnostic(false); // messages are for people; the op can be pages long
  return Compiler(std::move(impl));
}

Result<KernelImage> Compiler::compile(const spec::Model &model, const CompileOptions &options) {
  return compileFrom(impl_->context, model, options);
}

Result<KernelImage> Compiler::compileMlir(std::string_view text, const CompileOptions &options) {
  return compileFrom(impl_->context, text, options);
}

Result<std::string> Compiler::emit(const spec::Model &model, Stage stage,
                                   const CompileOptions &options) {
  return emitFrom(impl_->context, model, stage, options);
}

Result<std::string> Compiler::emitMlir(std::string_view text, Stage stage,
                                       const CompileOptions &options) {
  return emitFrom(impl_->context, text, stage, options);
}

Result<StagedKernel> Compiler::compileStages(const spec::Model &model,
                                             const std::set<Stage> &stages,
                                             const CompileOptions &options) {
  Result<Walk> done = walk(impl_->context, model, options, {.stages = stages});
  if (!done)
    return done.error();
  return StagedKernel{std::move(done->sidecar), std::move(done->stages)};
}

Result<ListedKernel> Compiler::compileListed(const spec::Model &model,
                                             const CompileOptions &options) {
  Result<Walk> done =
      walk(impl_->context, model, options, {.stages = {Stage::Hsaco}, .listing = true});
  if (!done)
    return done.error();
  return ListedKernel{imageOf(*done), std::move(done->listing)};
}

Result<Explanation> Compiler::explain(const spec::Model &model, const CompileOptions &options) {
  Session session(impl_->context, options);
  if (Result<void> loaded = session.load(model); !loaded)
    return loaded.error();
  return attune::explain(session,
                         [&] { return settle(session, impl_->context, model, options, {}); });
}

} // namespace attune
