// Lays out changes: spec by spec, as the one table of an LLVM change, or as JSON.
#include "tools/attune/GoldenReport.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace attune::tool {

namespace {

using nlohmann::ordered_json;

bool isBreach(const Change &change, const std::string &name) {
  return std::any_of(change.breaches.begin(), change.breaches.end(),
                     [&](const Breach &b) { return b.name == name; });
}

std::string linePart(char sign, size_t number, const std::string &text) {
  return fmt::format("  {} {:>6} {}\n", sign, number, text);
}

std::string lineText(const LineChange &line) {
  std::string text;
  size_t number = line.number - line.before.size();
  for (const std::string &before : line.before)
    text += linePart(' ', number++, clipped(before, ""));
  const std::string end = "(the text ends here)";
  const std::string kept = line.kept.value_or(end), now = line.now.value_or(end);
  return text + linePart('-', number, clipped(kept, now)) +
         linePart('+', number, clipped(now, kept));
}

std::string amountsText(const Change &change) {
  std::string text;
  size_t same = 0;
  for (const Amount &amount : change.amounts)
    if (amount.moved())
      text += fmt::format("    {:<28}{:>10}{:>10}{}\n", amount.name, amount.kept, amount.now,
                          isBreach(change, amount.name) ? "  over budget" : "");
    else
      ++same;
  if (text.empty())
    return "  resources and instruction counts are the same\n";
  return fmt::format("    {:<28}{:>10}{:>10}\n{}    ({} others are the same)\n", "", "golden",
                     "now", text, same);
}

std::string movedText(const Change &change) {
  std::string text = change.spec + ": ";
  if (change.stages.empty()) {
    text += "same stages, another record\n";
  } else {
    std::vector<std::string> later(change.stages.begin() + 1, change.stages.end());
    text += fmt::format("the first stage that moved is {}{}\n", change.stages.front(),
                        later.empty() ? "" : fmt::format(" (then {})", fmt::join(later, ", ")));
  }
  if (change.line)
    text += lineText(*change.line);
  else if (!change.stages.empty())
    text += "  (no text of this stage is kept)\n";
  for (const Amount &origin : change.origins)
    text += fmt::format("  {}: golden {}\n  {:>{}} now {}\n", origin.name, origin.kept, "",
                        origin.name.size() + 4, origin.now);
  return text + amountsText(change);
}

std::string changeText(const Change &change) {
  switch (change.verdict) {
  case Verdict::Same:
    return "";
  case Verdict::Moved:
    return movedText(change);
  case Verdict::NoGolden:
    return change.spec + ": has no golden file\n";
  case Verdict::NoSpec:
    return change.spec + ": has a golden file but no spec\n";
  case Verdict::NoText:
    return change.spec + ": nothing moved, but its kept text is missing, damaged or of another "
                         "record\n";
  case Verdict::Refused:
    return fmt::format("{}: does not compile: {}{}", change.spec, change.refusal,
                       change.refusal.ends_with('\n') ? "" : "\n");
  }
  return "";
}

const Amount *find(const Change &change, std::string_view name) {
  for (const Amount &amount : change.amounts)
    if (amount.name == name)
      return &amount;
  return nullptr;
}

/// "128 -> 168!", "128" or, if there is no such amount, "".
std::string cell(const Change &change, const std::string &name) {
  const Amount *amount = find(change, name);
  if (!amount)
    return "";
  if (!amount->moved())
    return amount->now;
  return fmt::format("{} -> {}{}", amount->kept, amount->now, isBreach(change, name) ? "!" : "");
}

std::string stagesCell(const Change &change) {
  if (change.verdict != Verdict::Same && change.verdict != Verdict::Moved)
    return std::string(verdictName(change.verdict));
  return change.stages.empty() ? "none" : fmt::format("{}", fmt::join(change.stages, " "));
}

struct Column {
  const char *title, *amount;
};
constexpr Column columns[] = {{"vgpr", "vgpr"},
                              {"agpr", "agpr"},
                              {"sgpr", "sgpr"},
                              {"vgpr spills", "vgpr_spills"},
                              {"sgpr spills", "sgpr_spills"},
                              {"scratch", "scratch_bytes"},
                              {"lds", "lds_bytes"},
                              {"waves", "occupancy"},
                              {"instructions", "instructions"}};

/// Columns as wide as their widest cell.
std::string align(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += fmt::format("  {:<{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Every spec in one table: what another LLVM did to them.
std::string toolchainText(const std::vector<Change> &changes) {
  std::set<std::string> old, running;
  for (const Change &change : changes) {
    if (change.llvmMoved())
      old.insert(change.keptLlvm);
    if (!change.nowLlvm.empty())
      running.insert(change.nowLlvm);
  }
  std::vector<std::vector<std::string>> rows{{"spec", "stages moved"}};
  for (const Column &column : columns)
    rows[0].push_back(column.title);
  for (const Change &change : changes) {
    std::vector<std::string> row{change.spec, stagesCell(change)};
    for (const Column &column : columns)
      row.push_back(cell(change, column.amount));
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("LLVM {} -> {}, in all specs (! is over budget):\n{}",
                                 fmt::join(old, ", "), fmt::join(running, ", "), align(rows));
  for (const Change &change : changes)
    if (change.verdict == Verdict::Refused)
      text += changeText(change);
  return text;
}

std::string breachesText(const std::vector<Change> &changes) {
  std::string text;
  for (const Change &change : changes)
    for (const Breach &breach : change.breaches)
      text += fmt::format("  {:<20} {}\n", change.spec, breach.str());
  return text.empty() ? "" : "over budget:\n" + text;
}

size_t countDifferent(const std::vector<Change> &changes) {
  return static_cast<size_t>(std::count_if(
      changes.begin(), changes.end(), [](const Change &c) { return c.verdict != Verdict::Same; }));
}

size_t countBreached(const std::vector<Change> &changes) {
  return static_cast<size_t>(std::count_if(changes.begin(), changes.end(),
                                           [](const Change &c) { return !c.breaches.empty(); }));
}

bool toolchainMoved(const std::vector<Change> &changes) {
  return std::any_of(changes.begin(), changes.end(), [](const Change &c) { return c.llvmMoved(); });
}

ordered_json textOrNull(const std::optional<std::string> &text) {
  return text ? ordered_json(*text) : ordered_json();
}

ordered_json changeJson(const Change &change) {
  ordered_json json{{"spec", change.spec}, {"verdict", verdictName(change.verdict)}};
  if (change.verdict == Verdict::Refused)
    json["error"] = change.refusal;
  json["llvm"] = {{"golden", change.keptLlvm}, {"now", change.nowLlvm}};
  json["stages_moved"] = change.stages;
  if (change.line)
    json["first_line"] = {{"stage", change.stages.front()},
                          {"number", change.line->number},
                          {"before", change.line->before},
                          {"golden", textOrNull(change.line->kept)},
                          {"now", textOrNull(change.line->now)}};
  json["amounts_moved"] = ordered_json::object();
  for (const Amount &amount : change.amounts)
    if (amount.moved())
      json["amounts_moved"][amount.name] = {amount.kept, amount.now};
  json["over_budget"] = ordered_json::array();
  for (const Breach &breach : change.breaches)
    json["over_budget"].push_back({{"name", breach.name},
                                   {"golden", breach.kept},
                                   {"now", breach.now},
                                   {"slack_percent", breach.slackPercent}});
  return json;
}

} // namespace

std::string changesAsText(const std::vector<Change> &changes) {
  size_t different = countDifferent(changes), breached = countBreached(changes);
  if (different == 0)
    return fmt::format("golden: {} specs, nothing moved\n", changes.size());
  std::string text;
  if (toolchainMoved(changes))
    text = toolchainText(changes);
  else
    for (const Change &change : changes)
      text += changeText(change);
  text += breachesText(changes);
  std::set<std::string_view> causes;
  for (const Change &change : changes)
    if (change.verdict != Verdict::Same && change.verdict != Verdict::Refused)
      causes.insert(causeOf(change));
  text += fmt::format("golden: {} of {} specs differ, {} over budget.", different, changes.size(),
                      breached);
  if (!causes.empty())
    text += fmt::format(" If that is meant: attune golden bless --cause {} --reason \"...\"",
                        fmt::join(causes, "|"));
  return text + "\n";
}

std::string changesAsJson(const std::vector<Change> &changes, const std::string &arch) {
  ordered_json json{
      {"ok", countDifferent(changes) == 0},         {"arch", arch},
      {"toolchain_moved", toolchainMoved(changes)}, {"different", countDifferent(changes)},
      {"over_budget", countBreached(changes)},      {"specs", ordered_json::array()}};
  for (const Change &change : changes)
    json["specs"].push_back(changeJson(change));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string acceptedAsText(const std::vector<Change> &changes) {
  std::string text;
  for (const Change &change : changes) {
    if (change.verdict == Verdict::Same)
      continue;
    std::string what = change.stages.empty() ? std::string(verdictName(change.verdict))
                                             : fmt::format("{}", fmt::join(change.stages, ", "));
    for (const Amount &origin : change.origins)
      what += fmt::format("; {} {} -> {}", origin.name, origin.kept, origin.now);
    text += fmt::format("  {:<20} {}\n", change.spec, what);
  }
  return text + breachesText(changes);
}

std::string breachesInLine(const std::vector<Change> &changes) {
  std::vector<std::string> all;
  for (const Change &change : changes)
    for (const Breach &breach : change.breaches)
      all.push_back(change.spec + " " + breach.str());
  return fmt::format("{}", fmt::join(all, "; "));
}

} // namespace attune::tool
