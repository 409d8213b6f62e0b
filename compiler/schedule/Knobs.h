// The knobs that a spec's `schedule { ... }` block or the command line may set; the rows are in
// Knobs.def.
#pragma once
#include "compiler/schedule/Plan.h"
#include <map>
#include <span>
#include <string_view>

namespace attune::schedule {

struct Knob {
  std::string_view name;
  int Plan::*field;
  std::string_view doc;
  std::span<const int> legal; ///< in order of preference; the first is the default
};

/// Sorted by name.
std::span<const Knob> allKnobs();

/// The element of `legal` closest to `value`; the greater of two at the same distance.
int nearestLegal(std::span<const int> legal, int value);

/// Reads (name, value) pairs, a later one winning over an earlier one of its name. Refuses names
/// that are no knob (and suggests one) and values that are not legal (and names the nearest that
/// is).
Result<std::map<std::string_view, int>>
readKnobs(const std::vector<std::pair<std::string, std::string>> &);

} // namespace attune::schedule
