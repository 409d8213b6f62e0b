// Who touched which byte of memory in a launch, to find races.
//
// Between workgroups nothing orders plain accesses: whichever comes first in the simulator, on
// hardware it may be the other. So it is enough to know, for each byte, the two lowest workgroups
// that wrote it, that read it and that updated it atomically; when the launch is over, any two of
// different workgroups, one of them a write, race. Lowest is an order that no thread count changes:
// each host thread keeps a shadow of the workgroups that ran there, and the shadows are merged.
//
// Atomics can order plain accesses: a workgroup that has published something by an atomic (or a
// store with sc1), another that has read something by one. Which of them saw which is not followed;
// an access that an s_waitcnt covered before its workgroup's last release and one that was issued
// behind the s_waitcnt of the other's first acquire count as ordered.
//
// Between the waves of a workgroup barriers order, as in LDS: an access lives until the s_waitcnt
// that covers it, and accesses of two waves to a byte race if no barrier lies between the one's end
// and the other's issue. Within a wave vector memory is in order, and so is scalar memory; between
// the two only an s_waitcnt orders.
//
// The shadow is made of 4 KiB pages, each with a unit for 64 bytes while nobody writes there or
// reads less, then 16, 4, 1.
#pragma once
#include "runtime/sim/strict/Scoreboard.h"
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attune::sim::strict {

enum class MemoryAccess : uint8_t { Read, Write, Update };

/// The accesses that one instruction of one wave made between two barriers or atomics.
struct MemoryOp {
  const Inst *inst = nullptr;
  uint64_t workgroup = 0;
  uint32_t wave = 0;
  uint32_t phase = 0, epoch = 0;     ///< atomics and barriers of the workgroup before it
  uint32_t order = 0, doneOrder = 0; ///< at its issue, and when all of it was done
  uint32_t inFlight = 0, done = 0;
  MemoryAccess access = MemoryAccess::Read;
  bool scalar = false;   ///< by the scalar unit
  bool someDone = false; ///< not all of it can still be in flight
  bool acquires = false; ///< what is issued when it is done may be ordered behind other workgroups
  bool coherent = false; ///< atomic towards the workgroup: sc0, sc1 or an atomic
};

/// "reads", "writes", "updates".
std::string_view verb(MemoryAccess);
/// "writes 0x7f.. is at byte 4 of ..": the first half of a finding.
std::string raceText(MemoryAccess, std::string_view where, bool sameValue);

/// Two waves of a workgroup.
struct WaveConflict {
  const MemoryOp *other = nullptr;
  uint64_t address = 0;
  bool sameValue = false;
};

/// Two workgroups: `later` has the higher number.
struct GroupConflict {
  const MemoryOp *earlier = nullptr, *later = nullptr;
  uint64_t address = 0;
  bool sameValue = false;
};

class GlobalShadow {
public:
  GlobalShadow() = default;
  GlobalShadow(size_t instructions, uint32_t waves) : opOf_(instructions * waves), waves_(waves) {}

  void begin(uint64_t workgroup);
  void released() { ++epoch_; }
  uint32_t epoch() const { return epoch_; }
  /// The record of an access that `inst`, number `index` of the text, issues now.
  uint32_t issue(const Inst *inst, size_t index, const MemoryOp &kind);
  void done(uint32_t op) {
    MemoryOp &o = ops_[op];
    o.someDone = true;
    if (--o.inFlight == 0) {
      o.done = epoch_;
      o.doneOrder = order_;
    }
    if (o.acquires)
      acquired(o.workgroup);
  }
  /// Access `op` may order others: behind other workgroups when it is done (acquire), before them
  /// what is done by now (release).
  void synchronise(uint32_t op, bool acquire, bool release);

  /// One lane's bytes. The first conflict between waves is left in `met`.
  void read(uint32_t op, uint64_t address, uint32_t bytes, WaveConflict &met);
  void write(uint32_t op, uint64_t address, uint32_t bytes, const uint8_t *value,
             WaveConflict &met);
  void update(uint32_t op, uint64_t address, uint32_t bytes, WaveConflict &met);

  /// Adds what another thread's workgroups did.
  void merge(GlobalShadow &&);
  /// Calls fn for each conflict, by address; workgroups above `last` are left out.
  using Meet = std::function<void(const GroupConflict &)>;
  void conflicts(uint64_t last, const Meet &fn) const;

private:
  static constexpr unsigned kPageShift = 12;
  static constexpr unsigned kCoarsest = 6;
  /// The lowest two workgroups of each kind of access; 0: none. (No initialisers: a page of zeroes
  /// is made at once.)
  struct Unit {
    uint32_t read[2], write[2], update[2];
    uint32_t value;     ///< the first that write[0]'s workgroup wrote
    bool differs;       ///< the first that write[1]'s wrote is another
    uint32_t lastValue; ///< of the workgroup that runs
    uint32_t lastWrite; ///< of it, updates included
    uint32_t lastRead;  ///< of it
    uint32_t otherRead; ///< the last by another wave than lastRead's
    /// Are there accesses of which two may race?
    bool shared() const { return write[0] ? write[1] | read[0] | update[0] : update[0] && read[0]; }
  };
  struct Page {
    unsigned shift = kCoarsest;
    bool changed = false; ///< written or updated
    std::vector<Unit> units = std::vector<Unit>(size_t(1) << (kPageShift - kCoarsest));
  };
  struct Order {
    uint32_t firstAcquire = ~0u, lastRelease = 0;
  };

  void acquired(uint64_t workgroup);
  Page &pageAt(uint64_t number);
  static void split(Page &, unsigned shift);
  template <class Fn>
  void forUnits(uint64_t address, uint32_t bytes, unsigned coarsest, bool changes, Fn);
  void note(uint32_t (&lowest)[2], uint32_t op) const;
  void checkWave(uint32_t other, const MemoryOp &, uint64_t address, WaveConflict &) const;
  void mergeUnit(Unit &, const Unit &, uint32_t offset) const;
  bool ordered(const MemoryOp &, const MemoryOp &) const;
  bool races(uint32_t a, uint32_t b, uint64_t last) const;
  void unitConflicts(const Unit &, uint64_t address, uint64_t last, const Meet &) const;

  std::vector<MemoryOp> ops_ = std::vector<MemoryOp>(1); ///< number 0 is none
  std::vector<uint32_t> opOf_;                           ///< by instruction and wave: the last
  std::unordered_map<uint64_t, Order> orders_;           ///< by workgroup
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  struct Recent {
    uint64_t number = ~uint64_t(0);
    Page *page = nullptr;
  };
  std::array<Recent, 64> recent_{};
  uint64_t workgroup_ = 0;
  uint32_t waves_ = 0, first_ = 1; ///< first record of the workgroup that runs
  uint32_t epoch_ = 1, phase_ = 1;
  uint32_t order_ = 1; ///< atomics of the workgroup, and acquires that are done
};

} // namespace attune::sim::strict
