// Drawn inputs: fixed for ever by seed and name, N(0, 1), and sensible for what a captured tensor
// is.
#include "tools/attune/Draw.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace attune;
using namespace attune::tool;

namespace {

ProblemShape problem() {
  ProblemShape p;
  p.numQHeads = 8;
  p.numKvHeads = 2;
  return p;
}

HostTensor draw(DType dtype, std::vector<std::string> dims, const Lens &lens) {
  return drawCaptured({"t", dtype, std::move(dims)}, problem(), lens, {"slope"}, 1);
}

} // namespace

TEST_CASE("Bits depend on seed, name and number, and never change") {
  CHECK(Random(1, "q").bits(0) == Random(1, "q").bits(0));
  CHECK(Random(1, "q").bits(0) != Random(1, "k").bits(0));
  CHECK(Random(1, "q").bits(0) != Random(2, "q").bits(0));
  CHECK(Random(1, "q").bits(0) != Random(1, "q").bits(1));
  CHECK(Random(1, "q").bits(7) == 0xa194671b97c25656ull); // results in issues and logs name seeds
}

TEST_CASE("Normal values have mean 0, variance 1 and the tails of a normal") {
  Random random(3, "v");
  constexpr int n = 100000;
  double sum = 0, squares = 0;
  int beyond2 = 0;
  for (int i = 0; i < n; ++i) {
    double x = random.normal(i);
    REQUIRE(std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond2 += std::fabs(x) > 2;
  }
  CHECK(sum / n == Approx(0).margin(0.015));
  CHECK(squares / n == Approx(1).margin(0.02));
  CHECK(double(beyond2) / n == Approx(0.0455).margin(0.003));
}

TEST_CASE("A smaller tensor is the beginning of a larger one") {
  HostTensor small = drawNormal(DType::BF16, {3, 4}, Random(1, "q"));
  HostTensor large = drawNormal(DType::BF16, {5, 4}, Random(1, "q"));
  CHECK(std::equal(small.storage.begin(), small.storage.end(), large.storage.begin()));
}

TEST_CASE("Documents start at 0 in every sequence, never fall and never pass the position") {
  Lens lens{{1, 1, 1}, {500, 0, 300}};
  HostTensor t = draw(DType::I32, {"tokens"}, lens);
  REQUIRE(t.shape == Shape{800});
  CHECK(t.get({0}) == 0);
  CHECK(t.get({500}) == 0);
  for (int64_t start : {0, 500})
    for (int64_t p = 1; p < (start ? 300 : 500); ++p) {
      double step = t.get({start + p}) - t.get({start + p - 1});
      REQUIRE((step == 0 || step == 1));
      REQUIRE(t.get({start + p}) <= static_cast<double>(p));
    }
  CHECK(t.get({499}) > 15);
  CHECK(t.get({499}) < 60);
}

TEST_CASE("Other integers stay within what they can mean; slopes are ALiBi's") {
  Lens lens{{1, 1, 1}, {500, 0, 7}};
  HostTensor prefix = draw(DType::I32, {"batch"}, lens);
  for (int64_t b = 0; b < 3; ++b) {
    CHECK(prefix.get({b}) >= 0);
    CHECK(prefix.get({b}) <= static_cast<double>(lens.kv[static_cast<size_t>(b)]));
  }
  HostTensor bytes = draw(DType::U8, {"heads", "16"}, lens);
  CHECK(bytes.shape == Shape{8, 16});
  HostTensor slope = drawCaptured({"slope", DType::F32, {"heads"}}, problem(), lens, {"slope"}, 1);
  CHECK(slope.get({0}) == 0.5);
  CHECK(slope.get({7}) == std::ldexp(1, -8));
  CHECK(draw(DType::F32, {"heads", "q", "k"}, lens).shape == Shape{8, 1, 500});
  HostTensor flags = draw(DType::Bool, {"tokens"}, lens);
  CHECK(std::count(flags.storage.begin(), flags.storage.end(), 1) > 150);
}
