// Issue, dependencies and what runs beside the matrix unit: research/gfx950-timing.md 2.1 to 2.4.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace timingtest;

namespace {

/// An MFMA, then `after`; clk between the two issues.
uint64_t afterMfma(const std::string &mfma, const std::string &after) {
  // s_nop lets the vector registers settle and keeps the front of the kernel out of it.
  return clkFromTo(timeSnippet({.body = "s_nop 15\n" + mfma + "\n" + after}), 1, 2);
}

struct MfmaRow {
  const char *text;
  uint64_t interval, valu, packed, resultWaitStates;
};
// gfx950-timing.md 2.3: interval in clk, first VALU and first packed f32 in slots, wait states
// between the MFMA and the VALU that reads its result.
const MfmaRow kMfmas[] = {
    {"v_mfma_f32_32x32x16_bf16 v[0:15], v[32:35], v[40:43], v[0:15]", 32, 2, 11, 12},
    {"v_mfma_f32_32x32x16_f16 v[0:15], v[32:35], v[40:43], v[0:15]", 32, 2, 11, 12},
    {"v_mfma_f32_16x16x32_bf16 v[0:3], v[32:35], v[40:43], v[0:3]", 16, 2, 7, 8},
    {"v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[40:41], v[0:15]", 32, 1, 10, 12},
    {"v_mfma_f32_16x16x16_bf16 v[0:3], v[32:33], v[40:41], v[0:3]", 16, 1, 6, 8},
    {"v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[32:33], v[40:41], v[0:15]", 32, 1, 10, 12},
    {"v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[32:33], v[40:41], v[0:3]", 16, 1, 6, 8},
    {"v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[32:39], v[40:47], v[0:3]", 32, 3, 11, 12},
    {"v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[32:35], v[40:43], v[0:3] cbsz:4 blgp:4", 16, 2, 7, 8},
    {"v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[32:39], v[40:47], v[0:15]", 64, 3, 19, 20},
    {"v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[32:35], v[40:43], v[0:15] cbsz:4 blgp:4", 32, 2, 11,
     12},
    {"v_mfma_i32_16x16x64_i8 v[0:3], v[32:35], v[40:43], v[0:3]", 16, 2, 7, 8},
    {"v_mfma_f32_4x4x4_16b_f16 v[0:3], v[32:33], v[40:41], v[0:3]", 8, 1, 4, 5},
};

} // namespace

TEST_CASE("dependent VALU and SALU instructions issue every 4 clk") {
  CHECK(clkBetween(timeSnippet({.body = repeat("v_add_f32 v1, v1, v2", 12)}), "v_add_f32") == 4);
  CHECK(clkBetween(timeSnippet({.body = repeat("s_add_u32 s4, s4, s5", 12)}), "s_add_u32") == 4);
}

TEST_CASE("transcendentals take 8 clk, quarter rate multiplies 16") {
  CHECK(clkBetween(timeSnippet({.body = repeat("v_exp_f32 v1, v2", 8)}), "v_exp_f32") == 8);
  CHECK(clkBetween(timeSnippet({.body = repeat("v_mul_lo_u32 v1, v2, v3", 8)}), "v_mul_lo_u32") ==
        16);
}

TEST_CASE("s_nop N takes N + 1 slots") {
  CHECK(clkFromTo(timeSnippet({.body = "s_nop 7\ns_nop 0\ns_nop 0"}), 0, 1) == 32);
  CHECK(clkFromTo(timeSnippet({.body = "s_nop 0\ns_nop 0\ns_nop 0"}), 0, 1) == 4);
}

TEST_CASE("an MFMA opens the windows of the table for VALU, packed f32 and its result") {
  // One kernel for a row: the MFMA and what follows it, then idle until the next pair.
  for (const MfmaRow &row : kMfmas) {
    const std::pair<std::string, uint64_t> after[] = {
        {row.text, row.interval},
        {"v_mov_b32 v64, v65", 4 * row.valu},
        {"v_pk_mul_f32 v[64:65], v[66:67], v[68:69]", 4 * row.packed},
        {"v_mov_b32 v64, v1", 4 * (row.resultWaitStates + 1)},
        {"s_mov_b32 s4, s5", 4}};
    std::string body;
    for (const auto &[text, clk] : after)
      body += repeat("s_nop 15", 2) + row.text + "\n" + text + "\n";
    TimingReport r = timeSnippet({.body = body});
    for (size_t n = 0; n < std::size(after); ++n) {
      INFO(row.text << "; " << after[n].first);
      CHECK(clkFromTo(r, 4 * n + 2, 4 * n + 3) == after[n].second);
    }
  }
}

TEST_CASE("6 VALU or 3 transcendentals fit beside a 32x32x16, and not one more") {
  std::string mfma = "v_mfma_f32_32x32x16_bf16 v[0:15], v[32:35], v[40:43], v[0:15]";
  auto interval = [&](const std::string &filler) {
    return clkBetween(timeSnippet({.body = repeat(mfma + "\n" + filler, 20)}),
                      "v_mfma_f32_32x32x16_bf16");
  };
  CHECK(interval(repeat("v_add_f32 v64, v65, v66", 6)) == 32);
  CHECK(interval(repeat("v_add_f32 v64, v65, v66", 7)) == 36);
  CHECK(interval(repeat("v_exp_f32 v64, v65", 3)) == 32);
  CHECK(interval(repeat("v_exp_f32 v64, v65", 4)) == 40);
  CHECK(interval(repeat("v_pk_mul_f32 v[64:65], v[66:67], v[68:69]", 1)) == 48);
}

TEST_CASE("2 VALU fit beside a 16x16x32") {
  std::string mfma = "v_mfma_f32_16x16x32_bf16 v[0:3], v[32:35], v[40:43], v[0:3]";
  auto interval = [&](int count) {
    return clkBetween(
        timeSnippet({.body = repeat(mfma + "\n" + repeat("v_add_f32 v64, v65, v66", count), 20)}),
        "v_mfma_f32_16x16x32_bf16");
  };
  CHECK(interval(2) == 16);
  CHECK(interval(3) == 20);
}

TEST_CASE("a chain of MFMA of different shapes waits for the accumulator") {
  std::string small = "v_mfma_f32_16x16x32_bf16 v[0:3], v[32:35], v[40:43], v[0:3]";
  std::string other = "v_mfma_f32_16x16x32_f16 v[0:3], v[32:35], v[40:43], v[0:3]";
  CHECK(afterMfma(small, small) == 16);
  CHECK(afterMfma(small, other) == 4 * (4 + 2 + 1));
  CHECK(afterMfma(small, "v_mfma_f32_16x16x32_bf16 v[8:11], v[0:3], v[40:43], v[8:11]") == 4 * 9);
}

TEST_CASE("a VALU result reaches the matrix unit after two wait states") {
  CHECK(clkFromTo(timeSnippet({.body = "v_mov_b32 v32, v64\n"
                                       "v_mfma_f32_16x16x32_bf16 v[0:3], v[32:35], v[40:43], 0"}),
                  0, 1) == 12);
}

TEST_CASE("waves of one SIMD share its vector port, waves of others do not") {
  // 4 waves are one on each SIMD, 8 are two.
  std::string adds = repeat("v_add_f32 v1, v1, v2", 400);
  auto clk = [&](uint32_t threads) {
    return clkBetween(timeSnippet({.body = adds, .threads = threads}), "v_add_f32");
  };
  CHECK(clk(64) == 4);
  CHECK(clk(256) == 4);
  TimingReport two = timeSnippet({.body = adds, .threads = 512});
  std::vector<uint64_t> first = issues(two, 0), second = issues(two, 4);
  uint64_t end = std::max(first.back(), second.back());
  CHECK(double(end - first.front()) == Catch::Detail::Approx(800 * 4).epsilon(0.03));
}

TEST_CASE("the higher s_setprio wins the slot") {
  // Waves 0 and 4 share SIMD 0; wave 4 raises its priority.
  std::string body = "v_readfirstlane_b32 s4, v0\ns_cmp_lt_u32 s4, 256\ns_cbranch_scc1 low\n"
                     "s_setprio 1\nlow:\ns_barrier\n" +
                     repeat("v_add_f32 v1, v1, v2", 200);
  TimingReport r = timeSnippet({.body = body, .threads = 512});
  CHECK(issues(r, 4).back() < issues(r, 0).back());
  CHECK(r.stalls[size_t(Stall::Valu)] >= 4 * 200 * 4);
}

TEST_CASE("a barrier waits for the last wave and is charged to the others") {
  std::string body = "v_readfirstlane_b32 s4, v0\ns_cmp_lt_u32 s4, 64\ns_cbranch_scc0 fast\n" +
                     repeat("s_nop 15", 16) + "fast:\ns_barrier\nv_mov_b32 v1, v2";
  TimingReport r = timeSnippet({.body = body, .threads = 256});
  std::vector<uint64_t> slow = issues(r, 0), fast = issues(r, 1);
  CHECK(slow[slow.size() - 2] == fast[fast.size() - 2]); // both leave together
  TimingParams p;
  CHECK(slow[slow.size() - 2] - slow[slow.size() - 3] == uint64_t(4 + p.barrierReleaseClk));
  // Three waves wait for 16 s_nop of 16 slots each, less what they start later.
  CHECK(double(r.stalls[size_t(Stall::Barrier)]) ==
        Catch::Detail::Approx(3 * 16 * 64).epsilon(0.1));
}
