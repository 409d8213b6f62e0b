// Arrival::Typical with a delay for vector memory, and Schedule::InTurn: the policy under which
// code that was made right by trial on hardware is right. Each test is a race whose winner the
// policy decides.
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace simtest;

namespace {

std::string nops(int count) {
  std::string text;
  for (int n = 0; n < count; ++n)
    text += "  s_nop 0\n";
  return text;
}

const char *const kSetUp = "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
                           "  v_lshlrev_b32_e32 v1, 2, v0\n";

} // namespace

TEST_CASE("vector memory arrives after memoryDelay instructions, or at its wait") {
  // v3 holds 5 until the load of 100 arrives.
  auto result = [](int gap, uint32_t delay, bool waits) {
    std::string text = std::string(kSetUp) + "  v_mov_b32_e32 v3, 5\n" +
                       "  global_load_dword v3, v1, s[4:5]\n" + nops(gap) +
                       (waits ? "  s_waitcnt vmcnt(0)\n" : "") +
                       "  v_add_u32_e32 v4, 1, v3\n  s_waitcnt vmcnt(0)\n"
                       "  global_store_dword v1, v4, s[6:7]\n";
    Fixture f(assemble(kernelText(text)));
    uint64_t in = f.upload(std::vector<uint32_t>(64, 100));
    uint64_t out = f.upload(std::vector<uint32_t>(64));
    RunOptions options{.arrival = Arrival::Typical, .memoryDelay = delay};
    REQUIRE(f.launch("k", 1, 64, Args().add(in).add(out), options) == "");
    return f.download<uint32_t>(out, 64)[3];
  };
  CHECK(result(0, 0, false) == 101);
  CHECK(result(9, 10, false) == 6);
  CHECK(result(10, 10, false) == 101);
  CHECK(result(0, 10, true) == 101);
  CHECK(result(40, RunOptions::kAtWait, false) == 6);
}

TEST_CASE("delayed memory arrives in order of issue, across the waves of a workgroup too") {
  // Both waves send a row to the same LDS bytes by LDS-DMA: wave 1 at once, wave 0 20 instructions
  // later, which waits first. With a delay the later row (10) stays; landing at its wave's wait,
  // wave 1's.
  auto result = [](uint32_t delay) {
    std::string text =
        std::string(kSetUp) +
        "  v_readfirstlane_b32 s8, v0\n  s_lshr_b32 s8, s8, 6\n  s_mov_b32 m0, 0\n"
        "  s_mov_b32 s12, s4\n  s_mov_b32 s13, s5\n  s_movk_i32 s14, 0x200\n"
        "  s_mov_b32 s15, 0x20000\n"
        "  s_barrier\n  s_cmp_eq_u32 s8, 0\n  s_cbranch_scc0 first\n" +
        nops(20) + "first:\n  buffer_load_dword v1, s[12:15], 0 offen lds\n" + nops(35) +
        "  s_cmp_eq_u32 s8, 0\n  s_cbranch_scc1 wait\n" + nops(30) +
        "wait:\n  s_waitcnt vmcnt(0)\n  s_barrier\n"
        "  v_and_b32_e32 v2, 0xff, v1\n  ds_read_b32 v3, v2\n  s_waitcnt lgkmcnt(0)\n"
        "  global_store_dword v1, v3, s[6:7]\n";
    Fixture f(assemble(kernelText(text, ".amdhsa_group_segment_fixed_size 256\n")));
    std::vector<uint32_t> rows(128, 10);
    std::fill(rows.begin() + 64, rows.end(), 11);
    uint64_t in = f.upload(rows), out = f.upload(std::vector<uint32_t>(128));
    RunOptions options{.arrival = Arrival::Typical,
                       .memoryDelay = delay,
                       .schedule = Schedule::InTurn,
                       .quantum = 1};
    REQUIRE(f.launch("k", 1, 128, Args().add(in).add(out), options) == "");
    return f.download<uint32_t>(out, 128)[5];
  };
  CHECK(result(30) == 10);
  CHECK(result(RunOptions::kAtWait) == 11);
}

TEST_CASE("waves take turns of quantum instructions") {
  // Each wave draws two numbers from a counter in LDS, `quantum` instructions apart.
  auto result = [](Schedule schedule, uint32_t quantum) {
    std::string text = std::string(kSetUp) +
                       "  v_mov_b32_e32 v5, 0\n  v_mov_b32_e32 v6, 1\n  ds_write_b32 v5, v5\n"
                       "  s_mov_b64 exec, 1\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n"
                       "  ds_add_rtn_u32 v2, v5, v6\n" +
                       nops(3) + "  ds_add_rtn_u32 v3, v5, v6\n" + nops(3) +
                       "  s_waitcnt lgkmcnt(0)\n  global_store_dwordx2 v7, v[2:3], s[6:7]\n";
    text.insert(text.find("  s_mov_b64 exec"), "  v_lshrrev_b32_e32 v7, 3, v0\n");
    Fixture f(assemble(kernelText(text, ".amdhsa_group_segment_fixed_size 16\n")));
    uint64_t out = f.upload(std::vector<uint32_t>(4));
    RunOptions options{.schedule = schedule, .quantum = quantum};
    REQUIRE(f.launch("k", 1, 128, Args().add(out).add(out), options) == "");
    return f.download<uint32_t>(out, 4);
  };
  using Draws = std::vector<uint32_t>;
  CHECK(result(Schedule::ToBarrier, 4) == Draws{0, 1, 2, 3});
  CHECK(result(Schedule::InTurn, 4) == Draws{0, 2, 1, 3});
  CHECK(result(Schedule::InTurn, 8) == Draws{0, 1, 2, 3});
}

TEST_CASE("loads issued between s_set_gpr_idx_on and _off arrive late as well") {
  std::string text = std::string(kSetUp) +
                     "  v_mov_b32_e32 v3, 5\n  s_mov_b32 s8, 0\n"
                     "  s_set_gpr_idx_on s8, gpr_idx(DST)\n"
                     "  global_load_dword v3, v1, s[4:5]\n  v_mov_b32_e32 v4, v3\n"
                     "  s_set_gpr_idx_off\n" +
                     nops(20) +
                     "  s_waitcnt vmcnt(0)\n  v_add_u32_e32 v4, v4, v3\n"
                     "  global_store_dword v1, v4, s[6:7]\n";
  Fixture f(assemble(kernelText(text)));
  uint64_t in = f.upload(std::vector<uint32_t>(64, 100));
  uint64_t out = f.upload(std::vector<uint32_t>(64));
  REQUIRE(f.launch("k", 1, 64, Args().add(in).add(out), {.arrival = Arrival::Latest}) == "");
  CHECK(f.download<uint32_t>(out, 64)[3] == 105);
}
