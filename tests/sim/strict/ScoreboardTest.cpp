// What a Scoreboard says of an instruction's registers at one look is what it says of each of them.
#include "runtime/sim/strict/Scoreboard.h"
#include <catch2/catch.hpp>
#include <random>

using namespace attune::sim;
using namespace attune::sim::strict;

namespace {

struct Registers {
  std::vector<unsigned> cells;
  Touch touch{.mask = {}, .word = {}};
};

/// Registers of up to four words.
Registers randomRegisters(std::minstd_rand &random) {
  Registers c;
  for (unsigned n = 0; n < 4; ++n) {
    unsigned cell = unsigned(random() % kCells);
    c.cells.push_back(cell);
    c.touch.word[n] = uint8_t(cell / 64);
    c.touch.mask[n] = uint64_t(1) << cell % 64;
  }
  return c;
}

} // namespace

TEST_CASE("a register is settled if all of it is defined and no load is on its way") {
  std::minstd_rand random(5);
  Scoreboard s;
  s.reset(8);
  CHECK_FALSE(s.settled(Touch{})); // the one of instructions that always need a look
  for (unsigned cell = 0; cell < kCells; ++cell)
    s.setUndefined(cell, 0);
  CHECK_FALSE(s.settled(Touch{}));
  Inst inst;
  unsigned settled = 0, unsettled = 0;
  for (unsigned n = 0; n < 20000; ++n) {
    unsigned cell = unsigned(random() % kCells);
    switch (random() % 6) {
    case 0: {
      Facts f;
      f.writes = 1;
      f.write[0] = {.first = uint16_t(cell % 500), .count = uint8_t(1 + random() % 12)};
      Counter counter = random() % 2 ? Counter::Vm : Counter::Lgkm;
      s.issue(inst, f, kAllLanes,
              random() % 4 ? Counts::inOrder(counter) : Counts::outOfOrder(counter),
              [](const Pending &) {});
      break;
    }
    case 1:
      s.wait(random() % 2 ? Counter::Vm : Counter::Lgkm, unsigned(random() % 3),
             [](const Pending &) {});
      break;
    case 2:
      s.setUndefined(cell, uint64_t(1) << random() % 64);
      break;
    case 3:
      s.addUndefined(cell, random() % 3 ? 0 : 2);
      break;
    case 4:
      s.setUndefined(cell, random() % 2 ? ~uint64_t(0) : 0, uint64_t(random()) << 20);
      break;
    default:
      for (unsigned c = cell; c < std::min(cell + 40, kCells); ++c)
        s.setUndefined(c, 0);
    }
    Registers c = randomRegisters(random);
    bool all = true;
    for (unsigned each : c.cells)
      all &= !s.undefined(each) && !s.pendingOn(each);
    if (s.settled(c.touch) != all)
      FAIL("after " << n << " steps");
    ++(all ? settled : unsettled);
  }
  CHECK(settled > 1000);
  CHECK(unsettled > 1000);
}
