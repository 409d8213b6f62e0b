// The loop of a ping-pong attention kernel: 8 waves, two on a SIMD, one of which multiplies while
// the other loads; and the formula of gfx950-timing.md 2.4.
#include "tests/sim/timing/LoopText.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace timingtest;

namespace {

const std::string kMfma = "v_mfma_f32_32x32x16_bf16 v[64:79], v[32:35], v[40:43], v[64:79]\n";

/// Clk of an iteration: two kv tiles of 64, of both waves of a SIMD. A pattern (LoopText.h) behind
/// each MFMA.
double iteration(const std::string &each) {
  std::string dot = "16(M" + each + ")b";
  std::string tile = "2G16RVwb" + dot + "2G32TVwb" + dot;
  return loopClk({.pattern = "2(" + tile + ")"});
}

} // namespace

TEST_CASE("vector work that fits the windows is free, packed work is not") {
  double floor = iteration("");
  CHECK(iteration("6v") == Catch::Detail::Approx(floor).epsilon(0.04));
  CHECK(iteration("3e") == Catch::Detail::Approx(floor).epsilon(0.04));
  CHECK(iteration("p") > 1.4 * floor);
}

TEST_CASE("the ceiling formula of 2.4: 32 M + g(N - 6 M)") {
  // M MFMAs with 6 VALU each, then k more: three of them plain, the rest packed in pairs.
  std::string six = repeat("v_add_f32 v16, v17, v18", 6);
  for (int k : {0, 1, 2, 3, 5, 9, 17}) {
    int packed = k > 3 ? (k - 3) / 2 : 0;
    std::string tail = repeat("v_add_f32 v16, v17, v18", k > 3 ? 3 : k) +
                       repeat("v_pk_mul_f32 v[20:21], v[22:23], v[24:25]", packed);
    std::string body = "s_nop 15\n" + repeat(kMfma + six, 16) + tail + kMfma;
    uint64_t g = k <= 3 ? uint64_t(4 * k) : uint64_t(4 * k - 4 * ((k - 3) / 2));
    INFO(k);
    CHECK(clkFromTo(timeSnippet({.body = body}), 1,
                    size_t(1 + 16 * 7 + (k > 3 ? 3 : k) + packed)) == 32 * 16 + g);
  }
}

TEST_CASE("satisfied waits between the MFMAs cost their slots") {
  // Windows full of VALU work, with and without 6 waits in each group of 16.
  std::string full = repeat("v_add_f32 v16, v17, v18", 6);
  std::string with;
  for (int n = 0; n < 16; ++n)
    with += kMfma + full + (n % 3 == 0 ? "s_waitcnt lgkmcnt(0)\n" : "");
  auto clk = [](const std::string &body) {
    TimingReport r = timeSnippet({.body = "s_nop 15\n" + body + kMfma});
    return r.timeline[r.timeline.size() - 2].clk - r.timeline[1].clk;
  };
  CHECK(clk(repeat(kMfma + full, 16)) == 512);
  CHECK(clk(with) == 512 + 6 * 4);
}
