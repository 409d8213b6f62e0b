#include "compiler/codegen/LeanPasses.h"
#include "fmt/format.h"
#include "llvm/Pass.h"

namespace attune::codegen {
namespace {

struct SkippedPass {
  llvm::StringRef name;
  int occurrence;
};

constexpr SkippedPass kSkipped[] = {
#define SKIPPED(name, occurrence) {name, occurrence},
#include "compiler/codegen/SkippedPasses.def"
#undef SKIPPED
};

} // namespace

void LeanPassManager::add(llvm::Pass *pass) {
  const llvm::StringRef name = pass->getPassName();
  const int occurrence = ++occurrences_[name];
  if (llvm::any_of(kSkipped, [&](const SkippedPass &skipped) {
        return skipped.name == name && skipped.occurrence == occurrence;
      }))
    delete pass; // a pass belongs to the manager that it is added to
  else
    llvm::legacy::PassManager::add(pass);
}

std::vector<std::string> LeanPassManager::unmet() const {
  std::vector<std::string> rows;
  for (const SkippedPass &skipped : kSkipped) {
    auto seen = occurrences_.find(skipped.name);
    if (seen == occurrences_.end() || seen->second < skipped.occurrence)
      rows.push_back(fmt::format("{} #{}", skipped.name.str(), skipped.occurrence));
  }
  return rows;
}

} // namespace attune::codegen
