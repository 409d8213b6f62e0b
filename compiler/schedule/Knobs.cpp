// Checking what a user wrote against Knobs.def.
#include "compiler/schedule/Knobs.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>

namespace attune::schedule {

namespace {

#define KNOB(name, field, doc, ...) constexpr int legal_##name[] = {__VA_ARGS__};
#include "compiler/schedule/Knobs.def"

constexpr Knob table[] = {
#define KNOB(name, field, doc, ...) {#name, &Plan::field, doc, legal_##name},
#include "compiler/schedule/Knobs.def"
};

/// Levenshtein: single letters to insert, delete or replace.
int editDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = int(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Error unknownKnob(std::string_view name) {
  std::vector<std::string_view> names;
  const Knob *closest = &table[0];
  for (const Knob &k : table) {
    names.push_back(k.name);
    if (editDistance(name, k.name) < editDistance(name, closest->name))
      closest = &k;
  }
  // Further than half of its letters away, a suggestion would be a guess.
  const bool alike = editDistance(name, closest->name) * 2 <= int(closest->name.size());
  return {ErrorCode::InvalidSpec,
          fmt::format("schedule has no knob '{}'{}; knobs: {}", name,
                      alike ? fmt::format(", did you mean '{}'?", closest->name) : "",
                      fmt::join(names, ", ")),
          "schedule." + std::string(name)};
}

std::string listOf(std::span<const int> legal) {
  std::vector<int> sorted(legal.begin(), legal.end());
  std::sort(sorted.begin(), sorted.end());
  return fmt::format("{}", fmt::join(sorted, ", "));
}

} // namespace

std::span<const Knob> allKnobs() { return table; }

int nearestLegal(std::span<const int> legal, int value) {
  return *std::min_element(legal.begin(), legal.end(), [&](int a, int b) {
    const int64_t da = std::abs(int64_t(a) - value), db = std::abs(int64_t(b) - value);
    return da != db ? da < db : a > b;
  });
}

Result<std::map<std::string_view, int>>
readKnobs(const std::vector<std::pair<std::string, std::string>> &knobs) {
  std::map<std::string_view, int> values;
  for (auto &[name, text] : knobs) {
    const Knob *knob = std::find_if(std::begin(table), std::end(table),
                                    [&](const Knob &k) { return k.name == name; });
    if (knob == std::end(table))
      return unknownKnob(name);
    int value = 0;
    auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || end != text.data() + text.size())
      return Error{ErrorCode::InvalidSpec,
                   fmt::format("schedule knob {} is '{}', not an integer; legal: {}", name, text,
                               listOf(knob->legal)),
                   "schedule." + name};
    if (std::find(knob->legal.begin(), knob->legal.end(), value) == knob->legal.end())
      return Error{ErrorCode::Unsupported,
                   fmt::format("schedule knob {} is {}; legal: {}; nearest legal: {}", name, value,
                               listOf(knob->legal), nearestLegal(knob->legal, value)),
                   "schedule." + name};
    values[knob->name] = value;
  }
  return values;
}

} // namespace attune::schedule
