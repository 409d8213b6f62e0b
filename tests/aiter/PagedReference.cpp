#include "tests/aiter/PagedReference.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace aitertest {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// The scores of one query row against its visible keys.
std::vector<double> scoresOf(const PagedProblem &p, const float *q, uint32_t group,
                             std::span<const uint32_t> slots) {
  std::vector<double> scores(slots.size());
  for (size_t j = 0; j < slots.size(); ++j) {
    const float *k = &p.k[(size_t(slots[j]) * p.kvHeads + group) * p.qkDim];
    double dot[4] = {}; // four chains of additions, for speed
    for (uint32_t d = 0; d < p.qkDim; ++d)
      dot[d % 4] += double(q[d]) * k[d];
    scores[j] = p.scale * (dot[0] + dot[1] + dot[2] + dot[3]);
  }
  return scores;
}

void attendRow(const PagedProblem &p, uint32_t token, uint32_t head,
               std::span<const uint32_t> slots, PagedAnswer &answer) {
  uint32_t group = head / (p.heads / p.kvHeads);
  size_t row = size_t(token) * p.heads + head;
  std::vector<double> scores = scoresOf(p, &p.q[row * p.qkDim], group, slots);
  double sink = p.sink.empty() ? kNothing : double(p.sink[head]);
  double top = sink;
  for (double s : scores)
    top = std::max(top, s);
  if (top == kNothing)
    return;
  double weight = std::exp(sink - top);
  double *out = &answer.out[row * p.vDim];
  for (size_t j = 0; j < slots.size(); ++j) {
    double w = std::exp(scores[j] - top);
    const float *v = &p.v[(size_t(slots[j]) * p.kvHeads + group) * p.vDim];
    weight += w;
    for (uint32_t d = 0; d < p.vDim; ++d)
      out[d] += w * v[d];
  }
  for (uint32_t d = 0; d < p.vDim; ++d)
    out[d] /= weight;
  answer.lse[row] = top + std::log(weight);
}

/// How many of a sequence's listed keys its query `i` of `count` sees: always a prefix.
uint32_t visibleKeys(const PagedProblem &p, uint32_t sequence, uint32_t i, uint32_t count) {
  auto listed = int64_t(p.slots[sequence].size());
  if (!p.causal)
    return uint32_t(listed);
  int64_t all = p.allKeys.empty() ? listed : p.allKeys[sequence];
  int64_t last = all - count + i; // position of the last key it sees
  if (last < p.rank)
    return 0;
  return uint32_t(std::min(listed, (last - p.rank) / p.ranks + 1));
}

} // namespace

PagedAnswer attendPaged(const PagedProblem &p) {
  PagedAnswer answer;
  answer.out.assign(size_t(p.tokens()) * p.heads * p.vDim, 0.0);
  answer.lse.assign(size_t(p.tokens()) * p.heads, kNothing);
  for (uint32_t b = 0; b < p.sequences(); ++b) {
    uint32_t first = p.queryStart[b], count = p.queryStart[b + 1] - first;
    std::span<const uint32_t> keys = p.slots[b];
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t h = 0; h < p.heads; ++h)
        attendRow(p, first + i, h, keys.first(visibleKeys(p, b, i, count)), answer);
    }
  }
  return answer;
}

std::vector<double> mergeSplits(std::span<const PartialRow> parts, uint32_t vDim, double &lse) {
  std::vector<double> out(vDim, 0.0);
  double top = kNothing, weight = 0;
  for (const PartialRow &part : parts)
    top = std::max(top, double(part.lse));
  lse = kNothing;
  if (top == kNothing)
    return out;
  for (const PartialRow &part : parts) {
    double w = std::exp(part.lse - top);
    weight += w;
    for (uint32_t d = 0; w > 0 && d < vDim; ++d)
      out[d] += w * part.out[d];
  }
  for (double &x : out)
    x /= weight;
  lse = top + std::log(weight);
  return out;
}

} // namespace aitertest
