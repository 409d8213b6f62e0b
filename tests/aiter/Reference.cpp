#include "tests/aiter/Reference.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace aitertest {

size_t HeadShape::visible(size_t row) const {
  if (!causal)
    return keys;
  return row + keys < queries ? 0 : std::min(row + keys - queries + 1, keys);
}

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

void attend(const HeadShape &s, Rows q, Rows k, Rows v, double *out, size_t outStride,
            double *lse) {
  std::vector<double> p(s.keys);
  for (size_t r = 0; r < s.queries; ++r) {
    size_t visible = s.visible(r);
    double *row = out + r * outStride;
    std::fill_n(row, s.valueDim, 0.0);
    lse[r] = -std::numeric_limits<double>::infinity();
    if (visible == 0)
      continue;
    for (size_t n = 0; n < visible; ++n)
      p[n] = s.scale * dot(q[r], k[n], s.dim);
    double max = *std::max_element(p.begin(), p.begin() + ptrdiff_t(visible)), sum = 0;
    for (size_t n = 0; n < visible; ++n) {
      p[n] = std::exp(p[n] - max);
      sum += p[n];
      for (size_t d = 0; d < s.valueDim; ++d)
        row[d] += p[n] * v[n][d];
    }
    for (size_t d = 0; d < s.valueDim; ++d)
      row[d] /= sum;
    lse[r] = max + std::log(sum);
  }
}

} // namespace aitertest
