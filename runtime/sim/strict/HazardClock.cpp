#include "runtime/sim/strict/HazardClock.h"
#include <algorithm>

namespace attune::sim::strict {

void HazardClock::run(const Inst &i, const Facts &f, std::vector<Breach> &out) {
  int64_t now = f.passes ? std::max(clock_, matrixFree_) : clock_;
  reads(i, f, now, out);
  writes(i, f, now, out);
  clock_ = now + f.waitStates;
  if (f.passes)
    matrixFree_ = now + f.passes;
}

void HazardClock::reads(const Inst &i, const Facts &f, int64_t now, std::vector<Breach> &out) {
  for (unsigned n = 0; n < f.reads; ++n) {
    const Span &span = f.read[n];
    for (unsigned c = span.first; c < unsigned(span.first) + span.count; ++c)
      if (now - cells_[c].writeClock <= kHazards[size_t(cells_[c].producer)][size_t(span.use)])
        hazard(i, span, c, now, out);
  }
}

void HazardClock::writes(const Inst &i, const Facts &f, int64_t now, std::vector<Breach> &out) {
  for (unsigned n = 0; n < f.writes; ++n) {
    const Span &span = f.write[n];
    Producer producer = span.use == Use::LoadWrite ? Producer::None
                        : span.first < kScalarCell ? f.vectorProducer
                                                   : f.scalarProducer;
    Use held = span.use == Use::ValuWrite     ? Use::HeldValu
               : span.use == Use::MatrixWrite ? Use::HeldMatrix
                                              : Use::ScalarWrite; // which has no rule
    for (unsigned c = span.first; c < unsigned(span.first) + span.count; ++c) {
      Cell &cell = cells_[c];
      if (now - cell.writeClock <= kHazards[size_t(cell.producer)][size_t(span.use)])
        hazard(i, span, c, now, out);
      int64_t required = kHazards[size_t(cell.readBy)][size_t(held)];
      if (now - cell.readClock <= required)
        out.push_back({c, span.agpr, held, cell.reader, required, now - cell.readClock - 1});
      cell.writeClock = now;
      cell.writer = &i;
      cell.producer = producer;
    }
  }
  if (f.holder == Producer::None)
    return;
  for (unsigned n = 0; n < f.reads; ++n)
    for (unsigned c = 0; f.read[n].source == f.heldSource && c < f.read[n].count; ++c) {
      Cell &cell = cells_[f.read[n].first + c];
      cell.readClock = now;
      cell.reader = &i;
      cell.readBy = f.holder;
    }
}

void HazardClock::hazard(const Inst &i, const Span &span, unsigned n, int64_t now,
                         std::vector<Breach> &out) {
  const Cell &c = cells_[n];
  Use use = span.use;
  if (use == Use::MatrixC) {
    const Span &d = program_.factsAt(*c.writer).write[0];
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
    out.push_back({n, span.agpr, use, c.writer, required, found});
}

} // namespace attune::sim::strict
