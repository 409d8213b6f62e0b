// Attention of one head in float64, from the definition: what the code objects are compared with.
// It knows nothing of tiles, online softmax or the simulator.
//
//   p(r, k) = exp(scale * q[r] . k[k] - max)    over the keys that row r sees
//   out[r] = sum p(r, k) v[k] / sum p(r, k)     lse[r] = max + log(sum p)
//
// A row that sees no key has out 0 and lse -inf.
#pragma once
#include <span>
#include <vector>

namespace aitertest {

struct HeadShape {
  size_t queries, keys, dim, valueDim;
  double scale;
  /// Row r sees keys up to r + keys - queries: the last row sees all.
  bool causal = false;
  size_t visible(size_t row) const;
};

/// Rows of `data` that lie `stride` elements apart.
struct Rows {
  const double *data;
  size_t stride;
  const double *operator[](size_t row) const { return data + row * stride; }
};

/// Writes out[r][0..valueDim) and lse[r].
void attend(const HeadShape &, Rows q, Rows k, Rows v, double *out, size_t outStride, double *lse);

} // namespace aitertest
