// LDS: gfx950-timing.md 1.3 and rows 1 and 2 of section 5.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace timingtest;

namespace {

/// Clk between ds_read_b128 of wave 0 when every lane reads `address(lane)`, given as instructions
/// that compute v1 from the lane in v2.
double readClk(const std::string &address, uint32_t threads,
               const std::string &read = "ds_read_b128 v[8:11], v1") {
  std::string body = "v_and_b32 v2, 63, v0\n" + address + "s_barrier\n" + repeat(read, 256);
  return clkBetween(timeSnippet({.body = body, .threads = threads}),
                    read.substr(0, read.find(' ')));
}

// Lane l reads 16 bytes at 16 l: every bank once a phase. Lanes that are a multiple of 256 bytes
// apart share their banks: n ways when n lanes of each phase do.
const std::string kFree = "v_lshlrev_b32 v1, 4, v2\n";
/// 16 l + 16 k (l / 2 % m) ... : `ways` lanes of each 16-lane phase at the same 16 bytes of a row.
std::string conflict(int ways) {
  // The phases of ds_read_b128 hold lanes 0-3 and 12-15 and 20-27: within 4 consecutive lanes, move
  // each second (fourth) lane to the bank of the first; 8 ways take two such quads together.
  if (ways == 2)
    return "v_lshlrev_b32 v1, 4, v2\nv_and_b32 v3, 1, v2\nv_mul_u32_u24 v3, 240, v3\n"
           "v_add_u32 v1, v1, v3\n";
  if (ways == 4)
    return "v_lshlrev_b32 v1, 4, v2\nv_and_b32 v3, 3, v2\nv_mul_u32_u24 v3, 240, v3\n"
           "v_add_u32 v1, v1, v3\n";
  return "v_lshlrev_b32 v1, 8, v2\nv_and_b32 v3, 1, v2\nv_lshlrev_b32 v3, 4, v3\n"
         "v_add_u32 v1, v1, v3\n";
}

} // namespace

TEST_CASE("row 1: ds_read_b128 with 4 waves takes 16 clk times the ways of the conflict") {
  CHECK(readClk(kFree, 256) == Catch::Detail::Approx(16).epsilon(0.05));
  CHECK(readClk(conflict(2), 256) == Catch::Detail::Approx(32).epsilon(0.05));
  CHECK(readClk(conflict(4), 256) == Catch::Detail::Approx(64).epsilon(0.05));
  CHECK(readClk(conflict(8), 256) == Catch::Detail::Approx(128).epsilon(0.05));
}

TEST_CASE("row 2: one wave hides a 2-way conflict behind the return path") {
  CHECK(readClk(kFree, 64) == Catch::Detail::Approx(8).epsilon(0.05));
  CHECK(readClk(conflict(2), 64) == Catch::Detail::Approx(8).epsilon(0.05));
  CHECK(readClk(conflict(4), 64) == Catch::Detail::Approx(16).epsilon(0.05));
  CHECK(readClk(conflict(8), 64) == Catch::Detail::Approx(32).epsilon(0.05));
}

TEST_CASE("off 16-byte alignment ds_read_b128 takes a clk for every lane") {
  std::string body = "v_lshlrev_b32 v1, 4, v2\nv_add_u32 v1, 4, v1\n";
  CHECK(readClk(body, 64) == Catch::Detail::Approx(64).epsilon(0.05));
  CHECK(readClk(body, 256) == Catch::Detail::Approx(256).epsilon(0.05));
}

TEST_CASE("what 4 busy SIMDs sustain") {
  std::string dwords = "v_lshlrev_b32 v1, 2, v2\n", pairs = "v_lshlrev_b32 v1, 3, v2\n";
  CHECK(readClk(dwords, 256, "ds_read_b32 v8, v1") == Catch::Detail::Approx(8).epsilon(0.05));
  CHECK(readClk(pairs, 256, "ds_read_b64 v[8:9], v1") == Catch::Detail::Approx(8).epsilon(0.05));
  CHECK(readClk(pairs, 256, "ds_read_b64_tr_b16 v[8:9], v1") ==
        Catch::Detail::Approx(8).epsilon(0.05));
  CHECK(readClk(kFree, 256, "ds_read_b96 v[8:10], v1") == Catch::Detail::Approx(32).epsilon(0.05));
  CHECK(readClk(dwords, 256, "ds_write_b32 v1, v8") == Catch::Detail::Approx(16).epsilon(0.05));
  CHECK(readClk(pairs, 256, "ds_write_b64 v1, v[8:9]") == Catch::Detail::Approx(24).epsilon(0.05));
  CHECK(readClk(kFree, 256, "ds_write_b128 v1, v[8:11]") ==
        Catch::Detail::Approx(40).epsilon(0.05));
}

TEST_CASE("the rows of an MFMA operand in LDS conflict as measured, and a swizzle cures it") {
  // 16x16x32: lane l reads 16 bytes of row l % 16, at column l / 16. 32x32x16: row l % 32.
  auto ways = [](const std::string &address) {
    TimingReport r =
        timeSnippet({.body = "v_and_b32 v2, 63, v0\n" + address + "ds_read_b128 v[8:11], v1"});
    for (const InstReport &i : r.instructionReports)
      if (i.mnemonic == "ds_read_b128")
        return double(i.ldsClk) / double(i.ldsFreeClk);
    return 0.0;
  };
  auto operand = [](int rows, int stride) {
    return "v_and_b32 v3, " + std::to_string(rows - 1) + ", v2\nv_mul_u32_u24 v1, " +
           std::to_string(stride) + ", v3\nv_lshrrev_b32 v4, " + (rows == 16 ? "4" : "5") +
           ", v2\nv_lshlrev_b32 v4, 4, v4\nv_add_u32 v1, v1, v4\n";
  };
  CHECK(ways(operand(16, 64)) == 2);
  CHECK(ways(operand(16, 128)) == 4);
  CHECK(ways(operand(16, 256)) == 8);
  CHECK(ways(operand(32, 64)) == 4);
  CHECK(ways(operand(32, 128)) == 8);
  CHECK(ways(operand(32, 256)) == 16);
  CHECK(ways(operand(32, 272)) == 1); // rows of 128 bf16, padded by 16 bytes
  // 128-byte rows, chunk ^ (row % 8)
  CHECK(ways("v_and_b32 v3, 15, v2\nv_lshrrev_b32 v4, 4, v2\nv_and_b32 v5, 7, v3\n"
             "v_xor_b32 v4, v4, v5\nv_lshlrev_b32 v4, 4, v4\nv_lshlrev_b32 v3, 7, v3\n"
             "v_add_u32 v1, v3, v4\n") == 1);
}

TEST_CASE("lanes that read the same dword share it") {
  CHECK(readClk("v_mov_b32 v1, 0\n", 64) == Catch::Detail::Approx(8).epsilon(0.05));
}

TEST_CASE("the first reads of a burst queue, the rest waits for them") {
  std::vector<uint64_t> at = issues(timeSnippet(
      {.body = "v_lshlrev_b32 v1, 4, v0\ns_nop 15\n" + repeat("ds_read_b128 v[8:11], v1", 40)}));
  CHECK(at[9] - at[2] == 7 * 4);
  CHECK(at[40] - at[30] == 10 * 8);
}

TEST_CASE("lgkmcnt waits for 40 clk and the data") {
  auto wait = [](const std::string &op, const std::string &after = "s_waitcnt lgkmcnt(0)") {
    return clkFromTo(timeSnippet({.body = "v_mov_b32 v1, 0\ns_nop 15\n" + op + "\n" + after}), 2,
                     3);
  };
  CHECK(wait("ds_read_b32 v8, v1") == 44);
  CHECK(wait("ds_read_b64 v[8:9], v1") == 44);
  CHECK(wait("ds_read_b128 v[8:11], v1") == 48);
  CHECK(wait("ds_write_b32 v1, v8") == 44);
  // SQTT: four ds_read_b128, then lgkmcnt(3): 28-48 clk after the last.
  CHECK(clkFromTo(timeSnippet({.body = "v_mov_b32 v1, 0\ns_nop 15\n" +
                                       repeat("ds_read_b128 v[8:11], v1", 4) +
                                       "s_waitcnt lgkmcnt(3)\ns_waitcnt lgkmcnt(0)"}),
                  5, 6) == 36);
}

TEST_CASE("an LDS instruction waits 8 clk for its address, and a slot after an MFMA") {
  CHECK(clkFromTo(timeSnippet({.body = "v_mov_b32 v1, 0\nds_read_b32 v8, v1"}), 0, 1) == 8);
  CHECK(clkFromTo(timeSnippet({.body = "v_mov_b32 v1, 0\ns_nop 15\n"
                                       "v_mfma_f32_16x16x32_bf16 v[4:7], v[32:35], v[40:43], 0\n"
                                       "ds_read_b32 v8, v1"}),
                  2, 3) == 8);
}
