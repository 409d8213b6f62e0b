// What the timing model says about a launch.
#pragma once
#include "runtime/sim/timing/Classify.h"
#include "runtime/sim/timing/Occupancy.h"
#include <array>
#include <string>
#include <vector>

namespace attune::sim {

/// Why a wave did not issue. The order is that of reports.
enum class Stall : uint8_t {
  Dependency,   ///< result of a VALU or SALU instruction not ready
  MatrixResult, ///< result of an MFMA not ready
  Valu,         ///< vector port busy: another wave, or a transcendental
  MatrixBusy,   ///< matrix unit busy
  ReadWindow,   ///< matrix unit reads its operands: no VALU
  Packed,       ///< packed f32 or dot while the matrix unit works
  MemoryPort,
  LdsQueue,
  VmemQueue, ///< request queue full
  WaitVm,    ///< s_waitcnt vmcnt
  WaitLgkm,  ///< s_waitcnt lgkmcnt
  Barrier,
  Nop, ///< s_nop, s_sleep
  Branch,
  Scalar, ///< scalar or branch port busy
  Stores, ///< s_endpgm until stores have left
  Count
};
inline constexpr size_t kStalls = size_t(Stall::Count);
const char *stallName(Stall);

/// Clk that waves spent before an instruction, over all its executions.
struct InstReport {
  uint32_t inst = 0, pc = 0;
  std::string_view mnemonic;
  uint64_t executed = 0;
  uint64_t stallClk = 0;
  std::array<uint64_t, kStalls> stalls{};
  uint64_t ldsClk = 0, ldsFreeClk = 0; ///< bank time, and what it would be without conflicts
};

/// The loop in which most of the time went.
struct LoopReport {
  bool found = false;
  uint32_t headPc = 0, branchPc = 0;
  uint64_t iterations = 0; ///< of the wave that went round most often
  double clk = 0;          ///< an iteration of one wave, its first left out
  double matrixBusy = 0;   ///< fraction of the time, of the SIMDs that have waves
};

struct TimedIssue {
  uint64_t clk = 0;
  uint32_t wave = 0; ///< in order of launch
  uint32_t inst = 0;
  uint32_t stallClk = 0;
  Stall reason = Stall::Dependency; ///< of the longest part of stallClk
};

struct TimingReport {
  std::string kernel;
  Occupancy occupancy;
  uint64_t workgroups = 0; ///< of the launch that is timed
  int replayedWorkgroups = 0;
  int residentWorkgroups = 0;         ///< of them at the same time
  uint64_t clk = 0;                   ///< from dispatch to the end of the last replayed wave
  uint64_t instructions = 0;          ///< of the replayed waves
  double matrixBusy = 0;              ///< fraction of clk, of the SIMDs that have waves
  double vmemBytes = 0, ldsBytes = 0; ///< of the replayed workgroups
  double l1HitRate = 0, l2HitRate = 0;
  std::array<uint64_t, kStalls> stalls{}; ///< wave clk
  LoopReport loop;
  std::vector<InstReport> instructionReports; ///< executed ones, by pc
  std::array<uint64_t, 64> bankDwords{};      ///< LDS dwords by bank

  // The whole launch, by the dispatcher's rules and the clock model
  uint64_t kernelClk = 0;
  double chipBusy = 0; ///< fraction of the time, of all matrix units: what the power cap follows
  double clockMhz = 0, seconds = 0;
  double flops = 0, bytes = 0; ///< of all workgroups; matrix flops only
  double tflops = 0, bytesPerSecond = 0;
  // Roofline, in TFLOPS at that clock: what matrix unit and memory would allow
  double matrixPeakTflops = 0, memoryPeakTflops = 0;
  std::vector<TimedIssue> timeline;
};

/// For people, and for tools.
std::string timingText(const TimingReport &, size_t hottest = 12);
std::string timingJson(const TimingReport &);

} // namespace attune::sim
