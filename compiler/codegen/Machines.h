// LLVM's description of a processor, kept between compiles. Making one is cheap, but it learns the
// aliases of registers as they are asked for, which took 8 % of a compile when each compile began
// anew (callgrind on specs/gemma2_softcap.attn). What it remembers are facts of the processor: code
// does not depend on what was compiled before.
#pragma once
#include "runtime/abi/Result.h"
#include <memory>
#include <string_view>

namespace llvm {
class TargetMachine;
}

namespace attune::codegen {

/// A machine that no one else uses until it is given back.
Result<std::unique_ptr<llvm::TargetMachine>> takeMachine(std::string_view cpu);
/// Not for a machine on which LLVM has given up: it may be half changed.
void giveMachineBack(std::unique_ptr<llvm::TargetMachine>);

} // namespace attune::codegen
