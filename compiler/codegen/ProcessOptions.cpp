#include "compiler/codegen/ProcessOptions.h"
#include "llvm/Support/CommandLine.h"
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace attune::codegen {
namespace {

std::shared_mutex optionsMutex;

/// What our kernels are better with.
///   disable-lsr: loop strength reduction turns the constant distances of unrolled elements into
///   counters of their own;
///     on specs/t5_bias.attn it took 2/3 of the backend's time and spilled scalar registers.
///   amdgpu-scalar-ir-passes: straight-line strength reduction does the same within a block.
///   misched-limit: how many ready instructions the schedulers weigh against each other; 256 by
///     itself, where both time to compile and the kernels' own are longer (docs/adr/010).
void setOptions() {
  auto &options = llvm::cl::getRegisteredOptions();
  for (auto [name, value] : {std::pair("disable-lsr", "true"),
                             {"amdgpu-scalar-ir-passes", "false"},
                             {"misched-limit", "40"}})
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
