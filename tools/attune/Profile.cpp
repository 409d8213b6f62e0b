// The trace, and the page: ProfilePage.html with the report's numbers put in.
#include "tools/attune/Profile.h"
#include "tools/attune/ProfilePage.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace attune::tool {

namespace {

using nlohmann::json;

/// Row of instructionReports by instruction: each one that was issued has a row.
std::map<uint32_t, size_t> rowsByInstruction(const sim::TimingReport &report) {
  std::map<uint32_t, size_t> rows;
  for (size_t n = 0; n < report.instructionReports.size(); ++n)
    rows[report.instructionReports[n].inst] = n;
  return rows;
}

/// JSON inside a <script> element: "</" would end it, in a string as anywhere.
std::string forScript(const json &value) {
  std::string text = value.dump();
  for (size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
    text.replace(at, 2, "<\\/");
  return text;
}

std::string escaped(const std::string &text) {
  std::string html;
  for (char c : text)
    switch (c) {
    case '<':
      html += "&lt;";
      break;
    case '>':
      html += "&gt;";
      break;
    case '&':
      html += "&amp;";
      break;
    case '"':
      html += "&quot;";
      break;
    default:
      html += c;
    }
  return html;
}

/// [clk, wave, row of instructionReports, stall clk, reason] of each issue: arrays, not objects,
/// for their size.
json timelineRows(const sim::TimingReport &report) {
  const std::map<uint32_t, size_t> rowOf = rowsByInstruction(report);
  json rows = json::array();
  for (const sim::TimedIssue &issue : report.timeline)
    rows.push_back(
        {issue.clk, issue.wave, rowOf.at(issue.inst), issue.stallClk, size_t(issue.reason)});
  return rows;
}

void putIn(std::string &page, const std::string &mark, const std::string &text) {
  for (size_t at = 0; (at = page.find(mark, at)) != std::string::npos; at += text.size())
    page.replace(at, mark.size(), text);
}

/// The report as JSON with what is known of each instruction's source.
json withSources(const sim::TimingReport &report, const SourceLines &lines) {
  json all = json::parse(sim::timingJson(report));
  if (auto rows = all.find("instructionReports"); rows != all.end())
    for (json &row : *rows)
      if (auto at = lines.find(row["pc"].get<uint32_t>()); at != lines.end()) {
        row["isa"] = at->second.isa;
        row["tileLine"] = at->second.tileLine;
        row["tile"] = at->second.tile;
      }
  return all;
}

std::string shortened(const std::string &line, size_t length) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  return line.size() - first <= length ? line.substr(first)
                                       : line.substr(first, length - 3) + "...";
}

} // namespace

std::string profileText(const sim::TimingReport &report, const Profiled &what, size_t top) {
  struct Op {
    uint64_t stallClk = 0, executed = 0, instructions = 0;
    std::string tile;
  };
  std::map<int, Op> ops;
  for (const sim::InstReport &row : report.instructionReports)
    if (auto at = what.lines.find(row.pc); at != what.lines.end() && at->second.tileLine) {
      Op &op = ops[at->second.tileLine];
      op.stallClk += row.stallClk;
      op.executed += row.executed;
      ++op.instructions;
      op.tile = at->second.tile;
    }
  std::vector<std::pair<int, Op>> sorted(ops.begin(), ops.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::pair(b.second.stallClk, a.first) < std::pair(a.second.stallClk, b.first);
  });
  std::string text = sim::timingText(report, top);
  if (what.cache)
    text += fmt::format("  cache {}\n", cacheText(*what.cache));
  if (!what.noLines.empty())
    text += fmt::format("  no lines of the tile dialect: {}\n", what.noLines);
  if (!sorted.empty())
    text += "  by op of the tile dialect (attune compile SPEC --emit tile):\n";
  for (size_t n = 0; n < std::min(top, sorted.size()); ++n) {
    const auto &[line, op] = sorted[n];
    text += fmt::format("  line {:<4} stalled {:<8} {:>3} instructions x{:<7} {}\n", line,
                        op.stallClk, op.instructions, op.executed, shortened(op.tile, 90));
  }
  return text;
}

std::string profileJson(const sim::TimingReport &report, const Profiled &what) {
  json all = withSources(report, what.lines);
  if (what.cache)
    all["cache"] = json(cacheJson(*what.cache));
  if (!what.noLines.empty())
    all["noLines"] = what.noLines;
  return all.dump(2) + "\n";
}

std::string profileTrace(const sim::TimingReport &report) {
  const std::map<uint32_t, size_t> rowOf = rowsByInstruction(report);
  json events = json::array();
  std::set<uint32_t> named;
  for (const sim::TimedIssue &issue : report.timeline) {
    if (named.insert(issue.wave).second)
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", 0},
                        {"tid", issue.wave},
                        {"args", {{"name", fmt::format("wave {}", issue.wave)}}}});
    if (issue.stallClk)
      events.push_back({{"ph", "X"},
                        {"name", sim::stallName(issue.reason)},
                        {"cat", "stall"},
                        {"pid", 0},
                        {"tid", issue.wave},
                        {"ts", issue.clk - issue.stallClk},
                        {"dur", issue.stallClk}});
    const sim::InstReport &row = report.instructionReports[rowOf.at(issue.inst)];
    events.push_back({{"ph", "X"},
                      {"name", row.mnemonic},
                      {"cat", "issue"},
                      {"pid", 0},
                      {"tid", issue.wave},
                      {"ts", issue.clk},
                      {"dur", 1},
                      {"args", {{"pc", fmt::format("{:#x}", row.pc)}}}});
  }
  return json{{"traceEvents", events},
              {"otherData", {{"kernel", report.kernel}, {"unit", "1 us = 1 clk"}}}}
      .dump();
}

std::string profileHtml(const sim::TimingReport &report, const Profiled &what) {
  json stallNames = json::array();
  for (size_t s = 0; s < sim::kStalls; ++s)
    stallNames.push_back(sim::stallName(sim::Stall(s)));
  json data = {{"report", withSources(report, what.lines)},
               {"stallNames", stallNames},
               {"timeline", timelineRows(report)}};
  std::string page = kProfilePage;
  putIn(page, "@TITLE@", escaped(what.title));
  putIn(page, "@DATA@", forScript(data));
  return page;
}

} // namespace attune::tool
