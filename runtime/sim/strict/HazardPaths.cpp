#include "runtime/sim/strict/HazardPaths.h"
#include <algorithm>

namespace attune::sim::strict {
namespace {

/// The longest of all rules, and of all products.
struct Longest {
  unsigned hazard = 0, passes = 8;
};
constexpr Longest longest() {
  Longest l;
#define SIM_XDL_HAZARD(use, p2, p4, p8, p16)                                                       \
  l.hazard = std::max({l.hazard, p2##u, p4##u, p8##u, p16##u});
#define SIM_SGEMM_HAZARD(use, p2, p8, p16) l.hazard = std::max({l.hazard, p2##u, p8##u, p16##u});
#define SIM_HAZARD(producer, use, states) l.hazard = std::max(l.hazard, states##u);
#define SIM_PASSES(mnemonic, count) l.passes = std::max(l.passes, count##u);
#include "runtime/sim/strict/Hazards.def"
#undef SIM_XDL_HAZARD
#undef SIM_SGEMM_HAZARD
#undef SIM_HAZARD
#undef SIM_PASSES
  return l;
}

} // namespace

static_assert(longest().hazard + longest().passes < HazardPaths::kWindow);

HazardPaths::HazardPaths(Program &program, size_t waves, size_t maxPaths)
    : program_(program), maxPaths_(maxPaths), tracks_(waves, Track(program)),
      knownStraight_(program.size() + 1) {
  straight_.number = 1;
}

void HazardPaths::begin(size_t wave) {
  Track &t = tracks_[wave];
  t.next = nullptr;
  t.live = nullptr;
  t.path = &begin_;
  t.known = begin_.known.data();
}

void HazardPaths::jump(Track &t, const Inst &i) {
  uint32_t to = uint32_t(program_.indexOf(i));
  uint32_t end = t.next ? uint32_t(program_.indexOf(*t.next)) : 0;
  Path &from = *t.path;
  if (&from != &unknown_ && !(from.last && from.lastEnd == end && from.lastTo == to)) {
    from.last = follow(from, end, to);
    from.lastEnd = end;
    from.lastTo = to;
  }
  Path *next = &from == &unknown_ ? &unknown_ : from.last;
  bool live = t.live == t.known;
  if (next == &unknown_ && !live) {
    bringUp(t, end);
    live = true;
  }
  t.path = next;
  t.known = next->known.data();
  if (live)
    t.live = t.known;
}

HazardPaths::Path *HazardPaths::follow(const Path &from, uint32_t end, uint32_t to) {
  if (auto known = jumps_.find({from.number, end, to}); known != jumps_.end())
    return known->second;
  std::vector<Block> before = history(from, end);
  auto found = paths_.find({to, before});
  if (found == paths_.end()) {
    if (paths_.size() >= maxPaths_)
      return &unknown_;
    auto path = std::make_unique<Path>();
    path->first = to;
    path->before = before;
    path->number = uint32_t(paths_.size() + 2); // after begin_ and straight_
    found = paths_.emplace(Key{to, std::move(before)}, std::move(path)).first;
  }
  return jumps_[{from.number, end, to}] = found->second.get();
}

/// The last kWindow instructions before number `end`, fewer if the wave has run fewer.
std::vector<HazardPaths::Block> HazardPaths::history(const Path &path, uint32_t end) const {
  if (&path == &begin_)
    return {};
  if (&path == &straight_)
    return {{end - kWindow, end}};
  std::vector<Block> blocks = path.before;
  blocks.push_back({path.first, end});
  uint32_t count = 0;
  size_t from = blocks.size();
  while (from > 0 && count < kWindow) {
    --from;
    count += blocks[from].end - blocks[from].first;
  }
  if (count > kWindow)
    blocks[from].first += count - kWindow;
  blocks.erase(blocks.begin(), blocks.begin() + std::ptrdiff_t(from));
  return blocks;
}

/// Lets the clock run over what led to instruction `end`.
void HazardPaths::bringUp(Track &t, uint32_t end) {
  t.clock.restart();
  for (const Block &b : history(*t.path, end))
    for (uint32_t n = b.first; n < b.end; ++n)
      t.clock.run(program_.at(n), program_.factsAt(program_.at(n)), breaches_);
  breaches_.clear();
}

const std::vector<Breach> &HazardPaths::inspect(size_t wave, const Inst &i) {
  Track &t = tracks_[wave];
  breaches_.clear();
  if (t.known - 1 == t.path->known.data() + kWindow)
    goStraight(t, i);
  Known *at = t.known - 1;
  if (*at == kKeeps)
    return breaches_;
  if (*at == kBreaks)
    return broken_[at];
  if (t.live != at)
    bringUp(t, uint32_t(program_.indexOf(i)));
  t.clock.run(i, program_.factsAt(i), breaches_);
  t.live = t.known;
  if (t.path != &unknown_)
    *at = breaches_.empty() ? kKeeps : kBreaks;
  if (*at == kBreaks)
    broken_[at] = breaches_;
  return breaches_;
}

/// From instruction i on it does not matter how the wave came here.
void HazardPaths::goStraight(Track &t, const Inst &i) {
  Known *at = &knownStraight_[program_.indexOf(i)];
  if (t.live == t.known - 1)
    t.live = at;
  t.path = &straight_;
  t.known = at + 1;
}

const std::vector<Breach> &HazardPaths::inspectMoved(size_t wave, const Inst &i,
                                                     const Facts &moved) {
  Track &t = tracks_[wave];
  breaches_.clear();
  if (t.live != t.known - 1)
    bringUp(t, uint32_t(program_.indexOf(i)));
  t.clock.run(i, moved, breaches_);
  t.path = &unknown_;
  t.known = unknown_.known.data();
  t.live = t.known;
  return breaches_;
}

} // namespace attune::sim::strict
