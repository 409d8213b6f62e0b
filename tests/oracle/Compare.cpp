// Element by element, keeping the place that uses most of its tolerance.
#include "tests/oracle/Compare.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attune::oracle {

namespace {

constexpr double lseTolerated = 1e-3;

struct FloatFormat {
  int mantissaBits, minExponent;
  double absoluteForNormal; ///< error allowed on inputs drawn from N(0, 1)
};

FloatFormat formatOf(DType t) {
  switch (t) {
  case DType::BF16:
    return {7, -126, 1e-2};
  case DType::F16:
    return {10, -14, 2e-3};
  default:
    return {23, -126, 0};
  }
}

/// |expected - actual|, or infinity where one is not finite and the other is something else.
double errorOf(double expected, double actual) {
  if (std::isnan(expected) && std::isnan(actual))
    return 0;
  if (expected == actual)
    return 0;
  double error = std::fabs(expected - actual);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

} // namespace

double ulpOf(DType t, double x) {
  FloatFormat format = formatOf(t);
  int exponent = x == 0 || !std::isfinite(x) ? format.minExponent
                                             : std::max(std::ilogb(x), format.minExponent);
  return std::ldexp(1.0, exponent - format.mantissaBits);
}

double rootMeanSquare(const HostTensor &tensor) {
  double sum = 0;
  int64_t count = 0;
  forEachIndex(tensor.shape, [&](Index i) {
    double x = tensor.get(i);
    if (std::isfinite(x)) {
      sum += x * x;
      ++count;
    }
  });
  return count ? std::sqrt(sum / static_cast<double>(count)) : 1;
}

Tolerance outTolerance(DType inputs, DType out, double rmsOfV) {
  double absolute = std::max(formatOf(inputs).absoluteForNormal, formatOf(out).absoluteForNormal);
  return {absolute * rmsOfV, 0, out, 2};
}

Tolerance lseTolerance(LseKind kind) {
  return {kind == LseKind::Base2 ? lseTolerated / std::log(2.0) : lseTolerated, lseTolerated,
          DType::F32, 0};
}

double Tolerance::at(double expected) const {
  double allowed = std::max(absolute, ulps * ulpOf(ulpType, expected));
  return std::isfinite(expected) ? std::max(allowed, relative * std::fabs(expected)) : 0;
}

std::string Tolerance::str() const {
  std::string text = fmt::format("{:.3g}", absolute);
  if (ulps > 0)
    return fmt::format("max({}, {} ulp of {})", text, ulps, nameOf(ulpType));
  return relative > 0 ? fmt::format("max({}, {:.3g} relative)", text, relative) : text;
}

Comparison compare(const std::vector<double> &expected, const HostTensor &actual,
                   const Tolerance &tolerance) {
  Comparison result;
  result.tolerance = tolerance;
  double worstShare = -1;
  forEachIndex(actual.shape, [&](Index index) {
    double want = expected[static_cast<size_t>(result.compared++)], got = actual.get(index);
    double error = errorOf(want, got), allowed = tolerance.at(want);
    bool wrong = error > allowed;
    result.wrong += wrong;
    result.maxAbs = std::max(result.maxAbs, error);
    if (std::fabs(want) > tolerance.absolute)
      result.maxRel = std::max(result.maxRel, std::isinf(want) ? error : error / std::fabs(want));
    double share = error == 0 ? 0 : error / allowed;
    if (share > worstShare) {
      worstShare = share;
      result.worst = {Shape(index.begin(), index.end()), want, got, error, allowed};
    }
  });
  result.ok = result.wrong == 0;
  return result;
}

} // namespace attune::oracle
