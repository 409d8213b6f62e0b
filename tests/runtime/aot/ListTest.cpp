// Lists: what they stand for, what is refused and where, and that a written list reads back.
#include "runtime/aot/List.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <set>

using namespace attune;
using namespace attune::aot;

namespace {

std::vector<ListedKernel> kernelsOf(const std::string &text, const std::string &file = "l.toml") {
  auto items = parseList(text, file);
  if (!items)
    FAIL(items.error().message);
  auto kernels = expand(*items, file);
  if (!kernels)
    FAIL(kernels.error().message);
  return *kernels;
}

std::string listRefusal(const std::string &text) {
  auto items = parseList(text, "l.toml");
  return items ? "accepted" : items.error().message;
}

} // namespace

TEST_CASE("Lists of values stand for their cross product, each kernel once") {
  const auto kernels = kernelsOf("[[kernel]]\n"
                                 "spec = \"a.attn\"\n"
                                 "set = {num_q_heads = [32, 64], cap = 50.0, causal = true}\n"
                                 "knob = {waves = [4, 8], kv_tile = 64}\n");
  std::set<std::string> seen;
  for (const ListedKernel &kernel : kernels) {
    CHECK(kernel.spec == "a.attn");
    CHECK(kernel.parameters.at("cap") == "50.0");
    CHECK(kernel.parameters.at("causal") == "true");
    REQUIRE(kernel.knobs.size() == 2);
    CHECK(kernel.knobs[0] == std::pair<std::string, std::string>("kv_tile", "64"));
    seen.insert(kernel.parameters.at("num_q_heads") + "/" + kernel.knobs[1].second);
  }
  CHECK(kernels.size() == 4);
  CHECK(seen == std::set<std::string>{"32/4", "32/8", "64/4", "64/8"});
}

TEST_CASE("A spec is found from the list's own folder, and a kernel says where it was asked for") {
  const auto kernels = kernelsOf("# heading\n\n[[kernel]]\nspec = \"s/a.attn\"\n"
                                 "[[kernel]]\nspec = \"/b.attn\"\nattention = \"second\"\n",
                                 "some/where/l.toml");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].spec == "some/where/s/a.attn");
  CHECK(kernels[0].attention.empty());
  CHECK(kernels[0].origin == "some/where/l.toml:3");
  CHECK(kernels[1].spec == "/b.attn");
  CHECK(kernels[1].attention == "second");
}

TEST_CASE("What is wrong in a list is named with its line") {
  struct Case {
    std::string text, line, says;
  };
  const Case cases[] = {
      {"[[kernel]]\nspec = \n", "l.toml:2:", "error"},
      {"[[kernel]]\nspec = \"a\"\nsets = {}\n", "l.toml:3:", "sets"},
      {"[[kernel]]\nset = {a = 1}\n", "l.toml:1:", "spec"},
      {"[kernel]\nspec = \"a\"\n", "l.toml:1:", "[[kernel]]"},
      {"version = 2\n", "l.toml:1:", "[[kernel]]"},
      {"[[kernel]]\nspec = 5\n", "l.toml:2:", "quotes"},
      {"[[kernel]]\nspec = \"\"\n", "l.toml:2:", "quotes"},
      {"[[kernel]]\nspec = \"a\"\nset = 3\n", "l.toml:3:", "table"},
      {"[[kernel]]\nspec = \"a\"\nset = {a = []}\n", "l.toml:3:", "empty"},
      {"[[kernel]]\nspec = \"a\"\nset = {a = [[1]]}\n", "l.toml:3:", "number"},
      {"[[kernel]]\nspec = \"a\"\nspec = \"b\"\n", "l.toml:3:", "error"},
  };
  for (const Case &wrong : cases) {
    INFO(wrong.text);
    const std::string message = listRefusal(wrong.text);
    CHECK_THAT(message, Catch::StartsWith(wrong.line));
    CHECK_THAT(message, Catch::Contains(wrong.says));
  }
}

TEST_CASE("A cross product that is too large is refused before it is made") {
  std::string values = "[";
  for (int i = 0; i < 1000; ++i)
    values += fmt::format("{}, ", i);
  values += "]";
  auto items = parseList(fmt::format("[[kernel]]\nspec = \"a\"\nset = {{a = {0}, b = {0}, c = {0}, "
                                     "d = {0}, e = {0}, f = {0}, g = {0}, h = {0}}}\n",
                                     values),
                         "l.toml");
  REQUIRE(items);
  auto kernels = expand(*items, "l.toml");
  REQUIRE_FALSE(kernels);
  CHECK_THAT(kernels.error().message, Catch::Contains("100000"));
}

TEST_CASE("A list that is written reads back as the same kernels") {
  std::vector<ListItem> items(2);
  items[0].spec = "a \"quoted\\name\".attn";
  items[0].reason = "line\nbreak and \ttab";
  items[0].set = {{"width", {"4096"}}, {"cap", {"50.0", "0.5"}}, {"flag", {"true"}}};
  items[0].knob = {{"waves", {"4", "8"}}};
  items[1].spec = "b.attn";
  items[1].attention = "other";
  items[1].set = {{"dtype", {"bf16"}}};
  auto again = parseList(listText(items, "# heading\n"), "l.toml");
  if (!again)
    FAIL(again.error().message);
  REQUIRE(again->size() == 2);
  CHECK((*again)[0].spec == items[0].spec);
  CHECK((*again)[0].reason == items[0].reason);
  CHECK((*again)[1].attention == "other");
  const auto expected = expand(items, "l.toml"), got = expand(*again, "l.toml");
  REQUIRE(expected);
  REQUIRE(got);
  REQUIRE(got->size() == 5);
  auto describe = [](const std::vector<ListedKernel> &all) {
    std::set<std::string> texts;
    for (const ListedKernel &kernel : all) {
      std::string text = kernel.spec;
      for (const auto &[name, value] : kernel.parameters)
        text += " " + name + "=" + value;
      for (const auto &[name, value] : kernel.knobs)
        text += " " + name + "=" + value;
      texts.insert(text);
    }
    return texts;
  };
  CHECK(describe(*expected) == describe(*got));
}

TEST_CASE("An empty list stands for no kernel") { CHECK(kernelsOf("# nothing\n").empty()); }
