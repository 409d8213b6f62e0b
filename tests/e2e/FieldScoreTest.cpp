// Public bug reports about score modifiers, each as a small test under the report's id; and for
// every feature of the language: turned on with a value that must change the answer, it changes it,
// and correctly.
#include "tests/e2e/Harness.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace attune;
using namespace attune::e2e;

TEST_CASE("F12 softcap bends scores before the mask hides them", "[field]") {
  const Kernel &k = compile({.score = "softcap(s, 1.0)", .mask = "causal"});
  HostCall call = zeros(k, {2}, {2});
  set(call.v, [](Index i) { return static_cast<double>(i[0]); });
  Rows rows = run(k, call);
  CHECK(rows.out(0) == 0); // a mask applied first would leak the future: 0.269
  CHECK(rows.out(1) == 0.5);

  const Kernel &wide = compile({.score = "softcap(s, 50.0)", .mask = "causal"});
  HostCall loud = noise(wide, {70}, {100});
  set(loud.k, [&](Index i) { return 32 * loud.k.get(i); }); // logits far beyond the cap
  Rows capped = runChecked(wide, loud);
  Rows plain = run(compile({.mask = "causal"}), loud);
  CHECK_FALSE(sameBits(capped, plain));

  Error zero = refusal(Variant{.score = "softcap(s, 0.0)"}.text());
  CHECK(zero.message.find("leave it out") != std::string::npos);
}

TEST_CASE("F13 ALiBi measures distance from the query's own position, in prefill and decode",
          "[field]") {
  const Kernel &k =
      compile({.score = "s + alibi(slope)", .mask = "causal", .more = "tensor slope : f32[heads]"});
  for (int64_t qLen : {3, 1}) {
    INFO("q_len " << qLen << ", kv_len 3");
    HostCall call = zeros(k, {qLen}, {3});
    set(call.v, [](Index i) { return 7.0 * static_cast<double>(i[0]); });
    call.tensors["slope"] = tensorOf(DType::F32, {1}, [](Index) { return std::log(2.0); });
    Rows rows = run(k, call);
    CHECK(rows.out(qLen - 1) == 10); // weights 1/4, 1/2, 1
    CHECK(rows.lse(qLen - 1) == Approx(std::log(1.75)).margin(1e-5));
  }
}

TEST_CASE("F14 every query head uses its own slope, and nothing past the last is read", "[field]") {
  const Kernel &k = compile({.qHeads = 6,
                             .kvHeads = 2,
                             .score = "s + alibi(slope)",
                             .mask = "causal",
                             .more = "tensor slope : f32[heads]"});
  for (auto [qLen, kvLen] : {std::pair<int64_t, int64_t>{70, 70}, {1, 90}}) {
    HostCall call = noise(k, {qLen}, {kvLen});
    HostTensor slope = HostTensor::strided(DType::F32, {6}, {1}, 2, 2); // NaN either side
    set(slope, [](Index i) { return std::ldexp(0.7, -static_cast<int>(i[0])); });
    call.tensors["slope"] = slope;
    Rows rows = runChecked(k, call);
    for (int64_t h = 1; h < 6; ++h)
      CHECK(rows.lse(qLen - 1, h) != rows.lse(qLen - 1, h - 1));
  }
}

TEST_CASE("F15 no feature is silently ignored", "[field]") {
  struct Feature {
    const char *name;
    Variant on;
  };
  const Variant base{.qHeads = 4, .kvHeads = 2};
  auto with = [&](auto change) {
    Variant v = base;
    change(v);
    return v;
  };
  const Feature features[] = {
      {"causal", with([](Variant &v) { v.mask = "causal"; })},
      {"window", with([](Variant &v) { v.mask = "window(5)"; })},
      {"window of two sides", with([](Variant &v) { v.mask = "window(3, 2)"; })},
      {"prefix", with([](Variant &v) { v.mask = "causal || prefix(9)"; })},
      {"chunk", with([](Variant &v) { v.mask = "chunk(16)"; })},
      {"document",
       with([](Variant &v) { v.mask = "document(doc)", v.more = "tensor doc : i32[tokens]"; })},
      {"head in the mask", with([](Variant &v) { v.mask = "k % 4 == h"; })},
      {"softcap", with([](Variant &v) { v.score = "softcap(s, 0.5)"; })},
      {"alibi", with([](Variant &v) {
         v.score = "s + alibi(slope)", v.more = "tensor slope : f32[heads]";
       })},
      {"a bias of full rank", with([](Variant &v) {
         v.score = "s + bias[h, qi, k]", v.more = "tensor bias : f32[heads, q, k]";
       })},
      {"a run-time scalar", with([](Variant &v) { v.score = "s * t", v.more = "scalar t : f32"; })},
      {"scale", with([](Variant &v) { v.more = "scale = 0.5"; })},
      {"sink", with([](Variant &v) { v.more = "sink : f32[heads]"; })},
      {"kv head in the score", with([](Variant &v) { v.score = "s * (1 + f32(hk))"; })},
      {"sequence in the score", with([](Variant &v) { v.score = "s * f32(b)"; })},
      {"row in the score", with([](Variant &v) { v.score = "select(qi % 2 == 0, s, -s)"; })},
      {"lse in base 2", with([](Variant &v) { v.lse = "base2"; })},
  };
  const Lens qLens{33, 40}, kvLens{50, 40};
  const Kernel &plain = compile(base);
  Rows off = runChecked(plain, noise(plain, qLens, kvLens));
  for (const Feature &feature : features) {
    INFO(feature.name << "\n" << feature.on);
    const Kernel &k = compile(feature.on);
    // The same seed draws q, k and v first, so they are the same for all.
    Rows on = runChecked(k, noise(k, qLens, kvLens));
    CHECK_FALSE(sameBits(on, off));
  }
}

TEST_CASE("Score functions: primitives of the language against the oracle", "[scores]") {
  const char *scores[] = {
      "s + 0.1 * sin(f32(q)) * cos(f32(k))",
      "tanh(s) + sigmoid(s) - 0.5",
      "log(1 + exp(s)) + log2(2 + exp2(s))",
      "s * rsqrt(1 + abs(s)) + sqrt(abs(s))",
      "floor(s) + 0.25 * ceil(s)",
      "max(min(s, 1.5), -1.5)",
      "select(q - k > 10, s - 2, s + f32((q ^ k) & 3))",
      "pow(abs(s) + 0.5, 1.5)",
  };
  for (const char *score : scores) {
    INFO(score);
    const Kernel &k = compile({.qHeads = 2, .score = score, .mask = "causal"});
    runChecked(k, noise(k, {35}, {140}));
  }
}

TEST_CASE("Huge logits stay finite and right", "[scores]") {
  const Kernel &k = compile({.qHeads = 2, .mask = "causal"});
  HostCall call = noise(k, {100}, {190});
  set(call.q, [&](Index i) { return 64 * call.q.get(i); });
  set(call.k, [&](Index i) { return 64 * call.k.get(i); }); // logits of several thousand
  runChecked(k, call);
}

TEST_CASE("A maximum that jumps by 100 in a later tile, in some rows of a wave only", "[scores]") {
  const Kernel &k = compile({.qHeads = 1});
  HostCall call = noise(k, {64}, {192});
  for (int64_t row = 0; row < 64; row += 5)
    for (int64_t c = 0; c < 64; ++c)
      call.q.set({row, 0, c}, 10);
  for (int64_t c = 0; c < 64; ++c)
    call.k.set({100, 0, c}, 1.25); // 64 * 10 * 1.25 / 8 = 100
  runChecked(k, call);
}

TEST_CASE("Logits that are all very negative give the mean, whatever tile comes first",
          "[scores]") {
  const Kernel &k = compile({.score = "s - 200", .mask = "causal"});
  HostCall call = zeros(k, {130}, {192});
  set(call.v, [](Index i) { return static_cast<double>(i[0] % 2); });
  Rows rows = runChecked(k, call);
  CHECK(rows.out(1) == 0.5); // keys 0 to 63
  CHECK(rows.lse(1) == Approx(-200 + std::log(64.0)).margin(1e-3));
}
