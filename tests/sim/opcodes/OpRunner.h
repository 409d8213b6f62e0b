// Runs instruction tests (OpTest.h) on the simulator: one code object for a list of tests, one
// launch for each test.
#pragma once
#include "tests/sim/opcodes/OpTest.h"
#include <set>

namespace simtest {

/// Runs all; CHECKs that none fails. Adds the mnemonics of tested lines that were executed to
/// `executed`.
void runOpTests(const std::vector<OpTest> &, std::set<std::string> &executed);

/// Runs one list without judging: what runOpTests would report of each test, empty where it is
/// right.
std::vector<std::string> opTestReports(const std::vector<OpTest> &,
                                       std::set<std::string> &executed);

/// Builds tests in code: `OpTestBuilder("name").in("v0", {...}).line("v_not_b32 v1, v0").out("v1",
/// {...}).test`.
struct OpTestBuilder {
  explicit OpTestBuilder(const std::string &name);
  OpTestBuilder &in(const std::string &place, const std::vector<uint64_t> &values);
  OpTestBuilder &line(const std::string &assembly);
  OpTestBuilder &out(const std::string &place, const std::vector<uint64_t> &values);
  OpTest test;
};

/// What all tests of this executable have executed so far.
std::set<std::string> &executedMnemonics();

} // namespace simtest
