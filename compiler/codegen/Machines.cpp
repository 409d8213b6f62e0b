// Making a TargetMachine, and the shelf of those that are not in use.
#include "compiler/codegen/Machines.h"
#include "fmt/format.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>
#include <vector>

namespace attune::codegen {
namespace {

constexpr const char *kTriple = "amdgcn-amd-amdhsa";

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // for inline assembly
    LLVMInitializeAMDGPUDisassembler();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> makeMachine(std::string_view cpu) {
  initializeTarget();
  const llvm::Triple triple(kTriple);
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return Error{ErrorCode::Internal, fmt::format("this LLVM has no AMDGPU target: {}", why)};
  // Asked first: creating a machine for an unknown processor prints, and goes on with another.
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(cpu))
    return Error{ErrorCode::Unsupported, fmt::format("LLVM has no AMDGPU processor '{}'", cpu)};
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return Error{ErrorCode::Internal, "LLVM cannot create a machine for this processor"};
  return machine;
}

struct Shelf {
  std::mutex mutex;
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines;
};

/// Never destroyed: LLVM's own tables may go first at the end of the process.
Shelf &shelf() {
  static Shelf *shelf = new Shelf;
  return *shelf;
}

} // namespace

Result<std::unique_ptr<llvm::TargetMachine>> takeMachine(std::string_view cpu) {
  {
    Shelf &all = shelf();
    std::lock_guard lock(all.mutex);
    for (std::unique_ptr<llvm::TargetMachine> &machine : all.machines)
      if (machine->getTargetCPU() == llvm::StringRef(cpu)) {
        std::unique_ptr<llvm::TargetMachine> taken = std::move(machine);
        std::swap(machine, all.machines.back());
        all.machines.pop_back();
        return taken;
      }
  }
  return makeMachine(cpu);
}

void giveMachineBack(std::unique_ptr<llvm::TargetMachine> machine) {
  Shelf &all = shelf();
  std::lock_guard lock(all.mutex);
  all.machines.push_back(std::move(machine));
}

} // namespace attune::codegen
