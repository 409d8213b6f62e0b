#include "runtime/sim/strict/Program.h"
#include "runtime/sim/Ops.h"

namespace attune::sim::strict {
namespace {

/// Does it more than read and write registers? (See Watch::inspect.)
bool alwaysWorthALook(const Inst &i) {
  return i.run == sWaitcnt || i.run == sEndpgm || i.run == sMemtime || i.run == sLoad ||
         i.run == sBufferLoad;
}

Touch touchOf(const Inst &i, const Facts &f) {
  if (alwaysWorthALook(i))
    return {};
  Touch t{.mask = {}, .word = {}};
  unsigned used = 0;
  auto add = [&](unsigned cell) {
    unsigned n = 0;
    while (n < used && t.word[n] != cell / 64)
      ++n;
    if (n == std::size(t.word))
      return false;
    used = std::max(used, n + 1);
    t.word[n] = uint8_t(cell / 64);
    t.mask[n] |= uint64_t(1) << cell % 64;
    return true;
  };
  for (auto [spans, count] : {std::pair(f.read, f.reads), std::pair(f.write, f.writes)})
    for (unsigned n = 0; n < count; ++n)
      for (unsigned c = 0; c < spans[n].count; ++c)
        if (!add(spans[n].first + c))
          return {};
  return t;
}

} // namespace

Program::Program(const Dispatch &d)
    : code_(d.text->code.data()), textBase_(d.textBase), accumOffset_(d.kernel->accumOffset),
      facts_(d.text->code.size()), touches_(d.text->code.size()) {}

const Facts &Program::learn(const Inst &i) {
  Facts &f = facts_[indexOf(i)];
  f = factsOf(i, accumOffset_);
  Format format = kOpcodes[i.opcode].format;
  uint32_t word = *reinterpret_cast<const uint32_t *>(textBase_ + i.pc);
  bool buffer = format == Format::MUBUF;
  bool memory = buffer || format == Format::FLAT || format == Format::GLOBAL;
  f.device = f.atomic ? memory || f.space == Space::Scalar
                      : memory && (word >> (buffer ? 15 : 25) & 1);      // sc1
  f.coherent = f.device || (memory && (word >> (buffer ? 14 : 16) & 1)); // sc0
  touches_[indexOf(i)] = touchOf(i, f);
  return f;
}

} // namespace attune::sim::strict
