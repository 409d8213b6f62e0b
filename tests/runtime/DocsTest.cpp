// docs/field-cases.md is a promise: each row names a test, and that test is there.
#include "tests/support/TempDir.h"
#include <catch2/catch.hpp>
#include <regex>
#include <set>

using namespace attune::testing;

TEST_CASE("Every test that docs/field-cases.md names exists, and every case has a row") {
  const std::string root = ATTUNE_SOURCE_DIR "/", page = readText(root + "docs/field-cases.md");
  const std::regex item(R"re((tests/[\w/.]+): |`([^`]+)`)re");
  std::set<std::string> cases;
  std::istringstream lines(page);
  size_t tests = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| F"))
      continue;
    cases.insert(line.substr(2, 3));
    const std::string cell = line.substr(line.rfind('|', line.size() - 2));
    std::string file, text;
    for (std::sregex_iterator at(cell.begin(), cell.end(), item), end; at != end; ++at)
      if ((*at)[1].matched) {
        file = (*at)[1];
        text = readText(root + file);
        INFO(file);
        CHECK_FALSE(text.empty());
      } else {
        INFO(file << " has no \"" << (*at)[2] << "\"");
        CHECK(text.find((*at)[2]) != std::string::npos);
        ++tests;
      }
  }
  CHECK(tests > 50);
  // F34 to F36 and F56 to F84; the page names the gaps in the numbering.
  const std::set<int> gaps{34, 35, 63, 70, 72};
  for (int number = 34; number <= 84; number = number == 36 ? 56 : number + 1) {
    const std::string id = "F" + std::to_string(number);
    INFO(id);
    CHECK(cases.count(id) == size_t(!gaps.contains(number)));
    CHECK(page.find(id) != std::string::npos);
  }
}
