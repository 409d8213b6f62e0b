#include "runtime/sim/strict/Watch.h"
#include "runtime/sim/Ops.h"
#include <algorithm>
#include <fmt/format.h>

namespace attune::sim::strict {
namespace {

/// SGPRs that hold something when a wave starts.
uint32_t initialScalars(const Kernel &k) {
  uint32_t n = k.userSgprs;
  for (bool axis : k.workgroupId)
    n += axis;
  return n;
}

uint32_t wavesOf(const Dispatch &d) {
  return (d.block[0] * d.block[1] * d.block[2] + kLanes - 1) / kLanes;
}

/// What an earlier launch has left, if it suits this one.
std::unique_ptr<Learned> learnedOf(const Dispatch &d) {
  uint32_t waves = wavesOf(d);
  auto learned = d.text->notes->take<Learned>(
      [&](const Learned &l) { return l.accumOffset == d.kernel->accumOffset && l.waves == waves; });
  return learned ? std::move(learned) : std::make_unique<Learned>(d, waves);
}

/// Both are loads that return in order through the same counter: the later one is the one that
/// stays.
bool sameQueue(const Pending &p, const Facts &f, bool ordered) {
  bool lds = f.space == Space::Lds || f.space == Space::Exchange;
  bool vm = f.space == Space::Buffer || f.space == Space::Global || f.space == Space::Scratch;
  return p.ordered && ordered &&
         (lds ? p.counters == uint8_t(Counter::Lgkm) : vm && p.counters == uint8_t(Counter::Vm));
}

} // namespace

std::unique_ptr<Observer> makeWatch(const Dispatch &d, FindingSink &sink, unsigned examples) {
  return std::make_unique<Watch>(d, sink, examples);
}

Watch::Watch(const Dispatch &d, FindingSink &sink, unsigned examples)
    : d_(d), sink_(sink), found_(d.kernel->name, examples), accumOffset_(d.kernel->accumOffset),
      scalars_(initialScalars(*d.kernel)), learned_(learnedOf(d)), program_(learned_->program),
      boards_(learned_->waves), hazards_(learned_->hazards), lds_(learned_->lds),
      memory_(d.text->code.size(), learned_->waves) {
  if (learned_->ldsBytes != d.ldsBytes) {
    lds_.prepare(d.ldsBytes, learned_->waves, narrowLds());
    learned_->ldsBytes = d.ldsBytes;
  }
}

Watch::~Watch() {
  sink_.take(found_, memory_);
  d_.text->notes->keep(std::move(learned_));
}

bool Watch::narrowLds() const {
  return std::ranges::any_of(d_.text->code, [](const Inst &i) {
    if (i.run == refused || i.memBytes >= 4 || i.memBytes == 0)
      return false;
    Format format = kOpcodes[i.opcode].format;
    return format == Format::DS || format == Format::FLAT;
  });
}

void Watch::begin(const Workgroup &g, std::span<const std::unique_ptr<Wave>> waves) {
  waves_ = waves;
  uint64_t id = g.id[0] + uint64_t(d_.grid[0]) * (g.id[1] + uint64_t(d_.grid[1]) * g.id[2]);
  found_.begin(id, g.id);
  for (size_t n = 0; n < boards_.size(); ++n) {
    boards_[n].reset(scalars_);
    hazards_.begin(n);
  }
  lds_.begin();
  memory_.begin(id);
  scratch_.assign(g.scratch.bytes, 1);
}

/// Hardware lets the waves go on that are left; but the barrier may have been meant for all.
void Watch::checkBarrier() {
  auto ended = [](const std::unique_ptr<Wave> &w) { return w->state == WaveState::Ended; };
  auto gone = std::ranges::find_if(waves_, ended);
  if (gone == waves_.end())
    return;
  for (const std::unique_ptr<Wave> &w : waves_)
    if (!ended(w))
      found_.add(FindingKind::DivergentBarrier, *w, *w->current, -1, (*gone)->current,
                 int((*gone)->id), [&](Finding &out) {
                   out.subject = fmt::format("wave {}", out.otherWave);
                   out.message = fmt::format(
                       "waits at a barrier that {} never reaches: it has ended at pc {:#x}",
                       out.subject, out.otherPc);
                 });
}

void Watch::released(const Workgroup &) {
  checkBarrier();
  lds_.released();
  memory_.released();
  for (Scoreboard &s : boards_)
    for (Pending &p : s.pending)
      if (p.ldsOp)
        p.ldsOp = lds_.carry(p.ldsOp);
}

void Watch::before(Wave &w, const Inst &i) {
  if (boards_[w.id].settled(program_.touchAt(i)) && !w.vectorMode && hazards_.keeps(w.id, i))
      [[likely]]
    return; // no register has a story, and none gets one
  inspect(w, i);
}

void Watch::inspect(Wave &w, const Inst &i) {
  bool kept = hazards_.step(w.id, i);
  if (w.vectorMode && canMove(i)) [[unlikely]] {
    const Facts f = movedFacts(factsAt(i), w.vectorMode, w.s[reg::kM0] & 0xff);
    report(w, i, hazards_.inspectMoved(w.id, i, f));
    return registers(w, i, f);
  }
  if (!kept)
    report(w, i, hazards_.inspect(w.id, i));
  registers(w, i, factsAt(i));
}

/// Loads on their way to what the instruction touches, and what is undefined in it.
void Watch::registers(Wave &w, const Inst &i, const Facts &f) {
  const Scoreboard &s = boards_[w.id];
  uint64_t lanes = f.allLanes ? kAllLanes : w.exec();
  uint64_t vectors = 0, scalars = 0;
  auto pending = [&](const Span &span, bool overwrite) {
    for (unsigned c = span.first; c < unsigned(span.first) + span.count; ++c)
      if (s.pendingOn(c)) [[unlikely]]
        pendingRegister(w, i, f, span, c, lanes, overwrite);
  };
  for (unsigned n = 0; n < f.reads; ++n) {
    pending(f.read[n], false);
    (f.read[n].first < kScalarCell ? vectors : scalars) |=
        s.undefined(f.read[n].first, f.read[n].count);
  }
  for (unsigned n = 0; n < f.writes; ++n)
    pending(f.write[n], true);

  if ((vectors & (f.crossLane ? kAllLanes : lanes)) | scalars || (i.flags & Dpp)) [[unlikely]]
    flow(w, i, f, lanes);
  else
    define(w, i, f, lanes);

  if (f.flow == Flow::None || f.space == Space::Scalar) // the rest needs no closer look
    special(w, i, f);
}

/// Instructions that do more than read and write registers (Program.cpp knows them too).
void Watch::special(Wave &w, const Inst &i, const Facts &f) {
  if (i.run == sWaitcnt)
    wait(w, (i.literal & 15) | (i.literal >> 14 & 3) << 4, i.literal >> 8 & 15);
  else if (i.run == sEndpgm)
    wait(w, 0, 0);
  else if (i.run == sMemtime) // the machine returns the time at once, the hardware as a load
    boards_[w.id].issue(i, f, kAllLanes, Counts::outOfOrder(Counter::Lgkm), [](const Pending &) {});
  else if (i.run == sLoad || i.run == sBufferLoad)
    checkScalarAddress(w, i);
}

void Watch::pendingRegister(const Wave &w, const Inst &i, const Facts &f, const Span &span,
                            unsigned cell, uint64_t lanes, bool overwrite) {
  const Pending *p = boards_[w.id].find(boards_[w.id].pendingOn(cell));
  if (!p)
    return;
  bool perLane = cell < kScalarCell && !f.crossLane;
  if (perLane && !(p->exec & lanes))
    return; // the load changes other lanes
  if (overwrite && sameQueue(*p, f, f.space != Space::Flat && f.space != Space::Scalar))
    return;
  int lane = perLane ? std::countr_zero(p->exec & lanes) : -1;
  int missing = p->counters & p->proofs;
  found_.add(FindingKind::MissingWait, w, i, lane, p->inst, int(w.id), [&](Finding &out) {
    out.subject = cellName(cell, span.agpr, accumOffset_);
    out.message = fmt::format("{} {} before an s_waitcnt of {} covers {} at pc {:#x}",
                              overwrite ? "overwrites" : "reads", out.subject,
                              missing == 1   ? "vmcnt"
                              : missing == 2 ? "lgkmcnt"
                                             : "vmcnt and lgkmcnt",
                              out.other, out.otherPc);
  });
}

void Watch::report(const Wave &w, const Inst &i, const std::vector<Breach> &breaches) {
  for (const Breach &b : breaches)
    found_.add(FindingKind::WaitStates, w, i, -1, b.other, int(w.id), [&](Finding &out) {
      bool held = b.use == Use::HeldValu || b.use == Use::HeldMatrix;
      bool writes = b.use == Use::ValuWrite || b.use == Use::LoadWrite || held;
      out.subject = cellName(b.cell, b.agpr, accumOffset_);
      out.required = uint32_t(b.required);
      out.found = uint32_t(b.found);
      out.message = fmt::format("{} {} {} wait states after {} at pc {:#x} {} it: it needs {}",
                                writes ? "overwrites" : "reads", out.subject, b.found, out.other,
                                out.otherPc, held ? "reads" : "writes", b.required);
    });
}

void Watch::wait(Wave &w, unsigned vm, unsigned lgkm) {
  auto over = [&](const Pending &p) { done(p); };
  boards_[w.id].wait(Counter::Vm, vm, over);
  boards_[w.id].wait(Counter::Lgkm, lgkm, over);
}

void Watch::checkScalarAddress(const Wave &w, const Inst &i) {
  uint64_t address = w.pair(i.src[0].index) + uint64_t(int64_t(i.offset));
  if (i.src[1].kind != OperandKind::None)
    address += scalar32(w, i, i.src[1]);
  if (address & 3)
    misaligned(w, i, -1, address, 4, false);
}

} // namespace attune::sim::strict
