// Syntax: what reads, how faults in it are told, and that the rest of the file is still checked.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;
using Catch::Matchers::Contains;

TEST_CASE("Lines may break anywhere an expression continues") {
  Model m = fields(
      "  mask = causal\n    && window(4,\n      2)\n    || (k\n <\n 3) // a comment\n  out : bf16");
  CHECK(m.digest == fields("  mask = causal && window(4, 2) || k < 3").digest);
  CHECK(parsed("attention a { q, kv : bf16[tokens, 1, 64] }").problem.headDim == 64);
  CHECK(parsed("\xef\xbb\xbf// a byte order mark\r\nattention a {\r\n  q, kv : bf16[tokens, 1, "
               "64]\r\n}\r\n")
            .problem.headDim == 64);
}

TEST_CASE("Habits of other languages are answered") {
  CHECK_THAT(fieldErrors("  mask = causal and window(3)"), Contains("write && for and"));
  CHECK_THAT(fieldErrors("  mask = causal or window(3)"), Contains("write || for or"));
  CHECK_THAT(fieldErrors("  mask = not causal"), Contains("write ! for not"));
  CHECK_THAT(fieldErrors("  mask = (k = q)"), Contains("write == to compare"));
  CHECK_THAT(fieldErrors("  score = k < q ? s : 0"), Contains("select(condition, a, b)"));
  CHECK_THAT(fieldErrors("  out = bf16"), Contains("out is declared by its type"));
  CHECK_THAT(fieldErrors("  scale : 3"), Contains("reads name = expression"));
  CHECK_THAT(fieldErrors("  mask = ~k == q"), Contains("write x ^ -1"));
  CHECK_THAT(fieldErrors("  mask = 0 <= k < q"),
             Contains("comparisons do not chain") && Contains("a < b && b < c"));
  CHECK_THAT(fieldErrors("  score = +s"), Contains("there is no unary +"));
  CHECK_THAT(fieldErrors("  # comment\n  mask = causal"), Contains("comments begin with //"));
  CHECK_THAT(fieldErrors("  score = s \xe2\x88\x92 1"),
             Contains("this is the typographic minus; write -."));
  CHECK_THAT(fieldErrors("  mask = causal;\n"), Contains("leave the ; out"));
  CHECK_THAT(fieldErrors("  score = 50.s"), Contains("expected an operator or a new line"));
  CHECK_THAT(fieldErrors("  mask = k < 3x"), Contains("`3x` is not a number"));
  CHECK_THAT(fieldErrors("  mask = k < 0xzz"), Contains("`0xzz` is not a number"));
  CHECK_THAT(fieldErrors("  score = let x = 2 s * x"), Contains("expected `in`"));
  CHECK_THAT(fieldErrors("  let x = 2 in s * x"), Contains("has no `in`"));
}

TEST_CASE("After a fault in a field the others are still checked") {
  std::string message = fieldErrors(
      "  score = s +\n  mask = window(0)\n  lse : f32 natural )\n  scale = (1\n  out : f31");
  INFO(message);
  CHECK(errorCount(message) == 5);
  CHECK_THAT(message, Contains("test.attn:5:3: error: expected an expression, found `mask`"));
  CHECK_THAT(message, Contains("window wants a width of at least 1"));
  CHECK_THAT(message, Contains("there is no element type `f31`"));
}

TEST_CASE("A field that did not parse causes no second fault elsewhere") {
  CHECK(errorCount(
            errors("attention a {\n  q, kv : bf16[tokens, 8 /, 64]\n  score = s * heads\n}")) == 1);
  CHECK(errorCount(fieldErrors(
            "  tensor slope : f32[heads\n  score = s + slope[h]\n  mask = causal")) == 1);
  CHECK(errorCount(fieldErrors("  let d = q -\n  mask = d > 3")) == 1);
  CHECK(errorCount(fieldErrors("  schedule { waves 3 }\n  mask = causal")) == 1);
  CHECK(errorCount(fieldErrors("  mask = f(3)", "fn f(n) = n +")) == 1);
}

TEST_CASE("Definitions: what is missing is named") {
  CHECK_THAT(errors(""), Contains("the file defines no attention"));
  CHECK_THAT(errors("atention a { }"), Contains("expected a definition, found `atention`"));
  CHECK_THAT(errors("attention { }"), Contains("expected a name after attention"));
  CHECK_THAT(errors("attention a {\n  q, kv : bf16[tokens, 1, 64]\n"),
             Contains("expected a field, found the end of the file") || Contains("expected `}`"));
  CHECK_THAT(errors("attention a {\n  q, kv : bf16[tokens, 1, 64]\nattention b {\n  q, kv : "
                    "bf16[tokens, 1, 64]\n}"),
             Contains("expected `}` at the end of attention a"));
  CHECK_THAT(errors("attention a(p) {\n}"), Contains("expected `:` and the kind of the parameter"));
  CHECK_THAT(errors("attention a(p: int) {\n}"), Contains("every parameter has one"));
  CHECK_THAT(errors("attention a(p: real = 1) {\n  q, kv : bf16[tokens, p, 64]\n}"),
             Contains("there is no parameter kind `real`"));
  CHECK_THAT(errors("attention a(p: int = 1 + 2) {\n  q, kv : bf16[tokens, p, 64]\n}"),
             Contains("the default of p wants a whole number"));
  CHECK_THAT(errors("import masks\n"), Contains("write import \"masks.attn\""));
  CHECK_THAT(errors("import \"masks.attn\n"), Contains("the text in quotes has no end"));
}

TEST_CASE("Record formats parse, and are refused at their name") {
  std::string records =
      "format dsv32 = record {\n  c : fp8e4m3[512]\n  g : f32[4]\n  r : bf16[64]\n"
      "  k = c * g[. / 128] ++ r\n  v = c * g[. / 128]\n}\n"
      "format dsv4 = page(n) {\n  row   { c : fp8e4m3[448]  r : bf16[64] }\n"
      "  plane { g : ue8m0[7]  pad : u8[1] }\n  k = c * g[. / 64] ++ r\n  v = k\n}\n";
  std::string text =
      records +
      "attention later {\n  q : bf16[tokens, 16, 512]\n  kv : gather dsv4(page = 64) segment main\n"
      "  kv : gather dsv4(page = 2) segment extra\n  sink : f32[heads]\n  out : bf16\n  split "
      "auto, partials bf16\n}";
  std::string message = errors(text);
  INFO(message);
  CHECK_THAT(message,
             Contains("test.attn:1:8: error: format dsv32: record formats are not built yet"));
  CHECK_THAT(message, Contains("test.attn:8:8: error: format dsv4"));
  CHECK_THAT(message, Contains("`gather` storage is not built yet"));
  CHECK_THAT(errors("format x = record {\n  k = c ++\n}\n" + wrap("")),
             Contains("expected an expression, found `}`"));
  CHECK_THAT(fieldErrors("  score = s ++ s"), Contains("expected an operator or a new line"));
}
