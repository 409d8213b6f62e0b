// Every file of specs/: it compiles, keeps everything in registers, and its main loops never drain
// the DMA queue.
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>
#include <sstream>

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

/// The bodies of all loops: from a label to the last branch back to it, without loops that hold
/// another.
std::vector<std::string> innerLoops(const std::string &isa) {
  std::vector<std::string> lines;
  std::istringstream stream(isa);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  static const std::regex label(R"(^(\.LBB\d+_\d+):.*)");
  static const std::regex branch(R"(^\s+s_c?branch\w*\s+(\.LBB\d+_\d+)\s*(;.*)?$)");
  std::vector<std::pair<size_t, size_t>> loops;
  std::smatch match;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!std::regex_match(lines[i], match, branch))
      continue;
    for (size_t j = 0; j < i; ++j)
      if (lines[j].rfind(match[1].str() + ":", 0) == 0)
        loops.emplace_back(j, i);
  }
  std::vector<std::string> bodies;
  for (auto [begin, end] : loops) {
    const bool holdsAnother =
        std::any_of(loops.begin(), loops.end(), [&, b = begin, e = end](auto other) {
          return other != std::pair(b, e) && other.first > b && other.second < e;
        });
    if (holdsAnother)
      continue;
    std::string body;
    for (size_t i = begin; i <= end; ++i)
      body += lines[i] + '\n';
    bodies.push_back(std::move(body));
  }
  return bodies;
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
    const Result<KernelImage> image = compiler->compile(*model);
    INFO((image ? "" : image.error().message));
    REQUIRE(image);
    const Resources &used = image->sidecar.kernel.resources;
    CHECK(used.scratchBytes == 0);
    CHECK(used.vgprSpills == 0);
    CHECK(used.sgprSpills == 0);
    CHECK(used.occupancy >= 1);

    const Result<std::string> isa = compiler->emit(*model, Stage::Isa);
    REQUIRE(isa);
    int mainLoops = 0;
    static const std::regex partialWait(R"(s_waitcnt vmcnt\([1-9])");
    for (const std::string &loop : innerLoops(*isa)) {
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
