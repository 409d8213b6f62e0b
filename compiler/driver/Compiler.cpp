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

int scratchOf(const KernelImage &image) { return image.sidecar.kernel.resources.scratchBytes; }
int scratchOf(const ListedKernel &kernel) { return scratchOf(kernel.image); }
double &compileMs(KernelImage &image) { return image.sidecar.compileMs; }
double &compileMs(ListedKernel &kernel) { return kernel.image.sidecar.compileMs; }

/// A kernel, and whether it was made for one wave per SIMD because more would have spilled.
template <class Kernel> struct Made {
  Kernel kernel;
  bool oneWave = false;
};

/// Registers that spill to memory cost more than a second wave hides (docs/adr/017): a kernel that
/// needs scratch is made once more for one wave per SIMD, unless the number was asked for, and the
/// one with less scratch is taken.
template <class Kernel, class Source>
Result<Made<Kernel>> make(mlir::MLIRContext &context, const Source &source,
                          const CompileOptions &options, Result<Kernel> (Session::*walk)()) {
  const auto start = Clock::now();
  bool asked = false;
  const auto once = [&](const CompileOptions &knobs) -> Result<Kernel> {
    Session session(context, knobs);
    if (Result<void> loaded = session.load(source); !loaded)
      return loaded.error();
    asked = session.asks(occupancyKnob);
    return (session.*walk)();
  };
  Result<Kernel> first = once(options);
  if (!first)
    return first.error();
  Made<Kernel> made{std::move(*first)};
  if (scratchOf(made.kernel) > 0 && !asked)
    if (Result<Kernel> second = once(withOneWave(options));
        second && scratchOf(*second) < scratchOf(made.kernel))
      made = {std::move(*second), true};
  compileMs(made.kernel) = msSince(start);
  return made;
}

template <class Source>
Result<KernelImage> compileFrom(mlir::MLIRContext &context, const Source &source,
                                const CompileOptions &options) {
  auto made = make(context, source, options, &Session::compile);
  if (!made)
    return made.error();
  return std::move(made->kernel);
}

/// The options with which compileFrom() makes the kernel, so that every stage shows that kernel.
template <class Source>
Result<CompileOptions> settled(mlir::MLIRContext &context, const Source &source,
                               const CompileOptions &options) {
  auto made = make(context, source, options, &Session::compile);
  if (!made)
    return made.error();
  return made->oneWave ? withOneWave(options) : options;
}

template <class Source>
Result<std::string> emitFrom(mlir::MLIRContext &context, const Source &source, Stage stage,
                             const CompileOptions &options) {
  Result<CompileOptions> knobs = stage == Stage::Attn ? options : settled(context, source, options);
  if (!knobs)
    return knobs.error();
  Session session(context, *knobs);
  if (Result<void> loaded = session.load(source); !loaded)
    return loaded.error();
  return session.emit(stage);
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

Result<ListedKernel> Compiler::compileListed(const spec::Model &model,
                                             const CompileOptions &options) {
  auto made = make(impl_->context, model, options, &Session::compileListed);
  if (!made)
    return made.error();
  return std::move(made->kernel);
}

Result<Explanation> Compiler::explain(const spec::Model &model, const CompileOptions &options) {
  auto made = make(impl_->context, model, options, &Session::compile);
  const bool oneWave = made && made->oneWave; // a refusal is explained too
  Session session(impl_->context, oneWave ? withOneWave(options) : options);
  if (Result<void> loaded = session.load(model); !loaded)
    return loaded.error();
  Result<Explanation> explained = attune::explain(session);
  if (explained && oneWave)
    explained->text += "note\n  waves_per_eu is 1 because registers would spill to memory at 2\n";
  return explained;
}

} // namespace attune
