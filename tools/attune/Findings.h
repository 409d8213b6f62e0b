// What strict mode found, in a report: lines for people, rows for tools.
#pragma once
#include "runtime/sim/strict/Strict.h"
#include <nlohmann/json_fwd.hpp>

namespace attune::tool {

/// "strict  clean", or a line for each of the first findings and how many there are.
std::string findingsText(const std::vector<sim::strict::Finding> &);
nlohmann::ordered_json findingsJson(const std::vector<sim::strict::Finding> &);

} // namespace attune::tool
