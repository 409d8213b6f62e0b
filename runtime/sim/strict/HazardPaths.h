// Wait states at the price of one byte an instruction.
//
// What an instruction must wait for follows from the instructions that ran before it, and no rule
// reaches back further than kWindow of them: data, lanes and the other waves play no part. So an
// instruction that was met once behind the same instructions, and broke no rule, need not be looked
// at again.
//
// "The same instructions" is a path: the blocks of code, each run through from its first to its
// last instruction, that lead up to where the wave jumped to. Within a path an instruction is known
// by its distance from there. kWindow instructions behind a jump it no longer matters how the wave
// came there: what runs straight on has a byte for each instruction of the program.
//
// What breaks a rule breaks it each time, and in the same way: that is remembered as well. Where
// the byte says nothing yet, HazardClock looks. It runs along as long as the wave meets such
// instructions; at the first one behind known ones it is brought up by the instructions of the
// path.
#pragma once
#include "runtime/sim/strict/HazardClock.h"
#include <array>
#include <map>
#include <memory>
#include <unordered_map>

namespace attune::sim::strict {

class HazardPaths {
public:
  /// The longest hazard, and before that what the matrix pipe may still be busy with: after as many
  /// instructions as the longest product has passes it is known when it is free.
  static constexpr uint32_t kWindow = 40;
  /// Branches may come in ever new orders: behind `maxPaths` paths are no longer told apart.
  HazardPaths(Program &, size_t waves, size_t maxPaths = 4096);
  /// A wave starts.
  void begin(size_t wave);
  /// Does the wave's next instruction follow the one before, and is it known to keep all rules?
  /// Then there is nothing more to do; else step comes next.
  bool keeps(size_t wave, const Inst &i) {
    Track &t = tracks_[wave];
    if (&i != t.next || *t.known != kKeeps)
      return false;
    t.next = &i + 1;
    ++t.known;
    return true;
  }
  /// The wave's next instruction. True: it keeps all rules; false: inspect or inspectMoved has to
  /// follow.
  bool step(size_t wave, const Inst &i) {
    Track &t = tracks_[wave];
    if (&i != t.next) [[unlikely]]
      jump(t, i);
    t.next = &i + 1;
    return *t.known++ == kKeeps;
  }
  /// What the instruction of the last step breaks; until the next call.
  const std::vector<Breach> &inspect(size_t wave, const Inst &i);
  /// The same for one whose register numbers are those of `moved` this time only (s_set_gpr_idx):
  /// nothing can be said of what is like it. Also if step has returned true.
  const std::vector<Breach> &inspectMoved(size_t wave, const Inst &i, const Facts &moved);

private:
  /// What is known of an instruction at its place on a path.
  enum Known : uint8_t { kNothing, kKeeps, kBreaks };

  struct Block {
    uint32_t first, end;
    auto operator<=>(const Block &) const = default;
  };
  struct Path {
    std::array<Known, kWindow + 1> known{}; ///< the last one stays kNothing
    uint32_t first = 0;                     ///< the instruction that was jumped to
    std::vector<Block> before;              ///< at most kWindow instructions, in order
    uint32_t number = 0;                    ///< of all paths
    uint32_t lastEnd = 0, lastTo = 0;       ///< the last jump from here, and where it led
    Path *last = nullptr;
  };
  struct Track {
    explicit Track(Program &program) : clock(program) {}
    const Inst *next = nullptr;
    Known *known = nullptr;      ///< byte of the next instruction
    const Known *live = nullptr; ///< the clock has run up to the instruction of this byte
    Path *path = nullptr;
    HazardClock clock;
  };

  void jump(Track &, const Inst &to);
  Path *follow(const Path &, uint32_t end, uint32_t to);
  std::vector<Block> history(const Path &, uint32_t end) const;
  void bringUp(Track &, uint32_t end);
  void goStraight(Track &, const Inst &);

  Program &program_;
  size_t maxPaths_;
  std::vector<Track> tracks_;
  std::vector<Known> knownStraight_; ///< by instruction
  Path begin_, straight_, unknown_;  ///< unknown_: of it nothing is kept
  using Key = std::pair<uint32_t, std::vector<Block>>;
  std::map<Key, std::unique_ptr<Path>> paths_;
  struct Jump {
    uint32_t path, end, to;
    bool operator==(const Jump &) const = default;
  };
  struct Hash {
    size_t operator()(const Jump &j) const {
      return (j.path * 0x9e3779b97f4a7c15 ^ j.end) * 0x9e3779b97f4a7c15 ^ j.to;
    }
  };
  std::unordered_map<Jump, Path *, Hash> jumps_;
  std::unordered_map<const Known *, std::vector<Breach>> broken_;
  std::vector<Breach> breaches_; ///< of the last one that was looked at
};

} // namespace attune::sim::strict
