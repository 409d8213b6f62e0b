// What strict mode remembers of one wave: for each register who wrote it and when, which load is
// still on its way to it, and which of its bits nobody has written.
//
// Waits. s_waitcnt counts; what it proves follows from the order in which accesses return. Loads of
// memory return in order, so do LDS accesses; scalar loads and FLAT do not. An ordered access is
// proven done by a count of n if at least n ordered ones of its counter were issued after it, an
// unordered one by 0 only. The counters saturate (63, 15): the hardware issues no further access
// before one has returned.
//
// Wait states. `clock` counts them: 1 an instruction, N + 1 for s_nop N. A matrix instruction does
// not issue before the pipe has taken the previous one, which is that one's passes later.
#pragma once
#include "runtime/sim/strict/Facts.h"
#include <vector>

namespace attune::sim::strict {

/// Far in the past: no hazard reaches back to it.
inline constexpr int64_t kLongAgo = -1000;

struct Cell {
  uint64_t undefined = ~uint64_t(0); ///< VGPR: lanes; scalar: bits
  int64_t writeClock = kLongAgo;
  int64_t readClock = kLongAgo; ///< by an instruction that holds it (Facts::holder)
  const Inst *writer = nullptr;
  const Inst *reader = nullptr;
  uint32_t pending = 0; ///< Pending::id of the load on its way here
  Producer producer = Producer::None, readBy = Producer::None;
};

/// An access that no s_waitcnt has covered yet.
struct Pending {
  uint32_t id = 0;
  const Inst *inst = nullptr;
  uint64_t exec = 0;
  uint8_t counters = 0; ///< Counter bits that have not yet proven it done
  bool ordered = true;
  uint32_t ldsOp = 0;            ///< its record in the LDS shadow; 0: none
  uint32_t memoryOp = 0;         ///< in that of memory
  uint16_t first = 0, count = 0; ///< cells that it loads
};

class Scoreboard {
public:
  Cell cells[kCells];
  int64_t clock = 0, matrixFree = 0;
  std::vector<Pending> pending; ///< in order of issue

  /// At the start of a wave: v0, EXEC, flat_scratch and the first `scalars` SGPRs are defined.
  void reset(uint32_t scalars);

  /// An access leaves the wave. Calls done(Pending) for those that the saturated counters prove
  /// done.
  template <class Done>
  Pending &issue(const Inst &i, const Facts &f, uint64_t exec, uint8_t counters, bool ordered,
                 Done done) {
    if ((counters & uint8_t(Counter::Vm)) && open_[0] > kVmMax)
      wait(Counter::Vm, kVmMax, done);
    if ((counters & uint8_t(Counter::Lgkm)) && open_[1] > kLgkmMax)
      wait(Counter::Lgkm, kLgkmMax, done);
    open_[0] += counters & uint8_t(Counter::Vm) ? 1 : 0;
    open_[1] += counters & uint8_t(Counter::Lgkm) ? 1 : 0;
    Pending p{.id = nextId_++, .inst = &i, .exec = exec, .counters = counters, .ordered = ordered};
    if (f.writes) {
      p.first = f.write[0].first;
      p.count = f.write[0].count;
    }
    for (unsigned c = 0; c < p.count; ++c)
      cells[p.first + c].pending = p.id;
    pending.push_back(p);
    return pending.back();
  }

  /// s_waitcnt of one counter: calls done(Pending) for what `keep` outstanding accesses prove done.
  template <class Done> void wait(Counter counter, unsigned keep, Done done) {
    unsigned &open = open_[counter == Counter::Vm ? 0 : 1];
    if (open <= keep)
      return;
    unsigned after = 0;
    bool any = false;
    for (size_t n = pending.size(); n-- > 0;) {
      Pending &p = pending[n];
      if (!(p.counters & uint8_t(counter)))
        continue;
      if (p.ordered ? after++ >= keep : keep == 0) {
        p.counters &= uint8_t(~uint8_t(counter));
        --open;
      }
      any |= !p.counters;
    }
    if (any)
      sweep(done);
  }

  const Pending *find(uint32_t id) const {
    for (const Pending &p : pending)
      if (p.id == id)
        return &p;
    return nullptr;
  }

private:
  static constexpr unsigned kVmMax = 63, kLgkmMax = 15;

  template <class Done> void sweep(Done done) {
    size_t kept = 0;
    for (const Pending &p : pending) {
      if (p.counters) {
        pending[kept++] = p;
        continue;
      }
      for (unsigned c = 0; c < p.count; ++c)
        if (Cell &cell = cells[p.first + c]; cell.pending == p.id)
          cell.pending = 0;
      done(p);
    }
    pending.resize(kept);
  }

  uint32_t nextId_ = 1;
  unsigned open_[2] = {0, 0}; ///< outstanding accesses by counter: vmcnt, lgkmcnt
};

} // namespace attune::sim::strict
