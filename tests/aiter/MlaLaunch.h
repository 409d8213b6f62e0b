// Launches AITER's latent-attention kernels (hsa/gfx950/mla): every head of a token reads the same
// cache row of 576 numbers (512 latent, 64 rope), whose first 512 are also the value.
//
// A split kernel ends before the reduction: it leaves, per token, split and head, the normalised
// output of its share of the keys and the natural log of its weight. `runMla` merges them in
// float64, as the second stage would.
//   plain       grid (query tiles, sequences, splits); split z of S takes key blocks z, z+S, ...
//   persistent  one workgroup per work list (PagedWork.h)
//
// Slots that no sequence lists are NaN. Behind Q lie NaNs too, one token of them: some kernels load
// the rows of a whole tile without a bound and drop what they make of the surplus ones.
#pragma once
#include "tests/aiter/Harness.h"
#include "tests/aiter/PagedCodes.h"
#include "tests/aiter/PagedReference.h"

namespace aitertest {

struct MlaKernel {
  const char *file; ///< under hsa/gfx950/mla
  Code query = Code::BF16, cache = Code::BF16;
  uint32_t tileRows = 16; ///< rows (tokens x heads) of a workgroup, plain kernels
  uint32_t keyBlock = 64; ///< keys dealt to a split at a time
  bool causal = true;
  bool persistent = false;
  bool finalLse = false;    ///< "lse": also writes the LSE of what is not split
  bool mqaIsHeads = false;  ///< the struct's s_MQA is the heads alone, not heads x tokens
  bool bf16Unsplit = false; ///< with one split: writes bf16 and no LSE
  bool prefill = false;     ///< the struct's s_Q_Bs is one token's, not all of a sequence's
  bool roundRobin = false;  ///< "cprr": masks by positions in the whole sequence
  bool rawValues = false;   ///< leaves the cache's scale off its output
};

struct MlaShape {
  uint32_t heads = 16, queries = 1;
  std::vector<uint32_t> contexts; ///< keys of each sequence; with ranks, of the whole sequence
  uint32_t splits = 1;
  uint32_t ranks = 1, rank = 0;
  std::string text() const;
};

struct MlaRun {
  PagedProblem problem;
  std::vector<double> out; ///< [tokens, heads, 512]
  std::vector<double> lse; ///< [tokens, heads]; NaN where the kernel does not write one
};

MlaRun runMla(CodeObject &, const MlaKernel &, const MlaShape &, const Policy &, uint64_t seed = 1);

} // namespace aitertest
