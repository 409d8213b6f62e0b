// The launch contract of AITER's fmha_v3_fwd code objects: 656 bytes of arguments in 16-byte slots,
// the grid, and the meaning of strides (bytes) and of the cumulative lengths of group mode.
//
// Both modes see tokens packed as [token, head, dim]. Batch mode is B sequences of one length, so
// that a token's row is batch * length + position; group mode has sequences of any lengths, found
// through cumulative sums, and may leave unused rows between them ("padding").
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
  bool lse = true;
  std::string text() const;
};

struct FmhaErrors {
  double out = 0, lse = 0;
  bool paddingTouched = false;
};

/// Draws inputs, launches, compares with the float64 reference and prints the report line.
FmhaErrors runFmhaV3(const FmhaKernel &, const FmhaShape &, const Policy &);

} // namespace aitertest
