// What strict mode remembers of one wave: for each register which load is still on its way to it,
// and which of its bits nobody has written. (Who wrote it and when: HazardClock.h.)
//
// Nearly all registers are settled: all bits defined, no load on its way. An instruction that
// touches none but those changes nothing here, so that one look at the set of unsettled ones is all
// it costs.
//
// Waits. s_waitcnt counts; what it proves follows from the order in which accesses return. Loads of
// memory return in order, so do LDS accesses; scalar loads do not. An ordered access is proven done
// by a count of n if at least n ordered ones of its counter were issued after it, an unordered one
// by 0 only. The counters saturate (63, 15): the hardware issues no further access before one has
// returned. FLAT is counted by both; all lanes in memory make it a memory access that vmcnt alone
// proves done (LLVM waits so where it knows the address space), all in LDS one for lgkmcnt, and
// lanes in either need 0 of both. All of them pass through LDS in the order of issue: one is gone
// from there when lgkmcnt has no room for it beside the later ones (clang counts on that, too).
#pragma once
#include "runtime/sim/strict/Program.h"
#include <vector>

namespace attune::sim::strict {

/// An access that no s_waitcnt has covered yet.
struct Pending {
  uint32_t id = 0;
  const Inst *inst = nullptr;
  uint64_t exec = 0;
  uint8_t counters = 0;          ///< Counter bits that still count it
  uint8_t proofs = 0;            ///< those that must let go of it to prove it done
  uint8_t ordered = 0;           ///< those in whose order it returns
  uint32_t queued = 0;           ///< its number among those that pass through LDS; 0: it does not
  uint32_t ldsOp = 0;            ///< its record in the LDS shadow; 0: none
  uint32_t memoryOp = 0;         ///< in that of memory
  uint16_t first = 0, count = 0; ///< cells that it loads
};

/// How an access is counted: Counter bits, as in Pending.
struct Counts {
  uint8_t counters = 0, proofs = 0, ordered = 0;

  static Counts inOrder(Counter c) { return {uint8_t(c), uint8_t(c), uint8_t(c)}; }
  static Counts outOfOrder(Counter c) { return {uint8_t(c), uint8_t(c), 0}; }
  /// FLAT, by where its lanes go.
  static Counts flat(bool memory, bool lds) {
    Counter one = lds ? Counter::Lgkm : Counter::Vm;
    return memory && lds ? outOfOrder(Counter::Both)
                         : Counts{uint8_t(Counter::Both), uint8_t(one), uint8_t(one)};
  }
};

class Scoreboard {
public:
  std::vector<Pending> pending; ///< in order of issue

  /// Are all registers settled that an instruction touches? No for one that always needs a look.
  bool settled(const Touch &t) const {
    return !((unsettled_[t.word[0]] & t.mask[0]) | (unsettled_[t.word[1]] & t.mask[1]) |
             (unsettled_[t.word[2]] & t.mask[2]) | (unsettled_[t.word[3]] & t.mask[3]));
  }
  /// VGPR: lanes; scalar: bits.
  uint64_t undefined(unsigned cell) const { return undefined_[cell]; }
  /// Of `count` of them, any.
  uint64_t undefined(unsigned cell, unsigned count) const {
    uint64_t any = 0;
    for (unsigned c = cell; c < cell + count; ++c)
      any |= undefined_[c];
    return any;
  }
  void setUndefined(unsigned cell, uint64_t bits) {
    undefined_[cell] = bits;
    settle(cell);
  }
  void addUndefined(unsigned cell, uint64_t bits) {
    if (bits)
      setUndefined(cell, undefined_[cell] | bits);
  }
  /// In some lanes only.
  void setUndefined(unsigned cell, uint64_t bits, uint64_t lanes) {
    setUndefined(cell, (undefined_[cell] & ~lanes) | (bits & lanes));
  }
  /// Pending::id of the load on its way to a register; 0: none.
  uint32_t pendingOn(unsigned cell) const { return pendingOn_[cell]; }

  /// At the start of a wave: v0, EXEC, flat_scratch and the first `scalars` SGPRs are defined.
  void reset(uint32_t scalars);

  /// An access leaves the wave. Calls done(Pending) for those that the saturated counters prove
  /// done.
  template <class Done>
  Pending &issue(const Inst &i, const Facts &f, uint64_t exec, Counts counts, Done done) {
    const uint8_t counters = counts.counters;
    if ((counters & uint8_t(Counter::Vm)) && open_[0] > kVmMax)
      wait(Counter::Vm, kVmMax, done);
    if ((counters & uint8_t(Counter::Lgkm)) && open_[1] > kLgkmMax)
      wait(Counter::Lgkm, kLgkmMax, done);
    for (unsigned which : {0u, 1u})
      if (counters >> which & 1) { // Counter::Vm, Counter::Lgkm
        ++open_[which];
        ordered_[which] += counts.ordered >> which & 1;
      }
    Pending p{.id = nextId_++,
              .inst = &i,
              .exec = exec,
              .counters = counters,
              .proofs = counts.proofs,
              .ordered = counts.ordered,
              .queued = enqueue(counts, done)};
    if (f.writes) {
      p.first = f.write[0].first;
      p.count = f.write[0].count;
    }
    for (unsigned c = 0; c < p.count; ++c)
      setPending(p.first + c, p.id);
    pending.push_back(p);
    return pending.back();
  }

  /// The access has `ldsOp` as its record in the LDS shadow.
  void setLdsOp(Pending &p, uint32_t ldsOp) {
    p.ldsOp = ldsOp;
    ++ldsOps_[isDma(p)];
  }
  /// Is an LDS-DMA on its way, or any other access to LDS?
  bool anyInLds(bool dma) const { return ldsOps_[dma]; }

  /// s_waitcnt of one counter: calls done(Pending) for what `keep` outstanding accesses prove done.
  template <class Done> void wait(Counter counter, unsigned keep, Done done) {
    unsigned which = counter == Counter::Vm ? 0 : 1;
    if (open_[which] <= keep)
      return;
    // The oldest ordered ones are done; with 0 left all are.
    unsigned ordered = ordered_[which] > keep ? ordered_[which] - keep : 0;
    size_t gone = pending.size(); // the first that is wholly done
    for (size_t n = 0; n < pending.size() && (ordered || !keep); ++n) {
      Pending &p = pending[n];
      bool inOrder = p.ordered & uint8_t(counter);
      if (!(p.counters & uint8_t(counter)) || (keep && !inOrder))
        continue;
      ordered -= inOrder;
      letGo(p, which);
      if (p.counters & p.proofs)
        continue;
      if (p.counters)
        letGo(p, 1 - which);
      gone = std::min(gone, n);
    }
    if (gone < pending.size())
      sweep(gone, done);
  }

  const Pending *find(uint32_t id) const {
    for (const Pending &p : pending)
      if (p.id == id)
        return &p;
    return nullptr;
  }

private:
  static constexpr unsigned kVmMax = 63, kLgkmMax = 15;

  static bool isDma(const Pending &p) { return p.inst->flags & ToLds; }

  /// The number of the next access among those that pass through LDS.
  template <class Done> uint32_t enqueue(const Counts &counts, Done done) {
    bool flat = counts.counters == uint8_t(Counter::Both);
    if (!flat && !(counts.ordered & uint8_t(Counter::Lgkm)))
      return 0;
    ++queued_;
    flats_ |= flat;
    if (flats_) // without, `ordered_` says the same
      leaveLds(done);
    return queued_;
  }

  /// What is too far back to be in LDS still.
  template <class Done> void leaveLds(Done done) {
    size_t gone = pending.size();
    for (size_t n = 0; n < pending.size(); ++n) {
      Pending &p = pending[n];
      if (!p.queued || queued_ - p.queued <= kLgkmMax || !(p.counters & uint8_t(Counter::Lgkm)))
        continue;
      letGo(p, 1);
      if (p.counters & p.proofs)
        continue;
      if (p.counters)
        letGo(p, 0);
      gone = std::min(gone, n);
    }
    if (gone < pending.size())
      sweep(gone, done);
  }

  /// A counter no longer counts an access.
  void letGo(Pending &p, unsigned which) {
    --open_[which];
    ordered_[which] -= p.ordered >> which & 1;
    p.counters &= uint8_t(~(1u << which));
  }

  template <class Done> void sweep(size_t kept, Done done) {
    for (size_t n = kept; n < pending.size(); ++n) {
      const Pending &p = pending[n];
      if (p.counters) {
        pending[kept++] = p;
        continue;
      }
      for (unsigned c = 0; c < p.count; ++c)
        if (pendingOn_[p.first + c] == p.id)
          setPending(p.first + c, 0);
      if (p.ldsOp)
        --ldsOps_[isDma(p)];
      done(p);
    }
    pending.resize(kept);
  }

  void setPending(unsigned cell, uint32_t id) {
    pendingOn_[cell] = id;
    settle(cell);
  }
  void settle(unsigned cell) {
    uint64_t bit = uint64_t(1) << cell % 64, &word = unsettled_[cell / 64];
    word = undefined_[cell] || pendingOn_[cell] ? word | bit : word & ~bit;
  }

  uint64_t undefined_[kCells];
  uint32_t pendingOn_[kCells];
  uint64_t unsettled_[kAlways + 1]; ///< the last word: all bits
  uint32_t nextId_ = 1;
  uint32_t queued_ = 0;          ///< accesses that have passed through LDS
  bool flats_ = false;           ///< FLAT ones among them
  unsigned open_[2] = {0, 0};    ///< outstanding accesses by counter: vmcnt, lgkmcnt
  unsigned ordered_[2] = {0, 0}; ///< those of them that return in order
  unsigned ldsOps_[2] = {0, 0};  ///< outstanding accesses to LDS: by instructions, by LDS-DMA
};

} // namespace attune::sim::strict
