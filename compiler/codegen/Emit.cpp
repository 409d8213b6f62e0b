// LLVM IR to assembly text or a relocatable object, by LLVM's AMDGPU backend.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/FatalGuard.h"
#include "compiler/codegen/LeanPasses.h"
#include "compiler/codegen/ProcessOptions.h"
#include "fmt/format.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace attune::codegen {
namespace {

/// Collects what the backend calls an error (registers or LDS exceeded, instructions it cannot
/// select).
class ErrorCollector : public llvm::DiagnosticHandler {
public:
  explicit ErrorCollector(std::string &errors) : errors_(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      if (!errors_.empty())
        stream << "; ";
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true; // also remarks and warnings: a library prints nothing
  }

private:
  std::string &errors_;
};

Result<std::string> emit(LlvmKernel &kernel, llvm::CodeGenFileType type) {
  std::string errors;
  llvm::SmallVector<char, 0> bytes;
  bool supported = true;
  kernel.module().getContext().setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
  const SharedOptions options;
  auto fatal = runGuarded([&] {
    llvm::raw_svector_ostream stream(bytes);
    LeanPassManager passes;
    supported = !kernel.machine().addPassesToEmitFile(passes, stream, nullptr, type);
    if (supported)
      passes.run(kernel.module());
  });
  if (fatal) {
    kernel.abandon();
    errors += (errors.empty() ? "" : "; ") + *fatal;
  } else {
    kernel.module().getContext().setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>());
  }
  if (!supported)
    return Error{ErrorCode::Internal, "LLVM's AMDGPU backend cannot write this kind of file"};
  if (!errors.empty())
    return Error{ErrorCode::Internal,
                 fmt::format("kernel {}: LLVM's AMDGPU backend: {}", kernel.name(), errors)};
  return std::string(bytes.data(), bytes.size());
}

} // namespace

Result<std::string> emitIsa(LlvmKernel &kernel) {
  return emit(kernel, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::string> emitObject(LlvmKernel &kernel) {
  return emit(kernel, llvm::CodeGenFileType::ObjectFile);
}

} // namespace attune::codegen
