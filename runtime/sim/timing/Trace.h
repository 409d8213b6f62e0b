// What a launch left behind for the timing model: the instructions that the waves of some
// workgroups executed, with the cost of their memory accesses worked out from real addresses; and
// of every workgroup how much it did.
//
// A step is 8 bytes, so that a long kernel (a few million steps a workgroup) fits in memory.
#pragma once
#include "runtime/sim/timing/LdsCost.h"
#include <array>
#include <map>
#include <string>
#include <vector>

namespace attune::sim {

/// One executed instruction.
struct TraceStep {
  uint32_t inst = 0;   ///< index of the text
  uint32_t access = 0; ///< index + 1 in WaveTrace::accesses; 0: none
};

struct TraceAccess {
  uint32_t firstSector = 0; ///< in WaveTrace::sectors
  uint16_t sectors = 0;     ///< touched; a scalar load's are lines of the scalar cache
  uint16_t lines = 0;       ///< that these are of
  uint16_t bytes = 0;
  LdsCost lds;
  uint8_t laneBytes = 0; ///< width of a lane
  bool toLds = false;
};

struct WaveTrace {
  std::vector<TraceStep> steps;
  std::vector<TraceAccess> accesses;
  std::vector<uint64_t> sectors; ///< address / sector size, ascending within an access
};

struct WorkgroupTrace {
  std::array<uint32_t, 3> id{};
  std::vector<WaveTrace> waves;
};

/// What is known of the launch besides its traces.
struct LaunchFacts {
  std::string kernel;
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t vgprs = 0, ldsBytes = 0;
};

struct LaunchTrace {
  LaunchFacts launch;
  std::vector<InstTiming> text;
  std::map<uint64_t, WorkgroupTrace> workgroups;        ///< traced ones, by linear id
  std::map<uint64_t, uint64_t> executed;                ///< instructions of every workgroup
  std::map<uint64_t, std::vector<uint64_t>> footprints; ///< lines, of those of one XCD
  BankUse banks;
};

} // namespace attune::sim
