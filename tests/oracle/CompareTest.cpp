// Tolerances and the comparison itself: that a wrong element fails, and that the report names it.
#include "tests/oracle/Compare.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace attune;
using namespace attune::oracle;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();

HostTensor tensor(DType dtype, const std::vector<double> &values) {
  HostTensor t = HostTensor::packed(dtype, {1, static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    t.set({0, static_cast<int64_t>(i)}, values[i]);
  return t;
}

} // namespace

TEST_CASE("Units in the last place") {
  CHECK(ulpOf(DType::BF16, 1.0) == std::ldexp(1, -7));
  CHECK(ulpOf(DType::BF16, -3.9) == std::ldexp(1, -6));
  CHECK(ulpOf(DType::F16, 1.0) == std::ldexp(1, -10));
  CHECK(ulpOf(DType::F16, 0.0) == std::ldexp(1, -24));
}

TEST_CASE("Tolerance is the larger of its parts, by the coarser type") {
  Tolerance bf16 = outTolerance(DType::BF16, DType::BF16, 1);
  CHECK(bf16.at(0.5) == 1e-2);
  CHECK(bf16.at(8) == 2 * std::ldexp(1, -4));
  CHECK(outTolerance(DType::F16, DType::F16, 1).at(0.1) == 2e-3);
  CHECK(outTolerance(DType::F16, DType::BF16, 1).at(0.1) == 1e-2);
  CHECK(outTolerance(DType::BF16, DType::F32, 1).at(0.1) == 1e-2);
  CHECK(outTolerance(DType::BF16, DType::BF16, 0.01).at(0) == Approx(1e-4));
  CHECK(lseTolerance(LseKind::Natural).at(10) == Approx(1e-2));
}

TEST_CASE("The worst place is found with both values") {
  HostTensor actual = tensor(DType::F32, {1, 2, 3.5, 4});
  Comparison c = compare({1, 2, 3, 4.001}, actual, outTolerance(DType::BF16, DType::BF16, 1));
  CHECK_FALSE(c.ok);
  CHECK(c.wrong == 1);
  CHECK(c.compared == 4);
  CHECK(c.maxAbs == 0.5);
  CHECK(c.maxRel == Approx(0.5 / 3));
  CHECK(c.worst.index == Shape{0, 2});
  CHECK(c.worst.expected == 3);
  CHECK(c.worst.actual == 3.5);
}

TEST_CASE("Infinities and NaN must be where they are expected") {
  Tolerance lse = lseTolerance(LseKind::Natural);
  CHECK(compare({-infinity, nan_, 1}, tensor(DType::F32, {-infinity, nan_, 1.0005}), lse).ok);
  CHECK_FALSE(compare({-infinity}, tensor(DType::F32, {-1e30}), lse).ok);
  CHECK_FALSE(compare({-infinity}, tensor(DType::F32, {infinity}), lse).ok);
  CHECK_FALSE(compare({0}, tensor(DType::F32, {-infinity}), lse).ok);
  CHECK_FALSE(compare({1}, tensor(DType::F32, {nan_}), lse).ok);
  CHECK_FALSE(compare({nan_}, tensor(DType::F32, {1}), lse).ok);
  CHECK(compare({}, HostTensor::packed(DType::BF16, {0, 4}), lse).ok);
}

TEST_CASE("Root mean square leaves out what is not finite") {
  CHECK(rootMeanSquare(tensor(DType::F32, {3, -3, infinity, nan_})) == 3);
  CHECK(rootMeanSquare(tensor(DType::F32, {})) == 1);
}
