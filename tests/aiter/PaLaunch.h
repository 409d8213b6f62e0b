// Launches AITER's paged-attention decode kernels (hsa/gfx950/pa): one query token per sequence, or
// a few with qo_indptr, against a cache of pages. Head size 128.
//
//   K page of one kv head   [128 / x][page tokens][x]    x: elements in 16 bytes
//   V page of one kv head   [page tokens / x][128][x]
//   scales (8-bit caches)   f32 [pages, kv heads, page tokens], or [pages, kv heads] per block
//
// The launcher draws the numbers, stores them in that layout under permuted page numbers, runs the
// kernel and hands back, as numbers, the problem that the bytes stand for and the kernel's output.
//
// Pages that no sequence lists are NaN, with one exception: the kernels read page 0 for the pages
// that their tile has and the sequence has not, multiply its values by a weight of 0, and so need
// them finite. Likewise the tokens that a sequence's last page has too many. Both hold one
// number throughout here.
#pragma once
#include "tests/aiter/Harness.h"
#include "tests/aiter/PagedCodes.h"
#include "tests/aiter/PagedReference.h"

namespace aitertest {

struct PaKernel {
  const char *file; ///< under hsa/gfx950/pa
  Code query = Code::BF16, cache = Code::BF16;
  bool causal = false; ///< "msk1"
  uint32_t pageTokens = 16;
  bool scalePerBlock = false;
  bool persistent = false;
};

struct PaShape {
  uint32_t kvHeads = 1, gqa = 1;
  std::vector<uint32_t> contexts; ///< keys of each sequence, new tokens included
  /// Tokens of each sequence; empty: one each, no qo_indptr. Persistent kernels load and store as
  /// many for each sequence as the longest has: all must be equal there.
  std::vector<uint32_t> queries = {};
  uint32_t splits = 1;      ///< parts of a sequence, persistent kernels only
  std::string text() const; ///< "kv 2 x 8 ctx 1,40,333"
};

struct PaRun {
  PagedProblem problem;
  std::vector<double> out; ///< [tokens, heads, 128], splits merged
};

PaRun runPa(CodeObject &, const PaKernel &, const PaShape &, const Policy &, uint64_t seed = 1);

} // namespace aitertest
