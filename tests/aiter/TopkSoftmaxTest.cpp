// AITER's expert choice of mixture-of-experts models against float64: softmax over the experts of
// each token, the largest k of it and their numbers, with and without the k divided by their sum.
// Rows of 128 to 640 experts, f32 and bf16, 4 or 12 tokens a workgroup.
#include "tests/aiter/Harness.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace aitertest;

namespace {

struct TopkKernel {
  uint32_t tokens, experts, k; ///< tokens: of a workgroup
};
const TopkKernel kKernels[] = {{4, 128, 4},  {4, 128, 6},  {4, 128, 8},  {4, 256, 6},
                               {4, 256, 8},  {4, 384, 8},  {4, 640, 8},  {12, 128, 4},
                               {12, 128, 6}, {12, 128, 8}, {12, 256, 6}, {12, 256, 8}};

struct Choice {
  std::vector<double> weights;
  std::vector<uint32_t> experts;
};

/// The largest k of a softmax, largest first.
Choice choose(const double *row, const TopkKernel &t, bool renormalise) {
  std::vector<uint32_t> order(t.experts);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return row[a] > row[b]; });
  double sum = 0, chosen = 0;
  for (uint32_t n = 0; n < t.experts; ++n)
    sum += std::exp(row[order[n]] - row[order[0]]);
  Choice c;
  for (uint32_t n = 0; n < t.k; ++n) {
    c.experts.push_back(order[n]);
    c.weights.push_back(std::exp(row[order[n]] - row[order[0]]) / sum);
    chosen += c.weights.back();
  }
  for (double &w : c.weights)
    w /= renormalise ? chosen : 1;
  return c;
}

/// Logits of which no two of a row are equal: an order that no rounding decides.
std::vector<float> distinctLogits(uint32_t rows, const TopkKernel &t) {
  Normal draw(t.experts + t.k);
  std::vector<float> logits;
  for (uint32_t row = 0; row < rows; ++row) {
    std::vector<float> values(t.experts);
    for (uint32_t n = 0; n < t.experts; ++n) // all bf16 numbers, -8 to 7.5 and smaller steps near 0
      values[n] = fromBf16(uint16_t((n % 2 ? 0x8000 : 0) | (0x3d00 + n / 2)));
    for (uint32_t n = t.experts; n > 1; --n)
      std::swap(values[n - 1], values[draw.below(n)]);
    logits.insert(logits.end(), values.begin(), values.end());
  }
  return logits;
}

void run(const TopkKernel &t, bool bf16, bool renormalise, uint32_t rows) {
  CodeObject co("topksoftmax", fmt::format("topksoftmax_{}x{}x{}{}.co", t.tokens, t.experts, t.k,
                                           bf16 ? "_bf16" : ""));
  std::vector<float> logits = distinctLogits(rows, t);
  const uint32_t stride = t.k + 2; // of the outputs, in elements
  uint64_t experts = co.output(rows * stride * 4, "experts"),
           weights = co.output(rows * stride * 4, "weights");
  Kernarg args(0x80);
  args.set(0x00, experts).set(0x10, weights);
  args.set(0x20, bf16 ? co.upload(toBf16(logits), "logits") : co.upload(logits, "logits"));
  args.set(0x30, rows).set(0x40, t.experts).set(0x50, t.k).set(0x60, uint32_t(renormalise));
  args.set(0x70, stride * 4);
  co.launch({(rows + t.tokens - 1) / t.tokens, 1, 1}, 256, args, kTypical);
  std::vector<uint32_t> gotExperts = co.download<uint32_t>(experts, rows * stride);
  std::vector<float> gotWeights = co.download<float>(weights, rows * stride);
  std::vector<double> got, want;
  std::vector<double> wide(logits.begin(), logits.end());
  unsigned wrong = 0, overrun = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    Choice c = choose(&wide[row * t.experts], t, renormalise);
    for (uint32_t n = 0; n < stride; ++n) {
      size_t at = row * stride + n;
      if (n >= t.k) {
        overrun += gotExperts[at] != ~0u;
        continue;
      }
      wrong += gotExperts[at] != c.experts[n];
      got.push_back(gotWeights[at]);
      want.push_back(c.weights[n]);
    }
  }
  double error = relL2(got, want);
  co.report(fmt::format("{} rows{}{}", rows, bf16 ? " bf16" : "", renormalise ? " renorm" : ""),
            error);
  CHECK(wrong == 0);
  CHECK(overrun == 0);
  CHECK(error < 1e-6);
}

} // namespace

TEST_CASE("AITER's softmax and choice of experts", "[gemm][topk]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const TopkKernel &t : kKernels)
    for (bool bf16 : {false, true})
      for (bool renormalise : {false, true})
        run(t, bf16, renormalise, 29);
}
