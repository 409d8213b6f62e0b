// The AMDGPU backend without the passes that our kernels are as good or better without.
//
// The backend puts its pass list together itself, for any program, and hands the passes one by one
// to a pass manager. This one drops those in SkippedPasses.def, so no option of the process is
// touched for it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LegacyPassManager.h"
#include <map>
#include <string>
#include <vector>

namespace attune::codegen {

class LeanPassManager : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override;

  /// Rows of SkippedPasses.def that the passes added so far have not met: with a whole backend
  /// added there is none, unless LLVM has renamed or moved a pass.
  std::vector<std::string> unmet() const;

private:
  std::map<llvm::StringRef, int> occurrences_;
};

} // namespace attune::codegen
