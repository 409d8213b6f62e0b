// The gate on the tree's own goldens: whatever instruction of whatever stage changes, it is found
// on its line; another LLVM gives one table. The compiler is left out, both sides come from
// golden/.
#include "runtime/abi/Digest.h"
#include "tools/attune/GoldenFolder.h"
#include "tools/attune/GoldenReport.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::tool;

namespace {

const std::map<std::string, Described> &kept() {
  static const std::map<std::string, Described> all = [] {
    auto read = GoldenFolder(ATTUNE_SOURCE_DIR "/golden", "gfx950").read();
    if (!read)
      FAIL(read.error().message);
    return *read;
  }();
  return all;
}

std::string &valueOf(Fields &fields, const std::string &key) {
  auto at = std::find_if(fields.begin(), fields.end(), [&](auto &f) { return f.first == key; });
  REQUIRE(at != fields.end());
  return at->second;
}

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// As if a lowering had made one instruction of `stage` otherwise: its line and, as in a compiler,
/// the hashes of all stages after it.
Described changedAt(const Described &before, const std::string &stage, size_t line) {
  Described now = before;
  std::vector<std::string> lines = linesOf(valueOf(now.texts, stage));
  lines.at(line) += " // otherwise";
  std::string text;
  for (const std::string &one : lines)
    text += one + "\n";
  valueOf(now.texts, stage) = text;
  bool reached = false;
  for (auto &[name, hash] : now.golden.stages) {
    reached |= name == stage;
    if (reached)
      hash = name == stage ? sha256Hex(text) : sha256Hex(hash);
  }
  return now;
}

size_t numberOfLines(const std::string &text) {
  return size_t(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST_CASE("One instruction changed in any stage of any spec is found on its line") {
  REQUIRE(kept().size() >= 14);
  for (const auto &[spec, golden] : kept()) {
    REQUIRE(golden.texts.size() >= 4); // spec, attn, tile, llvm
    for (const auto &[stage, text] : golden.texts) {
      const std::vector<std::string> lines = linesOf(text);
      for (size_t line : {size_t(0), lines.size() / 2, lines.size() - 1}) {
        INFO(spec << " " << stage << " line " << line + 1);
        const Change change = compare(spec, {golden, changedAt(golden, stage, line), ""});
        CHECK(change.verdict == Verdict::Moved);
        REQUIRE_FALSE(change.stages.empty());
        CHECK(change.stages.front() == stage);
        REQUIRE(change.line);
        CHECK(change.line->number == line + 1);
        CHECK(change.line->kept == lines[line]);
        CHECK(change.line->now == lines[line] + " // otherwise");
        const std::string said = changesAsText({change});
        CHECK(said.find("the first stage that moved is " + stage) != std::string::npos);
        CHECK(numberOfLines(said) < 40);
      }
    }
  }
}

TEST_CASE("Another LLVM in the records gives one table and not a wall of text") {
  Entries entries;
  for (const auto &[spec, golden] : kept()) {
    Described older = changedAt(golden, "llvm", 3);
    valueOf(older.golden.origin, "llvm") = "21.1.0";
    entries[spec] = {older, golden, ""};
  }
  const std::string said = changesAsText(compareAll(entries));
  INFO(said);
  CHECK(said.find("LLVM 21.1.0 -> ") != std::string::npos);
  CHECK(numberOfLines(said) <= kept().size() + 8);
  for (const auto &[spec, golden] : kept())
    CHECK(said.find("  " + spec) != std::string::npos);
  CHECK(said.find("// otherwise") == std::string::npos); // no line of any stage
}
