// Every file of specs/: it compiles, keeps everything in registers, and its main loops never drain
// the DMA queue.
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include "tests/driver/IsaLoops.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>

using namespace attune;

namespace {

std::vector<std::string> specFiles() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(ATTUNE_SPECS_DIR))
    if (entry.path().extension() == ".attn")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("Loops are those of the control flow, wherever their blocks stand") {
  // An outer loop whose latch stands first, an inner one with a block behind everything.
  const std::string isa = "  start\n  s_branch .LBB0_2\n"
                          ".LBB0_1:\n  latch\n  s_cbranch_scc0 .LBB0_9\n"
                          ".LBB0_2:\n  header\n"
                          ".LBB0_3:\n  inner\n  s_cbranch_vccnz .LBB0_8 ; seldom\n"
                          ".LBB0_4:\n  work\n  s_cbranch_scc1 .LBB0_3\n  s_branch .LBB0_1\n"
                          ".LBB0_8:\n  rare\n  s_branch .LBB0_4\n"
                          ".LBB0_9:\n  s_endpgm\n";
  const std::vector<std::string> loops = innerLoops(isa);
  REQUIRE(loops.size() == 1);
  for (const char *inside : {"inner", "work", "rare"})
    CHECK_THAT(loops[0], Catch::Contains(inside));
  for (const char *outside : {"start", "latch", "header", "s_endpgm"})
    CHECK_THAT(loops[0], !Catch::Contains(outside));
}

TEST_CASE("every spec compiles without scratch or spills, and its main loops wait in part") {
  Result<Compiler> compiler = Compiler::create();
  REQUIRE(compiler);
  const std::vector<std::string> files = specFiles();
  REQUIRE(files.size() >= 10);
  for (const std::string &file : files) {
    INFO(file);
    const Result<spec::Model> model = spec::parseSpecFile(file, {});
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    Result<StagedKernel> made = compiler->compileStages(*model, {Stage::Isa});
    INFO((made ? "" : made.error().message));
    REQUIRE(made);
    const Resources &used = made->sidecar.kernel.resources;
    CHECK(used.scratchBytes == 0);
    CHECK(used.vgprSpills == 0);
    CHECK(used.sgprSpills == 0);
    CHECK(used.occupancy >= 1);

    int mainLoops = 0;
    static const std::regex partialWait(R"(s_waitcnt vmcnt\([1-9])");
    for (const std::string &loop : innerLoops(made->stages[Stage::Isa])) {
      if (loop.find("v_mfma") == std::string::npos)
        continue;
      ++mainLoops;
      CHECK(std::regex_search(loop, partialWait));
      CHECK_THAT(loop, !Catch::Contains("vmcnt(0)"));
    }
    CHECK(mainLoops >= 1);
  }
}

} // namespace
