// Who touched which byte of LDS last, and whether anybody wrote it.
//
// Time is counted in epochs: the number of barriers the workgroup has passed. An access lives from
// the epoch in which it was issued to the one in which its wave's s_waitcnt proved it done. Two
// accesses of different waves are ordered only if one was done in an earlier epoch than the other
// was issued in; otherwise, if they share a byte, one of them writes and not both are atomics, they
// race.
//
// The shadow has a unit for each dword of LDS, or for each byte if the code has narrower LDS
// accesses. It holds the last write of each unit and, for each wave, its last read and last atomic
// (a wave's accesses are done in order, so the last one stands for all). An access is a key: its
// number << 4 | wave. Keys below `floor` belong to accesses that were done before this epoch: no
// need to look at them. Nearly every access is checked by that one comparison.
#pragma once
#include "runtime/sim/strict/Scoreboard.h"
#include <span>
#include <vector>

namespace attune::sim::strict {

enum class LdsAccess : uint8_t { Read, Write, Dma, Atomic };

struct LdsOp {
  const Inst *inst = nullptr;
  uint32_t wave = 0;
  LdsAccess access = LdsAccess::Read;
  uint32_t issued = 0;           ///< epoch
  uint32_t done = kNotDone;      ///< epoch
  uint32_t first = 0, bytes = 0; ///< LDS-DMA: where it loads to
  static constexpr uint32_t kNotDone = ~0u;
};

/// What an access met.
struct LdsConflict {
  const LdsOp *other = nullptr;
  uint32_t address = 0;
  int lane = -1;
  bool sameWave = false;
};

class LdsShadow {
public:
  /// `narrow`: the code has LDS accesses of less than a dword.
  void prepare(uint32_t bytes, uint32_t waves, bool narrow);
  void begin();
  uint32_t epoch() const { return epoch_; }
  uint32_t unitBytes() const { return 1u << shift_; }
  /// The barrier. Accesses that are still on their way must be carried over it.
  void released();
  /// Carries one over; returns its number from now on.
  uint32_t carry(uint32_t op);
  /// A new access of `wave`; returns its number, from 1.
  uint32_t add(const LdsOp &);
  void done(uint32_t op) {
    if (op - base_ < ops_.size()) // else forgotten
      ops_[op - base_].done = epoch_;
  }
  /// One lane's part of access `op`: `bytes` at `address`. Reads return undefined bits, bit n for
  /// dword n. The first conflict is left in `conflict`.
  unsigned read(uint32_t op, uint32_t address, uint32_t bytes, int lane, LdsConflict &conflict);
  void write(uint32_t op, uint32_t address, uint32_t bytes, int lane, unsigned undefined,
             LdsConflict &conflict);

  /// A write by all 64 lanes of `bytes` each, side by side from `address` on, all of it defined.
  void writeLanes(uint32_t op, uint32_t address, uint32_t bytes, LdsConflict &conflict);

  /// All 64 lanes access `words` whole dwords each, defined ones if they write. False, and nothing
  /// done, if some lane needs a closer look. `own`: the wave's own accesses matter too, because
  /// some by the other path (LDS-DMA or not) are still on their way.
  bool readWhole(uint32_t op, const uint64_t *address, unsigned words, bool own);
  bool writeWhole(uint32_t op, const uint64_t *address, unsigned words, bool own);
  /// The same for `bytes` in one piece.
  bool writeRange(uint32_t op, uint32_t address, uint32_t bytes, bool own);

private:
  static constexpr uint32_t kUndefined = 1u << 31;
  const LdsOp &at(uint32_t op) const { return ops_[op - base_]; }
  uint32_t keyOf(uint32_t op) const { return op << 4 | at(op).wave; }
  void check(uint32_t key, const LdsOp &op, uint32_t unit, int lane, LdsConflict &conflict) const;
  using Table = std::vector<std::vector<uint32_t>>; ///< per wave and unit
  void checkAtomics(const LdsOp &, uint32_t unit, int lane, LdsConflict &) const;
  void checkWrite(const LdsOp &, uint32_t unit, int lane, LdsConflict &) const;
  void forget();

  template <unsigned N>
  bool readLanes(const uint64_t *address, uint32_t wave, uint32_t key, bool own);
  template <unsigned N> bool ownWrites(const uint64_t *address, uint32_t wave) const;
  template <class Fn> bool readersMatter(const LdsOp &, bool own, Fn anyIn) const;

  uint32_t shift_ = 2, units_ = 0, waves_ = 0;
  uint32_t epoch_ = 0, floor_ = 0;
  bool atomics_ = false;
  uint32_t base_ = 1;              ///< number of ops_[0]; numbers go on from workgroup to workgroup
  std::vector<LdsOp> ops_;         ///< of this workgroup
  std::vector<uint32_t> written_;  ///< per unit: key of the last write | kUndefined
  std::vector<uint32_t> lastRead_; ///< per wave: key of its last read
  Table read_;                     ///< last reads
  Table updated_;                  ///< last atomics; no units until there is one
};

} // namespace attune::sim::strict
