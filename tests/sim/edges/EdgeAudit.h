// The audit of the edge tests: watches every launch of this executable and notes, for each row of
// the opcode table, with which classes of values and in which states of the machine it has run.
// What a row needs follows from its format, signature and name; gaps() lists what is missing, and
// CoverageTest.cpp fails for it. With ATTUNE_EDGE_REPORT=FILE in its environment the executable
// writes what it knows of every row to that file.
#pragma once
#include "runtime/sim/Observer.h"
#include <array>
#include <set>
#include <string>
#include <vector>

namespace simtest {

/// Classes of values, a source each; an operand's type says which of them it has.
enum ValueClass : uint32_t {
  NoClass = 0,
  PosZero = 1 << 0,
  NegZero = 1 << 1,
  Denormal = 1 << 2,
  Largest = 1 << 3,
  Infinite = 1 << 4,
  QuietNan = 1 << 5,
  SignallingNan = 1 << 6,
  FloatClasses = (1 << 7) - 1,
  Zero = 1 << 8,
  One = 1 << 9,
  AllOnes = 1 << 10,
  Lowest = 1 << 11,
  Highest = 1 << 12,
  IntClasses = 31 << 8,
  Beyond = 1 << 13, ///< a shift count or width of the operand's width or more
};

/// States of the machine around an instruction.
enum StateClass : uint32_t {
  NoState = 0,
  ExecPartial = 1 << 0,
  ExecNone = 1 << 1,
  SccSet = 1 << 2,
  SccClear = 1 << 3,
  Taken = 1 << 4,
  NotTaken = 1 << 5,
  WithOffset = 1 << 6,
  OutOfRange = 1 << 7, ///< some lane outside its buffer
  Unaligned = 1 << 8,  ///< some lane not at a dword, or a short not at a multiple of 2
  DenormalsKept = 1 << 9,
  DenormalsFlushed = 1 << 10,
  SccInSet = 1 << 11, ///< before the instruction
  SccInClear = 1 << 12,
};

/// What a row needs, or has been seen with.
struct EdgeClasses {
  std::array<uint32_t, 3> sources = {};
  uint32_t state = 0;
  bool covers(const EdgeClasses &needed) const;
};

class EdgeAudit : public attune::sim::ObserverFactory {
public:
  EdgeAudit();
  std::unique_ptr<attune::sim::Observer> make(const attune::sim::Dispatch &) override;
  /// Rows with classes that they need and have not met, a line each.
  std::vector<std::string> gaps() const;
  /// Every row: what it has met, and in which tests.
  std::string report() const;

  void before(attune::sim::Wave &, const attune::sim::Inst &);
  void issued(const attune::sim::Access &);
  void after(attune::sim::Wave &, const attune::sim::Inst &);

private:
  struct Row {
    std::string types;
    EdgeClasses needed, seen;
    bool done = false;
    std::set<std::string> tests;
  };
  std::vector<Row> rows_;
  std::string test_; ///< the test case that runs now
  uint32_t nextIp_ = 0;
};
EdgeAudit &edgeAudit();

/// A letter of EdgeRun.h for each source of a row of the table; '-' where nothing is asked of it.
std::string sourceTypes(const attune::sim::OpcodeInfo &);
EdgeClasses neededClasses(const attune::sim::OpcodeInfo &);

} // namespace simtest
