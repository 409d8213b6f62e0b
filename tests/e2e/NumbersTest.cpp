// Operations of the language at the edges of their domain, on the device: each lane compares its
// own value with one from the host, in the mask. With Q = 0 the LSE of a row is then the logarithm
// of the number of keys that were right.
#include "tests/e2e/Harness.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace attune;
using namespace attune::e2e;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const double notANumber = std::nan("");

HostTensor column(DType dtype, const std::vector<double> &values) {
  return tensorOf(dtype, {static_cast<int64_t>(values.size())},
                  [&](Index i) { return values[static_cast<size_t>(i[0])]; });
}

/// How many of `keys` keys a mask shows to one row.
double shown(const Variant &v, int64_t keys, std::map<std::string, HostTensor> tensors,
             std::map<std::string, double> scalars = {}) {
  const Kernel &k = compile(v);
  HostCall call = zeros(k, {1}, {keys});
  call.tensors = std::move(tensors);
  call.scalars = std::move(scalars);
  return std::round(std::exp(run(k, call).lse(0)));
}

} // namespace

TEST_CASE("i32 of what i32 does not hold is the nearest i32, of NaN 0", "[numbers]") {
  const std::vector<double> x{notANumber, infinite,   -infinite,   3e9,         -3e9, 2147483648.0,
                              1.9,        -1.9,       -0.0,        0.5,         1e38, -2147483648.0,
                              5e8,        2147483520, -2147483520, -2147483904, -1e38};
  std::vector<double> want;
  for (double v : x)
    want.push_back(std::isnan(v) ? 0 : std::trunc(std::clamp(v, -2147483648.0, 2147483647.0)));
  auto right =
      shown({.mask = "i32(x[k]) == want[k]", .more = "tensor x : f32[k]\n  tensor want : i32[k]"},
            std::ssize(x), {{"x", column(DType::F32, x)}, {"want", column(DType::I32, want)}});
  CHECK(right == x.size());
}

TEST_CASE("A quotient that f32 holds is exact, by a constant and by a run-time number",
          "[numbers]") {
  // By the rounded reciprocal 41 / 41 is 0.99999994.
  const Variant v{.mask = "floor(f32(k) / 41.0) == f32(k / 41) && f32(k) % 47.0 == f32(k % 47) && "
                          "floor(f32(k) / f32(n)) == f32(k / n) && f32(k * n) / f32(n) == f32(k)",
                  .more = "scalar n : i32"};
  for (double n : {1, 3, 41, 55, 61, 97, 255})
    CHECK(shown(v, 500, {}, {{"n", n}}) == 500);
}

TEST_CASE("Quotients of zeros and infinities are those of IEEE", "[numbers]") {
  const std::vector<double> x{1, -1, 0, infinite, -infinite, 5, -5, 0, 3, 1e30},
      y{0, 0, 5, 2, 2, infinite, infinite, -infinite, 2, 1e-30};
  std::vector<double> want;
  for (size_t i = 0; i < x.size(); ++i)
    want.push_back(static_cast<float>(x[i]) / static_cast<float>(y[i]));
  auto right = shown({.mask = "x[k] / y[k] == want[k] && (abs(x[k]) < 1e31 || x[k] / 3.0 == x[k])",
                      .more = "tensor x : f32[k]\n  tensor y : f32[k]\n  tensor want : f32[k]"},
                     std::ssize(x),
                     {{"x", column(DType::F32, x)},
                      {"y", column(DType::F32, y)},
                      {"want", column(DType::F32, want)}});
  CHECK(right == x.size());
}

TEST_CASE("Sine and cosine keep the phase of large positions", "[numbers]") {
  std::vector<double> x, sine, cosine; // the hardware's own know 256 turns, 1608 radians
  for (int i = 0; i < 300; ++i) {
    x.push_back(static_cast<float>((i % 2 ? -1 : 1) * std::exp(i / 25.0)));
    sine.push_back(std::sin(x.back()));
    cosine.push_back(std::cos(x.back()));
  }
  auto right =
      shown({.mask = "abs(sin(x[k]) - sine[k]) < 2e-6 && abs(cos(x[k]) - cosine[k]) < 2e-6",
             .more = "tensor x : f32[k]\n  tensor sine : f32[k]\n  tensor cosine : f32[k]"},
            std::ssize(x),
            {{"x", column(DType::F32, x)},
             {"sine", column(DType::F32, sine)},
             {"cosine", column(DType::F32, cosine)}});
  CHECK(right == x.size());
}

TEST_CASE("tanh is right beside its own size, however small", "[numbers]") {
  std::vector<double> x, want;
  for (int i = -20; i < 200; ++i) {
    x.push_back(static_cast<float>((i % 2 ? -1 : 1) * std::exp(-i / 10.0)));
    want.push_back(std::tanh(x.back()));
  }
  auto right =
      shown({.mask = "abs(tanh(x[k]) - want[k]) <= 2e-6 * abs(want[k])",
             .more = "tensor x : f32[k]\n  tensor want : f32[k]"},
            std::ssize(x), {{"x", column(DType::F32, x)}, {"want", column(DType::F32, want)}});
  CHECK(right == x.size());
}

TEST_CASE("min and max of a NaN and a number are the number", "[numbers]") {
  const std::vector<double> x{notANumber, notANumber, 1, -2}, y{3, -infinite, 2, notANumber},
      least{3, -infinite, 1, -2}, most{3, -infinite, 2, -2};
  auto right = shown({.mask = "min(x[k], y[k]) == least[k] && max(y[k], x[k]) == most[k]",
                      .more = "tensor x : f32[k]\n  tensor y : f32[k]\n  tensor least : f32[k]\n  "
                              "tensor most : f32[k]"},
                     std::ssize(x),
                     {{"x", column(DType::F32, x)},
                      {"y", column(DType::F32, y)},
                      {"least", column(DType::F32, least)},
                      {"most", column(DType::F32, most)}});
  CHECK(right == x.size());
}

TEST_CASE("A softcap far above the logits changes nothing, one far below them leaves the sign",
          "[numbers]") {
  for (const char *score : {"softcap(s, 1e6)", "softcap(s, cap)", "softcap(s, 0.001)"}) {
    INFO(score);
    bool scalar = std::string(score).find("cap)") != std::string::npos;
    const Kernel &k = compile({.score = score, .more = scalar ? "scalar cap : f32" : ""});
    HostCall call = noise(k, {40}, {100});
    if (scalar)
      call.scalars["cap"] = 3e7;
    runChecked(k, call);
  }
}

TEST_CASE("A window's reach may be any number that i32 holds", "[numbers]") {
  for (const char *mask : {"window(5, 2147483647)", "window(2147483647, 3)", "window(2147483647)",
                           "window(left, right)", "!window(left, right)"}) {
    bool scalars = std::string(mask).find("left") != std::string::npos;
    const Kernel &k =
        compile({.mask = mask, .more = scalars ? "scalar left : i32\n  scalar right : i32" : ""});
    for (auto [qLen, kvLen] : {std::pair<int64_t, int64_t>{40, 100}, {100, 40}}) {
      INFO(mask << ", q_len " << qLen << ", kv_len " << kvLen);
      HostCall call = noise(k, {qLen}, {kvLen});
      if (scalars)
        call.scalars = {{"left", 2147483647}, {"right", 2147483640}};
      runChecked(k, call);
    }
  }
}

TEST_CASE("A bias that hides keys by a number of any size, as models without masks do",
          "[numbers]") {
  constexpr double lowest = std::numeric_limits<float>::lowest();
  for (const char *dtype : {"bf16", "fp16"})
    for (double hidden : {-1e4, -1e9, -1e30, lowest, -infinite})
      for (int64_t count : {70, 200}) { // a whole first tile and more; every key
        if (hidden == -1e9 && count == 200)
          continue; // f32 loses the logits beside it, float64 does not
        INFO(dtype << ", " << hidden << " at " << count << " of 200 keys");
        const Kernel &k =
            compile({.dtype = dtype, .score = "s + bias[k]", .more = "tensor bias : f32[k]"});
        HostCall call = noise(k, {40}, {200});
        set(call.tensors["bias"], [&](Index i) { return i[0] < count ? hidden : 0; });
        runChecked(k, call);
      }
}

// The bound that exponents are taken against follows the greatest score only when it has to
// (compiler/lower/AttnToTile/SoftmaxCore.h): steps below, at and above the slack of 8 in log2, up
// and down, at different tiles for the rows of one wave.
TEST_CASE("Scores that climb or fall from tile to tile, by little or by much", "[numbers]") {
  for (const char *dtype : {"bf16", "fp16"})
    for (const char *score : {"", "s + 0.0 * f32(k)"}) {
      const Kernel &k = compile({.dtype = dtype, .score = score});
      HostCall call = noise(k, {40}, {640});
      for (double step : {0.5, 5.5, 5.625, 40.0, -5.5, -40.0}) {
        INFO(dtype << " score '" << score << "' step " << step);
        set(call.q, [](Index i) { return i[2] ? 0.0 : 8.0 * double(1 + i[0] % 3) / 2; });
        set(call.k,
            [&](Index i) { return i[2] ? 0.0 : step * double(i[0] / 64) + double(i[0] % 5) / 8; });
        runChecked(k, call);
      }
    }
}

TEST_CASE("A score far below all others is not lost when it comes first", "[numbers]") {
  const Kernel &k = compile({.score = "s + bias[k]", .more = "tensor bias : f32[k]"});
  HostCall call = noise(k, {3}, {200});
  for (double first : {-1e30, -200.0, -5.0, 5.0, 200.0, 1e30}) {
    INFO("bias of the first tile " << first);
    call.tensors["bias"] =
        tensorOf(DType::F32, {200}, [&](Index i) { return i[0] < 64 ? first : 0.0; });
    runChecked(k, call);
  }
}
