// Wait states between instructions of one wave: for each register who wrote it, and who may still
// be reading it, at which time.
//
// Time counts wait states: 1 an instruction, N + 1 for s_nop N. A matrix instruction does not issue
// before the pipe has taken the previous one, which is that one's passes later.
#pragma once
#include "runtime/sim/strict/Program.h"
#include <vector>

namespace attune::sim::strict {

/// An instruction too close behind another.
struct Breach {
  unsigned cell = 0;
  bool agpr = false; ///< the register's name
  Use use = Use::Valu;
  const Inst *other = nullptr;
  int64_t required = 0, found = 0;
  bool operator==(const Breach &) const = default;
};

class HazardClock {
public:
  explicit HazardClock(Program &program) : program_(program), cells_(kCells) {}
  /// All that has happened is long ago.
  void restart() { clock_ = matrixFree_ = std::max(clock_, matrixFree_) + kLongAgo; }
  /// The next instruction; adds what it breaks.
  void run(const Inst &, const Facts &, std::vector<Breach> &);

private:
  /// No hazard reaches that far back.
  static constexpr int64_t kLongAgo = 1000;
  struct Cell {
    int64_t writeClock = -kLongAgo;
    int64_t readClock = -kLongAgo; ///< by an instruction that holds it (Facts::holder)
    const Inst *writer = nullptr, *reader = nullptr;
    Producer producer = Producer::None, readBy = Producer::None;
  };
  void reads(const Inst &, const Facts &, int64_t now, std::vector<Breach> &);
  void writes(const Inst &, const Facts &, int64_t now, std::vector<Breach> &);
  void hazard(const Inst &, const Span &, unsigned cell, int64_t now, std::vector<Breach> &);

  Program &program_;
  std::vector<Cell> cells_;
  int64_t clock_ = 0, matrixFree_ = 0;
};

} // namespace attune::sim::strict
