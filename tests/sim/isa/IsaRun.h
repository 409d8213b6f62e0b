// The simulator, built twice into one test: as it ships, and for plain x86-64 (SSE2, no fused
// multiply-add, scalar loops). The second build renames namespace attune, so that nothing of one is
// linked into the other. IsaRun.cpp is compiled against each.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace simtest {

/// One wave of `kernel`, whose arguments are three pointers: inputs, outputs, memory.
struct IsaLaunch {
  std::span<const uint8_t> codeObject;
  std::string kernel;
  std::vector<uint32_t> inputs;
};
struct IsaResult {
  std::string error;
  std::vector<uint32_t> outputs, memory;
};

/// One matrix product by numbers: MfmaShape's fields in order; kinds as in IsaRun.cpp.
enum class IsaMatrix { Dense, Scaled, Sparse };
struct IsaProduct {
  IsaMatrix kind = IsaMatrix::Dense;
  unsigned m = 0, k = 0, blocks = 1, a = 0, b = 0, acc = 0;
  bool twoRuns = false;
};
using IsaRegs = std::array<std::array<uint32_t, 64>, 32>;
struct IsaOperands {
  alignas(64) IsaRegs a, b, d;
  alignas(64) std::array<uint32_t, 64> scaleA, scaleB;
};

#define ISA_BUILD(build)                                                                           \
  IsaResult launch##build(const IsaLaunch &, size_t outputDwords, size_t memoryDwords);            \
  void multiply##build(const IsaProduct &, IsaOperands &);
ISA_BUILD(Shipped)
ISA_BUILD(Plain)
#undef ISA_BUILD

} // namespace simtest
