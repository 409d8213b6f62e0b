// The launch contract of AITER's fmha_v3_fwd code objects: 656 bytes of arguments in 16-byte slots,
// the grid, and the meaning of strides (bytes) and of the cumulative lengths of group mode.
//
// Batch mode: sequences of one length, as [batch, row, head, dim] or [batch, head, row, dim]. Group
// mode: sequences of any lengths, as [token, head, dim], found through cumulative sums; there may
// be unused rows after each ("padding"), which are NaN here and must be neither used nor written.
#pragma once
#include "tests/aiter/Harness.h"
#include <string>
#include <vector>

namespace aitertest {

struct FmhaKernel {
  const char *file;
  uint32_t dim, valueDim;
  bool fp8, causal, group;
  uint32_t tileQ, threads;
};

struct FmhaShape {
  uint32_t heads = 1, kvHeads = 1;
  std::vector<uint32_t> queries, keys; ///< of each sequence
  uint32_t padding = 0;                ///< group mode: unused rows after each sequence
  bool headMajor = false;              ///< batch mode: [batch, head, row, dim]
  bool lse = true;
  std::string text() const;
};

struct FmhaErrors {
  double out = 0, lse = 0;
  bool paddingTouched = false;
  double seconds = 0; ///< of the processor, in the fastest launch
  uint64_t waveInstructions = 0, mfmaInstructions = 0;
};

/// Draws inputs, launches (more than once to measure), compares with the float64 reference and
/// prints the report line.
FmhaErrors runFmhaV3(const FmhaKernel &, const FmhaShape &, const Policy &,
                     attune::sim::strict::StrictChecker * = nullptr, unsigned launches = 1);

} // namespace aitertest
