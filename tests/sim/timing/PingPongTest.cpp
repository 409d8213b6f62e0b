// The loop of a ping-pong attention kernel: 8 waves, two on a SIMD, one of which multiplies while
// the other loads. Section 5, row 6 (the loop with its MFMAs only) and the formula of 2.4.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace timingtest;

namespace {

const std::string kMfma = "v_mfma_f32_32x32x16_bf16 v[64:79], v[32:35], v[40:43], v[64:79]\n";

/// 16 MFMAs, after each `each`, after the last `tail`.
std::string dot(const std::string &each, const std::string &tail) {
  return repeat(kMfma + each, 16) + tail + "\ns_barrier\n";
}

std::string memory(const std::string &read, int count) {
  return "buffer_load_dwordx4 v1, s[4:7], 0 offen lds\n"
         "buffer_load_dwordx4 v1, s[4:7], 0 offen offset:1024 lds\n" +
         repeat(read, count) + "s_waitcnt vmcnt(4) lgkmcnt(0)\ns_barrier\n";
}

/// Clk of an iteration: two kv tiles of 64, of both waves of a SIMD.
double iteration(const std::string &each, const std::string &tail = "") {
  std::string tile = memory("ds_read_b128 v[8:11], v2", 16) + dot(each, tail) +
                     memory("ds_read_b64_tr_b16 v[8:9], v3", 32) + dot(each, tail);
  std::string body =
      "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, 0x100000\ns_mov_b32 s7, 0x20000\n"
      "v_and_b32 v4, 63, v0\nv_lshlrev_b32 v1, 4, v0\nv_lshlrev_b32 v2, 4, v4\n"
      "v_lshlrev_b32 v3, 3, v4\ns_mov_b32 m0, 0\ns_movk_i32 s9, 12\n"
      "v_readfirstlane_b32 s10, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
      "s_cmp_lt_u32 s10, 256\ns_cbranch_scc1 loop\ns_barrier\n" // waves 4-7 a cluster behind
      "loop:\n" +
      tile + tile +
      "s_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 loop\n"
      "s_cmp_lt_u32 s10, 256\ns_cbranch_scc0 done\ns_barrier\ndone:\n";
  TimingReport r =
      timeSnippet({.body = body, .threads = 512, .options = {.workgroups = 256, .sharers = 32}});
  REQUIRE(r.loop.found);
  return r.loop.clk;
}

} // namespace

TEST_CASE("row 6: with its MFMAs only, the loop takes 4105 clk") {
  CHECK(iteration("") == Catch::Detail::Approx(4105).epsilon(0.05));
}

TEST_CASE("vector work that fits the windows is free, packed work is not") {
  double floor = iteration("");
  CHECK(iteration(repeat("v_add_f32 v16, v17, v18", 6)) ==
        Catch::Detail::Approx(floor).epsilon(0.04));
  CHECK(iteration(repeat("v_exp_f32 v16, v17", 3)) == Catch::Detail::Approx(floor).epsilon(0.03));
  CHECK(iteration("v_pk_mul_f32 v[16:17], v[18:19], v[20:21]\n") > 1.4 * floor);
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

TEST_CASE("row 29: the half-rate MFMA shapes take twice as long for the same product") {
  auto flopsPerClk = [](const std::string &mfma) {
    TimingReport r = timeSnippet({.body = "s_nop 15\n" + repeat(mfma, 64)});
    return r.flops / double(clkFromTo(r, 1, 64));
  };
  CHECK(flopsPerClk("v_mfma_f32_16x16x32_f16 v[0:3], v[32:35], v[40:43], v[0:3]") /
            flopsPerClk("v_mfma_f32_16x16x16_f16 v[0:3], v[32:33], v[40:41], v[0:3]") ==
        Catch::Detail::Approx(2));
}

TEST_CASE("row 9: satisfied waits between the MFMAs cost their slots") {
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
