// The parameters of the timing model as a struct whose fields and default values are the
// TIMING_PARAM rows of Gfx950Timing.def, so that a sweep changes one field and a listing shows them
// all with their sources.
#pragma once
#include "runtime/abi/Result.h"
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace attune::sim {

struct TimingParams {
#define TIMING_PARAM(type, name, value, tag, source) type name = value;
#define TIMING_VALU(...)
#define TIMING_MFMA(...)
#define TIMING_LDS(...)
#include "runtime/sim/timing/Gfx950Timing.def"

  int cus() const { return xcds * cusPerXcd; }
  int sectorsPerLine() const { return std::clamp(lineBytes / sectorBytes, 1, 64); }
};

/// One row of the data file, for listings.
struct TimingParamInfo {
  std::string_view name;
  double value;
  std::string_view tag;    ///< M measured, D documented, I inferred, P prior
  std::string_view source; ///< short names are explained in Gfx950Timing.def
};
std::span<const TimingParamInfo> timingParams();

/// Sets one parameter by name. Errors: InvalidArgument, for a name that is none (the nearest ones
/// are named) and for a value that is not within a hundredth and a hundred times the chip's.
Result<void> setTimingParam(TimingParams &, std::string_view name, std::string_view value);

} // namespace attune::sim
