// AITER's bf16 GEMM code objects against float64: D[m, n] = sum of A[m, k] * B[n, k] over k, plus
// bias[n]. Tiles of 32 to 256 rows, B as it is or in tiles of 16 x 32 ("bshuffle"), K in several
// workgroups that add to D with atomics. The "clean" ones write D's start value themselves: the
// first workgroup of a tile does it and tells the others through a semaphore, with a scalar store;
// each takes itself off it with a scalar atomic.
#include "tests/aiter/Harness.h"
#include <fmt/format.h>

using namespace aitertest;

namespace {

struct GemmKernel {
  const char *file;
  uint32_t tileM, tileN;
  bool shuffled, splits; ///< splits: made for K in several workgroups
};

const GemmKernel kGemms[] = {
    {"bf16gemm_bf16_tn_256x256.co", 256, 256, false, false},
    {"bf16gemm_bf16_tn_256x256_bpreshuffle.co", 256, 256, true, false},
    {"bf16gemm_fp32bf16_tn_32x64_pf3_splitk.co", 32, 64, false, false},
    {"bf16gemm_fp32bf16_tn_48x64_pf3_splitk.co", 48, 64, false, false},
    {"bf16gemm_fp32bf16_tn_64x64_pf3_splitk.co", 64, 64, false, false},
    {"bf16gemm_fp32bf16_tn_96x64_pf3_splitk.co", 96, 64, false, false},
    {"bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk.co", 32, 64, true, false},
    {"bf16gemm_fp32bf16_tn_48x64_bshuffle_splitk.co", 48, 64, true, false},
    {"bf16gemm_fp32bf16_tn_64x64_bshuffle_splitk.co", 64, 64, true, false},
    {"bf16gemm_fp32bf16_tn_96x64_bshuffle_splitk.co", 96, 64, true, false},
    {"bf16gemm_fp32bf16_tn_128x64_bshuffle_splitk.co", 128, 64, true, false},
    {"bf16gemm_fp32bf16_tn_160x64_bshuffle_splitk.co", 160, 64, true, false},
    {"bf16gemm_fp32bf16_tn_32x64_splitk_clean.co", 32, 64, false, true},
    {"bf16gemm_fp32bf16_tn_48x64_splitk_clean.co", 48, 64, false, true},
    {"bf16gemm_fp32bf16_tn_64x64_splitk_clean.co", 64, 64, false, true},
    {"bf16gemm_fp32bf16_tn_80x64_splitk_clean.co", 80, 64, false, true},
    {"bf16gemm_fp32bf16_tn_96x64_splitk_clean.co", 96, 64, false, true},
    {"bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk_clean.co", 32, 64, true, true},
    {"bf16gemm_fp32bf16_tn_48x64_bshuffle_splitk_clean.co", 48, 64, true, true},
    {"bf16gemm_fp32bf16_tn_64x64_bshuffle_splitk_clean.co", 64, 64, true, true},
    {"bf16gemm_fp32bf16_tn_80x64_bshuffle_splitk_clean.co", 80, 64, true, true},
    {"bf16gemm_fp32bf16_tn_96x64_bshuffle_splitk_clean.co", 96, 64, true, true},
    {"bf16gemm_fp32bf16_tn_128x64_bshuffle_splitk_clean.co", 128, 64, true, true},
    {"bf16gemm_fp32bf16_tn_160x64_bshuffle_splitk_clean.co", 160, 64, true, true},
};

struct GemmShape {
  uint32_t m, n, k, splits = 1;
  bool bf16Out = true, bias = false;
};

/// Rows of B in blocks of 16, k in blocks of 32: within a block, the eight k of a lane, then rows.
std::vector<uint16_t> shuffled(const std::vector<uint16_t> &b, uint32_t n, uint32_t k) {
  std::vector<uint16_t> out(b.size());
  for (size_t row = 0; row < n; ++row)
    for (size_t at = 0; at < k; ++at)
      out[((row / 16 * (k / 32) + at / 32) * 4 + at % 32 / 8) * 128 + row % 16 * 8 + at % 8] =
          b[row * k + at];
  return out;
}

std::vector<double> product(const std::vector<double> &a, const std::vector<double> &b,
                            const std::vector<double> &bias, const GemmShape &s) {
  std::vector<double> d(size_t(s.m) * s.n);
  for (size_t row = 0; row < s.m; ++row)
    for (size_t col = 0; col < s.n; ++col) {
      double sum = s.bias ? bias[col] : 0;
      for (size_t k = 0; k < s.k; ++k)
        sum += a[row * s.k + k] * b[col * s.k + k];
      d[row * s.n + col] = sum;
    }
  return d;
}

void runGemm(const GemmKernel &g, const GemmShape &s, const Policy &policy) {
  CodeObject co("bf16gemm", g.file);
  std::vector<uint16_t> a = toBf16(normals(size_t(s.m) * s.k, 1)),
                        b = toBf16(normals(size_t(s.n) * s.k, 2));
  std::vector<uint16_t> bias = toBf16(normals(s.n, 3, 10));
  const size_t count = size_t(s.m) * s.n;
  const unsigned bytes = s.bf16Out ? 2 : 4;
  uint64_t d = co.output(count * bytes, "D");
  std::vector<uint32_t> none(1024);
  uint64_t semaphore = co.upload(none, "semaphore");
  Kernarg args(0x160);
  args.set(0x00, d).set(0x20, co.upload(a, "A"));
  args.set(0x30, co.upload(g.shuffled ? shuffled(b, s.n, s.k) : b, "B"));
  args.set(0x40, 1.0f).set(0x50, 0.0f).set(0x60, s.n * bytes).set(0x80, s.n * bytes);
  args.set(0xa0, s.k * 2).set(0xc0, s.k * 2).set(0xe0, s.m).set(0xf0, s.n).set(0x100, s.k);
  args.set(0x110, s.splits).set(0x120, uint32_t(s.bf16Out));
  if (s.bias)
    args.set(0x130, co.upload(bias, "bias")).set(0x140, 1u);
  if (s.splits > 1)
    args.set(0x150, semaphore);
  co.launch({(s.n + g.tileN - 1) / g.tileN, (s.m + g.tileM - 1) / g.tileM, s.splits}, 256, args,
            policy);
  std::vector<double> want = product(fromBf16(a), fromBf16(b), fromBf16(bias), s), got;
  if (s.bf16Out) {
    got = fromBf16(co.download<uint16_t>(d, count));
  } else {
    std::vector<float> floats = co.download<float>(d, count);
    got.assign(floats.begin(), floats.end());
  }
  double error = relL2(got, want);
  co.report(fmt::format("m{} n{} k{} splits {}{}{}", s.m, s.n, s.k, s.splits,
                        s.bf16Out ? " bf16" : " f32", s.bias ? " bias" : ""),
            error);
  // Splits in bf16 round D once for each of them.
  CHECK(error < (!s.bf16Out ? 1e-6 : s.splits > 1 ? 4e-3 : 3e-3));
  CHECK(co.download<uint32_t>(semaphore, none.size()) == none);
}

} // namespace

TEST_CASE("AITER's bf16 GEMMs", "[gemm]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const GemmKernel &g : kGemms) {
    if (g.tileM == 256) {
      runGemm(g, {.m = 300, .n = 256, .k = 128}, kTypical);
      continue;
    }
    runGemm(g, {.m = g.tileM + 13, .n = 128, .k = 256, .splits = g.splits ? 3u : 1u}, kTypical);
    runGemm(g,
            {.m = g.tileM - 7, .n = 64, .k = 128, .splits = g.splits ? 2u : 1u, .bf16Out = false},
            kTypical);
    runGemm(
        g,
        {.m = 20, .n = 64, .k = 128, .splits = g.splits ? 2u : 1u, .bf16Out = false, .bias = true},
        kTypical);
  }
}
