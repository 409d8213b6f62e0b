#include "runtime/sim/Machine.h"
#include "runtime/sim/timing/Occupancy.h"
#include "runtime/sim/timing/Timing.h"
#include <algorithm>
#include <bit>

namespace attune::sim {

/// Watches the workgroups of one host thread. Only those on the first CU are traced; those that
/// share its L2 then leave the set of lines they touch.
class TimingRecorder::Watch : public Observer {
public:
  Watch(TimingRecorder &recorder, const Dispatch &d)
      : recorder_(recorder), d_(d),
        occupancy_(occupancy(recorder.trace_.launch, recorder.params_)) {}

  void begin(const Workgroup &g, std::span<const std::unique_ptr<Wave>> waves) override {
    waves_ = waves;
    id_ = g.id[0] + uint64_t(d_.grid[0]) * (g.id[1] + uint64_t(d_.grid[1]) * g.id[2]);
    Placement at = firstPlacement(id_, recorder_.params_);
    const TimingParams &p = recorder_.params_;
    const uint64_t round = uint64_t(p.cus()) * uint64_t(std::max(occupancy_.workgroupsPerCu, 1));
    footprinted_ = id_ < kReplayedRounds * round && at.xcd == 0;
    traced_ = footprinted_ && at.cu == 0;
    trace_ = {{g.id[0], g.id[1], g.id[2]}, std::vector<WaveTrace>(traced_ ? waves.size() : 0)};
    footprint_.clear();
    compactAt_ = 1 << 16;
  }

  void before(Wave &w, const Inst &i) override {
    if (traced_)
      trace_.waves[w.id].steps.push_back({uint32_t(&i - w.group->code), 0});
  }

  void issued(Wave &w, const Access &a, Counter) override {
    if (!footprinted_)
      return;
    sectors_.clear();
    const InstTiming &t = recorder_.trace_.text[size_t(w.current - w.group->code)];
    TraceAccess access;
    access.laneBytes = a.inst->memBytes;
    access.toLds = a.inst->flags & ToLds;
    if (t.unit != Unit::Lds)
      addSectors(
          a, t.unit == Unit::Smem ? recorder_.params_.smemLineBytes : recorder_.params_.sectorBytes,
          access);
    if (t.unit == Unit::Vmem)
      addFootprint();
    if (!traced_)
      return;
    if (t.unit == Unit::Lds)
      access.lds = ldsCost(t, a, recorder_.params_, &banks_);
    WaveTrace &trace = trace_.waves[w.id];
    access.firstSector = uint32_t(trace.sectors.size());
    access.sectors = uint16_t(sectors_.size());
    access.lines = uint16_t(countLines());
    trace.sectors.insert(trace.sectors.end(), sectors_.begin(), sectors_.end());
    trace.accesses.push_back(access);
    trace.steps.back().access = uint32_t(trace.accesses.size());
  }

  void end(const Workgroup &) override {
    uint64_t executed = 0;
    for (auto &w : waves_)
      executed += w->executed;
    makeUnique(footprint_);
    std::lock_guard lock(recorder_.mutex_);
    LaunchTrace &all = recorder_.trace_;
    all.executed[id_] = executed;
    if (footprinted_)
      all.footprints[id_] = std::move(footprint_);
    if (!traced_)
      return;
    all.workgroups[id_] = std::move(trace_);
    for (size_t b = 0; b < banks_.dwords.size(); ++b)
      all.banks.dwords[b] += banks_.dwords[b];
    banks_ = {};
  }

private:
  static void makeUnique(std::vector<uint64_t> &lines) {
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  }

  /// Kept without repeats once in a while, so that a loop over the same data stays small.
  void addFootprint() {
    for (uint64_t sector : sectors_)
      footprint_.push_back(lineOf(sector));
    if (footprint_.size() < compactAt_)
      return;
    makeUnique(footprint_);
    compactAt_ = 2 * footprint_.size() + (1 << 16);
  }

  uint64_t lineOf(uint64_t sector) const {
    return sector / uint64_t(recorder_.params_.sectorsPerLine());
  }
  size_t countLines() const {
    size_t lines = 0;
    for (size_t n = 0; n < sectors_.size(); ++n)
      lines += n == 0 || lineOf(sectors_[n]) != lineOf(sectors_[n - 1]);
    return lines;
  }

  /// The sectors of the lanes that access memory, and their bytes.
  void addSectors(const Access &a, int sectorBytes, TraceAccess &access) {
    uint64_t size = uint64_t(sectorBytes);
    unsigned bytes = 0;
    bool scratch = kOpcodes[a.inst->opcode].format == Format::SCRATCH;
    for (uint64_t left = a.exec; left; left &= left - 1) {
      int lane = std::countr_zero(left);
      if (!a.bytes[lane])
        continue;
      bytes += a.bytes[lane];
      if (scratch) { // the hardware interleaves lanes dword by dword: as compact as can be
        sectors_.push_back((a.address[std::countr_zero(a.exec)] + bytes - 1) / size);
        continue;
      }
      for (uint64_t at = a.address[lane] / size; at <= (a.address[lane] + a.bytes[lane] - 1) / size;
           ++at)
        sectors_.push_back(at);
    }
    access.bytes = uint16_t(bytes);
    makeUnique(sectors_);
  }

  TimingRecorder &recorder_;
  const Dispatch &d_;
  Occupancy occupancy_;
  std::span<const std::unique_ptr<Wave>> waves_;
  uint64_t id_ = 0;
  bool traced_ = false, footprinted_ = false;
  WorkgroupTrace trace_;
  BankUse banks_;
  std::vector<uint64_t> sectors_, footprint_;
  size_t compactAt_ = 0;
};

std::unique_ptr<Observer> TimingRecorder::make(const Dispatch &d) {
  std::lock_guard lock(mutex_);
  if (trace_.text.empty()) {
    trace_.launch = {d.kernel->name, d.grid, d.block, d.kernel->vgprs, d.ldsBytes};
    trace_.text = classifyText(d.text->code, d.kernel->accumOffset, params_);
  }
  return std::make_unique<Watch>(*this, d);
}

} // namespace attune::sim
