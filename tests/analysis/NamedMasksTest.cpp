// The masks that people use: exact for every q block and tile of small shapes, and in the form the
// schedules rely on.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/analysis/TileClasses.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace attune;
using namespace attune::test;

namespace {

Mask q() { return leaf(Kind::Q); }
Mask k() { return leaf(Kind::K); }
Mask operator&&(Mask a, Mask b) { return node(Kind::And, {a, b}); }
Mask operator||(Mask a, Mask b) { return node(Kind::Or, {a, b}); }
Mask operator!(Mask a) { return node(Kind::Not, {a}); }
Mask le(Mask a, Mask b) { return node(Kind::Le, {a, b}); }
Mask lt(Mask a, Mask b) { return node(Kind::Lt, {a, b}); }
Mask gt(Mask a, Mask b) { return node(Kind::Gt, {a, b}); }
Mask eq(Mask a, Mask b) { return node(Kind::Eq, {a, b}); }
Mask sub(Mask a, Mask b) { return node(Kind::Sub, {a, b}); }
Mask add(Mask a, Mask b) { return node(Kind::Add, {a, b}); }
Mask div(Mask a, int64_t n) { return node(Kind::FloorDiv, {a, lit(n)}); }

Mask causal() { return le(k(), q()); }
Mask window(Mask n) { return causal() && gt(k(), sub(q(), n)); }
Mask prefix(Mask n) { return lt(k(), n); }
Mask chunk(int64_t n) { return eq(div(q(), n), div(k(), n)); }
Mask near(int64_t left, int64_t right) {
  return le(sub(q(), lit(left)), k()) && le(k(), add(q(), lit(right)));
}

struct Fixture {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Fixture() { context.loadDialect<attn::AttnDialect, arith::ArithDialect>(); }

  /// "any [lo, hi] all [lo, hi]" for each interval, "; " between them.
  std::string text(const Mask &mask) {
    Analysed a(context, mask);
    std::string text;
    for (const analysis::VisibleInterval &i : a.bounds.intervals)
      text += (text.empty() ? "" : "; ") + std::string("any [") + i.anyLo.str() + ", " +
              i.anyHi.str() + "] all [" + i.allLo.str() + ", " + i.allHi.str() + "]";
    return text;
  }
};

World worldOf(int64_t qLen, int64_t kvLen, int64_t w0, int64_t h) {
  World w;
  w.qLen = qLen;
  w.kvLen = kvLen;
  w.h = h;
  w.scalars = {w0, 0};
  w.perBatch = {w0 + 2};
  for (int64_t i = 0; i <= kvLen; ++i)
    w.perToken.push_back(i / 5);
  return w;
}

void checkAllTiles(const Analysed &a, const World &w) {
  for (int64_t q0 = w.ctx(); q0 < w.kvLen; ++q0)
    for (int64_t q1 = q0; q1 < std::min(q0 + 7, w.kvLen); ++q1)
      for (int64_t tile : {1, 2, 3, 4, 8}) {
        QBlock block{q0, q1, tile};
        for (int64_t key = 0; key < w.kvLen; key += tile)
          if (a.classify(w, block, key) != bruteForce(*a.mask, w, block, key))
            FAIL("tile at " << key << ": " << a.str(w, block));
      }
}

void checkExact(MLIRContext &context, const char *name, const Mask &mask) {
  INFO(name);
  Analysed a(context, mask);
  INFO(a.bounds.unanalysed);
  CHECK(a.bounds.exact);
  for (int64_t kvLen : {0, 1, 7, 16, 19})
    for (int64_t qLen : {1, 5, 16, 21})
      for (int64_t w0 : {-1, 0, 3, 9})
        checkAllTiles(a, worldOf(qLen, kvLen, w0, w0 < 3 ? 2 : 6));
}

} // namespace

TEST_CASE_METHOD(Fixture, "named masks are exact") {
  Mask w0 = leaf(Kind::Scalar, 0), local = lt(leaf(Kind::H), lit(4));
  checkExact(context, "full", leaf(Kind::True));
  checkExact(context, "none", leaf(Kind::False));
  checkExact(context, "causal", causal());
  checkExact(context, "not causal", !causal());
  checkExact(context, "window(5)", window(lit(5)));
  checkExact(context, "window(1)", window(lit(1)));
  checkExact(context, "window(scalar)", window(w0));
  checkExact(context, "window(3, 2)", near(3, 2));
  checkExact(context, "causal && window(4)", causal() && window(lit(4)));
  checkExact(context, "prefix(6)", prefix(lit(6)));
  checkExact(context, "causal || prefix(6)", causal() || prefix(lit(6)));
  checkExact(context, "causal || prefix(lim[b])", causal() || prefix(leaf(Kind::PerBatch)));
  checkExact(context, "window(4) || prefix(3)", window(lit(4)) || prefix(lit(3)));
  checkExact(context, "chunk(4)", chunk(4));
  checkExact(context, "causal && chunk(6)", causal() && chunk(6));
  checkExact(context, "causal && (prefix(3) || window(4))",
             causal() && (prefix(lit(3)) || window(lit(4))));
  checkExact(context, "prefix(3) || near(2, 2)", prefix(lit(3)) || near(2, 2));
  checkExact(context, "diagonal", eq(k(), q()));
  checkExact(context, "all but the diagonal", !eq(k(), q()));
  checkExact(context, "causal in whole chunks", le(div(k(), 4), div(q(), 4)));
  checkExact(context, "causal, every key stands for two rows",
             le(node(Kind::Times, {k(), lit(2)}), q()));
  checkExact(context, "padding", causal() && prefix(leaf(Kind::PerBatch)));
  checkExact(context, "local heads", node(Kind::If, {local, window(lit(4)), causal()}));
  checkExact(context, "local heads, by width",
             causal() && gt(k(), sub(q(), node(Kind::Choose, {local, lit(4), leaf(Kind::KvLen)}))));
  checkExact(context, "relative to the call", le(k(), add(leaf(Kind::QI), leaf(Kind::Ctx))));
  checkExact(context, "late rows only", causal() && le(lit(5), q()));
}

TEST_CASE_METHOD(Fixture, "bounds read as one would write them") {
  CHECK(text(causal()) == "any [0, min(q1, kv_len - 1)] all [0, min(q0, kv_len - 1)]");
  CHECK(text(window(lit(8))) ==
        "any [max(q0 - 7, 0), min(q1, kv_len - 1)] all [max(q1 - 7, 0), min(q0, kv_len - 1)]");
  CHECK(text(leaf(Kind::True)) == "any [0, kv_len - 1] all [0, kv_len - 1]");
  CHECK(text(leaf(Kind::False)) == "any [0, -1] all [0, -1]");
  CHECK(text(causal() && chunk(4)) ==
        "any [max(4 * (q0 / 4), 0), min(q1, kv_len - 1)] all [max(4 * (q1 / "
        "4), 0), min(q0, kv_len - 1)]");
}

TEST_CASE_METHOD(Fixture, "what is not understood keeps the rest of the mask") {
  Mask document = eq(node(Kind::PerToken, {q()}), node(Kind::PerToken, {k()}));
  Analysed a(context, causal() && document);
  CHECK_FALSE(a.bounds.exact);
  CHECK(a.bounds.unanalysed == "doc[q] == doc[k]");
  CHECK(text(causal() && document) == "any [0, min(q1, kv_len - 1)] all [0, -1]");
  CHECK(text(window(lit(8)) && !document) ==
        "any [max(q0 - 7, 0), min(q1, kv_len - 1)] all [0, -1]");
  CHECK(text(causal() || (causal() && document)) == text(causal()));
}

TEST_CASE_METHOD(Fixture, "masks of many parts become few intervals") {
  Mask stripes = leaf(Kind::False);
  for (int64_t i = 0; i < 30; ++i)
    stripes = stripes || eq(k(), sub(q(), lit(3 * i)));
  Analysed a(context, stripes);
  CHECK_FALSE(a.bounds.exact);
  CHECK(a.bounds.intervals.size() <= 4);
  World w = worldOf(16, 19, 3, 0);
  for (int64_t key = 0; key < w.kvLen; ++key) {
    QBlock block{5, 9, 1};
    TileClass claimed = a.classify(w, block, key);
    CHECK((claimed == TileClass::Partial || claimed == bruteForce(*a.mask, w, block, key)));
  }
}
