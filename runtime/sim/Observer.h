// Who watches a launch: the strict checks and the timing model, neither of which the machine knows.
//
// An Observer belongs to one host thread and sees the workgroups that run there, one after another.
// Its calls come in the order in which things happen: begin, then for each instruction before,
// issued (if it accesses memory or LDS, once the addresses are known), after; released when a
// barrier lets the waves go on; end when the last wave has ended. It may read everything, change
// nothing but by Wave::fault, which ends the launch with its message. Without an observer a launch
// takes the plain loop and pays nothing.
#pragma once
#include "runtime/sim/Wave.h"
#include <memory>
#include <span>

namespace attune::sim {

struct Dispatch;

class Observer {
public:
  virtual ~Observer() = default;
  /// Registers are as the hardware leaves them at the start of the workgroup.
  virtual void begin(const Workgroup &, std::span<const std::unique_ptr<Wave>> waves) = 0;
  /// The instruction is about to run: its sources still hold what it will read.
  virtual void before(Wave &, const Inst &) = 0;
  virtual void after(Wave &, const Inst &) {}
  /// An access has left the wave. Under every arrival policy this is the moment of issue.
  virtual void issued(Wave &, const Access &, Counter) {}
  /// All waves have reached their barrier, or ended, and go on.
  virtual void released(const Workgroup &) {}
  virtual void end(const Workgroup &) {}
};

/// Makes the observers of a launch; lives until the launch has ended and keeps what they found.
class ObserverFactory {
public:
  virtual ~ObserverFactory() = default;
  /// Called by several host threads at once. May be null: then that thread is not watched.
  virtual std::unique_ptr<Observer> make(const Dispatch &) = 0;
  /// Do the observers keep Region::defined up to date?
  virtual bool followsMemory() const { return false; }
  /// Every observer of the launch is gone. `faulted`: the workgroup whose fault ended it, ~0: none.
  virtual void finished(const Dispatch &, uint64_t /*faulted*/) {}
};

} // namespace attune::sim
