// Strict mode on the corpus: each bad snippet gives findings of one kind at one instruction, its
// corrected twin none, whatever the thread count; and a twin without any one of its waits, barriers
// and s_nops has findings again.
#include "runtime/sim/strict/Strict.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sstream>

using namespace attune::sim;
using namespace simtest;

namespace {

struct Case {
  std::string kind, name;
  uint32_t lds = 0, threads = 64, scratch = 0, faults = 0, groups = 1;
  std::string bad, good;
  std::string message;                ///< of a fault
  std::vector<std::string> goodLines; ///< of the good version
  std::vector<size_t> needed;         ///< those that order or wait, but for what ends with ~
};

/// Adds a line to a version; the marked instruction gets the label "here".
void addLine(Case &c, std::string line, bool inBad, bool inGood) {
  bool spare = line.ends_with(" ~");
  if (spare)
    line.resize(line.size() - 2);
  std::string_view what = std::string_view(line).substr(std::min(line.find('s'), line.size()));
  if (inGood && !spare &&
      (what.starts_with("s_waitcnt") || what == "s_barrier" || what.starts_with("s_nop")))
    c.needed.push_back(c.goodLines.size());
  size_t mark = line.find(" !");
  if (mark != line.npos) {
    if (mark + 3 < line.size())
      c.message = line.substr(mark + 3);
    line.resize(mark);
    line = ".globl here\nhere:\n" + line;
  }
  if (inBad)
    c.bad += line + "\n";
  if (inGood) {
    c.good += line + "\n";
    c.goodLines.push_back(line);
  }
}

std::string expanded(const std::string &line) {
  if (line == "@buffer")
    return "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_lshlrev_b32 v1, 2, v0\n  s_waitcnt "
           "lgkmcnt(0)";
  if (line == "@fresh")
    return "  s_load_dwordx2 s[6:7], s[0:1], 0x8\n  s_waitcnt lgkmcnt(0)";
  if (line == "@rsrc")
    return "  s_mov_b32 s8, s4\n  s_mov_b32 s9, s5\n  s_movk_i32 s10, 0x1000\n"
           "  s_mov_b32 s11, 0x20000";
  return line;
}

Case header(const std::string &line) {
  std::istringstream words(line);
  Case c;
  std::string word;
  words >> word >> c.kind >> c.name;
  while (words >> word) {
    size_t equals = word.find('=');
    uint32_t value = uint32_t(std::stoul(word.substr(equals + 1)));
    (word.starts_with("lds")       ? c.lds
     : word.starts_with("threads") ? c.threads
     : word.starts_with("faults")  ? c.faults
     : word.starts_with("groups")  ? c.groups
                                   : c.scratch) = value;
  }
  return c;
}

std::vector<Case> corpus() {
  std::istringstream text(
      readText(std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/')) + "/corpus.txt"));
  std::vector<Case> cases;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("case "))
      cases.push_back(header(line));
    else if (line.starts_with("-"))
      addLine(cases.back(), line.substr(1), true, false);
    else if (line.starts_with("+"))
      addLine(cases.back(), line.substr(1), false, true);
    else if (!line.empty() && line[0] != '#')
      addLine(cases.back(), expanded(line), true, true);
  }
  return cases;
}

struct Outcome {
  std::vector<strict::Finding> findings;
  std::string text, fault;
  uint32_t here = 0;
};

/// What each of `launches` of one module finds, on memory of its own.
std::vector<Outcome> runs(const Case &c, const std::string &body, size_t launches,
                          RunOptions options = {}) {
  Fixture f(assemble(kernelText(
      body,
      fmt::format(".amdhsa_group_segment_fixed_size {}\n.amdhsa_private_segment_fixed_size {}",
                  c.lds, c.scratch))));
  options.instructionBudget = 100000;
  std::vector<Outcome> outcomes(launches);
  for (Outcome &out : outcomes) {
    uint64_t p = f.upload(std::vector<uint32_t>(16384));
    uint64_t fresh = *f.simulator.memory().alloc(65536);
    strict::StrictChecker checker;
    out.fault =
        f.launch("k", c.groups, c.threads, Args().add(p).add(fresh), checker.watch(options));
    out.findings = checker.findings();
    out.text = checker.text();
    if (auto here = f.simulator.symbol(f.module, "here"))
      out.here = uint32_t(*here - *f.simulator.symbol(f.module, "k"));
  }
  return outcomes;
}
Outcome run(const Case &c, const std::string &body, RunOptions options = {}) {
  return runs(c, body, 1, options)[0];
}

/// All of the findings but addresses, which are the host's.
std::vector<std::tuple<strict::FindingKind, uint32_t, uint32_t, uint64_t, uint32_t, uint32_t>>
rows(const Outcome &o) {
  std::vector<std::tuple<strict::FindingKind, uint32_t, uint32_t, uint64_t, uint32_t, uint32_t>>
      list;
  for (const strict::Finding &f : o.findings)
    list.emplace_back(f.kind, f.pc, f.otherPc, f.count, f.workgroup[0], f.otherWorkgroup[0]);
  return list;
}

} // namespace

TEST_CASE("each bad snippet is found, its corrected twin is clean") {
  std::map<std::string, int> kinds;
  for (const Case &c : corpus()) {
    INFO("case " << c.kind << " " << c.name);
    ++kinds[c.kind];
    // What a launch has learned of a module serves the next one, and must find the same.
    std::vector<Outcome> bads = runs(c, c.bad, 3), goods = runs(c, c.good, 2);
    const Outcome &bad = bads[0], &good = goods[1];
    INFO("bad:\n" << bad.text << bad.fault << "\ngood:\n" << good.text << good.fault);
    CHECK(good.fault == "");
    CHECK(good.findings.empty());
    if (c.kind == "fault") {
      CHECK_THAT(bad.fault, Catch::Matchers::Contains(c.message));
      continue;
    }
    CHECK(bad.fault.empty() == !c.faults);
    CHECK_FALSE(bad.findings.empty());
    CHECK(rows(bads[2]) == rows(bad));
    for (const strict::Finding &f : bad.findings) {
      CHECK(name(f.kind) == c.kind);
      // Which side of a race comes second is the schedule's choice, or the workgroup's number.
      bool race = c.kind == "lds-race" || c.kind == "global-race";
      CHECK((f.pc == bad.here || (race && f.otherPc == bad.here)));
      CHECK(f.kernel == "k");
      CHECK_FALSE(f.subject.empty());
    }
  }
  int total = 0;
  for (auto &[kind, count] : kinds)
    total += count;
  CHECK(kinds.size() == 10);
  CHECK(total >= 60);
}

TEST_CASE("a good snippet without one of its waits is bad") {
  int injected = 0;
  for (const Case &c : corpus())
    for (size_t left : c.needed) {
      std::string body;
      for (size_t n = 0; n < c.goodLines.size(); ++n)
        if (n != left)
          body += c.goodLines[n] + "\n";
      INFO("case " << c.kind << " " << c.name << " without line " << left << ": "
                   << c.goodLines[left]);
      CHECK_FALSE(run(c, body).findings.empty());
      ++injected;
    }
  CHECK(injected > 80);
}

TEST_CASE("findings do not depend on the thread count") {
  for (Case c : corpus()) {
    if (c.kind.find("-race") == c.kind.npos && c.kind != "fault" && c.kind != "same-value")
      continue;
    INFO("case " << c.kind << " " << c.name);
    c.groups = std::max(c.groups, 5u);
    Outcome one = run(c, c.bad, {.threads = 1}), four = run(c, c.bad, {.threads = 4});
    INFO(one.text << "\n" << four.text);
    CHECK(rows(one) == rows(four));
    CHECK(one.fault == four.fault);
  }
}
