// Vector memory: gfx950-timing.md 1.2, and the tile-bound GEMM of section 5, row 3.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace timingtest;

namespace {

/// s[4:7] describes the buffer, v1 is 16 bytes for each thread.
const std::string kSetUp = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                           "s_mov_b32 s6, 0x100000\ns_mov_b32 s7, 0x20000\ns_mov_b32 s8, 0\n"
                           "v_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v1, 4, v1\n"
                           "s_mov_b32 m0, 0\ns_waitcnt lgkmcnt(0)\ns_barrier\n";

/// The loop of a GEMM tile: 4 waves of tileM/2 x tileN/2, bf16, K in steps of 64, in four groups.
/// Operands go to LDS by DMA, one load for two MFMAs, into as many buffers as fit up to three, and
/// from there to registers two groups ahead. Each group waits for the loads that are older than the
/// buffers, as the v9 kernel of the source does. Only the timing is a GEMM's: addresses in LDS are
/// those of one row, conflict-free or with every read in 2-way conflict.
class StreamedGemm {
public:
  StreamedGemm(int tileM, int tileN, bool conflicts) : rows_(tileM / 64), columns_(tileN / 64) {
    readAddress_ = conflicts ? "v_and_b32 v3, 1, v0\nv_mul_u32_u24 v3, 240, v3\n"
                               "v_add_u32 v2, v1, v3\n"
                             : "v_mov_b32 v2, v1\n";
    bytes_ = (tileM + tileN) * 128;
    stages_ = std::min(163840 / bytes_, 3);
  }

  std::string text() {
    int loads = loadsPerStep();
    line(kSetUp + readAddress_ + "s_movk_i32 s9, 12");
    for (int stage = 0; stage < stages_ - 1; ++stage)
      for (int n = 0; n < loads; ++n)
        load();
    line("s_waitcnt vmcnt(" + std::to_string((stages_ - 2) * loads) + ")\ns_barrier");
    reads(0);
    reads(1);
    line("loop:");
    for (int group = 0; group < 4; ++group)
      mfmas(group);
    line("s_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 loop\ns_endpgm");
    return "\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + text_ +
           "\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
           ".amdhsa_next_free_vgpr 512\n.amdhsa_next_free_sgpr 96\n.amdhsa_accum_offset 256\n"
           ".amdhsa_kernarg_size 64\n.end_amdhsa_kernel\n";
  }
  double matrixClk() const { return 4.0 * rows_ * columns_ * 32; }

private:
  int loadsPerStep() const { return bytes_ / 4096; }
  void line(const std::string &s) { text_ += s + "\n"; }
  void load() { line("buffer_load_dwordx4 v1, s[4:7], s8 offen lds\ns_add_u32 s8, s8, 0x1000"); }
  static std::string quad(int first) {
    return "v[" + std::to_string(first) + ":" + std::to_string(first + 3) + "]";
  }
  int fragment(int group, int n) const { return 8 + (group % 3 * (rows_ + columns_) + n) * 4; }
  void read(int group, int n) {
    line("ds_read_b128 " + quad(fragment(group, n)) + ", v2 offset:" + std::to_string(n * 1024));
  }
  void reads(int group) {
    for (int n = 0; n < rows_ + columns_; ++n)
      read(group, n);
  }
  /// MFMAs of one group, between them the reads of the group after the next and a share of the
  /// loads.
  void mfmas(int group) {
    int fragments = rows_ + columns_, loads = loadsPerStep();
    if (group == 0)
      issued_ = 0;
    line("s_waitcnt vmcnt(" + std::to_string((stages_ - 1) * loads) + ")\ns_barrier");
    line("s_waitcnt lgkmcnt(" + std::to_string(std::min(fragments, 15)) + ")");
    int slots = rows_ * columns_, next = 0;
    for (int n = 0; n < slots; ++n) {
      std::string acc = "a[" + std::to_string(16 * n) + ":" + std::to_string(16 * n + 15) + "]";
      line("v_mfma_f32_32x32x16_bf16 " + acc + ", " + quad(fragment(group, n / columns_)) + ", " +
           quad(fragment(group, rows_ + n % columns_)) + ", " + acc);
      for (; next < fragments * (n + 1) / slots; ++next)
        read(group + 2, next);
      int total = 4 * slots, index = group * slots + n + 1;
      int due = std::min(loads, std::max(loads * index / total, (index + 1) / 2));
      for (; issued_ < due; ++issued_)
        load();
    }
  }

  int issued_ = 0;
  int rows_, columns_, bytes_, stages_;
  std::string readAddress_, text_;
};

/// MFMA time over loop time in percent, on a chip where every CU has such a workgroup.
double gemmEfficiency(int m, int n, bool conflicts = false) {
  StreamedGemm gemm(m, n, conflicts);
  TimingReport r = timeSnippet({.body = "",
                                .threads = 256,
                                .lds = 163840,
                                .options = {.workgroups = 256, .sharers = 8},
                                .text = gemm.text()});
  REQUIRE(r.loop.found);
  return 100 * gemm.matrixClk() / r.loop.clk;
}

} // namespace

TEST_CASE("a wave issues loads until the queue is full, then at the rate of the L1") {
  std::string loads = kSetUp;
  for (int n = 0; n < 40; ++n)
    loads +=
        "buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen offset:" + std::to_string(n % 4 * 1024) +
        "\n";
  auto gaps = [&](uint32_t threads, size_t from) {
    std::vector<uint64_t> at = issues(timeSnippet({.body = loads, .threads = threads}));
    size_t first = 9;
    return double(at[first + from + 8] - at[first + from]) / 8;
  };
  CHECK(gaps(64, 0) == 4);
  CHECK(gaps(64, 18) == 16);
  CHECK(gaps(256, 6) == 64); // four waves share it
}

TEST_CASE("row 3: MFMA efficiency of a GEMM that the loads of its tile bound") {
  struct Row {
    int m, n;
    double published;
  };
  for (Row row : {Row{256, 256, 96}, {128, 128, 69}, {256, 64, 55}, {128, 64, 47}}) {
    INFO(row.m << " x " << row.n);
    CHECK(gemmEfficiency(row.m, row.n) == Catch::Detail::Approx(row.published).epsilon(0.05));
  }
}

TEST_CASE("row 3, the tile at the boundary: between the measurement and the source's own formula") {
  // 256 x 128 takes 1024 clk to multiply and 48 KiB at 44 KiB a round trip to load: the schedule
  // decides. Measured 83 % with one scheduler, several points more with others; formula 94 %.
  double efficiency = gemmEfficiency(256, 128);
  CHECK(efficiency > 83);
  CHECK(efficiency < 94);
}

TEST_CASE("vmcnt waits for the latency, which L1 and the load of the chip decide") {
  std::string load = "buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen\n";
  std::string body = kSetUp + load + "s_waitcnt vmcnt(0)\n" + load + "s_waitcnt vmcnt(0)\ns_nop 0";
  TimingParams p;
  size_t first = 9;
  TimingReport idle = timeSnippet({.body = body});
  CHECK(clkFromTo(idle, first, first + 1) >= uint64_t(p.hbmClk));
  CHECK(clkFromTo(idle, first, first + 1) <= uint64_t(p.hbmClk) + 100);
  CHECK(clkFromTo(idle, first + 2, first + 3) == uint64_t(p.l1HitClk));
  CHECK(idle.l1HitRate == 0.5);
  TimingReport shared = timeSnippet({.body = body, .options = {.sharers = 32}});
  CHECK(clkFromTo(shared, first, first + 1) < uint64_t(p.l2HitClk) + 60);
  TimingReport busy = timeSnippet({.body = body, .options = {.workgroups = 256, .sharers = 32}});
  CHECK(clkFromTo(busy, first, first + 1) > clkFromTo(shared, first, first + 1) + 300);
}

TEST_CASE("a load over 16 half lines takes 37 clk of the L1, over 8 whole ones 16") {
  auto rate = [](const std::string &address) {
    std::string body = kSetUp + address;
    for (int n = 0; n < 60; ++n)
      body += "buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen\n";
    std::vector<uint64_t> at = issues(timeSnippet({.body = body}));
    return double(at[at.size() - 5] - at[at.size() - 25]) / 20;
  };
  CHECK(rate("s_nop 0\n") == 16);
  // 64-byte pieces, 128 bytes apart
  CHECK(rate("v_and_b32 v2, 0x3c, v0\nv_lshlrev_b32 v2, 4, v2\nv_add_u32 v1, v1, v2\n") ==
        Catch::Detail::Approx(37).epsilon(0.02));
}

TEST_CASE("scalar loads: 730 clk cold, 56 again; s_endpgm waits for stores") {
  std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
                     "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
                     "v_lshlrev_b32 v1, 2, v0\nglobal_store_dword v1, v0, s[4:5]\n";
  TimingReport r = timeSnippet({.body = body});
  TimingParams p;
  CHECK(clkFromTo(r, 0, 1) == Catch::Detail::Approx(p.smemColdClk).margin(4));
  CHECK(clkFromTo(r, 2, 3) == uint64_t(p.smemHitClk));
  CHECK(clkFromTo(r, 5, 6) == uint64_t(p.storeToEndClk));
}

TEST_CASE("row 43: 2-way conflicts do not slow a GEMM that LDS does not bound") {
  CHECK(gemmEfficiency(256, 256, true) ==
        Catch::Detail::Approx(gemmEfficiency(256, 256)).epsilon(0.01));
}
