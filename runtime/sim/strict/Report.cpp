#include "runtime/sim/strict/Report.h"
#include "runtime/sim/Machine.h"
#include "runtime/sim/strict/Watch.h"
#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace attune::sim::strict {

std::string_view name(FindingKind kind) {
  constexpr std::string_view kNames[] = {"missing-wait", "dma-order",  "lds-race",
                                         "wait-states",  "misaligned", "uninitialised",
                                         "global-race",  "same-value", "divergent-barrier"};
  return kNames[size_t(kind)];
}

std::string text(const Finding &f) {
  std::string s = fmt::format("{}: kernel {}, workgroup ({},{},{}), wave {}", name(f.kind),
                              f.kernel, f.workgroup[0], f.workgroup[1], f.workgroup[2], f.wave);
  if (f.lane >= 0)
    s += fmt::format(", lane {}", f.lane);
  s += fmt::format(", pc {:#x} {}: {}", f.pc, f.instruction, f.message);
  if (f.count > 1)
    s += fmt::format(" [{} times]", f.count);
  return s;
}

std::string text(const std::vector<Finding> &list, size_t limit, std::string_view indent,
                 std::string_view where) {
  std::string s;
  for (size_t n = 0; n < std::min(limit, list.size()); ++n)
    s += fmt::format("{}{}\n", indent, text(list[n]));
  if (list.size() > limit)
    s += fmt::format("{}and {} more{}\n", indent, list.size() - limit, where);
  return s;
}

Finding Collector::start(FindingKind kind, const Wave &w, const Inst &i, int lane,
                         const Inst *other, int otherWave) const {
  Finding f;
  f.kind = kind;
  f.kernel = kernel_;
  f.workgroup = id_;
  f.wave = w.id;
  f.lane = lane;
  f.pc = i.pc;
  f.instruction = kOpcodes[i.opcode].mnemonic;
  if (other) {
    f.otherWave = otherWave;
    f.otherWorkgroup = id_;
    f.otherPc = other->pc;
    f.other = kOpcodes[other->opcode].mnemonic;
  }
  return f;
}

void Collector::moveTo(Groups &all) {
  for (auto &[key, group] : found_) {
    auto [kind, pc, other] = key;
    Group &to = all[{kernel_, pc, kind, other}];
    to.count += group.count;
    std::ranges::move(group.examples, std::back_inserter(to.examples));
  }
  found_.clear();
}

struct StrictChecker::Impl : FindingSink {
  explicit Impl(unsigned examples) : examples(examples) {}
  void take(Collector &collector, GlobalShadow &shadow) override {
    std::lock_guard lock(mutex);
    collector.moveTo(current);
    if (memory)
      memory->merge(std::move(shadow));
    else
      memory = std::make_unique<GlobalShadow>(std::move(shadow));
  }
  void meet(const Dispatch &, const GroupConflict &, uint64_t step);

  unsigned examples;
  mutable std::mutex mutex;
  Groups current;                       ///< of the launch under way
  std::unique_ptr<GlobalShadow> memory; ///< of that launch
  Groups all;
};

StrictChecker::StrictChecker(unsigned examples) : impl_(std::make_unique<Impl>(examples)) {}
StrictChecker::~StrictChecker() = default;

RunOptions StrictChecker::watch(RunOptions options) {
  options.observers = this;
  return options;
}

/// A race between workgroups, found when the launch was over.
void StrictChecker::Impl::meet(const Dispatch &d, const GroupConflict &c, uint64_t step) {
  FindingKind kind = c.sameValue ? FindingKind::SameValue : FindingKind::GlobalRace;
  const Inst &i = *c.later->inst, &other = *c.earlier->inst;
  Group &group = current[{d.kernel->name, i.pc, kind, other.pc}];
  ++group.count;
  if (group.examples.size() >= examples)
    return;
  auto place = [&](uint64_t id) {
    return std::array{uint32_t(id % d.grid[0]), uint32_t(id / d.grid[0] % d.grid[1]),
                      uint32_t(id / d.grid[0] / d.grid[1])};
  };
  Finding f;
  f.kind = kind;
  f.kernel = d.kernel->name;
  f.workgroup = place(c.later->workgroup);
  f.wave = c.later->wave;
  f.pc = i.pc;
  f.instruction = kOpcodes[i.opcode].mnemonic;
  f.otherWorkgroup = place(c.earlier->workgroup);
  f.otherWave = int(c.earlier->wave);
  f.otherPc = other.pc;
  f.other = kOpcodes[other.opcode].mnemonic;
  f.subject = d.memory->describe(c.address);
  f.message =
      fmt::format("{}; {} at pc {:#x} of workgroup ({}), wave {} {}, and nothing orders them",
                  raceText(c.later->access, f.subject, c.sameValue), f.other, f.otherPc,
                  fmt::join(f.otherWorkgroup, ","), c.earlier->wave, verb(c.earlier->access));
  group.examples.push_back({c.later->workgroup, step, std::move(f)});
}

std::unique_ptr<Observer> StrictChecker::make(const Dispatch &d) {
  return makeWatch(d, *impl_, impl_->examples);
}

void StrictChecker::finished(const Dispatch &d, uint64_t faulted) {
  std::lock_guard lock(impl_->mutex);
  uint64_t step = 0;
  if (impl_->memory)
    impl_->memory->conflicts(faulted, [&](const GroupConflict &c) { impl_->meet(d, c, ++step); });
  impl_->memory.reset();
  for (auto &[key, group] : impl_->current) {
    auto &examples = group.examples;
    std::ranges::sort(examples, {},
                      [](const Example &e) { return std::pair(e.workgroup, e.step); });
    if (examples.size() > impl_->examples)
      examples.resize(impl_->examples);
    if (faulted != ~uint64_t(0)) {
      std::erase_if(examples, [&](const Example &e) { return e.workgroup > faulted; });
      group.count = examples.size();
    }
    if (examples.empty())
      continue;
    Group &to = impl_->all[key];
    to.count += group.count;
    for (Example &e : examples)
      if (to.examples.size() < impl_->examples)
        to.examples.push_back(std::move(e));
  }
  impl_->current.clear();
}

std::vector<Finding> StrictChecker::findings() const {
  std::lock_guard lock(impl_->mutex);
  std::vector<Finding> list;
  for (const auto &[key, group] : impl_->all)
    for (const Example &e : group.examples) {
      list.push_back(e.finding);
      list.back().count = group.count;
    }
  return list;
}

void StrictChecker::clear() {
  std::lock_guard lock(impl_->mutex);
  impl_->all.clear();
}

} // namespace attune::sim::strict
