// What `attune golden` says about changes, as lines for people or as one JSON object.
//
// Each spec that moved is told by itself: the first stage that moved, its first differing line, the
// amounts that changed. But where another LLVM is running than made the goldens, all specs move for
// one reason, and there is one table of them instead. Breaches of the budget stand apart, below.
#pragma once
#include "tools/attune/GoldenCompare.h"

namespace attune::tool {

std::string changesAsText(const std::vector<Change> &);
std::string changesAsJson(const std::vector<Change> &, const std::string &arch);
/// What a bless takes over, a line a spec.
std::string acceptedAsText(const std::vector<Change> &);
/// "small vgpr 128 -> 168; ..." or "".
std::string breachesInLine(const std::vector<Change> &);

} // namespace attune::tool
