// MLIR's llvm dialect to LLVM IR: translation, what every kernel of ours has in common, and the
// passes.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/FatalGuard.h"
#include "compiler/codegen/Machines.h"
#include "compiler/codegen/ProcessOptions.h"
#include "fmt/format.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm-c/Transforms/PassBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace attune::codegen {
namespace {

/// Version 6 of the code object ABI, stated so that a new LLVM's default cannot change our bytes.
constexpr uint32_t kCodeObjectVersion = 600;

/// Our kernels take what they need as arguments; without these the backend reserves registers and
/// 256 bytes of kernel arguments for a runtime library that we never call.
constexpr const char *kUnusedHiddenInputs[] = {
    "amdgpu-no-completion-action", "amdgpu-no-default-queue", "amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr",      "amdgpu-no-heap-ptr",      "amdgpu-no-hostcall-ptr",
    "amdgpu-no-implicitarg-ptr",   "amdgpu-no-lds-kernel-id", "amdgpu-no-multigrid-sync-arg",
    "amdgpu-no-queue-ptr",
};

/// What LLVM does to our IR, in order. The lowering has chosen loops, vectors and unrolling and
/// leaves one function with no calls, so most of O3 finds nothing (docs/adr/010). Combining last,
/// once, is what makes it cheap: by then every duplicate is gone.
constexpr const char *kPasses =
    "function(early-cse,simplifycfg,loop-mssa(loop-rotate,licm),reassociate,early-cse,"
    "instcombine<no-verify-fixpoint>),amdgpu-attributor";

/// The only function with the kernel calling convention.
Result<llvm::Function *> findKernel(llvm::Module &module) {
  llvm::Function *kernel = nullptr;
  for (llvm::Function &function : module) {
    if (function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL)
      continue;
    if (kernel)
      return Error{ErrorCode::Internal,
                   fmt::format("a module holds one kernel; this one has {} and {}",
                               kernel->getName().str(), function.getName().str())};
    kernel = &function;
  }
  if (!kernel)
    return Error{ErrorCode::Internal, "the module has no llvm.func with rocdl.kernel"};
  return kernel;
}

/// The names of our ABI, so that the code object's metadata lists them beside offsets and sizes.
void nameArguments(mlir::ModuleOp module, llvm::Function &kernel) {
  module.walk([&](mlir::LLVM::LLVMFuncOp func) {
    auto abi = func->getAttrOfType<mlir::ArrayAttr>("attune.abi");
    if (!abi || func.getSymName() != kernel.getName())
      return;
    for (auto [entry, argument] : llvm::zip(abi.getAsRange<mlir::DictionaryAttr>(), kernel.args()))
      if (auto name = entry.getAs<mlir::StringAttr>("name"))
        argument.setName(name.getValue());
  });
}

void setCommonAttributes(llvm::Module &module, llvm::Function &kernel, llvm::StringRef cpu) {
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("target-cpu", cpu);
  kernel.setVisibility(llvm::GlobalValue::ProtectedVisibility); // nothing interposes; as clang's
  kernel.addFnAttr("uniform-work-group-size", "true"); // the launch is always whole workgroups
  for (const char *attribute : kUnusedHiddenInputs)
    kernel.addFnAttr(attribute);
}

} // namespace

LlvmKernel::LlvmKernel(std::unique_ptr<llvm::LLVMContext> context,
                       std::unique_ptr<llvm::Module> module,
                       std::unique_ptr<llvm::TargetMachine> machine, std::string name)
    : context_(std::move(context)), module_(std::move(module)), machine_(std::move(machine)),
      name_(std::move(name)) {}
LlvmKernel::LlvmKernel(LlvmKernel &&) noexcept = default;
LlvmKernel &LlvmKernel::operator=(LlvmKernel &&other) noexcept {
  module_ = std::move(other.module_); // before its context goes
  context_ = std::move(other.context_);
  machine_ = std::move(other.machine_);
  name_ = std::move(other.name_);
  return *this;
}
LlvmKernel::~LlvmKernel() {
  if (machine_)
    giveMachineBack(std::move(machine_));
}

std::string LlvmKernel::text() const {
  std::string text;
  llvm::raw_string_ostream(text) << *module_;
  return text;
}

void LlvmKernel::abandon() {
  (void)module_.release();
  (void)context_.release();
  (void)machine_.release();
}

Result<LlvmKernel> translate(mlir::ModuleOp module, std::string_view cpu) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = takeMachine(cpu);
  if (!machine)
    return machine.error();

  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerROCDLDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> ir = mlir::translateModuleToLLVMIR(
      module, *context, "attune", /*disableVerification=*/true); // optimize() does it
  if (!ir)
    return Error{ErrorCode::Internal, "the module cannot be translated to LLVM IR"};
  Result<llvm::Function *> kernel = findKernel(*ir);
  if (!kernel)
    return kernel.error();
  std::string name = (*kernel)->getName().str();
  ir->setTargetTriple((*machine)->getTargetTriple());
  ir->setDataLayout((*machine)->createDataLayout());
  nameArguments(module, **kernel);
  setCommonAttributes(*ir, **kernel, cpu);
  return LlvmKernel(std::move(context), std::move(ir), std::move(*machine), std::move(name));
}

Result<void> optimize(LlvmKernel &kernel) {
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (llvm::verifyModule(kernel.module(), &stream))
    return Error{ErrorCode::Internal,
                 fmt::format("kernel {}: invalid LLVM IR: {}", kernel.name(), why)};

  const SharedOptions options;
  auto fatal = runGuarded([&] {
    // By way of C: most of the time to compile this file would go into PassBuilder's headers.
    LLVMPassBuilderOptionsRef defaults = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error =
        LLVMRunPasses(llvm::wrap(&kernel.module()), kPasses,
                      reinterpret_cast<LLVMTargetMachineRef>(&kernel.machine()), defaults);
    LLVMDisposePassBuilderOptions(defaults);
    if (error)
      llvm::reportFatalInternalError(llvm::unwrap(error)); // caught by the guard
  });
  if (!fatal)
    return {};
  kernel.abandon();
  return Error{ErrorCode::Internal,
               fmt::format("kernel {}: LLVM's optimiser gave up: {}", kernel.name(), *fatal)};
}

} // namespace attune::codegen
