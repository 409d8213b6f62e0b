// What the replay of a CU counted, as a report; and the step from the CU to the launch.
#include "runtime/sim/timing/Replay.h"
#include "runtime/sim/timing/Timing.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace attune::sim {

/// The branch back on which waves spent most of their time. An iteration is the time between two
/// branches; the first is left out, since it starts cold.
LoopReport Replay::hottestLoop(double simdsUsed) const {
  LoopReport best;
  std::map<uint32_t, uint64_t> spent;
  for (const auto &[key, marks] : loops_)
    spent[key.first] += marks.back().clk - marks.front().clk;
  auto hottest = std::max_element(spent.begin(), spent.end(),
                                  [](const auto &a, const auto &b) { return a.second < b.second; });
  if (hottest == spent.end() || hottest->second == 0)
    return best;
  const std::vector<LoopMark> *longest = nullptr;
  for (const auto &[key, marks] : loops_)
    if (key.first == hottest->first && (!longest || marks.size() > longest->size()))
      longest = &marks;
  size_t first = longest->size() > 3 ? 1 : 0;
  const LoopMark &from = (*longest)[first], &to = longest->back();
  const InstTiming &branch = trace_.text[hottest->first];
  best.found = true;
  best.branchPc = branch.pc;
  best.headPc = branch.target < trace_.text.size() ? trace_.text[branch.target].pc : branch.pc;
  best.iterations = longest->size();
  best.clk = double(to.clk - from.clk) / double(longest->size() - 1 - first);
  best.matrixBusy = double(to.matrixBusy - from.matrixBusy) / double(to.clk - from.clk) / simdsUsed;
  return best;
}

void Replay::reportStalls(TimingReport &r) const {
  for (uint32_t n = 0; n < insts_.size(); ++n) {
    if (!insts_[n].executed)
      continue;
    InstReport i = insts_[n];
    i.inst = n;
    i.pc = trace_.text[n].pc;
    i.mnemonic = trace_.text[n].mnemonic;
    for (size_t s = 0; s < kStalls; ++s)
      r.stalls[s] += i.stalls[s];
    r.instructionReports.push_back(i);
  }
}

void Replay::report(TimingReport &r) const {
  auto used = std::count_if(simds_.begin(), simds_.end(),
                            [](const SimdUnits &s) { return !s.waves.empty(); });
  r.clk = end_;
  r.instructions = instructions_;
  r.matrixBusy = end_ ? double(matrixBusy()) / double(end_) / double(used) : 0;
  r.vmemBytes = vmemBytes_;
  r.ldsBytes = ldsBytes_;
  uint64_t misses = memory_.sectors() - memory_.l1Hits();
  r.l1HitRate = memory_.sectors() ? double(memory_.l1Hits()) / double(memory_.sectors()) : 0;
  r.l2HitRate = misses ? memory_.l2Hits() / double(misses) : 0;
  r.loop = hottestLoop(double(used));
  r.timeline = timeline_;
  reportStalls(r);
}

namespace {

/// Who shares lines in L2: workgroups that run at the same time, which is those of one round of
/// `together` ids.
ChipLoad chipLoad(const LaunchTrace &t, uint64_t together, uint64_t workgroups,
                  const TimingOptions &options) {
  const TimingParams &p = options.params;
  ChipLoad load;
  struct Touched {
    uint64_t round = ~uint64_t(0);
    uint32_t workgroups = 0;
  };
  std::unordered_map<uint64_t, Touched> last;
  uint64_t round = 0, lines = 0, mostLines = 0;
  for (const auto &[id, footprint] : t.footprints) {
    if (std::exchange(round, id / together) != id / together)
      lines = 0;
    for (uint64_t line : footprint) {
      Touched &touched = last[line];
      if (std::exchange(touched.round, round) != round) {
        touched.workgroups = 0;
        mostLines = std::max(mostLines, ++lines);
      }
      uint32_t &sharers = load.sharers[line];
      sharers = std::max(sharers, ++touched.workgroups);
    }
  }
  if (options.sharers)
    for (auto &[line, count] : load.sharers)
      count = options.sharers;
  load.fitsL2 = mostLines * uint64_t(p.lineBytes) <= uint64_t(p.l2Bytes);
  load.xcds = std::max(1u, options.xcds);
  load.activeCus = double(std::min<uint64_t>(workgroups, uint64_t(p.cus())));
  return load;
}

/// Matrix flops of the traced workgroups and, for the roofline, the clk that the matrix unit needs
/// for them.
struct MatrixWork {
  double flops = 0, clk = 0;
};
MatrixWork matrixWork(const LaunchTrace &t) {
  MatrixWork work;
  for (const auto &[id, g] : t.workgroups)
    for (const WaveTrace &w : g.waves)
      for (const TraceStep &s : w.steps) {
        const InstTiming &i = t.text[s.inst];
        if (i.unit != Unit::Mfma)
          continue;
        work.flops += double(i.flops);
        work.clk += i.clk;
      }
  return work;
}

/// Clk that a workgroup on a CU takes for an instruction. If the launch has several rounds, it is
/// that of a CU whose places are all taken, which the last ones to be replayed do not show.
double clkPerInstruction(const TimingReport &r, const Replay &replay, bool rounds) {
  const Replay::Full &full = replay.full();
  return rounds ? double(full.clk) * r.residentWorkgroups / double(full.instructions)
                : double(replay.heldClk()) / double(r.instructions);
}

/// From the replayed workgroups to all: each takes time, flops and bytes in proportion to the
/// instructions it executed.
void extrapolate(TimingReport &r, const LaunchTrace &t, const Replay &replay,
                 const TimingParams &p) {
  const bool rounds = r.workgroups > uint64_t(r.residentWorkgroups) * uint64_t(p.cus());
  double perInstruction = clkPerInstruction(r, replay, rounds);
  std::vector<uint64_t> durations;
  durations.reserve(r.workgroups);
  double executed = 0;
  auto at = t.executed.begin();
  while (durations.size() < r.workgroups) {
    executed += double(at->second);
    durations.push_back(uint64_t(double(at->second) * perInstruction));
    if (++at == t.executed.end())
      at = t.executed.begin();
  }
  double scale = executed / double(r.instructions);
  MatrixWork work = matrixWork(t);
  r.kernelClk = dispatchClk(durations, std::max(1, r.residentWorkgroups), p);
  if (!rounds) // the CU that was replayed is one of the chip's
    r.kernelClk = std::max(r.kernelClk, r.clk);
  r.flops = work.flops * scale;
  r.bytes = r.vmemBytes * scale;
  constexpr double kSimds = 4;
  r.chipBusy = work.clk * scale / (double(r.kernelClk) * kSimds * p.cus());
  r.clockMhz = std::max(p.clockLo, std::min(p.clockHi, p.clockA + p.clockB * r.chipBusy));
  r.seconds = double(r.kernelClk) / (r.clockMhz * 1e6);
  r.tflops = r.flops / r.seconds * 1e-12;
  r.bytesPerSecond = r.bytes / r.seconds;
  if (work.clk > 0)
    r.matrixPeakTflops = work.flops / work.clk * kSimds * p.cus() * r.clockMhz * 1e-6;
  double fromMemory = r.bytes * (1 - r.l1HitRate) * (1 - r.l2HitRate);
  if (fromMemory > 0)
    r.memoryPeakTflops = r.flops / fromMemory * p.hbmTerabytes;
}

} // namespace

Result<TimingReport> simulateTiming(const TimingRecorder &recorder, const TimingOptions &options) {
  const LaunchTrace &trace = recorder.trace();
  if (trace.workgroups.empty())
    return Error{ErrorCode::InvalidArgument,
                 "timing: no workgroup was recorded; give the recorder to the launch as "
                 "RunOptions::observers, and let the launch end"};
  TimingReport r;
  r.kernel = trace.launch.kernel;
  r.occupancy = occupancy(trace.launch, options.params);
  if (r.occupancy.workgroupsPerCu == 0)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("timing: kernel {} does not fit a compute unit: its {} bound it",
                             r.kernel, r.occupancy.limit)};
  r.workgroups = options.workgroups ? options.workgroups : trace.executed.size();
  r.replayedWorkgroups = int(trace.workgroups.size());
  r.residentWorkgroups = std::min(r.replayedWorkgroups, r.occupancy.workgroupsPerCu);
  const uint64_t together = uint64_t(options.params.cus()) * uint64_t(r.occupancy.workgroupsPerCu);
  ChipLoad load = chipLoad(trace, together, r.workgroups, options);
  Replay replay(trace, options.params, load, r.residentWorkgroups, options.timeline);
  for (const auto &[id, g] : trace.workgroups)
    replay.add(g);
  if (!replay.run())
    return Error{
        ErrorCode::Internal,
        fmt::format("timing: the waves of kernel {} wait for each other for ever", r.kernel)};
  replay.report(r);
  r.bankDwords = trace.banks.dwords;
  extrapolate(r, trace, replay, options.params);
  return r;
}

} // namespace attune::sim
