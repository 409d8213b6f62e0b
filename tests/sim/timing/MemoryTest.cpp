// Vector memory: gfx950-timing.md 1.1, 1.2.
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

TEST_CASE("while all CUs stream, a CU gets 45 B/clk, and 44 KiB in flight take 1000 clk") {
  // Every wave reads lines of its own: 64 requests of 1 KiB from each of 4.
  std::string loads = kSetUp;
  for (int n = 0; n < 64; ++n)
    loads += "buffer_load_dwordx4 v[8:11], v1, s[4:7], s8 offen\ns_add_u32 s8, s8, 0x1000\n";
  auto clkOfRequest = [&](uint64_t workgroups) {
    TimingReport r = timeSnippet({.body = loads,
                                  .threads = 256,
                                  .options = {.workgroups = workgroups, .sharers = 32, .xcds = 8}});
    std::vector<uint64_t> at = issues(r);
    return double(at[at.size() - 3] - at[at.size() - 3 - 2 * 32]) / 32 / 4;
  };
  CHECK(clkOfRequest(256) == Catch::Detail::Approx(1024 * 1000 / (44 * 1024.0)).epsilon(0.02));
  CHECK(clkOfRequest(1) == Catch::Detail::Approx(16).epsilon(0.02));
}

TEST_CASE("vmcnt waits for the latency, which L1, L2 and the MALL decide") {
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
  TimingReport mall = timeSnippet({.body = body, .options = {.xcds = 8}});
  CHECK(clkFromTo(mall, first, first + 1) > uint64_t(p.mallHitClk));
  CHECK(clkFromTo(mall, first, first + 1) < uint64_t(p.hbmClk) - 200);
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

TEST_CASE("of a line L1 asks for the halves that loads want") {
  std::string body = kSetUp + "v_and_b32 v2, 0x3c, v0\nv_lshlrev_b32 v2, 4, v2\n"
                              "v_add_u32 v1, v1, v2\n";
  for (const char *half : {"0", "64", "0"})
    body += std::string("buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen offset:") + half +
            "\ns_waitcnt vmcnt(0)\n";
  TimingReport r = timeSnippet({.body = body + "s_nop 0"});
  TimingParams p;
  size_t first = 12;
  CHECK(clkFromTo(r, first, first + 1) >= uint64_t(p.hbmClk));
  CHECK(clkFromTo(r, first + 2, first + 3) >= uint64_t(p.l2HitClk)); // the line is in L2 by now
  CHECK(clkFromTo(r, first + 2, first + 3) < uint64_t(p.mallHitClk));
  CHECK(clkFromTo(r, first + 4, first + 5) == uint64_t(p.l1HitClk));
  CHECK(r.l1HitRate == Catch::Detail::Approx(1.0 / 3));
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

TEST_CASE("a scalar line that another wave has asked for is there for all at the same time") {
  std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_nop 0\n";
  TimingReport r = timeSnippet({.body = body, .threads = 128});
  TimingParams p;
  for (uint32_t wave : {0u, 1u}) {
    std::vector<uint64_t> at = issues(r, wave);
    CHECK(at[1] - at[0] == Catch::Detail::Approx(p.smemColdClk).margin(p.waveLaunchClk + 4));
  }
}
