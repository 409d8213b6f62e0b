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
      scalars_(initialScalars(*d.kernel)), facts_(d.text->code.size()),
      boards_((d.block[0] * d.block[1] * d.block[2] + kLanes - 1) / kLanes) {
  memory_ = GlobalShadow(d.text->code.size(), uint32_t(boards_.size()));
  lds_.prepare(d.ldsBytes, uint32_t(boards_.size()), narrowLds());
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
  for (Scoreboard &s : boards_)
    s.reset(scalars_);
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

const Facts &Watch::factsAt(const Inst &i) {
  Facts &f = facts_[size_t(&i - d_.text->code.data())];
  if (!f.known) [[unlikely]] {
    f = factsOf(i, accumOffset_);
    Format format = kOpcodes[i.opcode].format;
    uint32_t word = *reinterpret_cast<const uint32_t *>(d_.textBase + i.pc);
    bool buffer = format == Format::MUBUF;
    bool memory = buffer || format == Format::FLAT || format == Format::GLOBAL;
    f.device = memory && (f.atomic || (word >> (buffer ? 15 : 25) & 1));   // sc1
    f.coherent = f.device || (memory && (word >> (buffer ? 14 : 16) & 1)); // sc0
  }
  return f;
}

void Watch::before(Wave &w, const Inst &i) {
  const Facts &f = factsAt(i);
  if (w.gprIndex && kOpcodes[i.opcode].format >= Format::VOP1) [[unlikely]] {
    Facts moved = f; // VGPR numbers have M0's index added
    unsigned add = w.s[reg::kM0] & 0xff;
    auto move = [&](Span &s, unsigned enable) {
      if ((w.gprIndex & enable) && s.first < kScalarCell && !s.agpr)
        s.first = uint16_t(std::min<unsigned>(s.first + add, kScalarCell - s.count));
    };
    if (kOpcodes[i.opcode].format <= Format::VOP3P) {
      for (unsigned n = 0; n < f.reads; ++n)
        move(moved.read[n], f.read[n].source < 3 ? 1u << f.read[n].source : 0);
      for (unsigned n = 0; n < f.writes; ++n)
        move(moved.write[n], 8);
    }
    check(w, i, moved);
    return;
  }
  check(w, i, f);
}

void Watch::check(Wave &w, const Inst &i, const Facts &f) {
  Scoreboard &s = boards_[w.id];
  int64_t now = f.passes ? std::max(s.clock, s.matrixFree) : s.clock;
  uint64_t lanes = f.allLanes ? kAllLanes : w.exec();
  uint64_t vectors = 0, scalars = 0;
  for (unsigned n = 0; n < f.reads; ++n) {
    const Span &span = f.read[n];
    const Cell *cell = &s.cells[span.first];
    uint64_t undefined = 0;
    for (unsigned c = 0; c < span.count; ++c) {
      undefined |= cell[c].undefined;
      if (cell[c].pending) [[unlikely]]
        pendingRegister(w, i, f, span, span.first + c, lanes, false);
      if (now - cell[c].writeClock <= kHazards[size_t(cell[c].producer)][size_t(span.use)])
          [[unlikely]]
        hazard(w, i, span, span.first + c, now);
    }
    (span.first < kScalarCell ? vectors : scalars) |= undefined;
  }
  checkWrites(w, i, f, now, lanes);
  s.clock = now + f.waitStates;
  if (f.passes)
    s.matrixFree = now + f.passes;

  if ((vectors & (f.crossLane ? kAllLanes : lanes)) | scalars || (i.flags & Dpp)) [[unlikely]]
    flow(w, i, f, lanes);
  else
    define(s, w, i, f, lanes);

  if (f.flow == Flow::None || f.space == Space::Scalar) { // the rest needs no closer look
    if (i.run == sWaitcnt)
      wait(w, (i.literal & 15) | (i.literal >> 14 & 3) << 4, i.literal >> 8 & 15);
    else if (i.run == sEndpgm)
      wait(w, 0, 0);
    else if (i.run == sMemtime) // the machine returns the time at once, the hardware as a load
      s.issue(i, f, kAllLanes, uint8_t(Counter::Lgkm), false, [](const Pending &) {});
    else if (i.run == sLoad || i.run == sBufferLoad)
      checkScalarAddress(w, i);
  }
}

void Watch::checkWrites(Wave &w, const Inst &i, const Facts &f, int64_t now, uint64_t lanes) {
  Scoreboard &s = boards_[w.id];
  for (unsigned n = 0; n < f.writes; ++n) {
    const Span &span = f.write[n];
    Producer producer = span.use == Use::LoadWrite ? Producer::None
                        : span.first < kScalarCell ? f.vectorProducer
                                                   : f.scalarProducer;
    Use held = span.use == Use::ValuWrite     ? Use::HeldValu
               : span.use == Use::MatrixWrite ? Use::HeldMatrix
                                              : Use::ScalarWrite; // which has no rule
    for (unsigned c = 0; c < span.count; ++c) {
      Cell &cell = s.cells[span.first + c];
      if (cell.pending) [[unlikely]]
        pendingRegister(w, i, f, span, span.first + c, lanes, true);
      if (now - cell.writeClock <= kHazards[size_t(cell.producer)][size_t(span.use)]) [[unlikely]]
        hazard(w, i, span, span.first + c, now);
      int64_t required = kHazards[size_t(cell.readBy)][size_t(held)];
      if (now - cell.readClock <= required) [[unlikely]]
        report(w, i, span, span.first + c, cell.reader, held, required, now - cell.readClock - 1);
      cell.writeClock = now;
      cell.writer = &i;
      cell.producer = producer;
    }
  }
  if (f.holder == Producer::None)
    return;
  for (unsigned n = 0; n < f.reads; ++n)
    for (unsigned c = 0; f.read[n].source == f.heldSource && c < f.read[n].count; ++c) {
      Cell &cell = s.cells[f.read[n].first + c];
      cell.readClock = now;
      cell.reader = &i;
      cell.readBy = f.holder;
    }
}

void Watch::pendingRegister(const Wave &w, const Inst &i, const Facts &f, const Span &span,
                            unsigned cell, uint64_t lanes, bool overwrite) {
  const Pending *p = boards_[w.id].find(boards_[w.id].cells[cell].pending);
  if (!p)
    return;
  bool perLane = cell < kScalarCell && !f.crossLane;
  if (perLane && !(p->exec & lanes))
    return; // the load changes other lanes
  if (overwrite && sameQueue(*p, f, f.space != Space::Flat && f.space != Space::Scalar))
    return;
  int lane = perLane ? std::countr_zero(p->exec & lanes) : -1;
  found_.add(FindingKind::MissingWait, w, i, lane, p->inst, int(w.id), [&](Finding &out) {
    out.subject = cellName(cell, span.agpr, accumOffset_);
    out.message = fmt::format("{} {} before an s_waitcnt of {} covers {} at pc {:#x}",
                              overwrite ? "overwrites" : "reads", out.subject,
                              p->counters == 1   ? "vmcnt"
                              : p->counters == 2 ? "lgkmcnt"
                                                 : "vmcnt and lgkmcnt",
                              out.other, out.otherPc);
  });
}

void Watch::hazard(const Wave &w, const Inst &i, const Span &span, unsigned cell, int64_t now) {
  const Cell &c = boards_[w.id].cells[cell];
  Use use = span.use;
  if (use == Use::MatrixC) {
    const Span &d = factsAt(*c.writer).write[0];
    bool half = c.producer >= Producer::Sgemm2 && c.producer <= Producer::Sgemm16;
    bool f32 = kOpcodes[i.opcode].mnemonic.ends_with("_f32");
    if (d.first == span.first && d.count == span.count && c.producer >= Producer::Xdl2)
      use = Use::MatrixCSame;
    else if (half && !f32)
      return;
  }
  if (use == Use::DotC && c.producer == Producer::Dot && c.writer->opcode == i.opcode)
    return;
  int64_t required = kHazards[size_t(c.producer)][size_t(use)], found = now - c.writeClock - 1;
  if (found >= 0 && found < required) // below 0: a swap of a register with itself
    report(w, i, span, cell, c.writer, use, required, found);
}

void Watch::report(const Wave &w, const Inst &i, const Span &span, unsigned cell, const Inst *other,
                   Use use, int64_t required, int64_t found) {
  found_.add(FindingKind::WaitStates, w, i, -1, other, int(w.id), [&](Finding &out) {
    bool held = use == Use::HeldValu || use == Use::HeldMatrix;
    bool writes = use == Use::ValuWrite || use == Use::LoadWrite || held;
    out.subject = cellName(cell, span.agpr, accumOffset_);
    out.required = uint32_t(required);
    out.found = uint32_t(found);
    out.message = fmt::format("{} {} {} wait states after {} at pc {:#x} {} it: it needs {}",
                              writes ? "overwrites" : "reads", out.subject, found, out.other,
                              out.otherPc, held ? "reads" : "writes", required);
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
