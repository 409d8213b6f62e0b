// The observer of strict mode: one for each host thread, with a Scoreboard for each wave of the
// workgroup that runs there and a shadow of its LDS.
//
//   before   Watch.cpp        registers: missing waits; wait states (HazardPaths.h); then
//                             Definedness.cpp: what undefined bits do to the results
//   issued   Accesses.cpp     addresses: alignment, LDS order, definedness of what is loaded and
//   stored
//
// State is updated in `before`, as if the instruction had already run; `after` has nothing to do.
#pragma once
#include "runtime/sim/Machine.h"
#include "runtime/sim/strict/GlobalShadow.h"
#include "runtime/sim/strict/Learned.h"
#include "runtime/sim/strict/Report.h"

namespace attune::sim::strict {

/// Takes what an observer found when it is gone.
class FindingSink {
public:
  virtual ~FindingSink() = default;
  virtual void take(Collector &, GlobalShadow &) = 0;
};

std::unique_ptr<Observer> makeWatch(const Dispatch &, FindingSink &, unsigned examples);

class Watch : public Observer {
public:
  Watch(const Dispatch &, FindingSink &, unsigned examples);
  ~Watch() override;

  void begin(const Workgroup &, std::span<const std::unique_ptr<Wave>>) override;
  void before(Wave &, const Inst &) override;
  void issued(Wave &, const Access &, Counter) override;
  void released(const Workgroup &) override;

private:
  const Facts &factsAt(const Inst &i) { return program_.factsAt(i); }
  void inspect(Wave &, const Inst &);
  void registers(Wave &, const Inst &, const Facts &);
  void special(Wave &, const Inst &, const Facts &);
  void pendingRegister(const Wave &, const Inst &, const Facts &, const Span &, unsigned cell,
                       uint64_t lanes, bool overwrite);
  void report(const Wave &, const Inst &, const std::vector<Breach> &);
  void wait(Wave &, unsigned vm, unsigned lgkm);
  void checkScalarAddress(const Wave &, const Inst &);
  void checkBarrier();

  // Definedness.cpp
  void define(const Wave &, const Inst &, const Facts &, uint64_t lanes);
  void flow(Wave &, const Inst &, const Facts &, uint64_t lanes);
  void flowLanes(Wave &, const Inst &, const Facts &, uint64_t lanes);
  void flowShift(Wave &, const Inst &, unsigned dst, uint64_t lanes);
  void flowScalar(Wave &, const Inst &, const Facts &);
  void flowMatrix(Wave &, const Inst &, const Facts &);
  void flowMemory(Wave &, const Inst &, const Facts &, uint64_t lanes);
  void flowExchange(Wave &, const Inst &, uint64_t lanes);
  /// The cell of a vector operand's first register.
  unsigned cellOf(const Operand &o) const {
    return o.index + (o.kind == OperandKind::Agpr ? accumOffset_ : 0);
  }
  uint64_t lanesOf(const Wave &, const Inst &, unsigned source, int dword = -1);
  uint64_t zeroLanes(Wave &, const Inst &, unsigned source);
  uint64_t bitsOf(const Wave &, const Operand &) const;
  void undefinedUse(const Wave &, const Inst &, unsigned cell, uint64_t lanes,
                    std::string_view what);

  // Memory.cpp
  void memoryAccess(Wave &, const Access &, const Facts &, uint64_t lanes, Pending &);
  /// Active lanes whose bytes lie one behind the other.
  struct Run {
    int first = 0;                   ///< lane
    uint64_t address = 0, bytes = 0; ///< of all of them
  };
  void findRuns(const Access &, uint64_t lanes);
  std::span<const Run> runs() const { return {runs_.data(), runCount_}; }
  const Region *regionOf(uint64_t address, uint64_t bytes);
  void storedData(const Wave &, const Access &, uint64_t lanes);
  void loadUndefined(Wave &, const Access &, const Facts &, uint64_t lanes);
  void scalarAccess(Wave &, const Access &, const Facts &, Pending &);
  void storedScalars(const Wave &, const Access &);
  void scalarUndefined(Wave &, const Access &);
  void defineStored(const Access &, uint64_t lanes);
  void followMemory(Wave &, const Access &, const Facts &, uint64_t lanes, Pending &);
  void memoryConflict(const Wave &, const Inst &, const WaveConflict &, int lane);
  void done(const Pending &p) {
    if (p.ldsOp)
      lds_.done(p.ldsOp);
    if (p.memoryOp)
      memory_.done(p.memoryOp);
  }

  // Accesses.cpp
  struct LdsParts;
  void checkAlignment(const Wave &, const Access &, const Facts &, uint64_t lanes);
  void scratchAccess(Wave &, const Access &, const Facts &, uint64_t lanes);
  static uint64_t lanesIn(const Region &, const Access &);
  Access flatInLds(const Wave &, const Access &, uint64_t lanes) const;
  void ldsAccess(Wave &, const Access &, const Facts &, Pending &);
  bool wholeDma(const Wave &, const Access &) const;
  bool wholeLds(const Wave &, const Access &, const Facts &, uint32_t op);
  void ldsRead(Wave &, const Access &, uint32_t op, LdsConflict &);
  void ldsWrite(Wave &, const Access &, uint32_t op, LdsConflict &);
  void conflict(const Wave &, const Inst &, const LdsOp &, const LdsConflict &);
  void misaligned(const Wave &, const Inst &, int lane, uint64_t address, unsigned align, bool lds);
  bool narrowLds() const;

  const Dispatch &d_;
  FindingSink &sink_;
  Collector found_;
  uint32_t accumOffset_, scalars_;
  std::unique_ptr<Learned> learned_;
  Program &program_;
  std::span<const std::unique_ptr<Wave>> waves_; ///< of the workgroup that runs
  std::vector<Scoreboard> boards_;
  HazardPaths &hazards_;
  LdsShadow &lds_;
  GlobalShadow memory_;
  const Region *region_ = nullptr;      ///< the last one that an access met
  std::array<uint64_t, 4> loaded_ = {}; ///< by dword: lanes whose memory nothing has written
  std::array<Run, kLanes> runs_;        ///< of the access that is looked at, in order of lanes
  size_t runCount_ = 0;
  std::vector<uint8_t> scratch_; ///< bytes nobody has written: 1
};

} // namespace attune::sim::strict
