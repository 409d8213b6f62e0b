#include "runtime/sim/strict/GlobalShadow.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace attune::sim::strict {

std::string_view verb(MemoryAccess access) {
  constexpr std::string_view kVerbs[] = {"reads", "writes", "updates"};
  return kVerbs[size_t(access)];
}

std::string raceText(MemoryAccess access, std::string_view where, bool sameValue) {
  return fmt::format("{} {}{}", verb(access), sameValue ? "the same value, " : "", where);
}

void GlobalShadow::begin(uint64_t workgroup) {
  workgroup_ = workgroup;
  first_ = uint32_t(ops_.size());
  ++epoch_;
  phase_ = order_ = 1;
}

uint32_t GlobalShadow::issue(const Inst *inst, size_t index, const MemoryOp &kind) {
  uint32_t &op = opOf_[index * waves_ + kind.wave];
  if (op < first_ || ops_[op].epoch != epoch_ || ops_[op].order != order_) {
    op = uint32_t(ops_.size());
    MemoryOp &made = ops_.emplace_back(kind);
    made.inst = inst;
    made.workgroup = workgroup_;
    made.phase = phase_;
    made.epoch = epoch_;
    made.order = order_;
  }
  ++ops_[op].inFlight;
  return op;
}

void GlobalShadow::synchronise(uint32_t op, bool acquire, bool release) {
  ++phase_;
  ++order_;
  ops_[op].acquires = acquire;
  if (release)
    orders_[workgroup_].lastRelease = order_;
}

void GlobalShadow::acquired(uint64_t workgroup) {
  ++order_;
  Order &o = orders_[workgroup];
  o.firstAcquire = std::min(o.firstAcquire, order_);
}

GlobalShadow::Page &GlobalShadow::pageAt(uint64_t number) {
  Recent &r = recent_[number % recent_.size()];
  if (r.number != number) {
    auto &page = pages_[number];
    if (!page)
      page = std::make_unique<Page>();
    r = {number, page.get()};
  }
  return *r.page;
}

/// A write's value goes along: a unit of 16 bytes or more has none, one of 4 has its bytes.
void GlobalShadow::split(Page &page, unsigned shift) {
  std::vector<Unit> fine(size_t(1) << (kPageShift - shift));
  for (size_t n = 0; n < fine.size(); ++n) {
    size_t part = n << shift;
    fine[n] = page.units[part >> page.shift];
    if (page.shift == 2 && shift == 0) {
      fine[n].value = fine[n].value >> (part % 4 * 8) & 0xff;
      fine[n].lastValue = fine[n].lastValue >> (part % 4 * 8) & 0xff;
    }
  }
  page.units = std::move(fine);
  page.shift = shift;
}

/// Calls fn(unit, its address, its bytes), having split pages so that the access is made of whole
/// units of at most 1 << coarsest bytes.
template <class Fn>
void GlobalShadow::forUnits(uint64_t address, uint32_t bytes, unsigned coarsest, bool changes,
                            Fn fn) {
  uint64_t low = address | bytes, end = address + bytes;
  unsigned shift = low & 3 ? 0 : low & 15 ? 2 : low & 63 ? 4 : kCoarsest;
  shift = std::min(shift, coarsest);
  while (address < end) {
    Page &page = pageAt(address >> kPageShift);
    if (page.shift > shift)
      split(page, shift);
    page.changed |= changes;
    uint64_t stop = std::min(end, ((address >> kPageShift) + 1) << kPageShift);
    for (uint64_t step = uint64_t(1) << page.shift; address < stop; address += step)
      fn(page.units[(address & ((1u << kPageShift) - 1)) >> page.shift], address, uint32_t(step));
  }
}

/// Workgroups come in ascending order, so the first two are the lowest two.
void GlobalShadow::note(uint32_t (&lowest)[2], uint32_t op) const {
  if (!lowest[0])
    lowest[0] = op;
  else if (lowest[0] < first_ && !lowest[1])
    lowest[1] = op;
}

void GlobalShadow::checkWave(uint32_t n, const MemoryOp &op, uint64_t address,
                             WaveConflict &met) const {
  if (n < first_ || met.other)
    return;
  const MemoryOp &other = ops_[n];
  bool open = other.inFlight || other.done >= epoch_;
  bool paths = other.scalar != op.scalar && other.inFlight && !other.someDone; // of one wave
  if (other.wave == op.wave ? paths
                            : open && other.phase == phase_ && !(other.coherent && op.coherent))
    met = {&other, address, false};
}

void GlobalShadow::read(uint32_t n, uint64_t address, uint32_t bytes, WaveConflict &met) {
  const MemoryOp &op = ops_[n];
  forUnits(address, bytes, kCoarsest, false, [&](Unit &u, uint64_t at, uint32_t) {
    checkWave(u.lastWrite, op, at, met);
    if (u.lastRead == n)
      return;
    note(u.read, n);
    if (u.lastRead < first_)
      u.otherRead = 0;
    else if (ops_[u.lastRead].wave != op.wave)
      u.otherRead = u.lastRead;
    u.lastRead = n;
  });
}

void GlobalShadow::write(uint32_t n, uint64_t address, uint32_t bytes, const uint8_t *value,
                         WaveConflict &met) {
  const MemoryOp &op = ops_[n];
  forUnits(address, bytes, 2, true, [&](Unit &u, uint64_t at, uint32_t unit) {
    uint32_t v = 0;
    std::memcpy(&v, value + (at - address), unit);
    bool first = !u.write[0], second = !first && u.write[0] < first_ && !u.write[1];
    if (first)
      u.value = v;
    if (second)
      u.differs = u.value != v;
    note(u.write, n);
    bool clean = !met.other;
    checkWave(u.lastWrite, op, at, met);
    if (clean && met.other)
      met.sameValue = met.other->access == MemoryAccess::Write && u.lastValue == v;
    checkWave(u.lastRead, op, at, met);
    checkWave(u.otherRead, op, at, met);
    u.lastWrite = n;
    u.lastValue = v;
  });
}

void GlobalShadow::update(uint32_t n, uint64_t address, uint32_t bytes, WaveConflict &met) {
  const MemoryOp &op = ops_[n];
  forUnits(address, bytes, 2, true, [&](Unit &u, uint64_t at, uint32_t) {
    note(u.update, n);
    checkWave(u.lastWrite, op, at, met);
    checkWave(u.lastRead, op, at, met);
    checkWave(u.otherRead, op, at, met);
    u.lastWrite = n;
  });
}

/// The other's records have `offset` added.
void GlobalShadow::mergeUnit(Unit &to, const Unit &from, uint32_t offset) const {
  auto lowest = [&](uint32_t (&a)[2], const uint32_t (&b)[2]) {
    uint32_t all[4] = {a[0], a[1], b[0] ? b[0] + offset : 0, b[1] ? b[1] + offset : 0};
    std::ranges::sort(all, {}, [&](uint32_t n) { return n ? ops_[n].workgroup : ~uint64_t(0); });
    a[0] = all[0];
    a[1] = all[1];
  };
  lowest(to.read, from.read);
  lowest(to.update, from.update);
  bool other = from.write[0] && (!to.write[0] || ops_[from.write[0] + offset].workgroup <
                                                     ops_[to.write[0]].workgroup);
  const Unit &low = other ? from : to, &high = other ? to : from;
  uint32_t lowValue = low.value, highValue = high.value;
  bool lowDiffers = low.differs;
  uint32_t highFirst = high.write[0];
  if (highFirst && !other)
    highFirst += offset;
  lowest(to.write, from.write);
  to.differs = to.write[1] == highFirst ? lowValue != highValue : lowDiffers;
  to.value = lowValue;
}

void GlobalShadow::merge(GlobalShadow &&from) {
  uint32_t offset = uint32_t(ops_.size()) - 1;
  ops_.insert(ops_.end(), from.ops_.begin() + 1, from.ops_.end());
  orders_.merge(from.orders_);
  for (auto &[number, page] : from.pages_) {
    Page &to = pageAt(number);
    unsigned shift = std::min(to.shift, page->shift);
    if (to.shift > shift)
      split(to, shift);
    if (page->shift > shift)
      split(*page, shift);
    to.changed |= page->changed;
    for (size_t n = 0; n < to.units.size(); ++n)
      mergeUnit(to.units[n], page->units[n], offset);
  }
}

bool GlobalShadow::ordered(const MemoryOp &a, const MemoryOp &b) const {
  auto before = [&](const MemoryOp &first, const MemoryOp &second) {
    auto release = orders_.find(first.workgroup), acquire = orders_.find(second.workgroup);
    bool done = first.access == MemoryAccess::Update || !first.inFlight;
    uint32_t end = first.access == MemoryAccess::Update ? first.order : first.doneOrder;
    return release != orders_.end() && acquire != orders_.end() && done &&
           release->second.lastRelease > end && acquire->second.firstAcquire <= second.order;
  };
  return before(a, b) || before(b, a);
}

bool GlobalShadow::races(uint32_t a, uint32_t b, uint64_t last) const {
  return a && b && ops_[a].workgroup != ops_[b].workgroup && ops_[a].workgroup <= last &&
         ops_[b].workgroup <= last && !ordered(ops_[a], ops_[b]);
}

/// At most one of each pair of roles: the one of the lowest workgroups.
void GlobalShadow::unitConflicts(const Unit &u, uint64_t address, uint64_t last,
                                 const Meet &fn) const {
  auto add = [&](uint32_t a, uint32_t b, bool sameValue) {
    const MemoryOp *earlier = &ops_[a], *later = &ops_[b];
    if (earlier->workgroup > later->workgroup)
      std::swap(earlier, later);
    fn({earlier, later, address, sameValue});
  };
  if (races(u.write[0], u.write[1], last))
    add(u.write[0], u.write[1], !u.differs);
  auto between = [&](const uint32_t (&as)[2], const uint32_t (&bs)[2]) {
    for (uint32_t a : as)
      for (uint32_t b : bs)
        if (races(a, b, last))
          return add(a, b, false);
  };
  between(u.write, u.read);
  between(u.write, u.update);
  between(u.update, u.read);
}

void GlobalShadow::conflicts(uint64_t last, const Meet &fn) const {
  std::vector<uint64_t> numbers;
  for (const auto &[number, page] : pages_)
    if (page->changed)
      numbers.push_back(number);
  std::ranges::sort(numbers);
  for (uint64_t number : numbers) {
    const Page &page = *pages_.at(number);
    for (size_t n = 0; n < page.units.size(); ++n)
      if (page.units[n].shared())
        unitConflicts(page.units[n], (number << kPageShift) + (uint64_t(n) << page.shift), last,
                      fn);
  }
}

} // namespace attune::sim::strict
