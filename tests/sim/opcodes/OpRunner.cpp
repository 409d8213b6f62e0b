#include "tests/sim/opcodes/OpRunner.h"
#include "tests/sim/coreHarness.h"
#include "tests/sim/edges/EdgeAudit.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

namespace simtest {
namespace {

constexpr size_t kMemoryDwords = 1024;

/// "v_add_f32_e64 v0, ..." to the mnemonic of its row in the opcode table.
std::string mnemonicOf(const std::string &line) {
  size_t begin = line.find_first_not_of(' '), end = line.find_first_of(" \t", begin);
  if (begin == line.npos)
    return "";
  std::string word = line.substr(begin, end == line.npos ? end : end - begin);
  for (const char *suffix : {"_e32", "_e64", "_dpp", "_sdwa"})
    if (word.ends_with(suffix))
      word.resize(word.size() - std::string(suffix).size());
  return word;
}

std::string report(Fixture &fixture, const OpTest &test, const std::string &kernel,
                   std::set<std::string> &executed) {
  std::vector<uint32_t> inputs = opTestInputs(test), memory(kMemoryDwords);
  for (const OpPlace &p : test.before)
    if (p.kind == OpPlace::Memory)
      for (size_t n = 0; n < p.values.size(); ++n)
        memory.at(n) = uint32_t(p.values[n].bits);
  inputs.resize(std::max<size_t>(inputs.size(), 64));
  size_t outputDwords = opTestOutputRows(test) * 64;
  uint64_t in = fixture.upload(inputs), mem = fixture.upload(memory);
  uint64_t out =
      fixture.upload(std::vector<uint32_t>(std::max<size_t>(64, outputDwords), 0xdeadbeefu));
  attune::sim::RunOptions options;
  options.observers = &edgeAudit();
  std::string error = fixture.launch(kernel, 1, 64, Args().add(in).add(out).add(mem), options);
  if (!error.empty())
    return "  " + error + "\n";
  for (const std::string &line : test.assembly) {
    std::string word = mnemonicOf(line);
    // The form with scales is the same row.
    std::string row = word.starts_with("v_mfma_scale_") ? "v_mfma_" + word.substr(13) : word;
    if (fixture.stats.opcodeCounts.count(row))
      executed.insert({row, word});
  }
  std::string failures = opTestFailures(test, fixture.download<uint32_t>(out, outputDwords),
                                        fixture.download<uint32_t>(mem, kMemoryDwords));
  for (uint64_t p : {in, out, mem})
    fixture.simulator.memory().free(p);
  return failures;
}

} // namespace

std::vector<std::string> opTestReports(const std::vector<OpTest> &tests,
                                       std::set<std::string> &executed) {
  Fixture fixture(assemble(opTestKernels(tests)));
  std::vector<std::string> reports;
  for (size_t n = 0; n < tests.size(); ++n)
    reports.push_back(report(fixture, tests[n], "t" + std::to_string(n), executed));
  return reports;
}

void runOpTests(const std::vector<OpTest> &tests, std::set<std::string> &executed) {
  REQUIRE_FALSE(tests.empty());
  std::vector<std::string> reports = opTestReports(tests, executed);
  for (size_t n = 0; n < tests.size(); ++n) {
    INFO(tests[n].file << ":" << tests[n].line << ": " << tests[n].name << "\n" << reports[n]);
    CHECK(reports[n].empty());
  }
}

std::set<std::string> &executedMnemonics() {
  static std::set<std::string> all = {"s_endpgm"}; // ends every test
  return all;
}

OpTestBuilder::OpTestBuilder(const std::string &name) {
  test.name = name;
  test.file = "generated";
}

namespace {
OpPlace placeWith(const std::string &name, const std::vector<uint64_t> &values) {
  OpPlace place;
  if (!parseOpPlace(name, place))
    throw std::runtime_error("not a register: " + name);
  for (uint64_t v : values)
    place.values.push_back({OpValue::Exact, v});
  return place;
}
} // namespace

OpTestBuilder &OpTestBuilder::in(const std::string &place, const std::vector<uint64_t> &values) {
  test.before.push_back(placeWith(place, values));
  return *this;
}
OpTestBuilder &OpTestBuilder::line(const std::string &assembly) {
  test.assembly.push_back("  " + assembly);
  return *this;
}
OpTestBuilder &OpTestBuilder::out(const std::string &place, const std::vector<uint64_t> &values) {
  test.after.push_back(placeWith(place, values));
  return *this;
}

} // namespace simtest
