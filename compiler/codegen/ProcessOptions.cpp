#include "compiler/codegen/ProcessOptions.h"
#include "llvm/Support/CommandLine.h"
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace attune::codegen {
namespace {

std::shared_mutex optionsMutex;

/// What our kernels are better with.
///   amdgpu-scalar-ir-passes: straight-line strength reduction does within a block what disable-lsr
///     is for.
///   disable-basic-aa: which memory the schedulers may reorder is told by address spaces and by the
///     alias scopes of the DMA; comparing addresses tells them nothing new and took 2 % of a
///     compile.
///   disable-lsr: loop strength reduction turns the constant distances of unrolled elements into
///     counters of their own; on specs/t5_bias.attn it took 2/3 of the backend's time and spilled
///     scalar registers.
///   misched-limit: how many ready instructions the schedulers weigh against each other; with the
///     usual 256 compiles and kernels are slower (docs/adr/010).
constexpr std::pair<const char *, const char *> kOptions[] = {
    {"amdgpu-scalar-ir-passes", "false"},
    {"disable-basic-aa", "true"},
    {"disable-lsr", "true"},
    {"misched-limit", "40"},
};

void setOptions() {
  auto &options = llvm::cl::getRegisteredOptions();
  for (auto [name, value] : kOptions)
    if (auto option = options.find(name); option != options.end())
      option->second->addOccurrence(/*pos=*/0, name, value);
}

} // namespace

SharedOptions::SharedOptions() {
  static std::once_flag first;
  std::call_once(first, setOptions);
  optionsMutex.lock_shared();
}
SharedOptions::~SharedOptions() { optionsMutex.unlock_shared(); }

ExclusiveOptions::ExclusiveOptions() { optionsMutex.lock(); }
ExclusiveOptions::~ExclusiveOptions() {
  llvm::cl::ResetAllOptionOccurrences(); // also what LLD's own command line set
  setOptions();
  optionsMutex.unlock();
}

} // namespace attune::codegen
