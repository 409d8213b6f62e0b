// How many workgroups a compute unit holds, and where the dispatcher puts them.
#pragma once
#include "runtime/sim/timing/Trace.h"
#include <vector>

namespace attune::sim {

struct Occupancy {
  int wavesPerWorkgroup = 0;
  int workgroupsPerCu = 0; ///< 0: does not fit
  int wavesPerSimd = 0;    ///< of the fullest SIMD
  const char *limit = "";  ///< what bounds it: "VGPRs", "LDS", "waves", "barriers"
};

Occupancy occupancy(const LaunchFacts &, const TimingParams &);

/// How many times a CU is filled with workgroups in the replay: the first ones start together,
/// cold; those that take their places show how workgroups overlap from then on.
inline constexpr uint64_t kReplayedRounds = 2;

/// Workgroup i starts on XCD i % xcds; inside, CUs take turns. So do those that follow the first
/// round, as long as all take the same time.
struct Placement {
  int xcd, cu;
};
Placement firstPlacement(uint64_t workgroup, const TimingParams &);

/// The time until the last workgroup ends, when workgroup i takes duration[i]: each XCD hands its
/// workgroups, in order, to the slot that is free first.
uint64_t dispatchClk(const std::vector<uint64_t> &durations, int workgroupsPerCu,
                     const TimingParams &);

} // namespace attune::sim
