// How long a launch would take on gfx950: a cycle-approximate model, in two steps that keep the
// simulation itself untouched.
//
//   sim::TimingRecorder recorder;                       // an observer of the launch
//   launch.options.observers = &recorder;
//   simulator.launch(module, launch);
//   auto report = sim::simulateTiming(recorder);        // replays what was recorded, on one CU
//   puts(sim::timingText(*report).c_str());             // or timingJson
//
// The recorder keeps the executed instructions of the workgroups that the dispatcher would put on
// the first compute unit (XCD 0, CU 0): ids 0, 256, 512 ... as many as fit, and as many again.
// simulateTiming replays them on a model of that CU: 4 SIMDs, their issue rules, the matrix unit
// and what may run beside it, LDS queues and banks, the memory pipeline, counters, barriers. The
// rest of the chip is a latency and a bandwidth. docs/timing.md describes the model and what it
// reproduces; Gfx950Timing.def holds every number with its source.
//
// The result depends on nothing but the trace and the options: not on host threads, nor on the
// simulator's policies as long as the kernel's path does not.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/sim/Observer.h"
#include "runtime/sim/timing/TimingReport.h"
#include "runtime/sim/timing/Trace.h"
#include <mutex>

namespace attune::sim {

struct TimingOptions {
  TimingParams params = {};
  /// Workgroups of the launch to be timed; 0: those that ran. A kernel whose workgroups are alike
  /// can be run with a few and timed with many.
  uint64_t workgroups = 0;
  /// How many workgroups of an XCD touch the same lines; 0: counted in those that ran. Of use when
  /// fewer ran than are timed.
  uint32_t sharers = 0;
  /// How many XCDs touch the same lines: what L2 lacks is in the memory-side cache (MALL) once one
  /// of them has read it. 0: each XCD its own lines.
  uint32_t xcds = 0;
  /// Instructions and accesses in the order of issue, in TimingReport::timeline.
  bool timeline = false;
};

/// Records one launch; use a new one for each. Memory: about 8 bytes for each instruction of a
/// traced wave.
class TimingRecorder : public ObserverFactory {
public:
  explicit TimingRecorder(TimingParams params = {}) : params_(params) {}
  std::unique_ptr<Observer> make(const Dispatch &) override;
  const LaunchTrace &trace() const { return trace_; }
  const TimingParams &params() const { return params_; }

private:
  class Watch;
  std::mutex mutex_;
  TimingParams params_;
  LaunchTrace trace_;
};

/// Fails when nothing was recorded, or the launch does not fit a compute unit.
Result<TimingReport> simulateTiming(const TimingRecorder &, const TimingOptions & = {});

} // namespace attune::sim
