// Public bug reports about shapes: head ratios, head dims, batch sizes, and what is refused and in
// which words.
#include "runtime/device/SimDevice.h"
#include "tests/e2e/Harness.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>

using namespace attune;
using namespace attune::e2e;

TEST_CASE("F17 any whole ratio of query heads to kv heads", "[field]") {
  for (auto [qHeads, kvHeads] : {std::pair{28, 4}, {71, 1}, {24, 1}, {6, 2}, {15, 3}, {9, 3}}) {
    INFO(qHeads << " query heads, " << kvHeads << " kv heads");
    const Kernel &k = compile({.qHeads = qHeads, .kvHeads = kvHeads});
    HostCall call = zeros(k, {3}, {5});
    set(call.v, [](Index i) { return static_cast<double>(i[1] + 1); });
    Rows rows = run(k, call); // out starts as NaN: an unwritten head would show
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t h = 0; h < qHeads; ++h)
        for (int64_t c = 0; c < 64; ++c)
          REQUIRE(rows.out(row, h, c) == static_cast<double>(h / (qHeads / kvHeads) + 1));
  }
  for (auto [qHeads, kvHeads] : {std::pair{33, 2}, {3, 2}}) {
    Error error = refusal(Variant{.qHeads = qHeads, .kvHeads = kvHeads}.text());
    CHECK(error.message.find(std::to_string(qHeads)) != std::string::npos);
    CHECK(error.message.find("heads") != std::string::npos);
  }
}

TEST_CASE("F17 ratios 3, 5, 7 and 71 with noise, heads apart", "[shapes]") {
  for (auto [qHeads, kvHeads] : {std::pair{6, 2}, {10, 2}, {7, 1}, {71, 1}}) {
    INFO(qHeads << " query heads, " << kvHeads << " kv heads");
    const Kernel &k = compile({.qHeads = qHeads, .kvHeads = kvHeads, .mask = "causal"});
    runChecked(k, noise(k, {33, 1}, {65, 20}));
  }
}

TEST_CASE("F37 every column of a head dim counts, or the head dim is refused by name", "[field]") {
  int accepted = 0;
  for (int dim : {32, 40, 64, 72, 80, 96, 128, 160, 192, 256, 512}) {
    INFO("head_dim " << dim);
    Variant v{.dim = dim};
    if (dim != 32 && dim != 64 && dim != 128) {
      Error error = refusal(v.text());
      CHECK(error.message.find(std::to_string(dim)) != std::string::npos);
      CHECK(error.message.find("64") != std::string::npos);
      CHECK(error.message.find("128") != std::string::npos);
      CHECK(error.code == ErrorCode::Unsupported);
      continue;
    }
    ++accepted;
    // Only the last column of q and k is not 0, and only key 37 answers to it: O is that key's V,
    // column by column.
    const Kernel &k = compile(v);
    HostCall call = zeros(k, {2}, {80});
    for (int64_t row : {0, 1})
      call.q.set({row, 0, dim - 1}, 64);
    call.k.set({37, 0, dim - 1}, 64);
    set(call.v, [](Index i) { return i[0] == 37 ? static_cast<double>(i[2]) : -1000.0; });
    Rows rows = run(k, call);
    for (int64_t c = 0; c < dim; ++c)
      CHECK(rows.out(1, 0, c) == static_cast<double>(c));
  }
  CHECK(accepted == 3);
}

TEST_CASE("Tile sizes and waves are parameters: they change the kernel, not its answer",
          "[shapes]") {
  for (int tile : {32, 64, 128})
    for (int waves : {1, 2, 4}) {
      std::string schedule = fmt::format("schedule {{ kv_tile = {} waves = {} }}", tile, waves);
      INFO(schedule);
      const Kernel &k = compile({.qHeads = 2, .mask = "window(70)", .more = schedule});
      CHECK(k.image.sidecar.kernel.grid.blockM == 32 * waves);
      CHECK(k.image.sidecar.kernel.resources.ldsBytes == 2 * 2 * tile * 64 * 2);
      runChecked(k, noise(k, {131}, {200}));
    }
}

TEST_CASE("v_head_dim may differ from head_dim", "[shapes]") {
  for (auto [dim, vDim] : {std::pair{64, 128}, {128, 64}}) {
    INFO("head_dim " << dim << ", v_head_dim " << vDim);
    const Kernel &k = compile({.qHeads = 2, .dim = dim, .vDim = vDim, .mask = "causal"});
    Rows rows = runChecked(k, noise(k, {70}, {130}));
    CHECK(rows.result.out.shape == Shape{70, 2, vDim});
  }
}

TEST_CASE("Types, LSE bases, storages and sinks together", "[shapes]") {
  for (const char *dtype : {"bf16", "fp16"})
    for (const char *lse : {"natural", "base2"})
      for (bool dense : {false, true})
        for (const char *more : {"", "sink : f32[heads]"}) {
          Variant v{.dtype = dtype,
                    .dense = dense,
                    .qHeads = 2,
                    .mask = "causal",
                    .lse = lse,
                    .more = more};
          INFO(v);
          const Kernel &k = compile(v);
          runChecked(k, noise(k, {45, 45}, {77, 77}));
        }
}

TEST_CASE("LSE with Q = 0 is the logarithm of the number of keys, in the base that the spec names",
          "[shapes]") {
  for (auto [lse, unit] : {std::pair{"natural", 1.0}, {"base2", std::log(2.0)}}) {
    const Kernel &k = compile({.lse = lse});
    Rows rows = run(k, zeros(k, {1, 1}, {1, 15}));
    CHECK(rows.lse(0) == 0);
    CHECK(rows.lse(1) == Approx(std::log(15.0) / unit).margin(2e-6));
  }
}

TEST_CASE("A sink takes its share of the sum and gives no value", "[shapes]") {
  const Kernel &k = compile({.more = "sink : f32[heads]"});
  HostCall call = zeros(k, {1, 2}, {3, 0});
  set(call.v, [](Index) { return 8.0; });
  call.sink = tensorOf(DType::F32, {1}, [](Index) { return std::log(5.0); });
  Rows rows = run(k, call);
  CHECK(rows.out(0) == 3); // 8 * 3 / (3 + 5)
  CHECK(rows.lse(0) == Approx(std::log(8.0)).margin(1e-5));
  CHECK(rows.out(1) == 0); // no key: the sink has it all
  CHECK(rows.lse(1) == Approx(std::log(5.0)).margin(1e-5));
}

TEST_CASE("F49 batches beyond 65535", "[field][slow]") {
  // One wave a workgroup: the grid is what matters here, and idle waves cost the simulator time.
  const Kernel &k = compile({.more = "schedule { kv_tile = 32 waves = 1 }"});
  for (int64_t batch : {65535, 65536, 70000}) {
    INFO("batch " << batch);
    Lens ones(static_cast<size_t>(batch), 1);
    HostCall call = zeros(k, ones, ones);
    auto valueOf = [](int64_t b) { return static_cast<double>(b % 251); };
    set(call.v, [&](Index i) { return valueOf(i[0]); });
    Rows rows = run(k, call);
    int64_t wrong = 0;
    for (int64_t b = 0; b < batch; ++b)
      wrong +=
          rows.out(b, 0, 0) != valueOf(b) || rows.out(b, 0, 63) != valueOf(b) || rows.lse(b) != 0;
    CHECK(wrong == 0);
  }
}

TEST_CASE("F53 what cannot be done is refused in words of the spec", "[field]") {
  struct Refused {
    std::string text;
    std::string place; ///< file:line of the field at fault; empty where a call is at fault
    std::vector<std::string> mentions; ///< what the error must name
  };
  Variant ok;
  auto replaced = [&](std::string from, const std::string &to) {
    std::string text = ok.text();
    auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const Refused cases[] = {
      {Variant{.dtype = "f32", .dim = 128}.text(), "test.attn:2", {"f32", "bf16", "fp16"}},
      {Variant{.dim = 7}.text(), "", {"7", "64", "128"}},
      {replaced("dim = 64", "dim = 0"), "test.attn:2", {"0"}},
      {Variant{.mask = "casual"}.text(), "test.attn:6", {"casual", "causal"}},
      {replaced("lse", "lsee"), "test.attn:6", {"lsee", "lse"}},
      {replaced("natural", "base3"), "test.attn:6", {"base3", "natural", "base2"}},
      {Variant{.mask = "k + q"}.text(), "test.attn:6", {"mask", "bool"}},
      {Variant{.score = "s + missing[h]"}.text(), "test.attn:6", {"missing"}},
      {Variant{.more = "schedule { kv_tile = 7 }"}.text(), "", {"kv_tile", "7"}},
      {Variant{.more = "schedule { wavs = 4 }"}.text(), "", {"wavs", "waves"}},
      {ok.text().substr(0, 60), "test.attn:", {}},
  };
  for (const Refused &c : cases) {
    INFO(c.text);
    Error error = refusal(c.text);
    INFO(error.message);
    CHECK((error.code == ErrorCode::InvalidSpec || error.code == ErrorCode::Unsupported));
    CHECK(error.message.find(c.place) != std::string::npos);
    for (const std::string &word : c.mentions)
      CHECK(error.message.find(word) != std::string::npos);
    for (const char *internal : {"mlir", "llvm", "loc(", "builtin.module", "Assertion"})
      CHECK(error.message.find(internal) == std::string::npos);
  }
}

TEST_CASE("F53 lengths that are no multiple of anything, and negative ones", "[field]") {
  const Kernel &k = compile({.mask = "causal"});
  runChecked(k, noise(k, {36}, {36}));
  HostCall call = noise(k, {36}, {36});
  call.cuSeqlensK->set({1}, -5);
  auto result = k.loaded.run(call);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::InvalidArgument);
  CHECK(result.error().message.find("cu_seqlens_k") != std::string::npos);
  CHECK(result.error().message.find("-5") != std::string::npos);
}

TEST_CASE("More transfers in flight than the counter tells apart are waited for all the same",
          "[shapes]") {
  const Kernel &k = compile(
      {.qHeads = 2, .dim = 128, .mask = "causal", .more = "schedule { kv_tile = 128 waves = 1 }"});
  HostCall call = noise(k, {70, 3}, {300, 260}); // 32 transfers for K and 32 for V of each tile
  Rows want = runChecked(k, call);
  auto late = makeSimDevice({.arrival = sim::Arrival::Latest});
  auto loaded = LoadedKernel::load(*late, k.image);
  REQUIRE(loaded);
  auto result = loaded->run(call);
  REQUIRE(result);
  CHECK(sameBits({*result}, want));
}
