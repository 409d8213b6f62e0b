#include "tests/aiter/PagedWork.h"
#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace aitertest {

const Policy &chosenPolicy(const Policy &usual) {
  const char *name = std::getenv("ATTUNE_AITER_POLICY");
  for (const Policy &policy : kPolicies)
    if (name && std::string(name) == policy.name)
      return policy;
  return usual;
}

std::vector<uint32_t> prefixSums(const std::vector<uint32_t> &counts) {
  std::vector<uint32_t> sums{0};
  for (uint32_t n : counts)
    sums.push_back(sums.back() + n);
  return sums;
}

std::vector<uint32_t> shuffled(uint32_t count, Normal &draw) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t n = count; n > 1; --n)
    std::swap(order[n - 1], order[draw.below(n)]);
  return order;
}

WorkLists splitWork(const PagedProblem &p, const WorkSplit &split) {
  WorkLists work;
  uint32_t first = 0; // of the sequence's entries in the page list
  for (uint32_t b = 0; b < p.sequences(); ++b) {
    uint32_t pages = (uint32_t(p.slots[b].size()) + split.pageKeys - 1) / split.pageKeys;
    uint32_t blocks = (pages + split.block - 1) / split.block;
    uint32_t each = (blocks + split.parts - 1) / split.parts * split.block;
    for (uint32_t from = 0; from < pages; from += each) {
      uint32_t to = std::min(from + each, pages);
      WorkEntry e{int32_t(b),
                  each < pages ? int32_t(work.partialTokens) : -1,
                  int32_t(p.queryStart[b]),
                  int32_t(p.queryStart[b + 1]),
                  int32_t(first + from),
                  int32_t(first + to),
                  split.countsKeysAfter ? int32_t(pages - to) : 0,
                  0};
      uint32_t group = split.headGroup ? split.headGroup : p.heads;
      for (uint32_t head = 0; head < p.heads; head += group) {
        e.headRange = split.headGroup ? int32_t((head + group) << 16 | head) : 0;
        work.entries.push_back(e);
      }
      work.partialTokens += each < pages ? p.queryStart[b + 1] - p.queryStart[b] : 0;
    }
    first += pages;
  }
  for (uint32_t n = 1; n <= split.lists; ++n)
    work.listStart.push_back(uint32_t(work.entries.size() * n / split.lists));
  return work;
}

double worstToken(const std::vector<double> &out, const PagedProblem &p, const PagedAnswer &want) {
  double worst = 0;
  auto n = std::ptrdiff_t(p.heads) * p.vDim;
  for (uint32_t b = 0; b < p.sequences(); ++b)
    for (std::ptrdiff_t t = p.queryStart[b]; t < p.queryStart[b + 1] && !p.slots[b].empty(); ++t)
      worst = std::max(worst, relL2({out.begin() + t * n, out.begin() + (t + 1) * n},
                                    {want.out.begin() + t * n, want.out.begin() + (t + 1) * n}));
  return worst;
}

void Partials::merge(const std::vector<size_t> &rows, size_t row, std::vector<double> &mergedOut,
                     std::vector<double> &mergedLse) const {
  std::vector<PartialRow> parts;
  for (size_t n : rows)
    parts.push_back({std::span(out).subspan(n * vDim, vDim), lse[n]});
  std::vector<double> merged = mergeSplits(parts, vDim, mergedLse[row]);
  std::ranges::copy(merged, mergedOut.begin() + std::ptrdiff_t(row * vDim));
}

} // namespace aitertest
