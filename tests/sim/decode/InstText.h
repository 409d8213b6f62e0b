// A decoded instruction as LLVM writes it, so that the decoder can be compared with LLVM's
// disassembler field by field. Only what the simulator's Inst holds is printed; cache policies
// (sc0, sc1, nt) are not in it.
#pragma once
#include "runtime/sim/Instruction.h"
#include <cstdint>
#include <span>
#include <string>

namespace simtest {

std::string instText(const attune::sim::Inst &, std::span<const uint32_t> words);

} // namespace simtest
