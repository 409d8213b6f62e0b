// How long the banks of LDS are busy with one instruction of a wave, from the addresses of its
// lanes.
//
// LDS serves a wave in phases, fixed groups of lanes (LdsPhases); a phase takes as many clk as the
// fullest bank has different dwords to give, equal dwords being broadcast. Which lanes form a phase
// depends on the instruction: ds_read_b128 for instance serves lanes 0-3, 12-15 and 20-27 together.
#pragma once
#include "runtime/sim/timing/Classify.h"
#include <array>

namespace attune::sim {

struct Access;

/// How often each bank was used, and how many clk were lost because of it: the heat map.
struct BankUse {
  std::array<uint64_t, 64> dwords{};
};

struct LdsCost {
  uint16_t clk = 0;  ///< the banks are busy
  uint16_t free = 0; ///< would be without conflicts
};

/// `use` may be null.
LdsCost ldsCost(const InstTiming &, const Access &, const TimingParams &, BankUse *use);

} // namespace attune::sim
