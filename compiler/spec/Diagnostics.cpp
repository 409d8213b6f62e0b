// Rendering keeps the caret under the character it speaks of: tabs are copied into the caret line,
// UTF-8 continuation bytes take no column, and a line too long for a terminal is shown as a window
// round the fault.
#include "compiler/spec/Diagnostics.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>

namespace attune::spec {

void Diagnostics::error(const Location &at, std::string message, std::string help) {
  add(at, std::move(message), std::move(help), false);
}

void Diagnostics::unsupported(const Location &at, std::string message, std::string help) {
  add(at, std::move(message), std::move(help), true);
}

void Diagnostics::add(const Location &at, std::string message, std::string help, bool unsupported) {
  if (full())
    return;
  Diagnostic d;
  d.file = at.file->name;
  d.range = at.range;
  d.message = std::move(message);
  d.help = std::move(help);
  d.unsupported = unsupported;
  d.sourceLine = lineOf(at.file->text, at.range.line);
  // The same fault met twice (a function inlined in two places) is one fault.
  for (const Diagnostic &seen : list_)
    if (seen.file == d.file && seen.range.line == d.range.line &&
        seen.range.column == d.range.column && seen.message == d.message)
      return;
  list_.push_back(std::move(d));
}

std::vector<Diagnostic> Diagnostics::take() {
  std::sort(list_.begin(), list_.end(), [](const Diagnostic &a, const Diagnostic &b) {
    return std::tie(a.file, a.range.line, a.range.column, a.message) <
           std::tie(b.file, b.range.line, b.range.column, b.message);
  });
  return std::move(list_);
}

std::string_view lineOf(std::string_view text, int line) {
  for (int at = 1; at < line; ++at) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return {};
    text.remove_prefix(end + 1);
  }
  std::string_view found = text.substr(0, text.find('\n'));
  while (!found.empty() && found.back() == '\r')
    found.remove_suffix(1);
  return found;
}

namespace {

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// The source line and the caret line, both indented by two.
std::string excerpt(std::string_view line, const SourceRange &range) {
  constexpr size_t kWidth = 160, kLead = 60;
  size_t column = range.column > 0 ? size_t(range.column) - 1 : 0;
  column = std::min(column, line.size());
  size_t first = 0;
  if (line.size() > kWidth && column > kLead)
    first = column - kLead;
  while (first > 0 && first < line.size() && isContinuation(line[first]))
    --first;
  std::string_view shown = line.substr(first, kWidth);
  std::string text, carets;
  for (char c : shown)
    text += static_cast<unsigned char>(c) < ' ' && c != '\t' ? '?' : c;
  for (char c : shown.substr(0, column - first))
    if (!isContinuation(c))
      carets += c == '\t' ? '\t' : ' ';
  carets += '^';
  size_t end = std::min(column + size_t(std::max(range.length, 1)), line.size());
  for (size_t i = column + 1; i < end && i - first < shown.size(); ++i)
    if (!isContinuation(line[i]))
      carets += '~';
  return fmt::format("  {}\n  {}\n", text, carets);
}

} // namespace

std::string render(const std::vector<Diagnostic> &list, std::string_view text) {
  std::string out;
  for (const Diagnostic &d : list) {
    std::string_view line =
        d.sourceLine.empty() ? lineOf(text, d.range.line) : std::string_view(d.sourceLine);
    out += fmt::format("{}:{}:{}: {}: {}\n", d.file, d.range.line, d.range.column,
                       d.warning ? "warning" : "error", d.message);
    if (!line.empty())
      out += excerpt(line, d.range);
    if (!d.help.empty())
      out += fmt::format("  {}\n", d.help);
  }
  return out;
}

namespace {

/// Levenshtein distance where swapping two neighbours costs one, as typing does it.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

} // namespace

std::string didYouMean(std::string_view name, const std::vector<std::string> &choices) {
  if (name.empty() || name.size() > 64)
    return "";
  std::string best;
  size_t bestDistance = std::min<size_t>(1 + (name.size() > 3) + (name.size() > 6), 3);
  for (const std::string &choice : choices) {
    size_t distance = editDistance(name, choice);
    if (distance == 0 || distance >= std::max(name.size(), choice.size()))
      continue;
    if (distance < bestDistance || (best.empty() && distance <= bestDistance)) {
      best = choice;
      bestDistance = distance;
    }
  }
  return best.empty() ? "" : fmt::format("did you mean `{}`?", best);
}

std::string joinHelp(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty())
    return std::string(a.empty() ? b : a);
  return fmt::format("{} {}", a, b);
}

std::string commaList(const std::vector<std::string> &parts) {
  std::string out;
  for (const std::string &p : parts)
    out += out.empty() ? p : ", " + p;
  return out;
}

} // namespace attune::spec
