// AITER's fwd_hd128_bf16: the time of its main loop. Needs ATTUNE_AITER_DIR, a checkout of
// ROCm/aiter.
#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

using namespace attune::sim;
using namespace simtest;

namespace {

std::string codeObjectPath() {
  const char *dir = std::getenv("ATTUNE_AITER_DIR");
  std::string path = std::string(dir ? dir : "") + "/hsa/gfx950/fmha_v3_fwd/fwd_hd128_bf16.co";
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

TimingReport timeForward(uint32_t rows, uint32_t keys, uint32_t heads, uint32_t kvHeads,
                         uint64_t workgroups) {
  std::string elf = readText(codeObjectPath());
  Fixture f(Bytes(elf.begin(), elf.end()));
  // bf16 1.0 and small values do as well as random ones: the path does not depend on them.
  auto buffer = [&](size_t elements) { return f.upload(std::vector<uint16_t>(elements, 0x3c00)); };
  uint64_t q = buffer(size_t(rows) * heads * 128), o = buffer(size_t(rows) * heads * 128);
  uint64_t k = buffer(size_t(keys) * kvHeads * 128), v = buffer(size_t(keys) * kvHeads * 128);
  uint64_t lse = f.upload(std::vector<float>(size_t(rows) * heads));
  uint32_t row = heads * 256, kvRow = kvHeads * 256;
  FmhaArgs a;
  a.set(0x00, o).set(0x10, q).set(0x20, k).set(0x30, v).set(0x40, lse).set(0x50, 0.088388346f);
  a.set(0x60, rows).set(0x70, row).set(0x80, 256 * row).set(0x90, 256u).set(0xa0, rows * row);
  a.set(0xb0, heads / kvHeads).set(0xc0, kvRow).set(0xd0, 256u).set(0xe0, keys * kvRow);
  a.set(0x100, 1u).set(0x110, keys).set(0x120, 128u).set(0x130, 128u).set(0x140, heads);
  a.set(0x150, kvRow).set(0x160, 256u).set(0x170, keys * kvRow);
  a.set(0x180, row).set(0x190, 256u).set(0x1a0, rows * row).set(0x1d0, rows * 4);
  TimingRecorder recorder;
  Launch launch{.kernel = "_ZN5aiter19fmha_fwd_hd128_bf16E",
                .grid = {(rows + 255) / 256, heads, 1},
                .block = {512, 1, 1},
                .dynamicLdsBytes = 0,
                .kernarg = a.bytes,
                .options = {.observers = &recorder}};
  auto stats = f.simulator.launch(f.module, launch);
  INFO((stats ? std::string() : stats.error().message));
  REQUIRE(stats);
  auto report = simulateTiming(recorder, {.workgroups = workgroups});
  REQUIRE(report);
  return std::move(*report);
}

} // namespace

TEST_CASE("AITER's bf16 forward loop takes the derived 4530 clk for two kv tiles") {
  if (codeObjectPath().empty()) {
    WARN("skipped: ATTUNE_AITER_DIR names no checkout of ROCm/aiter");
    return;
  }
  TimingReport r = timeForward(16384, 1024, 1, 1, 4096);
  UNSCOPED_INFO(timingText(r));
  CHECK(r.occupancy.workgroupsPerCu == 1);
  CHECK(r.occupancy.wavesPerSimd == 2);
  REQUIRE(r.loop.found);
  CHECK(r.loop.clk == Catch::Detail::Approx(4530).epsilon(0.05));
  CHECK(r.loop.matrixBusy == Catch::Detail::Approx(4096 / 4530.0).epsilon(0.05));
}
