// docs/spec-language.md names every built-in as Builtins.def has it, and its examples are true.
#include "compiler/spec/Builtins.h"
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;
using Catch::Matchers::Contains;

namespace {

const std::string &docs() {
  static const std::string text = sourceText("docs/spec-language.md");
  return text;
}

/// Text as a cell of a table: bars are escaped.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// The code blocks that begin with ```<kind>.
std::vector<std::string> blocks(const std::string &kind) {
  std::vector<std::string> found;
  std::string open = "```" + kind + "\n";
  for (size_t at = docs().find(open); at != std::string::npos; at = docs().find(open, at + 1)) {
    size_t begin = at + open.size();
    found.push_back(docs().substr(begin, docs().find("```", begin) - begin));
  }
  return found;
}

} // namespace

TEST_CASE("The tables of the docs are those of Builtins.def") {
  for (const Builtin &row : builtins()) {
    std::vector<std::string> params;
    for (const BuiltinParam &p : row.params)
      params.emplace_back(p.name);
    std::string head =
        params.empty() ? std::string(row.name) : fmt::format("{}({})", row.name, commaList(params));
    CHECK_THAT(docs(), Contains(fmt::format("| `{}` | `{}` | {} |\n", head, cell(row.body),
                                            cell(row.summary))));
  }
  for (const Maths &row : mathsFunctions())
    CHECK_THAT(docs(), Contains(fmt::format("| `{}` | {} | {} |\n", row.name, row.arity,
                                            cell(row.summary))));
  for (const IndexRow &row : indexNames())
    CHECK_THAT(docs(), Contains(fmt::format("| `{}` | {} |\n", row.name, cell(row.summary))));
  for (const ShapeName &row : shapeNames())
    CHECK_THAT(docs(), Contains(fmt::format("| `{}` | {} |\n", row.name, cell(row.summary))));
}

TEST_CASE("The examples of the docs parse, those for later are refused") {
  std::vector<std::string> now = blocks("attn"), later = blocks("attn-later");
  CHECK(now.size() >= 3);
  for (const std::string &text : now)
    CHECK_FALSE(parsed(text).digest.empty());
  CHECK(later.size() == 1);
  for (const std::string &text : later)
    CHECK(errorCode(text) == attune::ErrorCode::Unsupported);
}

TEST_CASE("The error that the docs show is the one that comes out") {
  std::vector<std::string> shown = blocks("text");
  REQUIRE(shown.size() == 1);
  Options options;
  options.fileName = "specs/gemma2.attn";
  Result<Model> m = parseSpec(
      "attention gemma2 {\n  q, kv : bf16[tokens, 32 / 16, 128]\n  out   : bf16\n"
      "  scale = 1 / sqrt(144)\n  score = softcap(s, 50.0)\n  mask  = causal && window(0)\n}\n",
      options);
  REQUIRE_FALSE(m);
  CHECK(m.error().message == shown[0]);
}

TEST_CASE("Rows of Builtins.def are sorted and named once") {
  auto sorted = [](auto rows) {
    for (size_t i = 1; i < rows.size(); ++i)
      CHECK(rows[i - 1].name <= rows[i].name);
  };
  sorted(builtins());
  sorted(mathsFunctions());
  sorted(indexNames());
  sorted(shapeNames());
}
