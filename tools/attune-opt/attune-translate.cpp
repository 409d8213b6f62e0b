// attune-translate: a kernel in MLIR's llvm and rocdl dialects to what each step of code generation
// makes of it.
//
//   attune-translate --rocdl-to-llvm kernel.mlir       LLVM IR after the O3 pipeline
//   attune-translate --rocdl-to-isa kernel.mlir        assembly
//   attune-translate --rocdl-to-resources kernel.mlir  registers, LDS, arguments, as the linked
//   code object states them
//
// Text tests of code generation use it; people use `attune compile --emit`, which starts from a
// spec.
#include "compiler/codegen/Codegen.h"
#include "fmt/format.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/raw_ostream.h"

using attune::Result;
namespace codegen = attune::codegen;

namespace {

constexpr const char *kCpu = "gfx950";

Result<codegen::LlvmKernel> optimized(mlir::ModuleOp module) {
  Result<codegen::LlvmKernel> kernel = codegen::translate(module, kCpu);
  if (!kernel)
    return kernel;
  if (Result<void> done = codegen::optimize(*kernel); !done)
    return done.error();
  return kernel;
}

Result<std::string> llvmText(mlir::ModuleOp module) {
  Result<codegen::LlvmKernel> kernel = optimized(module);
  if (!kernel)
    return kernel.error();
  return kernel->text();
}

Result<std::string> isaText(mlir::ModuleOp module) {
  Result<codegen::LlvmKernel> kernel = optimized(module);
  if (!kernel)
    return kernel.error();
  return codegen::emitIsa(*kernel);
}

Result<std::string> resourcesText(mlir::ModuleOp module) {
  Result<codegen::LlvmKernel> kernel = optimized(module);
  if (!kernel)
    return kernel.error();
  Result<std::string> object = codegen::emitObject(*kernel);
  if (!object)
    return object.error();
  Result<std::vector<uint8_t>> image = codegen::link(*object, kernel->name());
  if (!image)
    return image.error();
  Result<codegen::KernelInfo> info = codegen::readKernel(*image);
  if (!info)
    return info.error();
  const attune::Resources &used = info->resources;
  std::string text =
      fmt::format("kernel {}\nvgpr {}\nagpr {}\nsgpr {}\nlds {}\nscratch {}\n"
                  "spills {} {}\nthreads {}\nkernarg {}\n",
                  info->name, used.vgpr, used.agpr, used.sgpr, used.ldsBytes, used.scratchBytes,
                  used.vgprSpills, used.sgprSpills, info->maxWorkgroupThreads, info->kernargBytes);
  for (const attune::KernelArg &arg : info->args)
    text += fmt::format("arg offset {} size {}\n", arg.offset, arg.size);
  return text;
}

void add(llvm::StringRef name, llvm::StringRef help, Result<std::string> (*step)(mlir::ModuleOp)) {
  mlir::TranslateFromMLIRRegistration registration(
      name, help,
      [step](mlir::ModuleOp module, llvm::raw_ostream &out) -> llvm::LogicalResult {
        Result<std::string> text = step(module);
        if (!text)
          return module.emitError() << text.error().message;
        out << *text;
        return mlir::success();
      },
      [](mlir::DialectRegistry &registry) {
        registry.insert<mlir::LLVM::LLVMDialect, mlir::ROCDL::ROCDLDialect>();
      });
}

} // namespace

int main(int argc, char **argv) {
  add("rocdl-to-isa", "AMDGPU assembly of one kernel", isaText);
  add("rocdl-to-llvm", "optimised LLVM IR of one kernel", llvmText);
  add("rocdl-to-resources", "what the linked code object says about its kernel", resourcesText);
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Attune code generation"));
}
