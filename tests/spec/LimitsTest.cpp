// Texts that are too deep, too large or blow up when expanded end in an error, quickly and on a
// small stack.
#include "compiler/spec/Parser.h"
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;
using Catch::Matchers::Contains;

namespace {

std::string repeat(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += part;
  return out;
}

} // namespace

TEST_CASE("Deep nesting is an error of any form") {
  for (std::string deep :
       {repeat("(", 100000), repeat("-", 100000), repeat("!", 100000), repeat("f(", 100000),
        repeat("let a = ", 100000), repeat("let a = 1 in ", 50000), repeat("x[", 100000),
        repeat("s + (", 100000), "s" + repeat(" + s", 100000),
        repeat("1 < 2 && ", 100000) + "true"}) {
    INFO(deep.substr(0, 20));
    CHECK_THAT(fieldErrors("  score = " + deep), Contains("nests deeper than 200 levels"));
  }
  CHECK_THAT(errors("format x = record " + repeat("{ a ", 100000)),
             Contains("fewer nested blocks"));
  CHECK(fields("  score = " + repeat("(", 150) + "s" + repeat(")", 150)).score == -1);
  CHECK(fields("  mask = causal" + repeat(" && k != 7", 150)).mask >= 0);
}

TEST_CASE("Functions that double at each level are bounded") {
  std::string fns = "fn g0(x) = x + x\n";
  for (int i = 1; i < 60; ++i)
    fns += "fn g" + std::to_string(i) + "(x) = g" + std::to_string(i - 1) + "(x) * g" +
           std::to_string(i - 1) + "(x)\n";
  CHECK_THAT(fieldErrors("  score = g59(s)", fns), Contains("with its functions expanded"));
  CHECK_THAT(fieldErrors("  score = s * g59(2)", fns), Contains("not a finite f32") ||
                                                           Contains("does not fit in i32") ||
                                                           Contains("with its functions expanded"));
  CHECK(fields("  score = g4(s)", fns).score >= 0);

  std::string lets = "  let x0 = s + 1\n";
  for (int i = 1; i < 60; ++i)
    lets += "  let x" + std::to_string(i) + " = x" + std::to_string(i - 1) + " * x" +
            std::to_string(i - 1) + "\n";
  CHECK_THAT(fieldErrors(lets + "  score = x59"), Contains("more than 10000 operations"));
}

TEST_CASE("A chain of functions deeper than the limit is an error") {
  std::string fns = "fn g0(x) = x + 1\n";
  for (int i = 1; i < 1000; ++i)
    fns += "fn g" + std::to_string(i) + "(x) = g" + std::to_string(i - 1) + "(x)\n";
  CHECK_THAT(fieldErrors("  score = g999(s)", fns),
             Contains("too large with its functions expanded") || Contains("nests deeper"));
}

TEST_CASE("A file of more than a MiB is refused") {
  CHECK_THAT(errors(std::string(kMaxTextBytes + 1, ' ')), Contains("more than 1048576"));
}

TEST_CASE("Odd bytes and long lines are shown without harm") {
  std::string control = "  score = s\x01\x02 + 1";
  CHECK_THAT(fieldErrors(control),
             Contains("not part of the language") && Contains("score = s?? + 1"));
  CHECK_THAT(fieldErrors("\t\tmask = window(0)"),
             Contains("\n  \t\tmask = window(0)\n  \t\t              ^\n"));
  CHECK_THAT(fieldErrors("  mask = /* \xc3\xa4 */ causal"), Contains("error"));
  std::string wide = fieldErrors("  mask = " + repeat("k != 7 && ", 90) + "window(0)");
  size_t line = 0, longest = 0;
  for (char c : wide) {
    line = c == '\n' ? 0 : line + 1;
    longest = std::max(longest, line);
  }
  CHECK(longest <= 170);
  CHECK_THAT(wide, Contains("window(0)\n"));
  CHECK_THAT(fieldErrors(std::string("  score = s \0 + 1", 16)),
             Contains("not part of the language"));
}
