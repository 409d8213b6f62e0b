#include "tests/sim/timing/GemmLoop.h"
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>

using namespace attune::sim;

namespace timingtest {

void GemmLoop::load(const std::string &waitState) {
  std::string address = "v" + std::to_string(140 + loaded_++ % stepLoads());
  line("s_mov_b32 m0, 0\n" + waitState + "\nbuffer_load_dwordx4 " + address +
       ", s[4:7], s8 offen lds");
  if (loaded_ % stepLoads() == 0)
    line("s_add_u32 s8, s8, " + std::to_string(stepLoads() * 4096));
}

/// s[4:7] describes the buffer, v1 is 16 bytes for each thread, v140 and on the same for each load
/// of a step. Two steps are loaded, the first region's operands read.
void GemmLoop::prologue() {
  line("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, 0x400000\ns_mov_b32 s7, 0x20000\n"
       "s_mov_b32 s8, 0\nv_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v1, 4, v1\nv_mov_b32 v2, v1\n"
       "s_movk_i32 s9, 24\ns_waitcnt lgkmcnt(0)\ns_mov_b64 s[20:21], s[4:5]\n"
       "s_mov_b64 s[22:23], s[6:7]");
  line(variant_.conflicts ? "v_and_b32 v3, 1, v0\nv_mul_u32_u24 v3, 240, v3\nv_add_u32 v3, v1, v3"
                          : "v_mov_b32 v3, v1");
  for (int n = 0; n < stepLoads(); ++n)
    line("v_add_u32 v" + std::to_string(140 + n) + ", " + std::to_string(n * 4096) + ", v1");
  for (int step = 0; step < kSteps; ++step)
    for (Half h : {BLeft, ATop, ABottom, BRight})
      for (int n = 0; n < size(h); ++n)
        load();
  line("s_waitcnt vmcnt(" + std::to_string(3 * (halfA_ + halfB_)) + ")\ns_barrier");
  for (Half h : {BLeft, ATop})
    for (int n = 0; n < 2 * size(h); ++n)
      read(h, n);
}

/// How many MFMAs the scheduler puts behind each read and load of a region.
std::vector<int> GemmLoop::mfmasBehind(int reads, int loads) const {
  std::vector<int> behind(size_t(reads + loads));
  int left = regionMfmas();
  int spare = std::max(0, left - kMfmasPerLoad * loads - reads - kDrain);
  auto take = [&](size_t item, int count) {
    count = std::min(count, left);
    behind[item] += count;
    left -= count;
  };
  take(behind.size() - 1, kDrain + spare / 2);
  for (size_t item = behind.size(); item-- > 0;)
    take(item, item < size_t(reads) ? 1 : kMfmasPerLoad);
  return behind;
}

void GemmLoop::mfma(int number, int n, bool afterMemory) {
  const Region &r = kRegions[number];
  int tile = n / 2, k = n % 2, first = (number * halfA_ * halfB_ + tile) * 4;
  std::string c = "a[" + std::to_string(first) + ":" + std::to_string(first + 3) + "]";
  if (k == 0 && !afterMemory && !variant_.peephole)
    line("s_nop 0");
  line("v_mfma_f32_16x16x32_f16 " + c + ", " + operand(r.a, tile / halfB_ * 2 + k) + ", " +
       operand(r.b, tile % halfB_ * 2 + k) + ", " + c);
}

void GemmLoop::region(int number, bool newDescriptor) {
  const Region &r = kRegions[number];
  // The youngest loads: those of the region whose data is read, and later ones.
  int outstanding = 0;
  for (int back = 1; back <= kGroupsInFlight; ++back)
    outstanding += size(kRegions[(number + 8 - back) % 4].load);
  int reads = 2 * size(r.read), loads = size(r.load);
  int readBefore = 2 * size(kRegions[(number + 3) % 4].read), n = 0;
  std::vector<int> behind = mfmasBehind(reads, loads);
  int front = regionMfmas();
  for (int count : behind)
    front -= count;
  for (; n < front; ++n) {
    if (n < 2) // its operands are the first to be read
      line("s_waitcnt lgkmcnt(" + std::to_string(std::clamp(readBefore - 1 - n, 0, 15)) + ")");
    mfma(number, n, n < 2);
  }
  if (needsAddress(r.read))
    line("v_add_u32 v4, 0, v2");
  line("s_waitcnt vmcnt(" + std::to_string(outstanding) + ") lgkmcnt(0)\ns_barrier");
  for (int item = 0; item < reads + loads; ++item) {
    if (item < reads)
      read(r.read, item);
    else if (newDescriptor && item == reads)
      load("s_and_b32 s5, s21, 0xffff\ns_mov_b32 s4, s20\ns_mov_b32 s6, s22\ns_mov_b32 s7, s23");
    else
      load();
    for (int last = n + behind[size_t(item)], start = n; n < last; ++n)
      mfma(number, n, n == start);
  }
}

std::string GemmLoop::text() {
  prologue();
  line("loop:");
  for (int step = 0; step < kSteps; ++step)
    for (int r = 0; r < 4; ++r)
      region(r, step == 0 && r == 1 && !variant_.peephole);
  // The advance of A and B, then the count.
  if (!variant_.peephole)
    line("s_add_u32 s24, s24, 0x100\ns_addc_u32 s25, s25, 0\ns_add_u32 s26, s26, 0x100\n"
         "s_addc_u32 s27, s27, 0");
  line("s_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 loop\ns_endpgm");
  return "\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + text_ +
         "\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
         ".amdhsa_next_free_vgpr 512\n.amdhsa_next_free_sgpr 96\n.amdhsa_accum_offset 256\n"
         ".amdhsa_kernarg_size 64\n.end_amdhsa_kernel\n";
}

double gemmEfficiency(GemmTile tile, GemmVariant variant) {
  static std::map<std::array<int, 4>, double> known;
  auto [at, fresh] = known.try_emplace({tile.m, tile.n, variant.conflicts, variant.peephole});
  if (!fresh)
    return at->second;
  GemmLoop gemm(tile, variant);
  TimingReport r = timeSnippet({.body = "",
                                .threads = 256,
                                .lds = 163840,
                                .options = {.workgroups = 256, .sharers = 4, .xcds = 4},
                                .text = gemm.text(),
                                .bufferBytes = 0x400000});
  REQUIRE(r.loop.found);
  return at->second = 100 * gemm.matrixClk() / r.loop.clk;
}

} // namespace timingtest
