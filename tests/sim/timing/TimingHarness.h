// Times assembly snippets.
#pragma once
#include "runtime/sim/timing/Timing.h"
#include "tests/sim/coreHarness.h"
#include <string>

namespace timingtest {

struct Snippet {
  std::string body;
  uint32_t threads = 64;
  uint32_t lds = 65536;
  attune::sim::TimingOptions options = {};
  std::string text = ""; ///< a whole kernel "k" in place of `body`
  uint32_t bufferBytes = 1 << 20;
  uint32_t workgroups = 1; ///< that run; 0, 256, 512 ... are on the timed CU
};

/// The report, with its timeline. s[0:1] points to the address of a buffer.
attune::sim::TimingReport timeSnippet(const Snippet &);

/// Clk from the first to the last issue of wave 0's instructions with this mnemonic, divided by the
/// steps between them.
double clkBetween(const attune::sim::TimingReport &, const std::string &mnemonic);
/// Clk at which each instruction of a wave issued, in order.
std::vector<uint64_t> issues(const attune::sim::TimingReport &, uint32_t wave = 0);
/// Clk from the issue of wave 0's instruction `from` (counted in executed order) to that of `to`.
uint64_t clkFromTo(const attune::sim::TimingReport &, size_t from, size_t to);

std::string repeat(const std::string &line, int times);

} // namespace timingtest
