// i32 and bool expressions, captured tensors and their indices.
#include "tests/e2e/random/Generator.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attune::e2e::random {

namespace {

constexpr double least = -2147483648.0, most = 2147483647.0;

Node makeInt(std::string form, std::vector<Node> args, double lo, double hi) {
  // Beyond i32 a value wraps; then it may be anything.
  bool wraps = lo < least || hi > most;
  return {Type::I32, std::move(form), std::move(args), wraps ? least : lo, wraps ? most : hi, 0,
          false};
}

constexpr const char *comparisons[] = {"==", "!=", "<", "<=", ">", ">="};

/// What drawn elements of a type lie in: ids for whole numbers, and small floats.
std::pair<double, double> valuesOf(DType t) {
  switch (t) {
  case DType::Bool:
    return {0, 1};
  case DType::U8:
    return {0, 200};
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    return {-2, 2};
  default:
    return {-20, 100};
  }
}

} // namespace

const std::vector<FunctionDecl> &functionPool() {
  static const std::vector<FunctionDecl> pool{
      {"blend", "fn blend(a, b) = let w = f32(k % 4) * 0.25 in a * w + b * (1.0 - w)"},
      {"far_from", "fn far_from(n, d) = q - k >= n || k - q > d"},
      {"leaky", "fn leaky(x) = select(x > 0.0, x, 0.25 * x)"},
      {"stripes", "fn stripes(n, m) = (q + n) % m == k % m"},
  };
  return pool;
}

std::string TensorDecl::text() const {
  return fmt::format("tensor {} : {}[{}]{}", name, nameOf(dtype), fmt::join(dims, ", "),
                     ascending ? " nondecreasing" : "");
}

Node Generator::literal(int64_t v) {
  double d = static_cast<double>(v);
  return makeInt(v < 0 ? fmt::format("({})", v) : fmt::format("{}", v), {}, d, d);
}

Node Generator::length(int64_t lo, int64_t hi) {
  int64_t value = rng_.between(lo, hi);
  double v = static_cast<double>(value);
  switch (rng_.below(6)) {
  case 0: {
    ParamDecl p{fresh("n"), "int", std::to_string(value), {}};
    if (rng_.oneIn(2)) {
      p.defaultText = std::to_string(rng_.between(lo, hi));
      p.given = std::to_string(value);
    }
    params.push_back(p);
    return makeInt(p.name, {}, v, v);
  }
  case 1:
    scalars.push_back({fresh("w"), false, v});
    return makeInt(scalars.back().name, {}, v, v);
  case 2: {
    Node e = element(DType::I32);
    return makeInt(fmt::format("max({}, abs($))", lo), {e}, std::max(e.lo, double(lo)), e.hi);
  }
  default:
    return literal(value);
  }
}

Node Generator::integerLeaf() {
  double q = static_cast<double>(facts_.longestQ), kv = static_cast<double>(facts_.longestKv);
  switch (rng_.below(14)) {
  case 0:
  case 1:
    return makeInt("q", {}, facts_.shortKv ? -q : 0, kv);
  case 2:
  case 3:
    return makeInt("k", {}, 0, kv);
  case 4:
    return makeInt("h", {}, 0, facts_.qHeads - 1);
  case 5:
    return makeInt("hk", {}, 0, facts_.kvHeads - 1);
  case 6:
    return makeInt("b", {}, 0, facts_.batch - 1);
  case 7:
    return makeInt("qi", {}, 0, q);
  case 8:
    return makeInt("ctx", {}, -q, kv);
  case 9:
    return makeInt(rng_.oneIn(2) ? "q_len" : "kv_len", {}, 0, std::max(q, kv));
  case 10:
    return makeInt(rng_.oneIn(2) ? "heads" : "kv_heads", {}, 1, facts_.qHeads);
  case 11:
    return element(
        rng_.pick(std::vector{DType::I32, DType::I16, DType::I8, DType::U8, DType::I64}));
  case 12:
    return length(1, 200);
  default:
    if (rng_.oneIn(6)) { // where sums wrap
      static constexpr int64_t edges[] = {2147483647, -2147483647, 1 << 30, 65536, -4096};
      return literal(rng_.pick(edges));
    }
    return literal(rng_.between(-70, 300));
  }
}

Node Generator::integerBinary(int depth) {
  Node a = integer(depth - 1), b = integer(depth - 1);
  double size = a.size() * b.size();
  switch (rng_.below(12)) {
  case 0:
  case 1:
    return makeInt("($ + $)", {a, b}, a.lo + b.lo, a.hi + b.hi);
  case 2:
  case 3:
    return makeInt("($ - $)", {a, b}, a.lo - b.hi, a.hi - b.lo);
  case 4:
    return makeInt("($ * $)", {a, b}, -size, size);
  case 5: // a divisor that may be 0 at run time, and the same guarded
    return makeInt("($ / select($ == 0, 3, $))", {a, b, b}, -a.size() - 1, a.size() + 1);
  case 6: {
    Node n = literal(rng_.oneIn(3) ? -rng_.between(1, 40) : rng_.between(1, 130));
    return rng_.oneIn(2) ? makeInt("($ / $)", {a, n}, -a.size() - 1, a.size() + 1)
                         : makeInt("($ % $)", {a, n}, std::min(0.0, n.lo), std::max(0.0, n.hi));
  }
  case 7:
    return makeInt("min($, $)", {a, b}, std::min(a.lo, b.lo), std::min(a.hi, b.hi));
  case 8:
    return makeInt("max($, $)", {a, b}, std::max(a.lo, b.lo), std::max(a.hi, b.hi));
  case 9:
    return makeInt(rng_.pick(std::vector<std::string>{"($ & $)", "($ | $)", "($ ^ $)"}), {a, b},
                   least, most);
  case 10: {
    int64_t n = rng_.below(6);
    return rng_.oneIn(2)
               ? makeInt(fmt::format("($ >> {})", n), {a}, std::floor(std::ldexp(a.lo, -int(n))),
                         std::floor(std::ldexp(a.hi, -int(n))))
               : makeInt(fmt::format("($ << {})", n), {a}, std::ldexp(a.lo, int(n)),
                         std::ldexp(a.hi, int(n)));
  }
  default:
    return makeInt("select($, $, $)", {condition(depth - 1), a, b}, std::min(a.lo, b.lo),
                   std::max(a.hi, b.hi));
  }
}

Node Generator::integer(int depth) {
  if (depth <= 0)
    return integerLeaf();
  switch (rng_.below(8)) {
  case 0:
    return integerLeaf();
  case 1: {
    Node a = integer(depth - 1);
    return makeInt("abs($)", {a}, 0, a.size());
  }
  case 2: {
    Node a = integer(depth - 1);
    return makeInt("(-$)", {a}, -a.hi, -a.lo);
  }
  case 3: {
    Node x = wholeReal(depth - 1);
    return makeInt("i32($)", {x}, x.lo, x.hi);
  }
  case 4:
    return makeInt("i32($)", {condition(depth - 1)}, 0, 1);
  default:
    return integerBinary(depth);
  }
}

Node Generator::comparison(int depth) {
  std::string op = rng_.pick(comparisons);
  if (rng_.oneIn(5))
    return makeBool("($ " + op + " $)", {wholeReal(depth), wholeReal(depth)});
  return makeBool("($ " + op + " $)", {integer(depth), integer(depth)});
}

Node Generator::conditionLeaf() {
  switch (rng_.below(8)) {
  case 0:
    return element(DType::Bool);
  case 1:
    return makeBool(rng_.oneIn(2) ? "true" : "false");
  case 2:
  case 3:
    return pattern();
  default:
    return comparison(1);
  }
}

Node Generator::condition(int depth) {
  if (depth <= 0)
    return conditionLeaf();
  Node a = condition(depth - 1);
  switch (rng_.below(9)) {
  case 0:
  case 1:
    return makeBool("($ && $)", {a, condition(depth - 1)});
  case 2:
  case 3:
    return makeBool("($ || $)", {a, condition(depth - 1)});
  case 4:
    return makeBool("(!$)", {a});
  case 5:
    return makeBool("($ ^ $)", {a, condition(depth - 1)});
  case 6:
    return makeBool(rng_.oneIn(2) ? "($ == $)" : "($ != $)", {a, condition(depth - 1)});
  case 7:
    return makeBool("select($, $, $)", {a, condition(depth - 1), condition(depth - 1)});
  default:
    return comparison(depth);
  }
}

/// A dimension and an index that lies inside of it for every row and key.
std::pair<std::string, Node> Generator::dimension() {
  switch (rng_.below(9)) {
  case 0:
  case 1:
    return {"heads", makeInt("h", {}, 0, 0)};
  case 2:
    return {"kv_heads", makeInt("hk", {}, 0, 0)};
  case 3:
    return {"batch", makeInt("b", {}, 0, 0)};
  case 4:
    return {"tokens", makeInt(rng_.oneIn(2) ? "k" : facts_.shortKv ? "max(q, 0)" : "q", {}, 0, 0)};
  case 5:
    return {"q", makeInt(rng_.oneIn(3) ? "(q_len - 1 - qi)" : "qi", {}, 0, 0)};
  case 6:
    if (causal_ && !facts_.shortKv && rng_.oneIn(2)) // the mask hides where it would be negative
      return {"k", makeInt("(q - k)", {}, 0, 0)};
    return {"k", makeInt(rng_.oneIn(3) ? "(kv_len - 1 - k)" : "k", {}, 0, 0)};
  default: {
    int64_t n = rng_.between(1, 40);
    std::string form =
        rng_.oneIn(2) ? fmt::format("($ % {})", n) : fmt::format("max(min($, {}), 0)", n - 1);
    return {std::to_string(n), makeInt(form, {integer(1)}, 0, 0)};
  }
  }
}

Node Generator::elementNode(const TensorDecl &t, std::string form,
                            std::vector<Node> indices) const {
  auto [lo, hi] = valuesOf(t.dtype);
  if (t.dtype == DType::Bool)
    return makeBool(std::move(form), std::move(indices));
  if (t.dtype == DType::F32 || t.dtype == DType::F16 || t.dtype == DType::BF16)
    return {Type::F32, std::move(form), std::move(indices), lo, hi, 0, false};
  return makeInt(std::move(form), std::move(indices), lo, hi);
}

Node Generator::element(DType dtype) {
  if (tensors.size() >= 3) // registers and memory are finite: no more than a few
    switch (dtype) {
    case DType::Bool:
      return makeBool("(qi % 2 == 0)");
    case DType::F32:
    case DType::F16:
    case DType::BF16:
      return literal(rng_.uniform(-1, 1));
    default:
      return literal(rng_.below(50));
    }
  TensorDecl t{fresh("a"), dtype, {}, false};
  tensors.push_back(t); // counted before its indices are made, which may want tensors too
  size_t at = tensors.size() - 1;
  int64_t rank = rng_.oneIn(20) ? 8 : rng_.below(4);
  std::vector<Node> indices;
  std::string form = t.name + "[";
  bool positions = false;
  for (int64_t i = 0; i < rank; ++i) {
    auto [name, index] =
        rank == 8 ? std::pair{std::string("2"), literal(rng_.below(2))} : dimension();
    bool long_ = name == "tokens" || name == "k" || name == "q";
    if (long_ && positions && rank > 2) // keep it small
      name = "heads", index = makeInt("h", {}, 0, 0);
    positions |= long_;
    t.dims.push_back(name);
    indices.push_back(index);
    form += i ? ", $" : "$";
  }
  tensors[at] = t;
  return elementNode(t, form + "]", indices);
}

} // namespace attune::e2e::random
