// Random encodings of a row of the opcode table, in each of the forms that its format has. Field
// positions are written from the ISA's encoding diagrams.
#pragma once
#include "runtime/sim/Instruction.h"
#include <random>
#include <vector>

namespace simtest {

enum class Form : uint8_t { Plain, Vop3, Sdwa, Dpp };

/// The forms an instruction may be written in.
std::vector<Form> formsOf(const attune::sim::OpcodeInfo &);

/// One encoding, literal and extra dwords included. Operands are mostly such as compilers use;
/// modifiers are rare.
std::vector<uint32_t> randomEncoding(const attune::sim::OpcodeInfo &, Form, std::mt19937 &);

} // namespace simtest
