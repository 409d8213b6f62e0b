// Every function of specs/lib means what its comment says, against a definition written here. A
// function without a row fails, so the library can't grow past its tests.
#include "compiler/spec/Imports.h"
#include "compiler/spec/Parser.h"
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace attune::spec;
using namespace attune::spec::test;

namespace {

constexpr int64_t kLen = 24;
const std::vector<int64_t> kDoc = {0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3,
                                   3, 3, 3, 3, 3, 4, 4, 5, 5, 5, 5, 6};

int64_t clampTo(int64_t x, int64_t low, int64_t high) { return std::max(std::min(x, high), low); }
bool near(int64_t a, int64_t b, int64_t r, int64_t n) {
  return std::abs(a - clampTo(b, r, n - 1 - r)) <= r;
}

/// A tree over 24 tokens: the first 4 are context, 4 is the root, the parent of 5 + i is 4 + i / 2.
int64_t parentOf(int64_t t) { return t <= 4 ? t : 4 + (t - 5) / 2; }
bool isAncestor(int64_t k, int64_t q) {
  for (int step = 0; step < 30; ++step, q = parentOf(q))
    if (k == q)
      return true;
  return false;
}

struct MaskRow {
  std::string call;
  std::function<bool(int64_t q, int64_t k)> sees;
};

const std::vector<MaskRow> &maskRows() {
  using I = int64_t;
  auto doc = [](I t) { return kDoc[size_t(t)]; };
  static const std::vector<MaskRow> rows = {
      {"dilated_window(3, 4)", [](I q, I k) { return k == q || k == q - 4 || k == q - 8; }},
      {"global_window(2, 3)", [](I q, I k) { return k < 2 || q < 2 || std::abs(q - k) <= 3; }},
      {"attention_sink(2, 5)", [](I q, I k) { return k <= q && (k < 2 || q - k < 5); }},
      {"natten_1d(3)", [](I q, I k) { return near(k, q, 3, kLen); }},
      {"natten_2d(6, 1)",
       [](I q, I k) { return near(k / 6, q / 6, 1, 4) && near(k % 6, q % 6, 1, 6); }},
      {"near(k, q, 2, 24)", [](I q, I k) { return near(k, q, 2, 24); }},
      {"sliding_tile_2d(6, 2, 3, 0, 1)",
       [](I q, I k) { return q / 6 / 2 == k / 6 / 2 && std::abs(q % 6 / 3 - k % 6 / 3) <= 1; }},
      {"sliding_tile_3d(2, 4, 1, 1, 2, 1, 0, 1)",
       [](I q, I k) {
         return std::abs(q / 8 - k / 8) <= 1 && q % 8 / 4 == k % 8 / 4 &&
                std::abs(q % 4 / 2 - k % 4 / 2) <= 1;
       }},
      {"causal_document(doc)", [=](I q, I k) { return k <= q && doc(q) == doc(k); }},
      {"shared_prefix(3, doc)", [=](I q, I k) { return k <= q && (k < 3 || doc(q) == doc(k)); }},
      {"prefix_lm(n)", [](I q, I k) { return k <= q || k < 5; }},
      {"prefix_document(doc, last)",
       [=](I q, I k) { return doc(q) == doc(k) && (k <= q || k < q + 2); }},
      {"left_padding(n)", [](I, I k) { return k >= 5; }},
      {"right_padding(n)", [](I, I k) { return k < 5; }},
      {"block_causal(5)", [](I q, I k) { return k / 5 <= q / 5; }},
      {"block_diffusion(3, 12)",
       [](I q, I k) {
         I bq = q % 12 / 3, bk = k % 12 / 3;
         bool cleanQ = q >= 12, cleanK = k >= 12;
         return cleanQ ? cleanK && bk <= bq : (cleanK ? bk < bq : bk == bq);
       }},
      {"tree(parent)", [](I q, I k) { return k < 4 || isAncestor(k, q); }},
      {"tree_interval(first, last)", [=](I q, I k) { return k < 4 || (q <= k && q + 2 <= k + 2); }},
      {"flamingo(image, 6)", [](I q, I k) { return k / 6 == q % 4; }},
  };
  return rows;
}

Point point() {
  using Indices = std::vector<int64_t>;
  Point p;
  p.b = 1;
  p.kvLen = kLen;
  p.qLen = kLen - 4; // ctx = 4
  p.tensors["doc"] = [](Indices i) { return double(kDoc.at(size_t(i[0]))); };
  p.tensors["n"] = [](Indices i) { return i[0] == 1 ? 5.0 : 1000.0; };
  p.tensors["last"] = [](Indices i) { return double(i[0] + 2); };
  p.tensors["first"] = [](Indices i) { return double(-i[0]); };
  p.tensors["parent"] = [](Indices i) { return double(parentOf(i[0])); };
  p.tensors["image"] = [](Indices i) { return i[0] == 1 ? double((i[1] + 4) % 4) : -1.0; };
  return p;
}

/// Is `name` a word of `text`?
bool mentions(const std::string &text, const std::string &name) {
  auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end])))
      return true;
  }
  return false;
}

/// A spec that declares just the tensors that `text` names.
Model withTensors(const std::string &field, const std::string &text,
                  const std::vector<std::pair<std::string, std::string>> &tensors) {
  std::string body = "  " + field + " = " + text + "\n";
  for (const auto &[name, type] : tensors)
    if (mentions(text, name))
      body += "  tensor " + name + " : " + type + "\n";
  return fields(body, "import \"masks.attn\"\nimport \"scores.attn\"");
}

std::string nameOf(const std::string &call) { return call.substr(0, call.find_first_of("( ")); }

} // namespace

TEST_CASE("Masks of the library, pair by pair") {
  for (const MaskRow &row : maskRows()) {
    INFO(row.call);
    Model m = withTensors("mask", row.call,
                          {{"doc", "i32[tokens]"},
                           {"n", "i32[batch]"},
                           {"last", "i32[tokens]"},
                           {"first", "i32[tokens]"},
                           {"parent", "i32[tokens]"},
                           {"image", "i32[batch, q]"}});
    Point p = point();
    bool drafted = row.call.rfind("tree", 0) == 0;
    for (p.q = drafted ? 4 : 0; p.q < kLen; ++p.q)
      for (p.k = 0; p.k < kLen; ++p.k) {
        bool want = row.sees(p.q, p.k);
        if (row.call.rfind("tree_interval", 0) == 0)
          want = p.k < 4 || (-p.k <= -p.q && p.q + 2 <= p.k + 2);
        if ((evaluate(m, m.mask, p) != 0) != want)
          FAIL("q " << p.q << " k " << p.k << " want " << want);
      }
  }
}

namespace {

struct ScoreRow {
  std::string expr;
  std::function<double(double s, int64_t h, int64_t q, int64_t k)> want;
};

/// T5's own bucketing of a distance, from the formula of its paper.
int64_t t5Bucket(int64_t n, int64_t buckets, int64_t far) {
  int64_t half = buckets / 2;
  if (n < half)
    return n;
  double spread = std::log(double(n) / double(half)) / std::log(double(far) / double(half)) *
                  double(buckets - half);
  return std::min(half + int64_t(spread + 1e-9), buckets - 1);
}

double entry(int64_t h, int64_t i) { return 0.25 * double(h) + 0.03125 * double(i); }

const std::vector<ScoreRow> &scoreRows() {
  using I = int64_t;
  static const std::vector<ScoreRow> rows = {
      {"temperature(s, t)", [](double s, I h, I, I) { return s * (1 + double(h)); }},
      {"log_length_scale(s, 16)",
       [](double s, I, I q, I) { return s * std::max(1.0, std::log(q + 1.0) / std::log(16.0)); }},
      {"s + alibi_paper_bias",
       [](double s, I h, I q, I k) {
         return s + std::pow(2.0, -8.0 * double(h + 1) / 8) * double(k - q);
       }},
      {"s + alibi_symmetric_bias(t)",
       [](double s, I h, I q, I k) { return s - (1 + double(h)) * std::fabs(double(q - k)); }},
      {"s + t5_causal_bucket(max(q - k, 0), 16, 20)",
       [](double s, I, I q, I k) { return s + double(t5Bucket(std::max<I>(q - k, 0), 16, 20)); }},
      {"s + t5_causal_bias(table, 16, 20)",
       [](double s, I h, I q, I k) {
         return s + entry(h, t5Bucket(std::max<I>(q - k, 0), 16, 20));
       }},
      {"s + t5_bias(table, 16, 20)",
       [](double s, I h, I q, I k) {
         return s + entry(h, (k > q ? 8 : 0) + t5Bucket(std::abs(q - k), 8, 20));
       }},
      {"s + relative_bias(table, 3)",
       [](double s, I h, I q, I k) { return s + entry(h, clampTo(k - q, -3, 3) + 3); }},
      {"s + sandwich_bias(t)",
       [](double s, I h, I q, I k) {
         double x = double(q - k), sum = 0;
         for (double base : {1.0, 10.0, 100.0, 1000.0})
           sum += std::cos(x / base);
         return s + (1 + double(h)) * sum;
       }},
      {"s + qq_bias(pairs)",
       [](double s, I, I q, I k) { return k < 4 ? s : s + entry(q - 4, k - 4); }},
      {"hard_cap(s, 2)", [](double s, I, I, I) { return s > 2    ? 2
                                                        : s < -2 ? -2
                                                                 : s; }},
  };
  return rows;
}

} // namespace

TEST_CASE("Scores of the library, pair by pair") {
  for (const ScoreRow &row : scoreRows()) {
    INFO(row.expr);
    Model m =
        withTensors("score", row.expr,
                    {{"t", "f32[heads]"}, {"table", "f32[heads, 16]"}, {"pairs", "f32[q, q]"}});
    Point p = point();
    auto table = [](std::vector<int64_t> i) { return entry(i.at(0), i.at(1)); };
    p.tensors = {{"t", [](std::vector<int64_t> i) { return 1.0 + double(i.at(0)); }},
                 {"table", table},
                 {"pairs", table}};
    for (p.h = 0; p.h < 8; p.h += 7)
      for (p.q = 4; p.q < kLen; ++p.q)
        for (p.k = 0; p.k < kLen; ++p.k)
          for (double s : {-3.0, 0.5, 2.5}) {
            p.s = s;
            INFO("h " << p.h << " q " << p.q << " k " << p.k);
            REQUIRE(evaluate(m, m.score, p) == Approx(row.want(s, p.h, p.q, p.k)).margin(1e-9));
          }
  }
}

TEST_CASE("Every function of the library has a row above") {
  std::set<std::string> tested;
  for (const MaskRow &row : maskRows())
    tested.insert(nameOf(row.call));
  for (const ScoreRow &row : scoreRows())
    tested.insert(nameOf(row.expr.rfind("s + ", 0) == 0 ? row.expr.substr(4) : row.expr));
  size_t functions = 0;
  for (const LibraryFile &file : libraryFiles()) {
    Diagnostics diags;
    auto ast = parseFile(std::string(file.name), std::string(file.text), diags);
    CHECK(diags.empty());
    for (const FnDecl &fn : ast->fns) {
      INFO(fn.name.name);
      CHECK(tested.count(fn.name.name) == 1);
      ++functions;
    }
  }
  CHECK(functions == tested.size());
}
