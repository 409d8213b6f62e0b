// One digest per meaning: spellings that must agree, and meanings that must not.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <set>

using namespace attune::spec;
using namespace attune::spec::test;

namespace {

std::string digest(const std::string &body, const std::string &definitions = "") {
  return fields(body, definitions).digest;
}

/// An expression of the normal form, by its structure alone.
std::string structure(const NormalForm &normal, ExprId id) {
  if (id < 0)
    return "-";
  const Expr &e = normal.exprs.at(size_t(id));
  std::string text = std::to_string(int(e.kind)) + ":" + std::to_string(float(e.f)) + ":" +
                     std::to_string(e.i) + "(";
  for (ExprId arg : e.args)
    text += structure(normal, arg) + " ";
  return text + ")";
}

std::string structure(const Model &m) {
  return structure(m.normal, m.normal.scale) + structure(m.normal, m.normal.score) +
         structure(m.normal, m.normal.mask);
}

/// All spellings have one canonical text, and one normal form.
void same(const std::vector<std::string> &bodies, const std::string &definitions = "") {
  const Model first = fields(bodies[0], definitions);
  for (const std::string &body : bodies) {
    INFO(body);
    const Model m = fields(body, definitions);
    CHECK(m.canonical == first.canonical);
    CHECK(structure(m) == structure(first));
  }
}

} // namespace

TEST_CASE("Operand order, comparison direction, double negation") {
  same({"  mask = k <= q && k < 5", "  mask = k < 5 && k <= q", "  mask = q >= k && 5 > k",
        "  mask = !!(k <= q) && !(k >= 5)", "  mask = k < 5 && (k <= q && k < 5)"});
  same({"  mask = k == 3 || (q == 4 || b == 1)", "  mask = (b == 1 || 3 == k) || 4 == q"});
  same({"  score = s + 2.0 * h", "  score = h * 2.0 + s"});
  same({"  score = max(s, 1.0)", "  score = max(1.0, s)"});
  same({"  score = min(s, -(-s))", "  score = min(s, s)"});
  same({"  mask = !(k == q)", "  mask = q != k"});
  same({"  mask = (k & q) == (b | h ^ 3)", "  mask = (3 ^ h | b) == (q & k)"});
}

TEST_CASE("Names and forms of functions, lets and built-ins") {
  same({"  score = soft(s, 5.0)", "  score = 5.0 * tanh(s / 5.0)", "  score = softcap(s, 5)",
        "  let c = 5.0\n  score = softcap(s, c)",
        "  score = let a = 5.0 in let x = s / a in a * tanh(x)", "  score = other(5.0, s)",
        "  score = softcap(s, 10 / 2)"},
       "fn soft(x, c) = c * tanh(x / c)\nfn other(cap, z) = soft(z, cap)");
  same({"  mask = window(3)", "  mask = causal && window(3)", "  mask = k <= q && k > q - 3",
        "  mask = w(4)", "  mask = causal() && w(4)"},
       "fn w(n) = window(n - 1)");
  same({"  tensor slope : f32[heads]\n  score = s + alibi(slope)",
        "  score = s + slope[h] * (k - q)\n  tensor slope : f32[heads]"});
}

TEST_CASE("Order of fields, defaults, shapes, white space, comments") {
  std::string plain = parsed("attention a {\n  q, kv : bf16[tokens, 8 / 2, 64]\n}").digest;
  for (const char *text : {"// c\nattention other_name {\n  kv:bf16[tokens,heads=2,dim=64]\n\n  "
                           "out : bf16 // c\n  q : bf16[tokens, 8, (128 / 2)]\n}",
                           "attention a(n: int = 8) {\n  q, kv : bf16[tokens, n / 2, 64]\n  scale "
                           "= 1 / sqrt(dim)\n  mask = true\n  score = s\n}",
                           "attention a(n: int = 64, t: float = bf16) {\n  empty = zero\n  q : "
                           "t[tokens, 8, n]\n  k : t[tokens, 2, n]\n  v : t[tokens, 2, n]\n"
                           "  scale = 0.125\n  precision p = bf16\n  schedule { waves = 2 }\n}"}) {
    INFO(text);
    CHECK(parsed(text).digest == plain);
  }
  Model a = fields("  tensor a : f32[heads]\n  tensor b2 : f32[heads]\n  score = s + a[h] * b2[h]");
  Model b = fields("  tensor b2 : f32[heads]\n  score = s + b2[h] * a[h]\n  tensor a : f32[heads]");
  CHECK(a.digest == b.digest);
  CHECK(a.tensors.at(0).info.name == b.tensors.at(0).info.name);
}

TEST_CASE("A parameter is the literal it has") {
  std::string text =
      "attention a(w: int = 7) {\n  q, kv : bf16[tokens, 8 / 2, 64]\n  mask = window(w)\n}";
  CHECK(parsed(text).digest == digest("  mask = window(7)"));
  CHECK(parsed(text, {{"w", "9"}}).digest == digest("  mask = window(9)"));
}

TEST_CASE("Different meanings have different digests") {
  std::set<std::string> digests;
  std::vector<std::string> bodies = {"",
                                     "  out : f32",
                                     "  out : fp16",
                                     "  lse : f32 natural",
                                     "  lse : f32 base2",
                                     "  sink : f32[heads]",
                                     "  scale = 0.5",
                                     "  scalar x : f32\n  scale = x",
                                     "  scalar y : f32\n  scale = y",
                                     "  scalar y : i32\n  scale = y",
                                     "  mask = causal",
                                     "  mask = k < q",
                                     "  mask = q <= k",
                                     "  mask = window(3)",
                                     "  mask = window(4)",
                                     "  mask = window(3, 1)",
                                     "  mask = chunk(3)",
                                     "  mask = prefix(3)",
                                     "  mask = causal || prefix(3)",
                                     "  mask = causal && prefix(3)",
                                     "  score = s * 2",
                                     "  score = s + 2",
                                     "  score = s - 2",
                                     "  score = 2 - s",
                                     "  score = s / 3",
                                     "  score = s + (1.5 + s)",
                                     "  score = s + 1.5 - s",
                                     "  tensor t : f32[heads]\n  score = s + t[h]",
                                     "  tensor u : f32[heads]\n  score = s + u[h]",
                                     "  tensor t : f32[kv_heads]\n  score = s + t[hk]",
                                     "  tensor t : bf16[heads]\n  score = s + t[h]",
                                     "  tensor t : i32[tokens]\n  mask = document(t)",
                                     "  tensor t : i32[tokens] nondecreasing\n  mask = document(t)",
                                     "  tensor t : f32[heads, k]\n  score = s + t[h, k]",
                                     "  tensor t : f32[heads, q]\n  score = s + t[h, qi]"};
  for (const std::string &body : bodies) {
    INFO(body);
    CHECK(digests.insert(digest(body)).second);
  }
  for (const char *q : {"bf16[batch, seq, 8 / 2, 64]", "fp16[tokens, 8 / 2, 64]",
                        "bf16[tokens, 8 / 4, 64]", "bf16[tokens, 8 / 2, 128]"})
    CHECK(
        digests.insert(parsed("attention a {\n  q, kv : " + std::string(q) + "\n}").digest).second);
}

TEST_CASE("Float comparisons are not negated: NaN") {
  CHECK(digest("  tensor t : f32[k]\n  mask = !(t[k] < 1.0)") !=
        digest("  tensor t : f32[k]\n  mask = t[k] >= 1.0"));
}

TEST_CASE("The normal form: no calls, equal nodes are one, what changes nothing is not there") {
  const Model m = fields("  tensor slope : f32[heads]\n  score = softcap(s + alibi(slope), 5.0)\n"
                         "  mask = causal && window(8) && !(k > q)");
  std::set<std::string> all;
  for (size_t i = 0; i < m.normal.exprs.size(); ++i) {
    CHECK(m.normal.exprs[i].kind != ExprKind::Call);
    for (ExprId arg : m.normal.exprs[i].args)
      CHECK(size_t(arg) < i);
    CHECK(all.insert(structure(m.normal, ExprId(i))).second);
  }
  CHECK(m.normal.exprs.at(size_t(m.normal.mask)).args.size() == 2); // causal is in window
  for (const char *nothing : {"", "  mask = true\n  score = s", "  mask = true || causal"}) {
    const NormalForm normal = fields(nothing).normal;
    CHECK((normal.score < 0 && normal.mask < 0 && normal.scale < 0));
  }
  // A scale is a double until it is multiplied by log2(e).
  CHECK(digest("  scale = 0.088388347648318433") != digest("  scale = 0.08838834613561630249"));
}

TEST_CASE("Nodes of a Model are all used, operands before users") {
  Model m = fields("  let d = q - k\n  score = s + d * 2\n  mask = d >= 0 && window(5 + 3)");
  std::vector<int> uses(m.exprs.size());
  for (size_t i = 0; i < m.exprs.size(); ++i) {
    std::vector<ExprId> below = m.exprs[i].args;
    if (m.exprs[i].body >= 0)
      below.push_back(m.exprs[i].body);
    for (ExprId e : below) {
      CHECK(size_t(e) < i);
      ++uses[size_t(e)];
    }
  }
  for (ExprId root : {m.score, m.mask})
    ++uses[size_t(root)];
  for (size_t i = 0; i < uses.size(); ++i)
    CHECK(uses[i] > 0);
}
