// Parameters by name: for listings, and for sweeps that come from a command line.
#include "runtime/sim/timing/Params.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <vector>

namespace attune::sim {
namespace {

constexpr TimingParamInfo kParams[] = {
#define TIMING_PARAM(type, name, value, tag, source) {#name, double(value), tag, source},
#define TIMING_VALU(...)
#define TIMING_MFMA(...)
#define TIMING_LDS(...)
#include "runtime/sim/timing/Gfx950Timing.def"
};

constexpr double kFactor = 100; ///< how far from the chip's own a value may be

/// Insertions, deletions and replacements from one name to another.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

Error refuse(std::string what) { return {ErrorCode::InvalidArgument, std::move(what)}; }

Error noSuchParam(std::string_view name) {
  const TimingParamInfo *nearest =
      std::min_element(std::begin(kParams), std::end(kParams), [&](const auto &a, const auto &b) {
        return editDistance(name, a.name) < editDistance(name, b.name);
      });
  return refuse(fmt::format("'{}' is no parameter of the timing model; nearest: {} = {} ({})", name,
                            nearest->name, nearest->value, nearest->source));
}

template <class T> Result<T> parse(const TimingParamInfo &of, std::string_view text) {
  double value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool number = failed == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  double low = std::min(of.value / kFactor, of.value * kFactor);
  double high = std::max(of.value / kFactor, of.value * kFactor);
  if (std::is_same_v<T, bool>) {
    low = 0;
    high = 1;
  } else if (std::is_integral_v<T>) {
    low = std::max(1.0, std::ceil(low));
  }
  bool whole = std::is_floating_point_v<T> || value == std::floor(value);
  if (!number || !whole || value < low || value > high)
    return refuse(fmt::format("{}: '{}' is not {} from {} to {}; gfx950 has {}", of.name, text,
                              std::is_floating_point_v<T> ? "a number" : "a whole number", low,
                              high, of.value));
  return T(value);
}

template <class T> Result<void> assign(T &field, const TimingParamInfo &of, std::string_view text) {
  Result<T> value = parse<T>(of, text);
  if (!value)
    return value.error();
  field = *value;
  return {};
}

} // namespace

std::span<const TimingParamInfo> timingParams() { return kParams; }

Result<void> setTimingParam(TimingParams &p, std::string_view name, std::string_view value) {
  const TimingParamInfo *of = kParams;
#define TIMING_PARAM(type, field, ...)                                                             \
  if (name == #field)                                                                              \
    return assign(p.field, *of, value);                                                            \
  ++of;
#define TIMING_VALU(...)
#define TIMING_MFMA(...)
#define TIMING_LDS(...)
#include "runtime/sim/timing/Gfx950Timing.def"
  return noSuchParam(name);
}

} // namespace attune::sim
