// Every spec of specs/ at every length where something can go wrong: around a wave's rows, a kv
// tile, nothing at all, and fewer keys than queries. A varlen spec meets all pairs of lengths in
// one call, a dense one in a call each.
#include "runtime/device/SimDevice.h"
#include "tests/e2e/Harness.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

using namespace attune;
using namespace attune::e2e;

namespace {

constexpr int64_t qLengths[] = {0, 1, 31, 32, 33, 255, 257};
constexpr int64_t kvLengths[] = {0, 1, 63, 64, 65, 500};

std::set<std::string> specFiles() {
  std::set<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(ATTUNE_SOURCE_DIR "/specs"))
    if (entry.path().extension() == ".attn")
      files.insert(entry.path().string());
  return files;
}

void checkDense(const Kernel &kernel) {
  for (int64_t q : qLengths)
    for (int64_t kv : kvLengths) {
      INFO("q_len " << q << ", kv_len " << kv);
      runChecked(kernel, noise(kernel, {q}, {kv}));
    }
}

void checkVarlen(const Kernel &kernel) {
  Lens qLens, kvLens;
  for (int64_t q : qLengths)
    for (int64_t kv : kvLengths) {
      qLens.push_back(q);
      kvLens.push_back(kv);
    }
  runChecked(kernel, noise(kernel, qLens, kvLens));
}

} // namespace

TEST_CASE("Every spec of specs/ at the lengths where things go wrong", "[grid]") {
  auto files = specFiles();
  REQUIRE(files.size() >= 10);
  for (const std::string &file : files)
    DYNAMIC_SECTION(std::filesystem::path(file).filename().string()) {
      const Kernel &kernel = compileFile(file);
      kernel.dense() ? checkDense(kernel) : checkVarlen(kernel);
    }
}

TEST_CASE("No kernel of specs/ has scratch or spills", "[grid]") {
  for (const std::string &file : specFiles()) {
    INFO(file);
    const Resources &r = compileFile(file).image.sidecar.kernel.resources;
    CHECK(r.scratchBytes == 0);
    CHECK(r.vgprSpills == 0);
    CHECK(r.sgprSpills == 0);
    CHECK(r.vgpr > 0);
    CHECK(r.occupancy >= 1);
  }
}

/// The same call on a simulator with other options.
Rows runUnder(const sim::RunOptions &options, const Kernel &k, const HostCall &call) {
  auto device = makeSimDevice(options);
  auto loaded = LoadedKernel::load(*device, k.image);
  REQUIRE(loaded);
  auto result = loaded->run(call);
  if (!result)
    FAIL(result.error().message);
  return {*result};
}

TEST_CASE("Bits depend neither on when memory arrives nor on the order of waves", "[grid]") {
  using sim::Arrival, sim::Schedule;
  for (const std::string &file : specFiles()) {
    const Kernel &k = compileFile(file);
    HostCall call = k.dense() ? noise(k, {70}, {200}) : noise(k, {70, 0, 131}, {200, 3, 100});
    Rows want = runChecked(k, call);
    for (Arrival arrival : {Arrival::Instant, Arrival::Latest, Arrival::Typical})
      for (Schedule schedule :
           {Schedule::ToBarrier, Schedule::Reverse, Schedule::Random, Schedule::InTurn}) {
        INFO(file << ", arrival " << int(arrival) << ", schedule " << int(schedule));
        CHECK(sameBits(runUnder({.arrival = arrival, .schedule = schedule}, k, call), want));
      }
  }
}

TEST_CASE("The number of host threads changes nothing", "[grid]") {
  const Kernel &k = compile({.qHeads = 6, .kvHeads = 2, .mask = "causal"});
  HostCall call = noise(k, {200, 1, 70}, {300, 64, 70});
  Rows want = runChecked(k, call);
  for (int threads : {1, 2, 5}) {
    INFO(threads << " threads");
    CHECK(sameBits(runUnder({.threads = threads}, k, call), want));
  }
}

TEST_CASE("The order and the number of batch-mates change nothing", "[grid]") {
  const Kernel &k = compile({.qHeads = 2, .mask = "window(50)"});
  HostCall both = noise(k, {40, 90}, {77, 130});
  Rows want = runChecked(k, both);
  // The second sequence alone: its rows are bit-equal.
  HostCall alone = both;
  alone.cuSeqlensQ = tensorOf(DType::I32, {2}, [](Index i) { return i[0] ? 130.0 : 40.0; });
  alone.cuSeqlensK = tensorOf(DType::I32, {2}, [](Index i) { return i[0] ? 207.0 : 77.0; });
  Rows got = run(k, alone);
  for (int64_t row = 40; row < 130; ++row)
    for (int64_t h : {0, 1}) {
      CHECK(got.lse(row, h) == want.lse(row, h));
      CHECK(got.out(row, h, 63) == want.out(row, h, 63));
    }
}
