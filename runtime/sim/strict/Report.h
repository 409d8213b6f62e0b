// Where findings go. A Collector belongs to one observer, so to one host thread; what it kept goes
// to the StrictChecker when the launch has ended.
//
// The same on any number of threads: a thread meets its workgroups in ascending order, so the first
// examples it keeps of a pair of instructions are its smallest, and the smallest of all threads are
// the smallest of the launch. Counts are sums. After a fault at workgroup f some workgroups behind
// f may have run and others not; then only examples up to f count.
#pragma once
#include "runtime/sim/strict/Strict.h"
#include <map>
#include <tuple>

namespace attune::sim::strict {

/// A finding with its place in the order of the launch.
struct Example {
  uint64_t workgroup = 0, step = 0;
  Finding finding;
};
struct Group {
  uint64_t count = 0;
  std::vector<Example> examples;
};
/// Kernel name, pc, kind, pc of the other instruction.
using GroupKey = std::tuple<std::string, uint32_t, FindingKind, uint32_t>;
using Groups = std::map<GroupKey, Group>;

class Collector {
public:
  Collector(std::string kernel, unsigned examples) : kernel_(std::move(kernel)), limit_(examples) {}

  void begin(uint64_t workgroup, const uint32_t id[3]) {
    workgroup_ = workgroup;
    id_ = {id[0], id[1], id[2]};
  }
  /// `fill(Finding &)` completes subject, message and numbers; it is called only if the finding is
  /// kept.
  template <class Fill>
  void add(FindingKind kind, const Wave &w, const Inst &i, int lane, const Inst *other,
           int otherWave, Fill fill) {
    Group &group = found_[{kind, i.pc, other ? other->pc : ~0u}];
    ++group.count;
    ++step_;
    if (group.examples.size() >= limit_)
      return;
    Finding f = start(kind, w, i, lane, other, otherWave);
    fill(f);
    group.examples.push_back({workgroup_, step_, std::move(f)});
  }
  void moveTo(Groups &all);

private:
  Finding start(FindingKind, const Wave &, const Inst &, int lane, const Inst *other,
                int otherWave) const;
  std::string kernel_;
  unsigned limit_;
  uint64_t workgroup_ = 0, step_ = 0;
  std::array<uint32_t, 3> id_{};
  std::map<std::tuple<FindingKind, uint32_t, uint32_t>, Group> found_;
};

} // namespace attune::sim::strict
