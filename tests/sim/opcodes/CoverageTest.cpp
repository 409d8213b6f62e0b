// Runs last (its place in CMakeLists.txt): the tests of this executable have executed every row of
// the opcode table, apart from those named
// here, and with the edge values of its kind.
#include "runtime/sim/Instruction.h"
#include "tests/sim/edges/EdgeAudit.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

using namespace simtest;
using namespace attune::sim;

namespace {

/// Rows without a result that a test could look at.
const char *const kWithoutResult[] = {
    "buffer_inv",      "buffer_wbl2",    "ds_nop",         "s_dcache_inv",   "s_dcache_inv_vol",
    "s_dcache_wb_vol", "s_decperflevel", "s_endpgm_saved", "s_incperflevel", "s_memrealtime",
    "s_sendmsg",       "s_sethalt",      "s_trap",         "s_ttracedata",   "s_wakeup"};

} // namespace

TEST_CASE("every instruction of the table has been executed", "[opcodes]") {
  std::set<std::string> expected;
  for (uint32_t row = 0; row < kOpcodeCount; ++row)
    expected.insert(std::string(kOpcodes[row].mnemonic));
  for (const char *name : kWithoutResult) {
    INFO(name);
    CHECK(expected.erase(name) == 1);
  }
  std::string missing;
  for (const std::string &mnemonic : expected)
    if (!executedMnemonics().count(mnemonic))
      missing += mnemonic + "\n";
  INFO("not executed by any test of this executable (all of them must have run):\n" << missing);
  CHECK(missing.empty());
}

TEST_CASE("every instruction has been tested with its edge values", "[opcodes]") {
  if (const char *path = std::getenv("ATTUNE_EDGE_REPORT"))
    std::ofstream(path) << edgeAudit().report();
  std::vector<std::string> gaps = edgeAudit().gaps();
  std::string text;
  for (const std::string &gap : gaps)
    text += gap + "\n";
  INFO(gaps.size() << " rows (all tests of this executable must have run):\n" << text);
  CHECK(gaps.empty());
}
