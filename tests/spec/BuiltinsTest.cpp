// Built-ins mean what docs/spec-language.md says, checked key by key against definitions written
// here.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace attune::spec;
using namespace attune::spec::test;

namespace {

using Keys = std::vector<int64_t>;

Keys seenBy(const std::string &mask, int64_t q, int64_t kvLen) {
  Point p;
  p.q = q;
  p.kvLen = p.qLen = kvLen;
  return visible(fields("  mask = " + mask), p);
}

Keys range(int64_t first, int64_t last) {
  Keys keys;
  for (int64_t k = first; k <= last; ++k)
    keys.push_back(k);
  return keys;
}

} // namespace

TEST_CASE("window(n) keeps exactly n keys, the row's own included (F08)") {
  CHECK(seenBy("window(4)", 10, 11) == range(7, 10));
  CHECK(seenBy("causal && window(4)", 10, 11) == range(7, 10));
  CHECK(seenBy("window(4)", 10, 64) == range(7, 10));
  CHECK(seenBy("window(4)", 2, 64) == range(0, 2));
  CHECK(seenBy("window(1)", 5, 64) == range(5, 5));
  CHECK(seenBy("window(4)", -2, 64).empty());
}

TEST_CASE("window(left, right) counts neighbours (F08, F09)") {
  CHECK(seenBy("window(4, 0)", 10, 64) == range(6, 10));
  CHECK(seenBy("window(0, 0)", 10, 64) == range(10, 10));
  CHECK(seenBy("window(2, 3)", 10, 64) == range(8, 13));
  CHECK(seenBy("window(2, 3)", 10, 12) == range(8, 11));
  CHECK(seenBy("window(640, 640)", 10, 64) == range(0, 63));
}

TEST_CASE("A window at least as wide as the keys is causal (F09)") {
  for (int64_t q = 0; q < 33; ++q)
    for (const char *mask : {"window(33)", "window(330)", "causal"})
      CHECK(seenBy(mask, q, 33) == range(0, q));
}

TEST_CASE("prefix, chunk and their combinations") {
  CHECK(seenBy("prefix(3)", 0, 8) == range(0, 2));
  CHECK(seenBy("prefix(0) || k == 5", 0, 8) == range(5, 5));
  CHECK(seenBy("causal || prefix(3)", 1, 8) == range(0, 2));
  CHECK(seenBy("causal || prefix(3)", 6, 8) == range(0, 6));
  CHECK(seenBy("chunk(4)", 5, 16) == range(4, 7));
  CHECK(seenBy("chunk(4) && causal", 5, 16) == range(4, 5));
  CHECK(seenBy("chunk(4)", -1, 16).empty()); // floor division: -1 is not in the chunk of 0
}

TEST_CASE("document compares the ids of the row and the key") {
  Model m = fields("  tensor doc : i32[tokens] nondecreasing\n  mask = document(doc)");
  Point p;
  p.q = 3;
  p.kvLen = p.qLen = 6;
  Keys ids = {0, 0, 1, 1, 1, 2};
  p.tensors["doc"] = [&](std::vector<int64_t> i) { return double(ids.at(size_t(i.at(0)))); };
  CHECK(visible(m, p) == range(2, 4));
  CHECK(m.tensors.at(0).nondecreasing);
}

TEST_CASE("softcap bends, alibi is 0 on the diagonal whatever the context (F13)") {
  Model cap = fields("  score = softcap(s, 50)");
  Point p;
  p.s = 60;
  CHECK(evaluate(cap, cap.score, p) == Approx(50 * std::tanh(60.0 / 50)));

  Model bias = fields("  tensor slope : f32[heads]\n  score = s + alibi(slope)");
  p.tensors["slope"] = [](std::vector<int64_t> i) { return i.at(0) == 5 ? 0.25 : 100.0; };
  p.h = 5;
  p.hk = 1;
  p.s = 1;
  for (int64_t q : {0, 7, 1000}) {
    p.q = p.k = q;
    CHECK(evaluate(bias, bias.score, p) == 1);
    p.k = q - 4;
    CHECK(evaluate(bias, bias.score, p) == 0);
  }
}

TEST_CASE("A call keeps its name, arguments and expansion") {
  Model m = fields("  tensor slope : f32[heads]\n  score = s + alibi(slope)\n  mask = mine(3)",
                   "fn mine(n) = window(n)");
  const Expr &sum = m.exprs.at(size_t(m.score));
  REQUIRE(sum.kind == ExprKind::Add);
  const Expr &alibi = m.exprs.at(size_t(sum.args[1]));
  REQUIRE(alibi.kind == ExprKind::Call);
  CHECK(alibi.builtin);
  CHECK(alibi.name == "alibi");
  const Expr &tensor = m.exprs.at(size_t(alibi.args.at(0)));
  CHECK(tensor.kind == ExprKind::Read);
  CHECK(tensor.args.empty());
  CHECK(m.exprs.at(size_t(alibi.body)).kind == ExprKind::Mul);

  const Expr &mine = m.exprs.at(size_t(m.mask));
  CHECK(mine.name == "mine");
  CHECK_FALSE(mine.builtin);
  const Expr &window = m.exprs.at(size_t(mine.body));
  CHECK(window.name == "window");
  CHECK(window.builtin);
  CHECK(window.args.size() == 1);
}
