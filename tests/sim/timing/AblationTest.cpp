// The model against what was measured, row by row; and docs/timing.md against the model.
#include "tests/sim/coreHarness.h"
#include "tests/sim/timing/Ablations.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace timingtest;

namespace {

/// Lines of the documentation's table of ablations: those that begin with the number of a row.
std::vector<std::string> documentedLines() {
  auto root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  std::ifstream in(root / "docs" / "timing.md");
  REQUIRE(in);
  std::vector<std::string> lines;
  bool table = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| row "))
      table = true;
    else if (!line.starts_with("|"))
      table = false;
    else if (table && !line.starts_with("|-"))
      lines.push_back(line);
  }
  return lines;
}

} // namespace

TEST_CASE("ablations: as published within the stated bounds, and as docs/timing.md has them") {
  constexpr double kReproduced = 0.05;
  std::vector<std::string> documented = documentedLines(), lines;
  for (const Ablation &a : ablations()) {
    double model = a.model();
    lines.push_back(ablationLine(a, model));
    INFO(lines.back());
    CHECK(model == Catch::Detail::Approx(a.published).epsilon(a.within));
    CHECK((a.within <= kReproduced || *a.note));
  }
  std::string expected;
  for (const std::string &line : lines)
    expected += line + "\n";
  INFO("docs/timing.md should have these lines:\n" << expected);
  CHECK(documented == lines);
}
