// Faults in fields and expressions: where they point, what they say, and that several come out of
// one run.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;
using Catch::Matchers::Contains;

TEST_CASE("A fault is shown in its line, with a caret and what is allowed") {
  CHECK(fieldErrors("  mask  = causal && window(0)") ==
        "test.attn:4:28: error: window wants a width of at least 1, got 0\n"
        "    mask  = causal && window(0)\n"
        "                             ^\n"
        "  a window keeps exactly n keys, the query's own included; window(1) is the diagonal. To "
        "turn it off leave it out.\n");
}

TEST_CASE("Values that mean 'off' elsewhere are refused (F09, F12)") {
  CHECK_THAT(fieldErrors("  mask = window(-1)"),
             Contains("width of at least 1, got -1") && Contains("To turn it off leave it out"));
  CHECK_THAT(fieldErrors("  mask = window(-1, 0)"),
             Contains("left reach of at least 0, got -1") && Contains("k <= q + right"));
  CHECK_THAT(fieldErrors("  mask = window(3, -1)"), Contains("right reach of at least 0, got -1"));
  CHECK_THAT(fieldErrors("  mask = window(1.5)"),
             Contains("a width that is a whole number (i32), got f32"));
  CHECK_THAT(fieldErrors("  mask = chunk(0)"),
             Contains("chunk wants a length of at least 1, got 0"));
  CHECK_THAT(fieldErrors("  mask = prefix(-2)"),
             Contains("prefix wants a length of at least 0, got -2"));
  CHECK_THAT(fieldErrors("  score = softcap(s, 0)"),
             Contains("softcap wants a cap above 0, got 0"));
  CHECK_THAT(fieldErrors("  score = softcap(s, -50.0)"),
             Contains("softcap wants a cap above 0, got -50"));
  CHECK_THAT(fieldErrors("  mask = window()"), Contains("window does not take 0 arguments") &&
                                                   Contains("window(n) or window(left, right)"));
  CHECK_THAT(fieldErrors("  mask = window"), Contains("window(n) or window(left, right)"));
}

TEST_CASE("A quotient that lost its remainder is not a float") {
  CHECK(fieldErrors("  scale = 1 / 2") ==
        "test.attn:4:13: error: the division of two whole numbers rounds down here, and its value "
        "is used as a float\n"
        "    scale = 1 / 2\n"
        "              ^\n"
        "  write a decimal point for a real quotient: 1.0 / 2, not 1 / 2.\n");
  CHECK_THAT(fieldErrors("  let half = 1 / 2\n  score = s * half"), Contains("test.attn:4:16"));
  CHECK_THAT(fieldErrors("  score = s * -(3 / 2 + 1)"), Contains("1.0 / 2, not 1 / 2"));
  CHECK_THAT(fieldErrors("  score = pow(s, 1 / 2)"), Contains("1.0 / 2, not 1 / 2"));
  CHECK(fields("  score = s * (4 / 2)").score >= 0);
  CHECK(fields("  mask = k < 7 / 2").mask >= 0);
  CHECK(fields("  scale = 1.0 / 2").scale == 0.5);
}

TEST_CASE("Types that do not meet") {
  CHECK_THAT(fieldErrors("  mask = q - k"), Contains("mask wants a condition (bool), got i32"));
  CHECK_THAT(fieldErrors("  score = causal"),
             Contains("score wants a number (f32), got a condition (bool)"));
  CHECK_THAT(fieldErrors("  score = s + causal"),
             Contains("`+` does not take f32 and bool") && Contains("select(c, a, b)"));
  CHECK_THAT(fieldErrors("  mask = causal & window(3)"), Contains("joined with &&"));
  CHECK_THAT(fieldErrors("  mask = causal | window(3)"), Contains("joined with ||"));
  CHECK_THAT(fieldErrors("  mask = causal && 1"), Contains("`&&` does not take bool and i32"));
  CHECK_THAT(fieldErrors("  mask = !k"), Contains("! wants a condition (bool), got i32"));
  CHECK_THAT(fieldErrors("  mask = causal < causal"), Contains("`<` does not take bool and bool"));
  CHECK_THAT(fieldErrors("  score = s << 1"), Contains("`<<` does not take f32 and i32"));
  CHECK_THAT(fieldErrors("  mask = k << 40 == q"), Contains("a distance of 0 to 31, got 40"));
  CHECK_THAT(fieldErrors("  score = select(s, 1, 2)"),
             Contains("select wants a condition (bool) first, got f32"));
  CHECK_THAT(fieldErrors("  score = s + select(causal, causal, 2)"),
             Contains("`select` does not take bool and i32"));
  CHECK_THAT(fieldErrors("  score = exp(causal)"),
             Contains("exp wants a number, got a condition (bool)"));
  CHECK_THAT(fieldErrors("  score = exp(s, s)"), Contains("exp takes 1 argument, got 2"));
}

TEST_CASE("Constants that can't be") {
  CHECK_THAT(fieldErrors("  mask = k / 0 == 1"), Contains("`/` by zero"));
  CHECK_THAT(fieldErrors("  score = s / 0.0"), Contains("`/` by zero"));
  CHECK_THAT(fieldErrors("  mask = k % (3 - 3) == 1"), Contains("`%` by zero"));
  CHECK_THAT(fieldErrors("  mask = k < 2147483647 + 1"),
             Contains("the constant 2147483648 does not fit in i32"));
  CHECK_THAT(fieldErrors("  mask = k < 4294967296"), Contains("4294967296 does not fit in i32"));
  CHECK_THAT(fieldErrors("  score = s + log(0)"), Contains("not a finite f32"));
  CHECK_THAT(fieldErrors("  score = s + 1e39"), Contains("1e39 does not fit in f32"));
  CHECK_THAT(fieldErrors("  scale = 0"), Contains("scale wants a value above 0, got 0"));
  CHECK_THAT(fieldErrors("  scale = -0.5"), Contains("scale wants a value above 0, got -0.5"));
  CHECK_THAT(fieldErrors("  mask = k < 0 && 2 < 1"), Contains("mask is false for every pair"));
}

TEST_CASE("What would have no effect is refused (F15)") {
  CHECK_THAT(fieldErrors("  tensor t : f32[heads]"), Contains("tensor t is never used"));
  CHECK_THAT(fieldErrors("  scalar c : f32"), Contains("scalar c is never used"));
  CHECK_THAT(fieldErrors("  let x = 3"), Contains("let x is never used"));
  CHECK_THAT(fieldErrors("  score = let x = 3 in s * 2"), Contains("let x is never used"));
  CHECK_THAT(fieldErrors("  score = f(s, 2)", "fn f(x, y) = x * 2"),
             Contains("parameter y of f is never used"));
  CHECK_THAT(errors("attention a(p: int = 3) {\n  q, kv : bf16[tokens, 8, 64]\n}"),
             Contains("parameter p is never used"));
  CHECK_THAT(fieldErrors("  score = f32(q - k)"), Contains("score does not use s"));
  CHECK_THAT(fieldErrors("  tensor slope : f32[heads]\n  score = alibi(slope)"),
             Contains("write s + ... to add a bias"));
  CHECK_THAT(fieldErrors("  mask = s > 0"), Contains("mask can't use s"));
  CHECK_THAT(fieldErrors("  scale = 1.0 / (1 + h)"),
             Contains("scale is one number for the whole call"));
  CHECK_THAT(fieldErrors("  mask = causal\n  mask = window(3)"),
             Contains("mask is given twice") && Contains("join conditions with &&"));
}

TEST_CASE("Names that do not exist come with the nearest that does") {
  CHECK_THAT(fieldErrors("  mask = casual"),
             Contains("there is no name `casual`") && Contains("did you mean `causal`?"));
  CHECK_THAT(fieldErrors("  mask = windw(3)"),
             Contains("there is no function `windw`") && Contains("did you mean `window`?"));
  CHECK_THAT(fieldErrors("  msak = causal"),
             Contains("there is no field `msak`") && Contains("did you mean `mask`?"));
  CHECK_THAT(fieldErrors("  tensor slope : f32[heads]\n  score = s + slop[h] + slope[h]"),
             Contains("did you mean `slope`?"));
  CHECK_THAT(fieldErrors("  score = s + bias"),
             Contains("to read a value of the caller declare it"));
  CHECK_THAT(fieldErrors("  tensor t : f23[heads]\n  score = s + t[h]"),
             Contains("did you mean `f32`?"));
  CHECK_THAT(fieldErrors("  tensor t : f32[seq]\n  score = s + t[k]"),
             Contains("there is no dimension `seq`") && Contains("tokens"));
  // A dimension knows no tensor, whichever is declared first.
  for (const char *size : {"slope", "slope[0]", "i32(slope[0])", "document(slope)"})
    for (const char *form : {"  tensor slope : f32[heads]\n  tensor t : f32[{}]\n",
                             "  tensor t : f32[{}]\n  tensor slope : f32[heads]\n"}) {
      INFO(size);
      CHECK_THAT(
          fieldErrors(fmt::format(fmt::runtime(form), size) + "  score = s * slope[h] + t[h]"),
          Contains("`slope`") && Contains("there is no") && !Contains("declare it"));
    }
  CHECK_THAT(
      fieldErrors("  tensor t : f32[width + 1]\n  scalar width : i32\n  score = s * t[0] + width"),
      Contains("a number, or a parameter of the attention"));
  CHECK_THAT(fieldErrors("  tensor t : i32[tokens] nondecresing\n  mask = document(t)"),
             Contains("did you mean `nondecreasing`?"));
  CHECK_THAT(fieldErrors("  lse : f32 natrual"), Contains("did you mean `natural`?"));
  CHECK_THAT(fieldErrors("  precison p = bf16"), Contains("did you mean `precision`?"));
}

TEST_CASE("Names that are taken") {
  CHECK_THAT(fieldErrors("  tensor q : f32[heads]\n  score = s + q[h]"),
             Contains("`q` is a name of the language"));
  CHECK_THAT(fieldErrors("  scalar window : i32\n  mask = causal"),
             Contains("`window` is a name of the language"));
  CHECK_THAT(fieldErrors("  score = let h = 2.0 in s * h"),
             Contains("`h` is a name of the language"));
  CHECK_THAT(fieldErrors("  mask = causal", "fn causal = k < q"),
             Contains("`causal` is a name of the language"));
  CHECK_THAT(fieldErrors("  tensor t : f32[heads]\n  scalar t : f32\n  score = s + t[h]"),
             Contains("`t` is declared twice"));
  CHECK_THAT(fieldErrors("  mask = f", "fn f = causal\nfn f = window(3)"),
             Contains("fn f is defined twice"));
}

TEST_CASE("Tensors and their indices (F14)") {
  std::string t = "  tensor t : f32[heads]\n  score = s + ";
  CHECK_THAT(fieldErrors(t + "t"),
             Contains("tensor t needs indices here") && Contains("write t[heads]"));
  CHECK_THAT(fieldErrors(t + "t[h, k]"), Contains("t has 1 dimensions and gets 2 indices"));
  CHECK_THAT(fieldErrors(t + "t[s]"), Contains("an index of t must be i32, got f32"));
  CHECK_THAT(fieldErrors(t + "t[8]"),
             Contains("the index of t reaches 8, outside its dimension heads of 8"));
  CHECK_THAT(fieldErrors(t + "t[-1]"), Contains("the index of t reaches -1"));
  CHECK_THAT(fieldErrors("  tensor t : f32[kv_heads]\n  score = s + t[h]"),
             Contains("reaches 7, outside its dimension kv_heads of 2"));
  CHECK(fields("  tensor t : f32[kv_heads]\n  score = s + t[hk]").score >= 0);
  CHECK_THAT(fieldErrors(t + "alibi(s)"), Contains("alibi wants a tensor f32[heads], got a value"));
  CHECK_THAT(fieldErrors("  tensor t : i32[tokens]\n  score = s + alibi(t)"),
             Contains("got t : i32[tokens]"));
  CHECK_THAT(fieldErrors("  tensor t : f32[tokens]\n  mask = document(t)"),
             Contains("document wants a tensor i32[tokens], got t : f32[tokens]"));
  CHECK_THAT(fieldErrors("  tensor t : f32[0]\n  score = s + t[h]"),
             Contains("a dimension must be at least 1, got 0"));
  CHECK_THAT(fieldErrors("  tensor t : i32[heads] nondecreasing\n  mask = t[h] < k"),
             Contains("a promise about a number per token"));
  CHECK_THAT(fieldErrors("  score = s + k[h]"), Contains("k is not a tensor"));
  CHECK_THAT(fieldErrors(t + "t(h)"), Contains("t is not a function") && Contains("brackets"));
}

TEST_CASE("Functions") {
  CHECK_THAT(fieldErrors("  score = f(s)", "fn f(x) = f(x) + 1"), Contains("fn f calls itself"));
  CHECK_THAT(fieldErrors("  score = f(s)", "fn f(x) = g(x)\nfn g(x) = f(x)"),
             Contains("calls itself"));
  CHECK_THAT(fieldErrors("  score = f(s)", "fn f(x, y) = x * y"),
             Contains("f takes 2 arguments, got 1") && Contains("f(x, y) at test.attn:1"));
  CHECK_THAT(fieldErrors("  tensor doc : i32[tokens]\n  mask = f && document(doc)",
                         "fn f = doc[q] == doc[k]"),
             Contains("there is no name `doc`") && Contains("pass it as an argument"));
  std::string inner = fieldErrors("  mask = f(0)", "fn f(n) = causal && window(n)");
  CHECK_THAT(inner, Contains("test.attn:1:28: error: window wants a width of at least 1, got 0") &&
                        Contains("(in f, used at test.attn:4:10)"));
  CHECK_THAT(fieldErrors("  let x = y\n  let y = x\n  mask = x == 1"),
             Contains("refers to itself"));
}

TEST_CASE("Later layers show their refusals at places of the spec") {
  Options options;
  options.fileName = ATTUNE_SOURCE_DIR "/specs/composed.attn";
  Result<Model> m = parseSpecFile(options.fileName, {});
  REQUIRE(m);
  CHECK_THAT(renderAt(*m, "v_dim", "v_dim of 64 is odd", "try 32."),
             Contains("composed.attn:") &&
                 Contains(": error: v_dim of 64 is odd\n    v    : bf16[") &&
                 Contains("^~\n  try 32.\n"));
  CHECK(renderAt(*m, "schedule.waves", "no.") == "no.");
  Model text = fields("  schedule { waves = 3 }\n  mask = causal");
  CHECK(renderAt(text, "schedule.waves", "waves is 3", "try 4.") ==
        "test.attn:4:14: error: waves is 3\n  try 4.\n");
  CHECK(text.places.at("mask").line == 5);
  CHECK(text.places.at("heads").column == 24);
  CHECK(text.places.count("score") == 0);
}

TEST_CASE("One run reports several faults, each once, in the order of the text") {
  std::string message =
      errors("attention a {\n  q, kv : bf16[tokens, 33 / 2, 64]\n  out : f31\n  scale = 1 / 2\n"
             "  score = softcp(s, 0)\n  mask = window(0) && windw(3)\n}");
  CHECK(errorCount(message) == 6);
  size_t last = 0;
  for (const char *line : {":2:24", ":3:", ":4:", ":5:", ":6:17", ":6:23"}) {
    INFO(message << line);
    size_t at = message.find(std::string("test.attn") + line);
    CHECK((at != std::string::npos && (at > last || last == 0)));
    last = at;
  }
  CHECK(errorCount(fieldErrors("  mask = f && f && f", "fn f = nothing")) == 1);
  std::string many;
  for (int i = 0; i < 50; ++i)
    many += "  field" + std::to_string(i) + "x = 3\n";
  CHECK(errorCount(fieldErrors(many)) == 20);
  CHECK_THAT(fieldErrors(many), Contains("only the first 20 errors are shown"));
}
