// Types, constants and operators of expressions.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace attune::spec;
using namespace attune::spec::test;

namespace {

/// The value of a score `s * 0 + (expr)` with s = 0: what the expression is as f32.
double value(const std::string &expr, Point p = {}) {
  Model m = fields("  score = s + f32(" + expr + ")");
  return evaluate(m, m.score, p);
}

bool truth(const std::string &condition, Point p = {}) {
  Model m = fields("  mask = (" + condition + ") || k < -1000");
  return m.mask < 0 || evaluate(m, m.mask, p) != 0;
}

/// The number a constant expression folds to, read back from a dimension.
int folded(const std::string &expr) {
  return parsed("attention a { q, kv : bf16[tokens, 1, (" + expr + ")]\n}").problem.headDim;
}

} // namespace

TEST_CASE("Whole numbers divide toward minus infinity, folded or not") {
  CHECK(folded("7 / 2") == 3);
  CHECK(folded("-7 / 2 + 10") == 6);
  CHECK(folded("-7 % 4") == 1);
  CHECK(folded("7 % -4 + 5") == 4);
  Point p;
  p.k = -7;
  CHECK(value("k / 2", p) == -4);
  CHECK(value("k % 4", p) == 1);
  CHECK(value("-k / 2", p) == 3);
}

TEST_CASE("Operators bind as documented") {
  CHECK(folded("2 + 3 * 4") == 14);
  CHECK(folded("20 - 3 - 4") == 13);
  CHECK(folded("1 << 2 + 1") == 8);
  CHECK(folded("6 & 3 | 8 ^ 1") == 11);
  CHECK(folded("select(5 >> 1 & 1 == 0, 7, 9)") == 7);
  CHECK(folded("select(true || false && false, 1, 2)") == 1);
  CHECK(folded("select(!true == false, 1, 2)") == 1);
  CHECK(folded("- -5") == 5);
  CHECK(folded("0x10 + min(3, 4) * max(1, 2) + abs(-2)") == 24);
}

TEST_CASE("Whole numbers convert where they meet floats") {
  Model m = fields("  score = s * 2");
  CHECK(m.exprs.at(size_t(m.exprs.at(size_t(m.score)).args[1])).kind == ExprKind::ConstF);
  Point p;
  p.k = 9;
  CHECK(value("sqrt(k)", p) == 3);
  CHECK(value("k * 0.5", p) == 4.5);
  CHECK(value("k < 9.5", p) == 1);
  CHECK(value("i32(k * 0.55)", p) == 4);
  CHECK(value("select(k == 9, 1, 2.5)", p) == 1);
  CHECK(value("min(k, 3)", p) == 3);
}

TEST_CASE("Maths functions fold to what they are") {
  auto f = [](const std::string &e) { return value(e); };
  CHECK(f("exp(1)") == Approx(std::exp(1.0)));
  CHECK(f("exp2(3)") == 8);
  CHECK(f("log(8) / log(2)") == Approx(3));
  CHECK(f("log2(8)") == 3);
  CHECK(f("tanh(0.5)") == Approx(std::tanh(0.5)));
  CHECK(f("sigmoid(0)") == 0.5);
  CHECK(f("rsqrt(4)") == 0.5);
  CHECK(f("sin(1) * sin(1) + cos(1) * cos(1)") == Approx(1));
  CHECK(f("floor(-1.5) + ceil(1.2)") == 0);
  CHECK(f("pow(2, 10)") == 1024);
  CHECK(f("5.5 % 2") == 1.5);
  CHECK(f("-0.5 % 2") == 1.5);
  CHECK(f("where(1 < 2, 3, 4)") == 3);
  CHECK(f("f32(true) + 1") == 2);
  CHECK(f("i32(-2.7)") == -2);
}

TEST_CASE("Every maths function also works on run-time values") {
  Point p;
  p.s = 0.75;
  for (auto [text, want] :
       std::vector<std::pair<std::string, double>>{{"exp(s)", std::exp(.75)},
                                                   {"exp2(s)", std::exp2(.75)},
                                                   {"log(s)", std::log(.75)},
                                                   {"log2(s)", std::log2(.75)},
                                                   {"tanh(s)", std::tanh(.75)},
                                                   {"sigmoid(s)", 1 / (1 + std::exp(-.75))},
                                                   {"sqrt(s)", std::sqrt(.75)},
                                                   {"rsqrt(s)", 1 / std::sqrt(.75)},
                                                   {"sin(s)", std::sin(.75)},
                                                   {"cos(s)", std::cos(.75)},
                                                   {"abs(-s)", .75},
                                                   {"floor(s)", 0},
                                                   {"ceil(s)", 1},
                                                   {"min(s, 0.5)", .5},
                                                   {"max(s, 1)", 1},
                                                   {"pow(s, 2)", .5625},
                                                   {"-s", -.75},
                                                   {"s - 1", -.25},
                                                   {"s / 3", .25}}) {
    INFO(text);
    Model m = fields("  score = " + text);
    CHECK(evaluate(m, m.score, p) == Approx(want));
  }
}

TEST_CASE("Logic") {
  Point p;
  p.q = 3;
  p.k = 2;
  CHECK(truth("k < q && !(k == q)", p));
  CHECK(truth("k == q || q == 3", p));
  CHECK(truth("(k == q) ^ (q == 3)", p));
  CHECK_FALSE(truth("(k != q) ^ (q == 3)", p));
  CHECK(truth("(k == q) == (q == 2)", p));
  CHECK(truth("q >> 1 & 1 == 1", p));
  CHECK(truth("1 << q == 8", p));
}

TEST_CASE("let names a value, in an expression and as a field in any order") {
  Point p;
  p.q = 7;
  p.k = 3;
  CHECK(value("let d = q - k in let e = d * d in e + d", p) == 20);
  Model m = fields("  score = s + twice\n  let twice = d * 2\n  mask = d >= 0\n  let d = q - k");
  CHECK(evaluate(m, m.score, p) == 8);
  CHECK(evaluate(m, m.mask, p) == 1);
}

TEST_CASE("Scale: the default, a constant, an expression of scalars") {
  CHECK(*fields("").scale == Approx(0.125));
  CHECK(*fields("  scale = 1 / sqrt(dim)").scale == Approx(0.125));
  CHECK(*fields("  scale = rsqrt(heads * kv_heads * v_dim / 1.0)").scale == Approx(1.0 / 32));
  CHECK(*fields("  scale = 2").scale == 2);
  Model m = fields("  scalar cap : f32\n  scale = cap / 8");
  CHECK_FALSE(m.scale);
  Point p;
  p.scalars["cap"] = 4;
  CHECK(evaluate(m, m.scaleExpr, p) == 0.5);
}

TEST_CASE("Conditions that always hold leave no mask, a bare s no score") {
  CHECK(fields("  mask = true").mask == -1);
  CHECK(fields("  mask = causal || 1 < 2").mask == -1);
  CHECK(fields("  score = s").score == -1);
}

TEST_CASE("Tensors of every element type and rank are read") {
  for (auto [dtype, type] :
       std::vector<std::pair<std::string, ScalarType>>{{"f32", ScalarType::F32},
                                                       {"fp16", ScalarType::F32},
                                                       {"f16", ScalarType::F32},
                                                       {"bf16", ScalarType::F32},
                                                       {"i64", ScalarType::I32},
                                                       {"i32", ScalarType::I32},
                                                       {"i16", ScalarType::I32},
                                                       {"i8", ScalarType::I32},
                                                       {"u8", ScalarType::I32},
                                                       {"bool", ScalarType::Bool}}) {
    INFO(dtype);
    Model m = fields("  tensor t : " + dtype + "[heads]\n  score = s + f32(t[h])");
    bool found = false;
    for (const Expr &e : m.exprs)
      if (e.kind == ExprKind::Read) {
        CHECK(e.type == type);
        found = true;
      }
    CHECK(found);
  }
  Model zero = fields("  tensor t : f32[]\n  score = s * t[]");
  CHECK(zero.tensors.at(0).info.dims.empty());
  Model five = fields("  tensor t : f32[batch, heads, q, k, 2]\n  score = s + t[b, h, qi, k, 1]");
  CHECK(five.tensors.at(0).info.dims == std::vector<std::string>{"batch", "heads", "q", "k", "2"});
}
