// The four ways a vector memory instruction finds its 64 addresses, and the two ways a scalar one
// finds its only one, that of lane 0. Each fills in address and bytes of the access for the active
// lanes and returns false after a fault.
#pragma once
#include "runtime/sim/MemoryOps.h"

namespace attune::sim {

bool bufferAddress(Wave &, Access &);
bool globalAddress(Wave &, Access &);
bool scratchAddress(Wave &, Access &);
bool flatAddress(Wave &, Access &);
bool scalarAddress(Wave &, Access &);
bool scalarBufferAddress(Wave &, Access &);

} // namespace attune::sim
