#include "runtime/sim/Machine.h"
#include "runtime/sim/Observer.h"
#include "runtime/sim/Ops.h"
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <immintrin.h>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace attune::sim {
namespace {

/// Registers, LDS and scratch that nothing has written: NaN as f32, as two bf16 and as two f16, and
/// a wild address.
constexpr uint32_t kPoison = 0xffc0ffc0;
constexpr uint64_t kDefaultBudget = uint64_t(1) << 31;

/// Instructions ahead that are brought into the host's cache: a loop's code is larger than its
/// first level, where registers and LDS are wanted too.
constexpr int kFetchAhead = 6;

/// The thread's floating-point environment, put back at the end.
class HostFloatState {
public:
  HostFloatState() : csr_(_mm_getcsr()) {}
  ~HostFloatState() { _mm_setcsr(csr_); }
  HostFloatState(const HostFloatState &) = delete;

private:
  uint32_t csr_;
};

/// Counts instructions by runs between jumps: a run adds 1 where it begins and takes 1 away where
/// it ends, and the sum of all up to an instruction is how often that was executed.
class StraightRun {
public:
  StraightRun(std::vector<int64_t> &runs, uint32_t ip) : runs_(runs), from_(ip), ip_(ip) {}
  ~StraightRun() { count(); }
  StraightRun(const StraightRun &) = delete;
  /// Index of the next instruction if the one at hand does not jump.
  uint32_t step() { return ++ip_; }
  /// The instruction at hand is not executed.
  void leaveOut() {
    --ip_;
    count();
    from_ = ++ip_;
  }
  void goOnAt(uint32_t ip) {
    if (ip == ip_) [[likely]]
      return;
    count();
    from_ = ip_ = ip;
  }

private:
  void count() {
    ++runs_[from_];
    --runs_[ip_];
  }
  std::vector<int64_t> &runs_;
  uint32_t from_, ip_;
};

class WorkgroupRunner {
public:
  explicit WorkgroupRunner(const Dispatch &d);
  /// Runs workgroup `id` to its end; the fault's message if there was one.
  std::optional<std::string> run(uint64_t id);
  /// Adds how often each opcode was executed.
  void addCounts(std::vector<uint64_t> &counts) const {
    int64_t executed = 0;
    for (uint32_t n = 0; n < group_.codeCount; ++n) {
      executed += runs_[n];
      counts[group_.code[n].opcode] += uint64_t(executed);
    }
  }

private:
  void start(uint64_t id);
  void startWave(Wave &w, uint32_t n);
  uint32_t setUserSgprs(Wave &w);
  Wave *choose(uint32_t &turn);
  template <bool Watched> void runTurn(Wave &w, uint64_t turn);
  template <bool Watched, bool Plain> void step(Wave &w, const Inst &i, StraightRun &);
  void runIndexed(Wave &w, const Inst &i);
  std::string report(const Wave &w) const;

  const Dispatch &d_;
  uint32_t threads_, waveCount_;
  uint32_t ownRows_; ///< VGPRs and AGPRs that the kernel was given: poisoned for each workgroup
  uint64_t budget_;
  Workgroup group_;
  std::vector<uint32_t> lds_, scratch_;
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<int64_t> runs_; ///< StraightRun's, for each instruction and the end
  std::minstd_rand random_;
  uint32_t lastWave_ = 0; ///< whose turn it was under Schedule::InTurn
  std::unique_ptr<Observer> observer_;
};

WorkgroupRunner::WorkgroupRunner(const Dispatch &d)
    : d_(d), threads_(d.block[0] * d.block[1] * d.block[2]), waveCount_((threads_ + 63) / 64),
      ownRows_(std::min<uint32_t>(d.kernel->vgprs, 512)),
      budget_(d.options.instructionBudget ? d.options.instructionBudget : kDefaultBudget),
      runs_(d.text->code.size() + 1) {
  lds_.resize((d.ldsBytes + 3) / 4);
  scratch_.resize(uint64_t(d.scratchBytes + 3) / 4 * kLanes * waveCount_);
  group_.memory = d.memory;
  group_.textBase = d.textBase;
  group_.textBytes = d.textBytes;
  group_.code = d.text->code.data();
  group_.codeCount = uint32_t(d.text->code.size());
  group_.indexOfDword = d.text->indexOfDword.data();
  group_.latestArrival = d.options.arrival != Arrival::Instant;
  group_.delayed = d.options.arrival == Arrival::Typical;
  group_.ldsDelay = d.options.ldsDelay;
  group_.memoryDelay = d.options.memoryDelay;
  group_.scratchBytes = d.scratchBytes;
  group_.lds = {reinterpret_cast<uint64_t>(lds_.data()), d.ldsBytes, "LDS"};
  group_.scratch = {reinterpret_cast<uint64_t>(scratch_.data()),
                    uint64_t(d.scratchBytes) * kLanes * waveCount_, "scratch"};
  for (uint32_t n = 0; n < waveCount_; ++n) {
    waves_.push_back(std::make_unique_for_overwrite<Wave>());
    std::fill_n(&waves_.back()->v[0][0] + ownRows_ * kLanes,
                (std::size(waves_.back()->v) - ownRows_) * kLanes, kPoison);
  }
  if (d.options.observers)
    observer_ = d.options.observers->make(d);
  group_.observer = observer_.get();
}

void WorkgroupRunner::start(uint64_t id) {
  group_.id[0] = uint32_t(id % d_.grid[0]);
  group_.id[1] = uint32_t(id / d_.grid[0] % d_.grid[1]);
  group_.id[2] = uint32_t(id / d_.grid[0] / d_.grid[1]);
  std::fill(lds_.begin(), lds_.end(), kPoison);
  std::fill(scratch_.begin(), scratch_.end(), kPoison);
  random_.seed(uint32_t(d_.options.seed * 0x9e3779b1 + id));
  lastWave_ = waveCount_ - 1;
  for (uint32_t n = 0; n < waveCount_; ++n)
    startWave(*waves_[n], n);
  if (observer_)
    observer_->begin(group_, waves_);
}

void WorkgroupRunner::startWave(Wave &w, uint32_t n) {
  std::fill_n(&w.v[0][0], ownRows_ * kLanes, kPoison);
  std::fill(std::begin(w.s), std::end(w.s), kPoison);
  w.scc = false;
  w.mode = d_.kernel->mode;
  w.vectorMode = 0;
  w.accumOffset = d_.kernel->accumOffset;
  w.state = WaveState::Running;
  w.id = n;
  w.executed = 0;
  w.time = 0;
  w.group = &group_;
  w.lastRegion = nullptr;
  w.vmQueue.clear();
  w.lgkmQueue.clear();
  for (uint32_t l = 0; l < uint32_t(kLanes); ++l) {
    uint32_t thread = n * kLanes + l, x = thread % d_.block[0];
    uint32_t y = thread / d_.block[0] % d_.block[1], z = thread / d_.block[0] / d_.block[1];
    w.v[0][l] = x | y << 10 | z << 20;
  }
  uint32_t active = std::min<uint32_t>(threads_ - n * kLanes, kLanes);
  w.setExec(active == 64 ? kAllLanes : (uint64_t(1) << active) - 1);
  uint32_t next = setUserSgprs(w);
  for (int axis = 0; axis < 3; ++axis)
    if (d_.kernel->workgroupId[axis])
      w.s[next++] = group_.id[axis];
  // With preloaded arguments the first 256 bytes are a fallback for firmware that cannot preload.
  uint64_t entry =
      d_.loadBase + d_.kernel->entry - d_.textBase + (d_.kernel->preloadLength ? 256 : 0);
  w.ip = uint32_t(d_.text->indexOfDword[entry / 4]);
}

/// User SGPRs in the order of the property bits, then preloaded arguments. Returns the next free
/// SGPR.
uint32_t WorkgroupRunner::setUserSgprs(Wave &w) {
  uint32_t next = 0;
  auto pair = [&](KernelProperty property, uint64_t value, uint32_t dwords) {
    if (!(d_.kernel->properties & property))
      return;
    w.s[next] = uint32_t(value);
    w.s[next + 1] = uint32_t(value >> 32);
    next += dwords;
  };
  pair(PrivateSegmentBuffer, 0,
       4); // scratch is architected flat scratch: the descriptor is not used
  pair(DispatchPtr, d_.packet, 2);
  pair(QueuePtr, 0, 2);
  pair(KernargPtr, d_.kernarg, 2);
  pair(DispatchId, 0, 2);
  pair(FlatScratchInit, 0, 2);
  pair(PrivateSegmentSize, d_.scratchBytes, 1);
  for (uint32_t value : d_.preload)
    w.s[next++] = value;
  return std::max(next, d_.kernel->userSgprs);
}

/// The wave to run next and the longest turn it may have; null when none can run.
Wave *WorkgroupRunner::choose(uint32_t &turn) {
  uint32_t ready = 0;
  for (auto &w : waves_)
    ready += w->state == WaveState::Running;
  if (!ready)
    return nullptr;
  if (d_.options.schedule == Schedule::InTurn) {
    turn = std::max<uint32_t>(d_.options.quantum, 1);
    do
      lastWave_ = (lastWave_ + 1) % waveCount_;
    while (waves_[lastWave_]->state != WaveState::Running);
    return waves_[lastWave_].get();
  }
  uint32_t pick = 0; // which of the ready ones
  turn = ~0u;
  if (d_.options.schedule == Schedule::Reverse)
    pick = ready - 1;
  if (d_.options.schedule == Schedule::Random) {
    turn = 1 + uint32_t(random_()) % std::max<uint32_t>(d_.options.quantum, 1);
    pick = uint32_t(random_()) % ready;
  }
  for (auto &w : waves_)
    if (w->state == WaveState::Running && pick-- == 0)
      return w.get();
  return nullptr;
}

/// s_set_gpr_idx: a copy of the instruction whose VGPR numbers have M0's index added.
void WorkgroupRunner::runIndexed(Wave &w, const Inst &i) {
  const Format format = kOpcodes[i.opcode].format;
  if (format < Format::VOP1 || format > Format::VOP3P) {
    i.run(w, i); // an access keeps its instruction until it completes
    return;
  }
  Inst indexed = i;
  uint32_t add = w.s[reg::kM0] & 0xff;
  auto move = [&](Operand &o, uint32_t enable) {
    if (!(w.vectorMode & enable) || o.kind != OperandKind::Vgpr)
      return;
    if (o.index + add + o.dwords > 512)
      w.fault(fmt::format("indexed register v{} is outside the register file", o.index + add));
    else
      o.index = uint16_t(o.index + add);
  };
  for (int n = 0; n < 3; ++n)
    move(indexed.src[n], 1u << n);
  move(indexed.dst, 8);
  if (w.state == WaveState::Running)
    indexed.run(w, indexed);
}

/// One instruction. `Plain`: the wave's vector mode is 0, as it nearly always is.
template <bool Watched, bool Plain>
inline __attribute__((always_inline)) void WorkgroupRunner::step(Wave &w, const Inst &i,
                                                                 StraightRun &straight) {
  if constexpr (Watched) {
    observer_->before(w, i);
    if (w.state == WaveState::Faulted)
      return;
  }
  ++w.executed;
  if (group_.delayed) [[unlikely]]
    w.completeDue(i);
  if constexpr (Plain)
    i.run(w, i);
  else
    runIndexed(w, i);
  straight.goOnAt(w.ip);
  if constexpr (Watched)
    observer_->after(w, i);
}

template <bool Watched> void WorkgroupRunner::runTurn(Wave &w, uint64_t turn) {
  setHostFloatMode(w.mode);
  turn = std::min(turn, budget_ - w.executed);
  StraightRun straight(runs_, w.ip);
  for (; turn && w.state == WaveState::Running; --turn) {
    if (w.ip >= group_.codeCount) {
      w.fault("the program ran past the end of its text");
      return;
    }
    const Inst &i = group_.code[w.ip];
    __builtin_prefetch(&i + kFetchAhead);
    w.ip = straight.step();
    w.current = &i;
    if (!w.vectorMode) [[likely]]
      step<Watched, true>(w, i, straight);
    else if ((w.vectorMode & Wave::kSkipped) && kOpcodes[i.opcode].format >= Format::VOP1)
      straight.leaveOut(); // no observer sees it
    else
      step<Watched, false>(w, i, straight);
  }
  if (w.state == WaveState::Running && w.executed >= budget_)
    w.fault(fmt::format("the wave has executed {} instructions, its budget: an endless loop?",
                        budget_));
}

std::optional<std::string> WorkgroupRunner::run(uint64_t id) {
  start(id);
  while (true) {
    uint32_t turn = 0;
    Wave *w = choose(turn);
    if (!w) { // all wait at the barrier, or have ended
      bool waiting = false;
      for (auto &each : waves_)
        if (each->state == WaveState::AtBarrier) {
          each->state = WaveState::Running;
          waiting = true;
        }
      if (!waiting) {
        if (observer_)
          observer_->end(group_);
        return std::nullopt;
      }
      if (observer_)
        observer_->released(group_);
      continue;
    }
    if (observer_)
      runTurn<true>(*w, turn);
    else
      runTurn<false>(*w, turn);
    if (w->state == WaveState::Faulted)
      return report(*w);
  }
}

/// "kernel attention, workgroup (3,0,0), wave 1, lane 17: <message>" and the instruction.
std::string WorkgroupRunner::report(const Wave &w) const {
  std::string text = fmt::format("kernel {}, workgroup ({},{},{}), wave {}", d_.kernel->name,
                                 group_.id[0], group_.id[1], group_.id[2], w.id);
  if (w.faultLane >= 0)
    text += fmt::format(", lane {}", w.faultLane);
  text += ": " + w.faultMessage;
  if (const Inst *i = w.faultInst) {
    text += fmt::format("\n  at pc {:#x}", i->pc);
    if (i->run != refused)
      text += fmt::format(": {}", kOpcodes[i->opcode].mnemonic);
    text += " [";
    for (unsigned n = 0; n < i->words && i->pc / 4 + n < d_.textBytes / 4; ++n)
      text += fmt::format("{}{:08x}", n ? " " : "",
                          reinterpret_cast<const uint32_t *>(d_.textBase)[i->pc / 4 + n]);
    text += "]";
  }
  return text;
}

/// The first fault by workgroup id, whichever thread met it.
struct FirstFault {
  std::mutex mutex;
  std::atomic<uint64_t> id = ~uint64_t(0);
  std::string message;

  void meet(uint64_t at, std::string text) {
    std::lock_guard lock(mutex);
    if (at >= id)
      return;
    id = at;
    message = std::move(text);
  }
};

RunStats statistics(const std::vector<uint64_t> &counts, uint64_t workgroups) {
  RunStats stats;
  stats.workgroups = workgroups;
  for (uint32_t n = 0; n < kOpcodeCount; ++n) {
    if (!counts[n])
      continue;
    const OpcodeInfo &op = kOpcodes[n];
    stats.waveInstructions += counts[n];
    stats.opcodeCounts[std::string(op.mnemonic)] += counts[n];
    if (op.mnemonic.starts_with("v_mfma") || op.mnemonic.starts_with("v_smfmac"))
      stats.mfmaInstructions += counts[n];
    if (op.flags & Approx)
      stats.approximate.emplace_back(op.mnemonic);
  }
  return stats;
}

} // namespace

Result<RunStats> runDispatch(const Dispatch &d) {
  uint64_t total = uint64_t(d.grid[0]) * d.grid[1] * d.grid[2];
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  uint64_t threads =
      std::min<uint64_t>(d.options.threads > 0 ? unsigned(d.options.threads) : cores, total);
  std::atomic<uint64_t> next = 0;
  FirstFault fault;
  std::mutex mutex;
  std::vector<uint64_t> counts(kOpcodeCount);

  auto work = [&] {
    HostFloatState restore;
    WorkgroupRunner runner(d);
    for (uint64_t id; (id = next++) < total && id < fault.id;)
      if (auto message = runner.run(id))
        fault.meet(id, std::move(*message));
    std::lock_guard lock(mutex);
    runner.addCounts(counts);
  };
  std::vector<std::thread> pool;
  for (uint64_t n = 1; n < threads; ++n)
    pool.emplace_back(work);
  if (total)
    work();
  for (std::thread &t : pool)
    t.join();
  if (d.options.observers)
    d.options.observers->finished(d, fault.id);
  if (fault.id != ~uint64_t(0))
    return Error{ErrorCode::SimFault, fault.message};
  return statistics(counts, total);
}

} // namespace attune::sim
