// From one kernel in MLIR's llvm and rocdl dialects to a code object, all in this process.
//
//   translate   mlir::ModuleOp -> llvm::Module with triple, data layout and kernel attributes
//   optimize    the LLVM passes that help our kernels (docs/adr/010)
//   emitIsa     assembly text          } each lowers the IR in place, so one module is emitted once
//   emitObject  relocatable ELF        }
//   listObject  its instructions as text, with the lines of the tile dialect they came from
//   link        ELF -> code object, by LLD as a library
//   readKernel  what the code object says about itself: arguments and resources
//   readIsa     the same from the assembly text
//
// Bytes depend on the input and on LLVM alone: no path, no time and no counter reaches them. LLVM
// reports some failures by ending the process; here they come back as an Error with the kernel's
// name (FatalGuard.h).
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Listing.h"
#include "runtime/abi/Result.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class ModuleOp;
}

namespace attune::codegen {

/// A kernel as LLVM IR. Owns its LLVMContext, so kernels can be compiled on several threads.
class LlvmKernel {
public:
  LlvmKernel(std::unique_ptr<llvm::LLVMContext>, std::unique_ptr<llvm::Module>,
             std::unique_ptr<llvm::TargetMachine>, std::string name);
  LlvmKernel(LlvmKernel &&) noexcept;
  LlvmKernel &operator=(LlvmKernel &&) noexcept;
  ~LlvmKernel();

  llvm::Module &module() { return *module_; }
  llvm::TargetMachine &machine() { return *machine_; }
  const std::string &name() const { return name_; } ///< symbol of the kernel
  std::string text() const;                         ///< the IR

  /// Gives up the IR without destroying it: after a fatal error inside LLVM it may be half changed.
  void abandon();

private:
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::string name_;
};

/// `module` must hold exactly one llvm.func with `rocdl.kernel`. `cpu` is an LLVM processor name,
/// "gfx950".
Result<LlvmKernel> translate(mlir::ModuleOp module, std::string_view cpu);
Result<void> optimize(LlvmKernel &);
Result<std::string> emitIsa(LlvmKernel &);
Result<std::string> emitObject(LlvmKernel &);
/// Every instruction of an object that came from `kernel`, by address.
Result<std::vector<ListingRow>> listObject(LlvmKernel &, std::string_view object);
Result<std::vector<uint8_t>> link(std::string_view object, std::string_view kernelName);

/// One kernel of a code object, from its metadata.
struct KernelInfo {
  std::string name;
  std::vector<KernelArg>
      args; ///< name (if given), offset and size; the kind is not in the metadata
  uint32_t kernargBytes = 0;
  int maxWorkgroupThreads = 0;
  Resources resources; ///< `vgpr` without the AGPRs; `occupancy` is left to target::Arch
};
Result<KernelInfo> readKernel(const std::vector<uint8_t> &codeObject);
Result<KernelInfo> readIsa(std::string_view isa);

} // namespace attune::codegen
