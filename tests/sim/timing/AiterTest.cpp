// AITER's fwd_hd128_bf16: the time of its main loop. Needs ATTUNE_AITER_DIR, a checkout of
// ROCm/aiter.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

using namespace attune::sim;
using namespace simtest;

namespace {

std::string codeObjectPath(const std::string &name) {
  const char *dir = std::getenv("ATTUNE_AITER_DIR");
  std::string path = std::string(dir ? dir : "") + "/hsa/gfx950/fmha_v3_fwd/" + name + ".co";
  return dir && std::filesystem::exists(path) ? path : "";
}

/// The arguments of one batch, q and kv in BSHD: every field in a slot of 16 bytes.
struct FmhaArgs {
  Bytes bytes = Bytes(512);
  template <class T> FmhaArgs &set(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return *this;
  }
};

/// One batch of bf16, head dim 128. Grid `x` workgroups of a head times `y` heads are run.
struct Forward {
  bool causal = false;
  uint32_t rows = 0, keys = 0, heads = 1, kvHeads = 1;
  uint32_t x = 1, y = 1;
  TimingOptions options = {};
};

TimingReport timeForward(const Forward &fwd) {
  std::string elf =
      readText(codeObjectPath(fwd.causal ? "fwd_hd128_bf16_causal" : "fwd_hd128_bf16"));
  Fixture f(Bytes(elf.begin(), elf.end()));
  // One value everywhere does as well as random ones: the path does not depend on them.
  auto buffer = [&](size_t elements) { return f.upload(std::vector<uint16_t>(elements, 0x3c00)); };
  uint32_t rows = fwd.rows, keys = fwd.keys;
  uint64_t q = buffer(size_t(rows) * fwd.heads * 128), o = buffer(size_t(rows) * fwd.heads * 128);
  uint64_t k = buffer(size_t(keys) * fwd.kvHeads * 128),
           v = buffer(size_t(keys) * fwd.kvHeads * 128);
  uint64_t lse = f.upload(std::vector<float>(size_t(rows) * fwd.heads));
  uint32_t row = fwd.heads * 256, kvRow = fwd.kvHeads * 256;
  FmhaArgs a;
  a.set(0x00, o).set(0x10, q).set(0x20, k).set(0x30, v).set(0x40, lse).set(0x50, 0.088388346f);
  a.set(0x60, rows).set(0x70, row).set(0x80, 256 * row).set(0x90, 256u).set(0xa0, rows * row);
  a.set(0xb0, fwd.heads / fwd.kvHeads).set(0xc0, kvRow).set(0xd0, 256u).set(0xe0, keys * kvRow);
  a.set(0xf0, fwd.causal ? 1u : 0u).set(0x100, 1u).set(0x110, keys).set(0x120, 128u);
  a.set(0x130, 128u).set(0x140, fwd.heads);
  a.set(0x150, kvRow).set(0x160, 256u).set(0x170, keys * kvRow);
  a.set(0x180, row).set(0x190, 256u).set(0x1a0, rows * row).set(0x1d0, rows * 4);
  TimingRecorder recorder;
  Launch launch{.kernel = fwd.causal ? "_ZN5aiter26fmha_fwd_hd128_bf16_causalE"
                                     : "_ZN5aiter19fmha_fwd_hd128_bf16E",
                .grid = {fwd.x, fwd.y, 1},
                .block = {512, 1, 1},
                .dynamicLdsBytes = 0,
                .kernarg = a.bytes,
                .options = {.observers = &recorder}};
  auto stats = f.simulator.launch(f.module, launch);
  INFO((stats ? std::string() : stats.error().message));
  REQUIRE(stats);
  auto report = simulateTiming(recorder, fwd.options);
  REQUIRE(report);
  return std::move(*report);
}

} // namespace

TEST_CASE("AITER's bf16 forward loop takes the derived 4530 clk for two kv tiles") {
  if (codeObjectPath("fwd_hd128_bf16").empty()) {
    WARN("skipped: ATTUNE_AITER_DIR names no checkout of ROCm/aiter");
    return;
  }
  TimingReport r =
      timeForward({.rows = 16384, .keys = 1024, .x = 64, .options = {.workgroups = 4096}});
  UNSCOPED_INFO(timingText(r));
  CHECK(r.occupancy.workgroupsPerCu == 1);
  CHECK(r.occupancy.wavesPerSimd == 2);
  REQUIRE(r.loop.found);
  CHECK(r.loop.clk == Catch::Detail::Approx(4530).epsilon(0.05));
  CHECK(r.loop.matrixBusy == Catch::Detail::Approx(4096 / 4530.0).epsilon(0.05));
}

// By hand: attune_sim_timing_tests "[published]" prints the rows of docs/timing.md.
TEST_CASE("published throughput of AITER's forward kernels", "[.][published]") {
  if (codeObjectPath("fwd_hd128_bf16_causal").empty()) {
    WARN("skipped: ATTUNE_AITER_DIR names no checkout of ROCm/aiter");
    return;
  }
  struct Row {
    uint32_t length, sharers; // workgroups of an XCD on the same kv head at the start
    double dense, causal;     // TFLOPS, batch 1, 64 heads, 8 kv heads (aiter's README)
  };
  for (Row row : {Row{1024, 4, 1003.73, 432.565},
                  {2048, 8, 1018.07, 936.435},
                  {4096, 16, 1305.83, 1046.085},
                  {8192, 32, 1412.91, 1300.105},
                  {16384, 32, 1437.62, 1392.485}})
    for (bool causal : {false, true}) {
      uint32_t tiles = row.length / 256;
      uint64_t workgroups = 64 * (causal ? (tiles + 1) / 2 : tiles);
      TimingReport r = timeForward({.causal = causal,
                                    .rows = row.length,
                                    .keys = row.length,
                                    .options = {.workgroups = workgroups, .sharers = row.sharers}});
      double flops = 4.0 * row.length * row.length * 128 * 64 / (causal ? 2 : 1);
      double model = flops / r.seconds * 1e-12, published = causal ? row.causal : row.dense;
      std::printf(
          "| S %u %s | %.0f TFLOPS | %.0f | %+.0f %% | loop %.0f clk, busy %.1f %%, %.0f MHz, "
          "%llu clk |\n",
          row.length, causal ? "causal" : "dense", published, model, 100 * (model / published - 1),
          r.loop.clk, 100 * r.loop.matrixBusy, r.clockMhz, (unsigned long long)r.kernelClk);
    }
}
