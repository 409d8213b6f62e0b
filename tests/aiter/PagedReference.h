// Attention over a paged cache, in float64 and straight from the definition, for the decode kernels
// of AITER.
//
//   out[t, h] = sum over visible keys j of  softmax_j(scale * dot(q[t, h], k[slot_j, g])) *
//   v[slot_j, g] lse[t, h] = log sum over visible keys j of  exp(scale * dot(...))               g
//   = h / (heads / kvHeads)
//
// A problem holds numbers, not bytes: the caches are given as the values that their stored codes
// stand for, and a sequence as the list of its keys' slots. How pages are laid out is the
// launchers' business (PaLaunch, MlaLaunch); so a layout mistake there cannot hide here. A slot
// that no sequence lists is never read: launchers fill it with NaN.
//
// Split kernels leave partial results; `mergeSplits` is the second stage, in float64.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace aitertest {

struct PagedProblem {
  uint32_t heads = 1, kvHeads = 1, qkDim = 0, vDim = 0;
  double scale = 1;
  /// Query i of n sees the keys up to position keys - n + i (the last query sees all). Else all see
  /// all.
  bool causal = false;
  /// Context parallel, round robin: key j of `slots` is key j * ranks + rank of the whole sequence,
  /// whose length is allKeys[sequence].
  uint32_t ranks = 1, rank = 0;
  std::vector<uint32_t> allKeys = {};       ///< empty: slots holds every key
  std::vector<uint32_t> queryStart;         ///< [sequences + 1], in tokens
  std::vector<std::vector<uint32_t>> slots; ///< of each sequence: the cache slots of its keys
  std::vector<float> q;                     ///< [tokens, heads, qkDim]
  std::vector<float> k;                     ///< [slots, kvHeads, qkDim]
  std::vector<float> v;                     ///< [slots, kvHeads, vDim]
  std::vector<float> sink = {};             ///< [heads], a virtual key's logit; or empty

  uint32_t sequences() const { return uint32_t(slots.size()); }
  uint32_t tokens() const { return queryStart.back(); }
};

struct PagedAnswer {
  std::vector<double> out; ///< [tokens, heads, vDim]; 0 for a row that sees no key
  std::vector<double> lse; ///< [tokens, heads], natural; -inf for a row that sees no key
};

PagedAnswer attendPaged(const PagedProblem &);

/// One split's share of a row: its normalised output and the natural log of its weight.
struct PartialRow {
  std::span<const float> out;
  float lse = 0;
};

/// The row that the parts make together; its log weight goes to `lse`. No part, or none with
/// weight: 0 and -inf.
std::vector<double> mergeSplits(std::span<const PartialRow>, uint32_t vDim, double &lse);

} // namespace aitertest
