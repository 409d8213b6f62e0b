// The loops of a kernel, from the text of its ISA. Where a block stands in the text says little:
// the latch may stand before the header, and a block that is rarely entered behind everything. So
// these are the loops of the control flow: a branch back to a block that all ways go through, and
// every block from which that branch is reached.
#pragma once
#include <string>
#include <vector>

namespace attune {

/// The text of each loop that holds no other, blocks in the order of the ISA.
std::vector<std::string> innerLoops(const std::string &isa);

} // namespace attune
