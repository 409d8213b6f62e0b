// A kernel whose issue times were traced on a gfx950 (SQTT, shipped with tinygrad): each
// instruction with the shortest and the longest time until the next issued, over 8 waves of 2 runs.
// The traces have a resolution of 4 clk and a jitter of as much.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace simtest;
using namespace timingtest;

namespace {

struct Traced {
  const char *text;
  int shortest, longest;
};
const Traced kTraced[] = {
    {"s_load_dwordx4 s[4:7], s[0:1], 0x0", 0, 4},
    {"s_load_dwordx2 s[8:9], s[0:1], 0x10", 0, 4},
    {"s_lshl_b32 s0, s3, 5", 0, 12},
    {"v_lshl_or_b32 v4, v0, 1, s0", 0, 12},
    {"v_lshl_add_u32 v6, v0, 6, s2", 716, 764},
    {"s_waitcnt lgkmcnt(0)", 4, 40},
    {"v_mov_b32_e32 v2, s6", 4, 32},
    {"v_mov_b32_e32 v3, s7", 0, 4},
    {"v_ashrrev_i32_e32 v5, 31, v4", 0, 4},
    {"v_ashrrev_i32_e32 v7, 31, v6", 0, 4},
    {"v_lshl_add_u64 v[2:3], v[4:5], 2, v[2:3]", 0, 64},
    {"v_lshl_add_u64 v[4:5], v[6:7], 2, s[8:9]", 8, 20},
    {"global_load_dword v6, v[4:5], off", 0, 4},
    {"global_load_dword v7, v[4:5], off offset:128", 0, 4},
    {"global_load_dwordx2 v[8:9], v[2:3], off", 0, 32},
    {"v_lshlrev_b32_e32 v1, 2, v0", 0, 12},
    {"v_cmp_eq_u32_e32 vcc, 0, v0", -1, -1}, // memory: 1044 to 1892, first touch
    {"s_waitcnt vmcnt(0)", -1, -1},          // instruction cache miss in some
    {"v_pk_mul_f32 v[2:3], v[8:9], v[6:7]", 0, 4},
    {"s_nop 0", 0, 4},
    {"v_add_f32_e32 v2, 0, v2", 0, 4},
    {"v_add_f32_e32 v2, v2, v3", 8, 12},
    {"ds_write_b32 v1, v2", 36, 48},
    {"s_waitcnt lgkmcnt(0)", 0, 4},
    {"s_and_saveexec_b64 s[6:7], vcc", 4, 8},
    {"s_cbranch_execz end", 0, 4},
    {"v_mov_b32_e32 v16, 0", 8, 12},
    {"ds_read_b128 v[0:3], v16", 4, 4},
    {"ds_read_b128 v[4:7], v16 offset:16", 0, 4},
    {"ds_read_b128 v[8:11], v16 offset:32", 0, 4},
    {"ds_read_b128 v[12:15], v16 offset:48", 0, 4},
    {"s_add_i32 s0, s0, s2", 4, 4},
    {"s_ashr_i32 s1, s0, 31", 4, 4},
    {"s_lshl_b64 s[0:1], s[0:1], 2", 12, 24},
    {"s_waitcnt lgkmcnt(3)", 0, 20},
    {"v_add_f32_e32 v0, 0, v0", 4, 20},
    {"v_add_f32_e32 v0, v0, v1", 4, 16},
    {"v_add_f32_e32 v0, v0, v2", 0, 12},
    {"v_add_f32_e32 v0, v0, v3", 0, 4},
    {"s_waitcnt lgkmcnt(2)", 0, 4},
    {"v_add_f32_e32 v0, v0, v4", 0, 4},
    {"v_add_f32_e32 v0, v0, v5", 0, 4},
    {"v_add_f32_e32 v0, v0, v6", 0, 8},
    {"v_add_f32_e32 v0, v0, v7", 0, 4},
    {"s_waitcnt lgkmcnt(1)", 0, 4},
    {"v_add_f32_e32 v0, v0, v8", 4, 16},
    {"v_add_f32_e32 v0, v0, v9", 0, 8},
    {"v_add_f32_e32 v0, v0, v10", 0, 4},
    {"v_add_f32_e32 v0, v0, v11", 0, 4},
    {"s_waitcnt lgkmcnt(0)", 4, 4},
    {"v_add_f32_e32 v0, v0, v12", 0, 4},
    {"v_add_f32_e32 v0, v0, v13", 0, 4},
    {"v_add_f32_e32 v0, v0, v14", 4, 4},
    {"s_add_u32 s0, s4, s0", 0, 4},
    {"v_add_f32_e32 v0, v0, v15", 0, 4},
    {"s_addc_u32 s1, s5, s1", 4, 16},
    {"global_store_dword v16, v0, s[0:1]", 184, 280},
};

} // namespace

TEST_CASE("a kernel traced on a gfx950 issues as it did there, within the trace's jitter") {
  std::string body;
  for (const Traced &t : kTraced)
    body += std::string(t.text) + "\n";
  body += "end:";
  Fixture f(assemble(kernelText(body, ".amdhsa_system_sgpr_workgroup_id_y 1")));
  uint64_t out = f.upload(std::vector<float>(4096)), in = f.upload(std::vector<float>(65536));
  TimingRecorder recorder;
  REQUIRE(f.launch("k", 1, 32, Args().add(out).add(in).add(in), {.observers = &recorder}, 256) ==
          "");
  auto report = simulateTiming(recorder, {.timeline = true});
  REQUIRE(report);
  std::vector<uint64_t> at = issues(*report);
  REQUIRE(at.size() == std::size(kTraced) + 1);
  constexpr int kJitter = 4;
  for (size_t n = 0; n < std::size(kTraced); ++n) {
    if (kTraced[n].shortest < 0)
      continue;
    int gap = int(at[n + 1] - at[n]);
    INFO(kTraced[n].text << ": " << gap);
    CHECK(gap >= kTraced[n].shortest - kJitter);
    CHECK(gap <= kTraced[n].longest + kJitter);
  }
}
