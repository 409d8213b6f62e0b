#include "runtime/sim/strict/Scoreboard.h"
#include <algorithm>

namespace attune::sim::strict {

void Scoreboard::reset(uint32_t scalars) {
  std::ranges::fill(undefined_, ~uint64_t(0));
  std::ranges::fill(pendingOn_, 0);
  std::ranges::fill(unsettled_, ~uint64_t(0));
  setUndefined(0, 0);
  for (unsigned n = 0; n < scalars; ++n)
    setUndefined(kScalarCell + n, 0);
  for (int n : {reg::kFlatScratch, reg::kFlatScratch + 1, reg::kExec, reg::kExec + 1})
    setUndefined(kScalarCell + unsigned(n), 0);
  pending.clear();
  nextId_ = 1;
  queued_ = 0;
  flats_ = false;
  for (auto *counts : {open_, ordered_, ldsOps_})
    counts[0] = counts[1] = 0;
}

} // namespace attune::sim::strict
