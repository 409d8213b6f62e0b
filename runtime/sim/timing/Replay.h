// The replay of the workgroups of one CU: those that are resident at the start, and those that take
// their place.
//
// Every 4 clk each of the 4 SIMDs offers its waves, the higher s_setprio first and then the older,
// an issue slot. A wave issues its next instruction if everything the instruction needs is there:
// registers (Registers.h), the unit (vector port, matrix unit, memory port, scalar port), queues,
// the counters that an s_waitcnt names. What it lacks is known as a time and a reason; the wave is
// not asked again before, and the clk in between are charged to the reason. Waves of one SIMD share
// its units, so that each unit serves one of them a slot, which is the rule "one instruction of a
// kind for each slot".
#pragma once
#include "runtime/sim/timing/LdsUnit.h"
#include "runtime/sim/timing/MemoryUnit.h"
#include "runtime/sim/timing/Registers.h"
#include "runtime/sim/timing/TimingReport.h"
#include <map>
#include <memory>

namespace attune::sim {

class Replay {
public:
  /// `resident`: how many workgroups the CU holds.
  Replay(const LaunchTrace &, const TimingParams &, const ChipLoad &, int resident, bool timeline);
  /// Puts a workgroup on the CU, its waves on the SIMDs that have fewest; if the CU is full, in
  /// line for the place of the first that ends.
  void add(const WorkgroupTrace &);
  /// To the end of the last wave. False if the trace cannot be replayed (a barrier never
  /// completes).
  bool run();

  /// Until a place stays empty: clk and the instructions executed by then.
  struct Full {
    uint64_t clk = 0, instructions = 0;
  };
  const Full &full() const { return full_; }
  /// Clk that workgroups held their places, all together.
  uint64_t heldClk() const { return heldClk_; }
  /// Fills in everything that a CU knows.
  void report(TimingReport &) const;

private:
  static constexpr int kSimds = 4;
  static constexpr uint64_t kNever = ~uint64_t(0);

  struct LgkmEntry {
    bool lds;
    uint64_t value; ///< LDS operation, or the time when a scalar load is done
  };
  struct WaveSlot {
    WaveSlot(const WaveTrace &t, const TimingParams &p) : trace(&t), registers(p) {}
    const WaveTrace *trace;
    size_t at = 0; ///< next step
    int group = 0, simd = 0;
    uint32_t number = 0;
    int priority = 0;
    uint64_t tryAt = 0;  ///< not before
    uint64_t freeAt = 0; ///< when its last instruction lets it issue again
    Stall freeReason = Stall::Nop;
    uint64_t memFreeAt = 0; ///< memory instructions of this wave after an MFMA
    uint64_t storesLeaveAt = 0;
    uint64_t barrierSince = 0;
    std::deque<uint64_t> vm;
    std::deque<LgkmEntry> lgkm;
    RegisterTimes registers;
    std::array<uint32_t, kStalls> pending{}; ///< stalls before the next instruction
  };
  struct SimdUnits {
    uint64_t valuFree = 0, matrixFree = 0, valuWindow = 0, packedWindow = 0;
    uint64_t memFree = 0, vmemFree = 0, scalarFree = 0, branchFree = 0;
    uint64_t matrixBusy = 0; ///< clk so far
    int live = 0;            ///< waves that have not ended
    std::vector<WaveSlot *> waves;
  };
  struct Group {
    int waves = 0, ended = 0, waiting = 0;
    uint64_t since = 0; ///< when its place was free for it
  };
  struct LoopMark {
    uint64_t clk, matrixBusy;
  };
  struct Need {
    uint64_t at;
    Stall reason;
    void also(uint64_t when, Stall why) {
      if (when > at)
        *this = {when, why};
    }
  };

  const InstTiming &next(const WaveSlot &w) const { return trace_.text[w.trace->steps[w.at].inst]; }
  const TraceAccess *access(const WaveSlot &w) const;
  Need need(WaveSlot &, uint64_t clk);
  void needUnit(WaveSlot &, const InstTiming &, Need &, uint64_t clk);
  void needMatrix(const InstTiming &, const SimdUnits &, Need &) const;
  void needCounters(WaveSlot &, const InstTiming &, Need &, uint64_t clk);
  void issue(WaveSlot &, uint64_t clk);
  void issueMatrix(WaveSlot &, const InstTiming &, uint64_t clk);
  void issueLds(WaveSlot &, const InstTiming &, uint64_t clk);
  void issueVmem(WaveSlot &, const InstTiming &, uint64_t clk);
  void issueBranch(WaveSlot &, const InstTiming &, uint64_t clk);
  void arrive(WaveSlot &, uint64_t clk);
  void release(int group, uint64_t clk);
  void finish(WaveSlot &, uint64_t clk);
  void place(const WorkgroupTrace &, uint64_t since, uint64_t clk);
  void refill(uint64_t clk);
  void yieldMemory(int simd);
  void offer(SimdUnits &, uint64_t clk);
  void charge(WaveSlot &, Stall, uint64_t clk);
  void count(WaveSlot &, uint64_t clk);
  uint64_t matrixBusy() const;
  uint64_t nextSlot(uint64_t clk) const;
  void reportStalls(TimingReport &) const;
  LoopReport hottestLoop(double simdsUsed) const;

  const LaunchTrace &trace_;
  TimingParams params_;
  size_t resident_;
  bool keepTimeline_;
  LdsUnit lds_;
  MemoryUnit memory_;
  std::vector<std::unique_ptr<WaveSlot>> waves_;
  std::array<SimdUnits, kSimds> simds_;
  std::array<int, kSimds> order_ = {0, 1, 2, 3}; ///< of slots; who used memory last comes last
  std::vector<Group> groups_;
  std::deque<const WorkgroupTrace *> queue_; ///< not on the CU yet
  int freePlaces_ = 0;                       ///< left by workgroups that ended in this slot
  Full full_;
  uint64_t heldClk_ = 0;
  std::vector<InstReport> insts_;                                        ///< by index of the text
  std::map<std::pair<uint32_t, uint32_t>, std::vector<LoopMark>> loops_; ///< by branch and wave
  std::vector<TimedIssue> timeline_;
  uint64_t end_ = 0, instructions_ = 0, left_ = 0;
  double vmemBytes_ = 0, ldsBytes_ = 0;
};

} // namespace attune::sim
