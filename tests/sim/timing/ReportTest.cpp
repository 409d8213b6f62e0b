// Occupancy, dispatch, the report as text and JSON, and that timing is deterministic and changes
// nothing.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

using namespace attune::sim;
using namespace simtest;
using namespace timingtest;

namespace {

Occupancy of(uint32_t vgprs, uint32_t lds, uint32_t threads) {
  return occupancy(
      {.kernel = "k", .grid = {1, 1, 1}, .block = {threads, 1, 1}, .vgprs = vgprs, .ldsBytes = lds},
      {});
}

const std::string kLoop = "s_movk_i32 s9, 10\nv_mov_b32 v1, 0\nloop:\n"
                          "v_mfma_f32_32x32x16_bf16 v[16:31], v[32:35], v[40:43], v[16:31]\n"
                          "ds_read_b32 v8, v1\ns_waitcnt lgkmcnt(0)\n"
                          "s_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 loop\n";

} // namespace

TEST_CASE("occupancy: registers, LDS, waves") {
  struct Step {
    uint32_t vgprs;
    int waves;
  };
  for (Step s : {Step{64, 8}, {72, 7}, {80, 6}, {96, 5}, {128, 4}, {168, 3}, {256, 2}, {512, 1}}) {
    CHECK(of(s.vgprs, 0, 64).workgroupsPerCu == 4 * s.waves);
    if (s.vgprs < 512)
      CHECK(of(s.vgprs + 8, 0, 64).workgroupsPerCu < 4 * s.waves);
  }
  Occupancy aiter = of(256, 163840, 512);
  CHECK(aiter.workgroupsPerCu == 1);
  CHECK(aiter.wavesPerSimd == 2);
  CHECK(of(256, 68608, 256).workgroupsPerCu == 2);
  CHECK(std::string(of(64, 68608, 256).limit) == "LDS");
  CHECK(of(64, 81921, 64).workgroupsPerCu == 1); // granule of 1280 bytes
}

TEST_CASE("workgroups go to XCDs in turn, then to the slot that is free first") {
  TimingParams p;
  CHECK(firstPlacement(9, p).xcd == 1);
  CHECK(firstPlacement(9, p).cu == 1);
  CHECK(dispatchClk(std::vector<uint64_t>(256, 100), 1, p) == 100);
  CHECK(dispatchClk(std::vector<uint64_t>(257, 100), 1, p) == 200);
  CHECK(dispatchClk(std::vector<uint64_t>(512, 100), 2, p) == 100);
  std::vector<uint64_t> uneven(512, 10);
  uneven[0] = 1000; // the others of its XCD avoid that CU
  CHECK(dispatchClk(uneven, 1, p) == 1000);
}

TEST_CASE("the hottest loop is found, and its stalls add up to its time") {
  TimingReport r = timeSnippet({.body = kLoop});
  REQUIRE(r.loop.found);
  CHECK(r.loop.iterations == 9);
  // MFMA, a slot later the read, 44 clk for its data, then four instructions and the branch back
  CHECK(r.loop.clk == 8 + 44 + 3 * 4 + 20);
  CHECK(r.loop.matrixBusy == Catch::Detail::Approx(32 / r.loop.clk));
  for (const InstReport &i : r.instructionReports) {
    uint64_t sum = 0;
    for (uint64_t s : i.stalls)
      sum += s;
    CHECK(sum == i.stallClk);
    if (i.mnemonic == "s_waitcnt") {
      CHECK(i.executed == 10);
      CHECK(i.stalls[size_t(Stall::WaitLgkm)] == 10 * 40);
    }
  }
  // One wave: what is not stalled is issued, 4 clk each.
  uint64_t stalled = 0;
  for (uint64_t s : r.stalls)
    stalled += s;
  CHECK(r.timeline.back().clk - r.timeline.front().clk == stalled + 4 * (r.instructions - 1));
}

TEST_CASE("text and JSON say the same") {
  TimingReport r = timeSnippet({.body = kLoop, .threads = 512});
  nlohmann::json j = nlohmann::json::parse(timingJson(r));
  CHECK(j["clk"] == r.clk);
  CHECK(j["loop"]["clkPerIteration"] == r.loop.clk);
  CHECK(j["instructionReports"].size() == r.instructionReports.size());
  CHECK(j["stalls"]["lgkmcnt"] == r.stalls[size_t(Stall::WaitLgkm)]);
  std::string text = timingText(r);
  CHECK(text.find("lgkmcnt " + std::to_string(r.stalls[size_t(Stall::WaitLgkm)])) !=
        std::string::npos);
  CHECK(text.find(std::to_string(r.clk) + " clk") != std::string::npos);
}

TEST_CASE("two runs, other thread counts and other policies give the same report") {
  auto report = [](RunOptions options) {
    Fixture f(assemble(kernelText(kLoop)));
    TimingRecorder recorder;
    options.observers = &recorder;
    REQUIRE(f.launch("k", 40, 256, Args(), options, 4096) == "");
    return timingJson(*simulateTiming(recorder));
  };
  std::string once = report({.threads = 1});
  CHECK(report({.threads = 2}) == once);
  CHECK(report({.threads = 1, .arrival = Arrival::Latest}) == once);
  CHECK(report({.threads = 1, .schedule = Schedule::Random, .quantum = 3}) == once);
}

TEST_CASE("resident workgroups are replayed together") {
  Fixture f(assemble(kernelText(kLoop)));
  TimingRecorder recorder;
  REQUIRE(f.launch("k", 512, 256, Args(), {.observers = &recorder}, 4096) == "");
  auto r = simulateTiming(recorder);
  REQUIRE(r);
  CHECK(r->occupancy.workgroupsPerCu == 2); // 256 registers: two waves a SIMD
  CHECK(r->residentWorkgroups == 2);
  CHECK(r->replayedWorkgroups == 2);
  CHECK(r->kernelClk == r->clk);
}

TEST_CASE("a workgroup that has ended makes room for the next") {
  // Each waits for its own cold load before it multiplies: alone on the CU, nothing hides that.
  const std::string body =
      "s_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + std::string(kLoop);
  auto timed = [&](uint32_t workgroups, uint64_t of = 0) {
    return timeSnippet(
        {.body = body, .threads = 256, .options = {.workgroups = of}, .workgroups = workgroups});
  };
  TimingReport one = timed(512), two = timed(1024), more = timed(1536);
  CHECK(two.replayedWorkgroups == 4);
  CHECK(two.residentWorkgroups == 2);
  CHECK(more.replayedWorkgroups == 4); // two rounds are enough to see how they overlap
  CHECK(two.instructions == 2 * one.instructions);
  std::map<uint32_t, uint64_t> start, end;
  for (const TimedIssue &i : two.timeline) {
    start.try_emplace(i.wave, i.clk);
    end[i.wave] = i.clk;
  }
  REQUIRE(start.size() == 16);
  auto groupEnd = [&](uint32_t wave) {
    return std::max({end[wave], end[wave + 1], end[wave + 2], end[wave + 3]});
  };
  const uint64_t firstEnd = std::min(groupEnd(0), groupEnd(4));
  CHECK(start[7] < firstEnd);      // the first round starts together,
  CHECK(start[8] > firstEnd);      // the second where a workgroup has ended,
  CHECK(start[8] < firstEnd + 64); // at once and warm
  CHECK(two.clk < 2 * one.clk);
  // A launch takes as many rounds as it has, at the pace of a CU that is full.
  CHECK(two.kernelClk <= two.clk);
  CHECK(more.kernelClk == Catch::Detail::Approx(1.5 * double(two.kernelClk)).epsilon(0.001));
  CHECK(timed(1024, 2048).kernelClk ==
        Catch::Detail::Approx(2.0 * double(two.kernelClk)).epsilon(0.001));
}

TEST_CASE("the clock model is stated and used") {
  TimingReport r = timeSnippet({.body = kLoop});
  TimingParams p;
  CHECK(r.clockMhz == Catch::Detail::Approx(p.clockA + p.clockB * r.chipBusy));
  CHECK(r.seconds == Catch::Detail::Approx(double(r.kernelClk) / r.clockMhz * 1e-6));
  CHECK(r.chipBusy == Catch::Detail::Approx(10 * 32 / (double(r.kernelClk) * 4 * 256)));
  CHECK(r.flops == 10 * 32768);
  CHECK(r.tflops == Catch::Detail::Approx(r.flops / r.seconds * 1e-12));
}

TEST_CASE("a recorder that saw nothing says so") {
  TimingRecorder recorder;
  auto r = simulateTiming(recorder);
  REQUIRE_FALSE(r);
  CHECK(r.error().message.find("RunOptions::observers") != std::string::npos);
}

TEST_CASE("every parameter states its tag and its source") {
  CHECK(timingParams().size() > 50);
  for (const TimingParamInfo &i : timingParams()) {
    INFO(i.name);
    CHECK(std::string("MDIP").find(i.tag) != std::string::npos);
    CHECK_FALSE(i.source.empty());
  }
}

TEST_CASE("a parameter is set by its name, within a hundred times the chip's") {
  TimingParams p;
  auto refusal = [&](const char *name, const char *value) {
    attune::Result<void> set = setTimingParam(p, name, value);
    return set ? std::string() : set.error().message;
  };
  CHECK(refusal("hbmClk", "900") == "");
  CHECK(refusal("clockB", "-450.5") == "");
  CHECK(refusal("memPortShared", "0") == "");
  CHECK(p.hbmClk == 900);
  CHECK(p.clockB == -450.5);
  CHECK_FALSE(p.memPortShared);
  CHECK(refusal("hbmClock", "900").find("nearest: hbmClk = 850") != std::string::npos);
  for (const char *value : {"", "x", "900.5", "8", "85001", "nan", "9e9", "900 "})
    CHECK(refusal("hbmClk", value).find("whole number from 9 to 85000") != std::string::npos);
  CHECK(refusal("clockB", "1").find("from -90000 to -9") != std::string::npos);
  CHECK(refusal("memPortShared", "2").find("from 0 to 1") != std::string::npos);
  CHECK(p.hbmClk == 900);
  for (const TimingParamInfo &row : timingParams())
    CHECK(refusal(std::string(row.name).c_str(), std::to_string(row.value).c_str()) == "");
}
