// Runs the .ops files of this folder on the simulator.
#include "tests/sim/coreHarness.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace simtest;
namespace fs = std::filesystem;

namespace {

std::string folder() { return fs::path(__FILE__).parent_path().string(); }

std::vector<std::string> opFiles() {
  std::vector<std::string> files;
  for (const auto &entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".ops")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

TEST_CASE("instructions do what the ISA says, all that kernels need among them", "[opcodes]") {
  std::set<std::string> executed = {"s_endpgm"}; // ends every test
  REQUIRE(opFiles().size() >= 8);
  for (const std::string &file : opFiles())
    runOpTests(readOpTests(file), executed);
  // What production kernels and LLVM's output were found to contain.
  std::ifstream needed(folder() + "/needed.txt");
  unsigned count = 0;
  for (std::string word; needed >> word; ++count)
    if (word != "s_trap" && !executed.count(word)) // s_trap has a test of its own, below
      FAIL_CHECK(word << " is executed by no .ops test");
  CHECK(count > 200);
  executedMnemonics().merge(executed);
}

TEST_CASE("s_trap stops the kernel", "[opcodes]") {
  Fixture fixture(assemble(kernelText("  s_trap 2")));
  std::string error = fixture.launch("k", 1, 64, Args().add(uint64_t(0)));
  CHECK(error.find("s_trap") != std::string::npos);
}

TEST_CASE("a wrong expectation is reported with its lane", "[opcodes]") {
  std::string path = scratchDir() + "/wrong.ops";
  std::ofstream(path) << "test one\n  v0 = 1 2\n  v_mov_b32 v1, v0\n  v1 == 1 3\n";
  std::set<std::string> executed;
  CHECK(opTestReports(readOpTests(path), executed)[0].find("v1[1] is 0x00000002") !=
        std::string::npos);
  CHECK(executed.count("v_mov_b32"));
  std::ofstream(path) << "test two\n  v0 = 1x\n";
  CHECK_THROWS_WITH(readOpTests(path), Catch::Contains(":2: not a value: 1x"));
}
