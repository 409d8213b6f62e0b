// Shapes of q, k, v, out, lse, sink; parameters.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;
using Catch::Matchers::Contains;

namespace {

ProblemShape shape(const std::string &body) {
  return parsed("attention a {\n" + body + "\n}").problem;
}

} // namespace

TEST_CASE("Short and long spellings give one shape") {
  for (const char *text :
       {"q, kv : bf16[tokens, 32 / 8, 128]", "q, k, v : bf16[tokens, heads = 32 / 8, dim = 128]",
        "q : bf16[tokens, 32, 128]\nkv : bf16[tokens, 8, 128]",
        "v : bf16[tokens, kv_heads = 8, v_dim = 128]\nk : bf16[tokens, heads = 8, dim = 128]\n"
        "q : bf16[tokens, heads = (64 / 2), dim = 128]"}) {
    INFO(text);
    ProblemShape p = shape(text);
    CHECK(p.qStorage == Storage::Varlen);
    CHECK(p.kvStorage == Storage::Varlen);
    CHECK(p.numQHeads == 32);
    CHECK(p.numKvHeads == 8);
    CHECK(p.headDim == 128);
    CHECK(p.vHeadDim == 128);
    CHECK(p.outDtype == DType::BF16);
    CHECK(p.lse == LseKind::None);
    CHECK_FALSE(p.hasSink);
  }
}

TEST_CASE("Dense storage, a v dim of its own, out, lse and sink") {
  ProblemShape p =
      shape("q, k : fp16[batch, seq, 6 / 2, 192]\nv : fp16[batch, seq, 2, 128]\nout : f32\n"
            "lse : base2\nsink : f32[heads]");
  CHECK(p.qStorage == Storage::Dense);
  CHECK(p.dtype == DType::F16);
  CHECK(p.outDtype == DType::F32);
  CHECK(p.headDim == 192);
  CHECK(p.vHeadDim == 128);
  CHECK(p.lse == LseKind::Base2);
  CHECK(p.hasSink);
  CHECK(shape("q, kv : bf16[tokens, 1, 64]\nlse : f32 natural").lse == LseKind::Natural);
}

TEST_CASE("Any whole head ratio is legal, and only those (F17)") {
  for (auto [q, kv] :
       std::vector<std::pair<int, int>>{{28, 4}, {71, 1}, {24, 1}, {6, 2}, {15, 5}, {1, 1}}) {
    ProblemShape p =
        shape("q, kv : bf16[tokens, " + std::to_string(q) + " / " + std::to_string(kv) + ", 64]");
    CHECK(p.numQHeads == q);
    CHECK(p.numKvHeads == kv);
  }
  std::string message = errors("attention a {\n  q, kv : bf16[tokens, 33 / 2, 64]\n}");
  CHECK_THAT(message, Contains("33 query heads can't share 2 kv heads") &&
                          Contains("nearest legal: 32 / 2, 34 / 2, 33 / 1, 33 / 3"));
  CHECK_THAT(errors("attention a {\n  q, kv : bf16[tokens, 3 / 2, 64]\n}"),
             Contains("2 / 2, 4 / 2, 3 / 1, 3 / 3"));
  CHECK_THAT(errors("attention a {\n  q, kv : bf16[tokens, 2 / 3, 64]\n}"),
             Contains("nearest legal: 3 / 3, 2 / 2"));
}

TEST_CASE("Shapes that do not fit are refused by name") {
  auto refused = [](const std::string &body) { return errors("attention a {\n" + body + "\n}"); };
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 0]"), Contains("dim wants 1 to 1024, got 0"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 2000]"), Contains("dim wants 1 to 1024, got 2000"));
  CHECK_THAT(refused("q, kv : bf16[tokens, -8, 64]"), Contains("heads wants 1 to 1024, got -8"));
  CHECK_THAT(refused("q, kv : bf16[4096, 8, 64]"), Contains("set by each call: write `tokens`"));
  CHECK_THAT(refused("q, kv : bf16[2, seq, 8, 64]"), Contains("set by each call: write `batch`"));
  CHECK_THAT(refused("q, kv : bf16[token, 8, 64]"), Contains("did you mean `tokens`?"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8]"), Contains("wants 3 or 4 dimensions, got 2"));
  CHECK_THAT(refused("q, kv : bf16"), Contains("q wants dimensions"));
  CHECK_THAT(refused("q, kv : bf16[tokens, dim = 8, 64]"),
             Contains("this dimension is `heads`, not `dim`"));
  CHECK_THAT(refused("q : bf16[tokens, 8, 64]"),
             Contains("a does not say what k is") && Contains("what v is"));
  CHECK_THAT(refused("q : bf16[tokens, 8, 64]\nk : bf16[tokens, 8, 128]\nv : bf16[tokens, 8, 64]"),
             Contains("k wants q's dim of 64, got 128"));
  CHECK_THAT(refused("q, k : bf16[tokens, 8, 64]\nv : bf16[tokens, 4, 64]"),
             Contains("v wants k's 8 heads, got 4"));
  CHECK_THAT(refused("q : bf16[tokens, 8 / 2, 64]\nkv : bf16[tokens, 2, 64]"),
             Contains("a line that declares q and kv together"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 64]\nk : bf16[tokens, 8, 64]"),
             Contains("k is declared twice"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 64]\nout : i32"),
             Contains("out wants bf16, fp16 or f32, got i32"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 64]\nout : bf16[tokens]"),
             Contains("out takes an element type only"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 64]\nlse : f32"), Contains("lse wants its base"));
  CHECK_THAT(refused("q, kv : bf16[tokens, 8, 64]\nsink : bf16[heads]"),
             Contains("write sink : f32[heads]"));
  CHECK_THAT(refused("q, kv : bf16[tokens, h, 64]"),
             Contains("heads must be a whole number known at compile time"));
}

TEST_CASE("Operand types other than bf16 and fp16 are refused with the list (F53)") {
  std::string text = "attention a {\n  q, kv : f32[tokens, 8, 128]\n}";
  CHECK(errors(text) == "test.attn:2:11: error: q wants bf16 or fp16, got f32\n"
                        "    q, kv : f32[tokens, 8, 128]\n"
                        "            ^~~\n"
                        "  q, k and v are bf16 or fp16 today; out may also be f32.\n");
  CHECK(errorCode(text) == ErrorCode::Unsupported);
  CHECK_THAT(errors("attention a {\n  q : bf16[tokens, 8, 64]\n  kv : fp16[tokens, 8, 64]\n}"),
             Contains("k and v want q's element type bf16, got fp16"));
  CHECK_THAT(errors("attention a {\n  q : bf16[tokens, 8, 64]\n  kv : bf16[batch, seq, 8, 64]\n}"),
             Contains("q, k and v want one storage"));
}

TEST_CASE("Storage that is not built yet is refused by name and line") {
  for (const char *type :
       {"paged(16) bf16[heads = 8, dim = 64]", "bf16 paged(page = 16, heads = 8)",
        "gather bf16[heads = 1, dim = 512]", "paged(64) latent(512) rope(64) bf16",
        "gather bf16[heads = 1, dim = 64] segment main"}) {
    INFO(type);
    std::string text =
        "attention a {\n  q : bf16[tokens, 8, 64]\n  kv : " + std::string(type) + "\n}";
    CHECK_THAT(
        errors(text),
        Contains("test.attn:3:") && Contains("storage is not built yet") &&
            Contains("today q, k and v are [tokens, heads, dim] or [batch, seq, heads, dim]"));
    CHECK(errorCount(errors(text)) == 1);
    CHECK(errorCode(text) == ErrorCode::Unsupported);
  }
}

TEST_CASE("Parameters have defaults and are set by name") {
  std::string text = "attention a(w: int = 32, t: float = bf16, cap: f32 = 50.0, on: bool = true, "
                     "low: int = -3) {\n"
                     "  q, kv : t[tokens, 8, w * 2]\n  score = softcap(s, cap) + low\n  mask = !on "
                     "|| window(w)\n}";
  Model m = parsed(text);
  CHECK(m.problem.headDim == 64);
  CHECK(m.problem.dtype == DType::BF16);
  Model other =
      parsed(text, {{"w", "64"}, {"t", "fp16"}, {"cap", "30"}, {"on", "false"}, {"low", "5"}});
  CHECK(other.problem.headDim == 128);
  CHECK(other.problem.dtype == DType::F16);
  CHECK(other.mask == -1);
  Point p;
  CHECK(evaluate(other, other.score, p) == 5);

  CHECK_THAT(errors(text, {{"width", "3"}}), Contains("a has no parameter `width` to set"));
  CHECK_THAT(errors(text, {{"cpa", "3"}}), Contains("did you mean `cap`?"));
  CHECK_THAT(errors(text, {{"w", "16,64"}}),
             Contains("w wants a whole number (i32), got \"16,64\"") && Contains("one value"));
  CHECK_THAT(errors(text, {{"w", "1e3"}}), Contains("w wants a whole number"));
  CHECK_THAT(errors(text, {{"t", "i32"}}), Contains("t wants a floating element type"));
  CHECK_THAT(errors(text, {{"t", "f32"}}), Contains("q wants bf16 or fp16, got f32"));
  CHECK_THAT(errors(text, {{"on", "1"}}), Contains("on wants true or false"));
  CHECK_THAT(errors(text, {{"cap", "inf"}}), Contains("cap wants a number"));
  CHECK_THAT(errors(text, {{"cap", "-1"}}), Contains("softcap wants a cap above 0, got -1"));
}

TEST_CASE("Several attentions in one file: the first, or the one that is named") {
  std::string text = "attention one {\n q, kv : bf16[tokens, 1, 64]\n}\nattention two {\n q, kv : "
                     "bf16[tokens, 2, 64]\n}\n";
  CHECK(parsed(text).problem.specName == "one");
  Options options;
  options.attention = "two";
  Result<Model> two = parseSpec(text, options);
  REQUIRE(two);
  CHECK(two->problem.numQHeads == 2);
  options.attention = "tow";
  Result<Model> none = parseSpec(text, options);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Contains("did you mean `two`?"));
  CHECK_THAT(errors(text + text), Contains("attention one is defined twice"));
}

TEST_CASE("Contracts and the schedule block") {
  Model m = fields("  empty = zero\n  unread = any\n  precision p = bf16\n  schedule { waves = 8, "
                   "kv_tile = 64\n depth = deep }");
  using Knobs = std::vector<std::pair<std::string, std::string>>;
  CHECK(m.schedule == Knobs{{"waves", "8"}, {"kv_tile", "64"}, {"depth", "deep"}});
  CHECK(m.digest == fields("").digest);
  CHECK_THAT(fieldErrors("  empty = nan"), Contains("empty can only be `zero`"));
  CHECK_THAT(fieldErrors("  unread = zero"), Contains("unread can only be `any`"));
  CHECK_THAT(fieldErrors("  precision p = fp8e4m3"), Contains("fp8e4m3 is not built yet"));
  CHECK_THAT(fieldErrors("  precision p = f32"),
             Contains("precision p can't be f32 today") && Contains("precision p = bf16"));
  CHECK_THAT(fieldErrors("  deterministic = batch"), Contains("deterministic is not built yet"));
  CHECK_THAT(fieldErrors("  max tokens = 4096, max pages = 3"),
             Contains("`max tokens` is not built yet"));
  CHECK_THAT(fieldErrors("  split auto, partials bf16"), Contains("`split auto` is not built yet"));
  CHECK_THAT(fieldErrors("  schedule { waves = 8 waves = 4 }"),
             Contains("knob waves is given twice"));
}
