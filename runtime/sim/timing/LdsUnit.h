// LDS of one CU over time. Two pairs of SIMDs have a command queue and a return path each; all
// share one array of banks, as does the data that LDS-DMA brings. An operation starts when it is at
// the head of its queue, the banks are free and its pair's path is free; it holds the banks for its
// phases (LdsCost) and the path for its data.
//
// Which queue the banks serve next depends on what is issued later, so that operations are started
// only as far as the clock has advanced.
#pragma once
#include "runtime/sim/timing/Params.h"
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace attune::sim {

class LdsUnit {
public:
  explicit LdsUnit(const TimingParams &p) : params_(p) {}

  /// Starts everything that starts before `clk`.
  void advance(uint64_t clk);
  /// Whether the pair's queues have room for an operation of so many data slots.
  bool hasRoom(int pair, int slots) const;
  /// Returns the operation's number. `bankClk`: how long it needs the banks; `pathClk`: the path.
  uint32_t issue(uint64_t clk, int pair, int slots, int bankClk, int pathClk, int dataClk);
  /// LDS-DMA data that arrives from memory.
  void arrive(uint64_t clk, int bytes);
  /// When the operation is done; 0 while that is open, which is later than the clock of advance().
  uint64_t done(uint32_t operation) const { return done_[operation]; }

private:
  struct Pending {
    uint64_t clk;
    uint32_t operation;
    uint16_t slots, bankClk, pathClk, dataClk;
  };
  static constexpr int kPairs = 2, kDma = 2;
  void start(int queue, uint64_t at);

  TimingParams params_;
  std::array<std::deque<Pending>, kPairs + 1> queues_;
  std::array<int, kPairs> slots_{};
  std::array<uint64_t, kPairs + 1> pathFree_{};
  uint64_t bankFree_ = 0;
  std::vector<uint64_t> done_;
};

} // namespace attune::sim
