// Compiles a random case, runs it on the simulator with strict mode on and compares it with the
// float64 oracle.
#pragma once
#include "compiler/include/attune/Compiler.h"
#include "tests/e2e/random/Case.h"

namespace attune::e2e::random {

enum class Verdict : uint8_t { Right, Refused, Wrong };

struct Outcome {
  Verdict verdict = Verdict::Right;
  std::string kind; ///< of a fault: "parse", "compile", "oracle", "launch", "strict", "out", "lse"
  std::string message; ///< what was wrong, or why it was refused
  int scratchBytes = 0;
};

Outcome runCase(Compiler &, const Case &);

/// Writes the spec and the tensors as files for `attune run`, and returns that command.
Result<std::string> saveCase(const Case &, const std::string &folder);

/// A smaller case that fails in the same kind, by leaving out what is not needed for that.
Case shrink(Compiler &, Case failing, const std::string &kind, int attempts);

} // namespace attune::e2e::random
