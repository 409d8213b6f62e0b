#include "runtime/sim/strict/Scoreboard.h"

namespace attune::sim::strict {

void Scoreboard::reset(uint32_t scalars) {
  for (Cell &c : cells)
    c = {};
  cells[0].undefined = 0;
  for (unsigned n = 0; n < scalars; ++n)
    cells[kScalarCell + n].undefined = 0;
  for (int n : {reg::kFlatScratch, reg::kFlatScratch + 1, reg::kExec, reg::kExec + 1})
    cells[kScalarCell + unsigned(n)].undefined = 0;
  clock = matrixFree = 0;
  pending.clear();
  nextId_ = 1;
  open_[0] = open_[1] = 0;
}

} // namespace attune::sim::strict
