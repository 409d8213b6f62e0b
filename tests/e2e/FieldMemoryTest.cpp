// Public bug reports about memory: padding that leaks in, strides that are rebuilt from shapes,
// addresses past 32 bits. What may not be read is NaN or infinite; the answer must be the one with
// zeros there, bit for bit.
#include "runtime/launch/Attention.h"
#include "tests/e2e/Harness.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace attune;
using namespace attune::e2e;

namespace {

/// The same values inside storage whose every other element holds the given bf16 bits.
HostTensor within(const HostTensor &values, uint16_t filler, Shape strides, int64_t front,
                  int64_t back) {
  HostTensor t = HostTensor::strided(values.dtype, values.shape, std::move(strides), front, back);
  for (size_t i = 0; i + 1 < t.storage.size(); i += 2)
    std::memcpy(t.storage.data() + i, &filler, 2);
  set(t, [&](Index i) { return values.get(i); });
  return t;
}

struct Filler {
  const char *name;
  uint16_t bits; ///< of bf16
};
constexpr Filler zero{"zero", 0}, quietNaN{"NaN", 0x7FC0}, infinity{"+inf", 0x7F80};

/// Dense k or v of one head in a cache with room for 96 rows a sequence.
HostTensor inCache(const HostTensor &values, Filler filler) {
  return within(values, filler.bits, {96 * 64, 64, 64, 1}, 64 * 64, 200 * 64);
}

} // namespace

TEST_CASE("F19 key counts that are no multiple of a tile: no padding enters the sum", "[field]") {
  // One sequence for each kv_len from 1 to 130, one query each; V is 1 or 64 by turns, so a
  // neighbour's row shows too.
  Lens qLens(130, 1), kvLens;
  std::vector<double> valueOf;
  for (int64_t n = 1; n <= 130; ++n) {
    kvLens.push_back(n);
    valueOf.insert(valueOf.end(), static_cast<size_t>(n), n % 2 ? 1 : 64);
  }
  for (const char *mask : {"", "causal"}) {
    const Kernel &k = compile({.mask = mask});
    HostCall call = zeros(k, qLens, kvLens);
    set(call.v, [&](Index i) { return valueOf[static_cast<size_t>(i[0])]; });
    Rows rows = run(k, call);
    for (int64_t n = 1; n <= 130; ++n) {
      INFO("kv_len " << n << ", mask '" << mask << "'");
      CHECK(rows.out(n - 1) == (n % 2 ? 1 : 64));
      CHECK(rows.lse(n - 1) == Approx(std::log(static_cast<double>(n))).margin(2e-6));
    }
  }
}

TEST_CASE("F23 what lies in a cache behind the last key cannot reach the output", "[field]") {
  const Kernel &k = compile({.dense = true});
  for (int64_t kvLen : {17, 64, 65}) {
    HostCall call = noise(k, {5, 5}, {kvLen, kvLen});
    const HostTensor keys = call.k, values = call.v;
    auto with = [&](Filler ofK, Filler ofV) {
      call.k = inCache(keys, ofK);
      call.v = inCache(values, ofV);
      return run(k, call);
    };
    Rows want = with(zero, zero);
    checkAgainstOracle(k, call, want);
    for (Filler filler : {quietNaN, infinity}) {
      INFO("kv_len " << kvLen << ", unused slots hold " << filler.name);
      CHECK(sameBits(with(filler, zero), want));
      CHECK(sameBits(with(zero, filler), want));
      CHECK(sameBits(with(filler, filler), want));
    }
  }
}

TEST_CASE("F23 varlen: tokens of no sequence, and the neighbours' tokens, cannot reach the output",
          "[field]") {
  const Kernel &k = compile({.qHeads = 2, .mask = "causal"});
  // Tokens 0-9 and 47-59 belong to nobody; sequences hold 10-26 and 27-46.
  auto filled = [&](double rest) {
    HostCall call = noise(k, {40, 20}, {40, 20});
    call.cuSeqlensQ = tensorOf(DType::I32, {3},
                               [](Index i) { return std::array{3.0, 20.0, 40.0}[size_t(i[0])]; });
    call.cuSeqlensK = tensorOf(DType::I32, {3},
                               [](Index i) { return std::array{10.0, 27.0, 47.0}[size_t(i[0])]; });
    for (HostTensor *t : {&call.k, &call.v})
      set(*t, [&](Index i) { return i[0] < 10 || i[0] >= 47 ? rest : t->get(i); });
    return call;
  };
  HostCall clean = filled(0);
  Rows want = runChecked(k, clean);
  CHECK(sameBits(run(k, filled(std::nan(""))), want));
  CHECK(sameBits(run(k, filled(HUGE_VAL)), want));
  // Query rows of no sequence are not written.
  CHECK(std::isnan(want.out(0)));
  CHECK(std::isnan(want.out(59)));

  // A NaN in one sequence's keys and values stays in that sequence.
  HostCall poisoned = clean;
  for (HostTensor *t : {&poisoned.k, &poisoned.v})
    set(*t, [&](Index i) { return i[0] >= 27 ? std::nan("") : t->get(i); });
  Rows got = run(k, poisoned);
  for (int64_t row = 3; row < 20; ++row)
    for (int64_t h : {0, 1})
      CHECK(got.out(row, h, 7) == want.out(row, h, 7));
}

TEST_CASE("F23 a key that the mask hides from every row is not read into the result", "[field]") {
  const Kernel &k = compile({.mask = "causal && k >= 3"});
  HostCall call = noise(k, {60}, {60});
  Rows want = runChecked(k, call);
  for (double rest : {std::nan(""), double(HUGE_VAL)}) {
    for (HostTensor *t : {&call.k, &call.v})
      set(*t, [&](Index i) { return i[0] < 3 ? rest : t->get(i); });
    CHECK(sameBits(run(k, call), want));
  }
}

TEST_CASE("F33 strided and sliced views give the bits of packed copies", "[field]") {
  const Kernel &k = compile({.qHeads = 4, .kvHeads = 2});
  HostCall packed = noise(k, {70, 9}, {90, 50});
  Rows want = runChecked(k, packed);
  constexpr int64_t heads = 2, dim = 64, row = heads * dim, tokens = 140;
  const Shape everySecond{2 * row, dim, 1}, headMajor{dim, tokens * dim, 1},
      padded{row + 64, dim, 1};

  struct Layout {
    const char *name;
    Shape ofK, ofV;
  };
  const Layout layouts[] = {{"k and v interleaved in one cache", everySecond, everySecond},
                            {"every second row of k, v packed", everySecond, {row, dim, 1}},
                            {"v head-major", {row, dim, 1}, headMajor},
                            {"rows padded, k and v apart", padded, headMajor}};
  for (const Layout &layout : layouts) {
    INFO(layout.name);
    HostCall call = packed;
    call.k = within(packed.k, quietNaN.bits, layout.ofK, 0, 0);
    call.v = within(packed.v, quietNaN.bits, layout.ofV, row, row);
    CHECK(sameBits(run(k, call), want));
  }
  HostCall call = packed;
  call.q = within(packed.q, quietNaN.bits, {64, 79 * 64, 1}, 64, 64); // head-major
  HostRunOptions options;
  options.outStrides = Shape{4 * 64 + 32, 64, 1};
  options.lseStrides = Shape{1, 4}; // token-major
  CHECK(sameBits(run(k, call, options), want));
}

TEST_CASE("Keys and values beyond 4 GiB from the base, and more than 4 GiB apart", "[memory]") {
  // Two sequences; the second one's keys begin 5 GiB after the first one's. Memory of the simulator
  // is reserved, and only pages that are written exist.
  const Kernel &k = compile({.dense = true, .mask = "causal"});
  constexpr int64_t qLen = 40, kvLen = 70, dim = 64, apart = (int64_t(5) << 30) / 2;
  HostCall call = noise(k, {qLen, qLen}, {kvLen, kvLen});
  Rows want = runChecked(k, call);

  Device &device = simulator();
  std::vector<DevicePtr> owned;
  auto allocate = [&](int64_t elements, DType dtype) {
    auto p = device.alloc(static_cast<uint64_t>(elements * sizeOf(dtype)));
    REQUIRE(p);
    owned.push_back(*p);
    return *p;
  };
  auto place = [&](const HostTensor &t, int64_t batchStride) {
    int64_t one = t.elements() / 2;
    DevicePtr base = allocate(batchStride + one, t.dtype);
    for (int64_t b : {0, 1}) {
      auto copied = device.copyIn(base + static_cast<uint64_t>(b * batchStride * 2),
                                  t.storage.data() + b * one * 2, static_cast<uint64_t>(one * 2));
      REQUIRE(copied);
    }
    TensorView view = TensorView::packed(base, t.dtype, t.shape);
    view.strides[0] = batchStride;
    return view;
  };
  AttentionCall far;
  far.q = place(call.q, qLen * dim);
  far.k = place(call.k, apart);
  far.v = place(call.v, apart + 8 * dim);
  far.out = TensorView::packed(allocate(2 * qLen * dim, DType::BF16), DType::BF16, call.q.shape);
  far.lse = TensorView::packed(allocate(2 * qLen, DType::F32), DType::F32, {2, 1, qLen});
  auto plan = planLaunch(k.image.sidecar, far);
  if (!plan)
    FAIL(plan.error().message);
  auto module = device.load(k.image.codeObject);
  REQUIRE(module);
  auto kernel = device.kernel(*module, k.image.sidecar.kernel.name);
  REQUIRE(kernel);
  auto launched = device.launch(*kernel, plan->dims, plan->kernarg);
  if (!launched)
    FAIL(launched.error().message);
  HostTensor out = HostTensor::packed(DType::BF16, call.q.shape);
  REQUIRE(device.copyOut(out.storage.data(), far.out.data, out.storage.size()));
  CHECK(bits(out) == bits(want.result.out));
  device.unload(*module);
  for (DevicePtr p : owned)
    device.free(p);
}

TEST_CASE("A key that only rows past the sequence's end would see counts as unseen", "[memory]") {
  const Kernel &k = compile({.mask = "k == qi + 50 || k >= 90"});
  HostCall call = noise(k, {20}, {100}); // a wave has 32 rows; keys 70 to 81 belong to the last 12
  for (HostTensor *t : {&call.k, &call.v})
    set(*t, [&](Index i) {
      bool seen = (i[0] >= 50 && i[0] < 70) || i[0] >= 90;
      return seen ? t->get(i) : std::nan("");
    });
  runChecked(k, call);
}

TEST_CASE("An index that is the same for all lanes and outside its tensor touches no memory",
          "[memory]") {
  const Kernel &k = compile({.mask = "(ctx >= 0 && w[ctx] > 0.0) || (ctx < 0 && k % 2 == 0)",
                             .more = "tensor w : f32[k]"});
  for (auto [qLen, kvLen] : {std::pair<int64_t, int64_t>{300, 4}, {4, 300}}) {
    INFO("q_len " << qLen << ", kv_len " << kvLen);
    runChecked(k, noise(k, {qLen}, {kvLen}));
  }
}
