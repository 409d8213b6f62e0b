#include "runtime/sim/timing/Replay.h"
#include <algorithm>

namespace attune::sim {

Replay::Replay(const LaunchTrace &trace, const TimingParams &p, const ChipLoad &load, int resident,
               bool timeline)
    : trace_(trace), params_(p), resident_(size_t(resident)), keepTimeline_(timeline),
      lds_(params_), memory_(params_, load), insts_(trace.text.size()) {}

void Replay::add(const WorkgroupTrace &g) {
  left_ += g.waves.size();
  if (groups_.size() < resident_)
    place(g, 0, uint64_t(params_.coldStartClk) + waves_.size() * uint64_t(params_.waveLaunchClk));
  else
    queue_.push_back(&g);
}

/// On the CU, in a place that is free since then: its first wave starts at `clk`, the others one
/// after another.
void Replay::place(const WorkgroupTrace &g, uint64_t since, uint64_t clk) {
  int group = int(groups_.size());
  groups_.push_back({int(g.waves.size()), 0, 0, since});
  for (const WaveTrace &trace : g.waves) {
    auto w = std::make_unique<WaveSlot>(trace, params_);
    auto simd = std::min_element(simds_.begin(), simds_.end(),
                                 [](const auto &a, const auto &b) { return a.live < b.live; });
    w->number = uint32_t(waves_.size());
    w->group = group;
    w->simd = int(simd - simds_.begin());
    w->freeAt = w->tryAt = nextSlot(clk);
    simd->waves.push_back(w.get());
    ++simd->live;
    waves_.push_back(std::move(w));
    clk += uint64_t(params_.waveLaunchClk);
  }
}

/// Gives the places of workgroups that ended to those in line. The code is in the instruction cache
/// by now: they start as waves of one launch follow each other.
void Replay::refill(uint64_t clk) {
  for (; freePlaces_ && !queue_.empty(); --freePlaces_) {
    place(*queue_.front(), clk, clk + uint64_t(params_.slotClk + params_.waveLaunchClk));
    queue_.pop_front();
  }
  if (freePlaces_ && !full_.clk)
    full_ = {end_, instructions_};
  freePlaces_ = 0;
}

uint64_t Replay::nextSlot(uint64_t clk) const {
  uint64_t slot = uint64_t(params_.slotClk);
  return (clk + slot - 1) / slot * slot;
}

bool Replay::run() {
  while (left_) {
    uint64_t clk = kNever;
    for (auto &w : waves_)
      clk = std::min(clk, w->tryAt);
    if (clk == kNever)
      return false;
    lds_.advance(clk);
    std::array<int, kSimds> order = order_;
    for (int simd : order)
      offer(simds_[size_t(simd)], clk);
    if (freePlaces_)
      refill(clk);
  }
  return true;
}

/// One slot of one SIMD.
void Replay::offer(SimdUnits &s, uint64_t clk) {
  for (int priority = 3; priority >= 0; --priority)
    for (WaveSlot *w : s.waves) {
      if (w->tryAt > clk || w->priority != priority)
        continue;
      Need n = need(*w, clk);
      if (n.at <= clk) {
        issue(*w, clk);
        continue;
      }
      w->tryAt = nextSlot(n.at);
      charge(*w, n.reason, w->tryAt - clk);
    }
}

/// The SIMD has used a memory queue that others wait for: they come first from the next slot on.
void Replay::yieldMemory(int simd) {
  auto at = std::find(order_.begin(), order_.end(), simd);
  std::rotate(at, at + 1, order_.end());
}

void Replay::charge(WaveSlot &w, Stall reason, uint64_t clk) {
  w.pending[size_t(reason)] += uint32_t(clk);
}

const TraceAccess *Replay::access(const WaveSlot &w) const {
  uint32_t number = w.trace->steps[w.at].access;
  return number ? &w.trace->accesses[number - 1] : nullptr;
}

/// When the next instruction can issue, and what it waits for until then.
Replay::Need Replay::need(WaveSlot &w, uint64_t clk) {
  const InstTiming &i = next(w);
  Need n{clk, Stall::Dependency};
  n.also(w.freeAt, w.freeReason);
  if (n.at > clk)
    return n;
  RegisterTimes::Ready r = w.registers.ready(i);
  n.also(r.clk, r.matrix ? Stall::MatrixResult : Stall::Dependency);
  needUnit(w, i, n, clk);
  return n;
}

void Replay::needUnit(WaveSlot &w, const InstTiming &i, Need &n, uint64_t clk) {
  const SimdUnits &s = simds_[size_t(w.simd)];
  switch (i.unit) {
  case Unit::Mfma:
    needMatrix(i, s, n);
    break;
  case Unit::Valu:
    n.also(s.valuFree, Stall::Valu);
    n.also(s.valuWindow, Stall::ReadWindow);
    if (i.valu == ValuKind::NoCoissue)
      n.also(s.packedWindow, Stall::Packed);
    break;
  case Unit::Lds:
    n.also(std::max(s.memFree, w.memFreeAt), Stall::MemoryPort);
    if (n.at <= clk && !lds_.hasRoom(w.simd / 2, i.ldsSlots))
      n.also(clk + uint64_t(params_.slotClk), Stall::LdsQueue);
    break;
  case Unit::Vmem:
    n.also(std::max(params_.memPortShared ? s.memFree : s.vmemFree, w.memFreeAt),
           Stall::MemoryPort);
    if (access(w))
      n.also(memory_.roomAt(clk), Stall::VmemQueue);
    break;
  case Unit::Smem:
  case Unit::Salu:
    n.also(s.scalarFree, Stall::Scalar);
    break;
  case Unit::Branch:
    n.also(s.branchFree, Stall::Scalar);
    break;
  case Unit::Waitcnt:
    needCounters(w, i, n, clk);
    break;
  case Unit::End:
    n.also(w.storesLeaveAt, Stall::Stores);
    break;
  default:
    break;
  }
}

void Replay::needMatrix(const InstTiming &i, const SimdUnits &s, Need &n) const {
  n.also(s.valuFree, Stall::Valu);
  uint64_t idle = i.scaled && s.matrixFree < n.at ? uint64_t(params_.mfmaScaleIdleClk) : 0;
  n.also(s.matrixFree + idle, Stall::MatrixBusy);
}

/// The counters are in order: the oldest accesses are done first. Scalar loads may overtake each
/// other, so that kernels wait for all of them.
void Replay::needCounters(WaveSlot &w, const InstTiming &i, Need &n, uint64_t clk) {
  if (w.vm.size() > i.vmKeep)
    n.also(w.vm[w.vm.size() - 1 - i.vmKeep], Stall::WaitVm);
  for (size_t e = 0; e + i.lgkmKeep < w.lgkm.size(); ++e) {
    uint64_t done = w.lgkm[e].lds ? lds_.done(uint32_t(w.lgkm[e].value)) : w.lgkm[e].value;
    n.also(done ? done : clk + uint64_t(params_.slotClk), Stall::WaitLgkm);
  }
  if (n.at > clk)
    return;
  while (w.vm.size() > i.vmKeep)
    w.vm.pop_front();
  while (w.lgkm.size() > i.lgkmKeep)
    w.lgkm.pop_front();
}

void Replay::issue(WaveSlot &w, uint64_t clk) {
  const InstTiming &i = next(w);
  SimdUnits &s = simds_[size_t(w.simd)];
  uint64_t slot = uint64_t(params_.slotClk);
  count(w, clk);
  w.registers.issue(i, clk);
  w.freeAt = clk + slot;
  w.freeReason = Stall::Nop;
  switch (i.unit) {
  case Unit::Valu:
    s.valuFree = clk + i.clk;
    break;
  case Unit::Mfma:
    issueMatrix(w, i, clk);
    break;
  case Unit::Lds:
    issueLds(w, i, clk);
    yieldMemory(w.simd);
    break;
  case Unit::Vmem:
    issueVmem(w, i, clk);
    yieldMemory(w.simd);
    break;
  case Unit::Smem:
    if (const TraceAccess *a = access(w))
      w.lgkm.push_back({false, memory_.scalar(clk, *a, &w.trace->sectors[a->firstSector])});
    s.scalarFree = clk + slot;
    break;
  case Unit::Salu:
    s.scalarFree = clk + i.clk;
    break;
  case Unit::Branch:
    issueBranch(w, i, clk);
    break;
  case Unit::Nop:
  case Unit::Sleep:
    w.freeAt = clk + i.clk;
    break;
  case Unit::Priority:
    w.priority = i.literal;
    break;
  default:
    break;
  }
  ++w.at;
  w.tryAt = clk + slot;
  if (i.unit == Unit::Barrier)
    arrive(w, clk);
  else if (i.unit == Unit::End || w.at == w.trace->steps.size())
    finish(w, clk);
}

void Replay::issueMatrix(WaveSlot &w, const InstTiming &i, uint64_t clk) {
  SimdUnits &s = simds_[size_t(w.simd)];
  s.valuFree = clk + uint64_t(params_.valuClk);
  s.matrixFree = clk + i.clk;
  s.valuWindow = std::max(s.valuWindow, clk + i.valuAfter);
  s.packedWindow = std::max(s.packedWindow, clk + i.packedAfter);
  s.matrixBusy += i.clk;
  w.memFreeAt = clk + i.memAfter;
}

void Replay::issueLds(WaveSlot &w, const InstTiming &i, uint64_t clk) {
  SimdUnits &s = simds_[size_t(w.simd)];
  const TraceAccess *a = access(w);
  int bank = a ? a->lds.clk : 0;
  int path = i.store ? i.clk : i.ldsData;
  uint32_t op = lds_.issue(clk, w.simd / 2, i.ldsSlots, bank, path, i.ldsData);
  w.lgkm.push_back({true, op});
  s.memFree = clk + uint64_t(params_.slotClk);
  if (a && i.banks) {
    InstReport &r = insts_[w.trace->steps[w.at].inst];
    r.ldsClk += a->lds.clk;
    r.ldsFreeClk += a->lds.free;
    ldsBytes_ += a->laneBytes * 64.0;
  }
}

void Replay::issueVmem(WaveSlot &w, const InstTiming &i, uint64_t clk) {
  SimdUnits &s = simds_[size_t(w.simd)];
  uint64_t slot = uint64_t(params_.slotClk);
  (params_.memPortShared ? s.memFree : s.vmemFree) = clk + slot;
  const TraceAccess *a = access(w);
  if (!a)
    return; // cache control
  uint64_t done = memory_.access(clk, *a, w.trace->sectors.data() + a->firstSector, i.store);
  vmemBytes_ += a->bytes;
  if (i.store)
    w.storesLeaveAt = std::max(w.storesLeaveAt, clk + uint64_t(params_.storeToEndClk));
  if (a->toLds)
    lds_.arrive(done, a->bytes);
  w.vm.push_back(w.vm.empty() ? done : std::max(done, w.vm.back()));
}

void Replay::issueBranch(WaveSlot &w, const InstTiming &i, uint64_t clk) {
  simds_[size_t(w.simd)].branchFree = clk + uint64_t(params_.slotClk);
  w.freeAt = clk + i.clk;
  if (w.at + 1 == w.trace->steps.size())
    return;
  uint32_t from = w.trace->steps[w.at].inst, to = w.trace->steps[w.at + 1].inst;
  if (to == from + 1)
    return;
  w.freeAt = clk + uint64_t(params_.branchTakenClk);
  w.freeReason = Stall::Branch;
  if (to <= from)
    loops_[{from, w.number}].push_back({clk, matrixBusy()});
}

void Replay::arrive(WaveSlot &w, uint64_t clk) {
  Group &g = groups_[size_t(w.group)];
  ++g.waiting;
  w.barrierSince = w.freeAt;
  w.tryAt = kNever;
  if (g.waiting + g.ended == g.waves)
    release(w.group, clk);
}

void Replay::release(int group, uint64_t clk) {
  Group &g = groups_[size_t(group)];
  g.waiting = 0;
  for (auto &w : waves_) {
    if (w->group != group || w->tryAt != kNever || w->at == w->trace->steps.size())
      continue;
    w->tryAt = w->freeAt = nextSlot(clk + uint64_t(params_.slotClk + params_.barrierReleaseClk));
    charge(*w, Stall::Barrier, w->tryAt - w->barrierSince);
  }
}

void Replay::finish(WaveSlot &w, uint64_t clk) {
  w.at = w.trace->steps.size();
  w.tryAt = kNever;
  end_ = std::max(end_, clk + uint64_t(params_.slotClk));
  --left_;
  --simds_[size_t(w.simd)].live;
  Group &g = groups_[size_t(w.group)];
  ++g.ended;
  if (g.ended == g.waves) {
    ++freePlaces_;
    heldClk_ += clk + uint64_t(params_.slotClk) - g.since;
  }
  if (g.waiting && g.waiting + g.ended == g.waves)
    release(w.group, clk);
}

void Replay::count(WaveSlot &w, uint64_t clk) {
  uint32_t inst = w.trace->steps[w.at].inst;
  InstReport &r = insts_[inst];
  ++r.executed;
  ++instructions_;
  size_t longest = 0;
  uint32_t stalled = 0;
  for (size_t n = 0; n < kStalls; ++n) {
    r.stalls[n] += w.pending[n];
    stalled += w.pending[n];
    if (w.pending[n] > w.pending[longest])
      longest = n;
  }
  r.stallClk += stalled;
  w.pending = {};
  if (keepTimeline_)
    timeline_.push_back({clk, w.number, inst, stalled, Stall(longest)});
}

uint64_t Replay::matrixBusy() const {
  uint64_t busy = 0;
  for (const SimdUnits &s : simds_)
    busy += s.matrixBusy;
  return busy;
}

} // namespace attune::sim
