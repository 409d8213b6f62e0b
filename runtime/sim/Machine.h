// Runs the workgroups of one launch. Each workgroup lives wholly on one host thread: its waves take
// turns there, so that a workgroup needs no locks and behaves the same whatever other threads do.
//
//   Dispatch         what is common to all workgroups of a launch
//   WorkgroupRunner  one per host thread: LDS, scratch and waves, reused from workgroup to
//   workgroup runDispatch      hands workgroup ids to runners, collects statistics and the first
//   fault
//
// A wave runs until it reaches a barrier, ends, faults or has used up its turn. When no wave can
// run, the barrier is complete (waves that have ended do not count) and all waiting waves go on.
#pragma once
#include "runtime/sim/CodeObject.h"
#include "runtime/sim/Decoder.h"
#include "runtime/sim/Simulator.h"

namespace attune::sim {

struct Dispatch {
  const Kernel *kernel = nullptr;
  const DecodedText *text = nullptr;
  const Memory *memory = nullptr;
  uint64_t loadBase = 0; ///< of the code object
  uint64_t textBase = 0; ///< of its text
  uint32_t textBytes = 0;
  uint64_t kernarg = 0;          ///< device address
  uint64_t packet = 0;           ///< device address of the dispatch packet
  std::vector<uint32_t> preload; ///< kernarg dwords that start in SGPRs
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t ldsBytes = 0, scratchBytes = 0;
  RunOptions options;
};

Result<RunStats> runDispatch(const Dispatch &);

} // namespace attune::sim
