// The table of environment variables is the whole truth: nothing else is read, every row is used,
// and docs/environment.md says the same.
#include "runtime/abi/Environment.h"
#include "tests/support/TempDir.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <regex>
#include <set>

using namespace attune;
namespace fs = std::filesystem;

namespace {

struct Source {
  std::string path, text; ///< the path within the tree
};

/// What is built or run for users; tests have variables of their own.
std::vector<Source> sources() {
  const fs::path root = ATTUNE_SOURCE_DIR;
  std::vector<Source> found;
  for (const char *folder : {"runtime", "compiler", "tools"})
    for (const auto &file : fs::recursive_directory_iterator(root / folder)) {
      static const std::set<std::string> kinds{".cpp", ".h", ".hpp", ".def", ".py", ".in", ""};
      if (file.is_regular_file() && kinds.contains(file.path().extension().string()))
        found.push_back({file.path().lexically_relative(root), testing::readText(file.path())});
    }
  return found;
}

std::set<std::string> namesOfTable() {
  std::set<std::string> names;
  for (const VariableRow &row : variables())
    names.insert(row.name);
  return names;
}

std::vector<std::string> matches(const std::string &text, const std::string &pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

} // namespace

TEST_CASE("Nothing reads the environment but the accessor") {
  // The one file that reads, and the one that hands all of it on to children.
  const std::set<std::string> readers{"runtime/abi/Environment.cpp", "runtime/process/Child.cpp"};
  size_t files = 0;
  for (const Source &source : sources()) {
    ++files;
    INFO(source.path);
    if (source.path.ends_with(".py")) {
      for (const std::string &name :
           matches(source.text, R"re((?:getenv\(|environ\.get\(|environ\[)["']?([^"',)\]]*))re"))
        CHECK(namesOfTable().count(name) == 1);
    } else if (!readers.contains(source.path))
      CHECK(matches(source.text, R"re(\b(getenv|secure_getenv|environ)\b)re").empty());
  }
  CHECK(files > 300);
}

TEST_CASE("Every row of the table is read by somebody") {
  std::set<std::string> read;
  for (const Source &source : sources())
    for (const std::string &name :
         matches(source.text, source.path.ends_with(".py") ? R"re(environ\.get\("([A-Z_]+)"\))re"
                                                           : R"re(Variable::([A-Z_]+))re"))
      read.insert(name);
  CHECK(read == namesOfTable());
}

TEST_CASE("docs/environment.md shows the table and nothing else") {
  const std::string page = testing::readText(ATTUNE_SOURCE_DIR "/docs/environment.md");
  for (const VariableRow &v : variables()) {
    const std::string row = fmt::format("| `{}` | {} | {} | {} | {} |", v.name, v.values, v.unset,
                                        v.fields.empty() ? "-" : v.fields, v.help);
    INFO(row);
    CHECK(page.find(row) != std::string::npos);
  }
  CHECK(matches(page, R"re(\n\| `([A-Z_]+)` \|)re").size() == variables().size());
}

TEST_CASE("Empty is unset, but for variables of others") {
  const auto name = nameOf(Variable::ATTUNE_DEVICE);
  unsetenv(name);
  CHECK_FALSE(environment(Variable::ATTUNE_DEVICE));
  CHECK_FALSE(environmentOrEmpty(Variable::ATTUNE_DEVICE));
  setenv(name, "", 1);
  CHECK_FALSE(environment(Variable::ATTUNE_DEVICE));
  CHECK(environmentOrEmpty(Variable::ATTUNE_DEVICE) == "");
  setenv(name, "sim", 1);
  CHECK(environment(Variable::ATTUNE_DEVICE) == "sim");
  unsetenv(name);
}

TEST_CASE("Numbers are whole, within their bounds, and refused by name") {
  const auto read = [](const std::string &text) {
    return numberFrom([&](Variable) { return std::optional(text); },
                      Variable::ATTUNE_COMPILE_TIMEOUT, 1, 86'400, 600);
  };
  CHECK(*read("1") == 1);
  CHECK(*read("86400") == 86'400);
  const auto unset = numberFrom([](Variable) -> std::optional<std::string> { return {}; },
                                Variable::ATTUNE_COMPILE_TIMEOUT, 1, 86'400, 600);
  CHECK(*unset == 600);
  for (const char *wrong : {"0", "86401", "-1", "+1", "1.5", "1s", " 1", "99999999999999999999"}) {
    const auto refused = read(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message ==
          fmt::format("ATTUNE_COMPILE_TIMEOUT={}: legal values are seconds, 1 to 86400", wrong));
  }
}
