// What follows from a Plan alone.
#include "compiler/schedule/Plan.h"
#include "compiler/schedule/Knobs.h"
#include <fmt/format.h>

namespace attune::schedule {

int Plan::ldsBytes(const ProblemShape &p) const {
  return stages * kvTile * (p.headDim + p.vHeadDim) * sizeOf(p.dtype);
}

std::string Plan::str() const {
  std::vector<std::string> items;
  for (const Knob &k : allKnobs())
    items.push_back(fmt::format("{}={}", k.name, this->*k.field));
  return fmt::format("{}", fmt::join(items, " "));
}

} // namespace attune::schedule
