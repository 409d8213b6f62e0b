// What strict mode keeps from one launch of a kernel to the next (Notes.h): what it knows of the
// instructions and of the paths between them, and the LDS shadow's tables, whose former contents
// lie behind the floor of the next workgroup.
#pragma once
#include "runtime/sim/Notes.h"
#include "runtime/sim/strict/HazardPaths.h"
#include "runtime/sim/strict/LdsShadow.h"

namespace attune::sim::strict {

struct Learned : Note {
  Learned(const Dispatch &d, uint32_t waves)
      : accumOffset(d.kernel->accumOffset), waves(waves), program(d), hazards(program, waves) {}

  const uint32_t accumOffset, waves; ///< what all of it depends on
  Program program;
  HazardPaths hazards;
  LdsShadow lds;
  uint32_t ldsBytes = ~0u; ///< that `lds` was prepared for
};

} // namespace attune::sim::strict
