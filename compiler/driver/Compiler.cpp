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

template <class Source>
Result<KernelImage> compileFrom(mlir::MLIRContext &context, const Source &source,
                                const CompileOptions &options) {
  const auto start = Clock::now();
  Session session(context, options);
  if (Result<void> loaded = session.load(source); !loaded)
    return loaded.error();
  Result<KernelImage> image = session.compile();
  if (image)
    image->sidecar.compileMs = msSince(start);
  return image;
}

template <class Source>
Result<std::string> emitFrom(mlir::MLIRContext &context, const Source &source, Stage stage,
                             const CompileOptions &options) {
  Session session(context, options);
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
  const auto start = Clock::now();
  Session session(impl_->context, options);
  if (Result<void> loaded = session.load(model); !loaded)
    return loaded.error();
  Result<ListedKernel> kernel = session.compileListed();
  if (kernel)
    kernel->image.sidecar.compileMs = msSince(start);
  return kernel;
}

Result<Explanation> Compiler::explain(const spec::Model &model, const CompileOptions &options) {
  Session session(impl_->context, options);
  if (Result<void> loaded = session.load(model); !loaded)
    return loaded.error();
  return attune::explain(session);
}

} // namespace attune
