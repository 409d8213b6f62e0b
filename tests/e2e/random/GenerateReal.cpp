// f32 expressions: each form with the range and the error of its value.
#include "tests/e2e/random/Generator.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attune::e2e::random {

namespace {

constexpr double unit = 1.2e-7; ///< of f32, one rounding
constexpr double mostError = 4e-4, mostSize = 250;
/// Whole numbers up to here survive sums and quotients in f32.
constexpr double mostWhole = 1 << 22;

Node makeReal(std::string form, std::vector<Node> args, double lo, double hi, double error) {
  Node n{Type::F32, std::move(form), std::move(args), lo, hi, error, false};
  n.error += unit * n.size();
  return n;
}

Node makeWhole(std::string form, std::vector<Node> args, double lo, double hi) {
  return {Type::F32, std::move(form), std::move(args), lo, hi, 0, true};
}

/// min and max over the corners of two ranges.
template <class F> std::pair<double, double> corners(const Node &a, const Node &b, F f) {
  double c[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}

/// A function that rises with its argument, steepest by `slope` over the argument's range.
template <class F> Node rising(std::string form, const Node &x, F f, double slope, double own) {
  return makeReal(std::move(form), {x}, f(x.lo), f(x.hi), x.error * slope + own);
}

Node absOf(const Node &x) {
  double least = x.lo > 0 ? x.lo : x.hi < 0 ? -x.hi : 0;
  Node n = x.whole ? makeWhole("abs($)", {x}, least, x.size())
                   : makeReal("abs($)", {x}, least, x.size(), x.error);
  return n;
}

Node plus(double c, const Node &x) {
  return makeReal(fmt::format("({:.4g} + $)", c), {x}, c + x.lo, c + x.hi, x.error);
}

} // namespace

Node Generator::orElse(Node made, Node otherwise) const {
  bool fits = made.whole ? made.size() <= mostWhole
                         : made.error <= mostError * (facts_.huge ? 2 : 1) &&
                               (made.size() <= mostSize || facts_.huge);
  return fits ? made : otherwise;
}

Node Generator::literal(double value) {
  std::string text = fmt::format("{:.4g}", value);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  double exact = std::stod(text);
  if (value < 0)
    text = "(" + text + ")";
  bool whole = exact == std::floor(exact);
  return {Type::F32, text, {}, exact, exact, whole ? 0 : unit * std::fabs(exact), whole};
}

Node Generator::realLeaf() {
  switch (rng_.below(5)) {
  case 0:
    return literal(rng_.uniform(-3, 3));
  case 1: {
    if (scalars.size() < 3)
      scalars.push_back({fresh("t"), true, static_cast<float>(rng_.uniform(-2, 2))});
    for (const ScalarDecl &s : scalars)
      if (s.real && rng_.oneIn(2))
        return {Type::F32, s.name, {}, s.value, s.value, 0, false};
    return wholeReal(0);
  }
  case 2:
  case 3:
    return element(rng_.pick(std::vector{DType::F32, DType::F32, DType::F16, DType::BF16}));
  default:
    return wholeReal(1);
  }
}

/// A whole number in f32: what may be compared, rounded and converted.
Node Generator::wholeReal(int depth) {
  if (depth > 0)
    switch (rng_.below(7)) {
    case 0: {
      Node a = wholeReal(depth - 1);
      double n = static_cast<double>(rng_.between(1, 100));
      return makeWhole(fmt::format("floor($ / {:.1f})", n), {a}, std::floor(a.lo / n),
                       std::floor(a.hi / n));
    }
    case 1: {
      Node a = wholeReal(depth - 1);
      double n = static_cast<double>(rng_.between(1, 100));
      return makeWhole(fmt::format("($ % {:.1f})", n), {a}, 0, n - 1);
    }
    case 2: {
      Node a = wholeReal(depth - 1), b = wholeReal(depth - 1);
      return orElse(makeWhole("($ + $)", {a, b}, a.lo + b.lo, a.hi + b.hi), a);
    }
    case 3: {
      Node a = wholeReal(depth - 1), b = wholeReal(depth - 1);
      auto [lo, hi] = corners(a, b, [](double x, double y) { return x * y; });
      return orElse(makeWhole("($ * $)", {a, b}, lo, hi), b);
    }
    case 4: {
      Node a = wholeReal(depth - 1);
      return makeWhole("ceil($ * 0.5)", {a}, std::ceil(a.lo / 2), std::ceil(a.hi / 2));
    }
    default:
      break;
    }
  Node i = integer(depth);
  if (i.size() > mostWhole)
    i = integerLeaf();
  return makeWhole("f32($)", {i}, i.lo, i.hi);
}

Node Generator::realUnary(int depth) {
  Node x = real(depth - 1);
  double own = 4 * unit;
  switch (rng_.below(13)) {
  case 0:
    return orElse(rising(
                      "exp($)", x, [](double v) { return std::exp(v); }, std::exp(x.hi),
                      10 * unit * std::exp(x.hi)),
                  rising("tanh($)", x, [](double v) { return std::tanh(v); }, 1, own));
  case 1:
    return orElse(rising(
                      "exp2($)", x, [](double v) { return std::exp2(v); }, std::exp2(x.hi),
                      10 * unit * std::exp2(x.hi)),
                  absOf(x));
  case 2: {
    Node y = plus(rng_.uniform(0.1, 2), absOf(x));
    return rising("log($)", y, [](double v) { return std::log(v); }, 1 / y.lo, own);
  }
  case 3: {
    Node y = plus(rng_.uniform(0.1, 2), absOf(x));
    return rising("log2($)", y, [](double v) { return std::log2(v); }, 2 / y.lo, own);
  }
  case 4:
    return rising("tanh($)", x, [](double v) { return std::tanh(v); }, 1, own);
  case 5:
    return rising("sigmoid($)", x, [](double v) { return 1 / (1 + std::exp(-v)); }, 1, own);
  case 6: {
    Node y = plus(rng_.uniform(0.1, 2), absOf(x));
    return rising("sqrt($)", y, [](double v) { return std::sqrt(v); }, 1 / std::sqrt(y.lo), own);
  }
  case 7: {
    Node y = plus(rng_.uniform(0.2, 2), absOf(x));
    return makeReal("rsqrt($)", {y}, 1 / std::sqrt(y.hi), 1 / std::sqrt(y.lo),
                    y.error * std::pow(y.lo, -1.5) + own / std::sqrt(y.lo));
  }
  case 8:
  case 9: {
    const char *form = rng_.oneIn(2) ? "sin($)" : "cos($)";
    return orElse(makeReal(form, {x}, -1, 1, x.error + own + 4 * unit * x.size()), x);
  }
  case 10: { // the power of a number, by a small exponent
    Node y = plus(rng_.uniform(0.1, 1), absOf(x));
    double p = std::round(rng_.uniform(-2, 2.5) * 4) / 4;
    double a = std::pow(y.lo, p), b = std::pow(y.hi, p), steep = std::max(a / y.lo, b / y.hi);
    return orElse(makeReal(fmt::format("pow($, {:.2f})", p), {y}, std::min(a, b), std::max(a, b),
                           y.error * std::fabs(p) * steep + 20 * unit * std::max(a, b)),
                  y);
  }
  case 11:
    return makeReal("(-$)", {x}, -x.hi, -x.lo, x.error);
  default: { // a cap of any size: tiny ones saturate, huge ones do nothing
    double cap = std::exp(rng_.uniform(-3, 14));
    return makeReal(fmt::format("softcap($, {:.3f})", cap), {x}, cap * std::tanh(x.lo / cap),
                    cap * std::tanh(x.hi / cap), x.error + 8 * unit * x.size());
  }
  }
}

Node Generator::realBinary(int depth) {
  Node a = real(depth - 1), b = real(depth - 1);
  double error = a.error + b.error;
  switch (rng_.below(6)) {
  case 0:
    return orElse(makeReal("($ + $)", {a, b}, a.lo + b.lo, a.hi + b.hi, error), a);
  case 1:
    return orElse(makeReal("($ - $)", {a, b}, a.lo - b.hi, a.hi - b.lo, error), b);
  case 2: {
    auto [lo, hi] = corners(a, b, [](double x, double y) { return x * y; });
    return orElse(makeReal("($ * $)", {a, b}, lo, hi, a.size() * b.error + b.size() * a.error), a);
  }
  case 3: {
    Node c = plus(rng_.uniform(0.25, 3), absOf(b));
    auto [lo, hi] = corners(a, c, [](double x, double y) { return x / y; });
    double own = a.error / c.lo + a.size() * c.error / (c.lo * c.lo) + 4 * unit * a.size() / c.lo;
    return orElse(makeReal("($ / $)", {a, c}, lo, hi, own), b);
  }
  case 4:
    return makeReal("min($, $)", {a, b}, std::min(a.lo, b.lo), std::min(a.hi, b.hi), error);
  default:
    return makeReal("max($, $)", {a, b}, std::max(a.lo, b.lo), std::max(a.hi, b.hi), error);
  }
}

Node Generator::realStructure(int depth) {
  Node a = real(depth - 1);
  switch (rng_.below(5)) {
  case 0:
  case 1: {
    Node c = condition(depth - 1), b = real(depth - 1);
    return makeReal(rng_.oneIn(4) ? "where($, $, $)" : "select($, $, $)", {c, a, b},
                    std::min(a.lo, b.lo), std::max(a.hi, b.hi), std::max(a.error, b.error));
  }
  case 2: {
    Node b = real(depth - 1);
    std::string x = fresh("x");
    return orElse(makeReal(fmt::format("(let {0} = $ in {0} * 0.5 + $ - {0} * {0} * 0.01)", x),
                           {a, b}, a.lo / 2 + b.lo - a.size() * a.size() * 0.01, a.hi / 2 + b.hi,
                           a.error * (0.5 + 0.02 * a.size()) + b.error),
                  a);
  }
  case 3: // bent where its argument crosses 0, without a jump
    return makeReal("leaky($)", {a}, std::min(a.lo, a.lo * 0.25), std::max(a.hi, a.hi * 0.25),
                    a.error);
  default: {
    Node b = real(depth - 1);
    return makeReal("blend($, $)", {a, b}, std::min(a.lo, b.lo), std::max(a.hi, b.hi),
                    a.error + b.error);
  }
  }
}

Node Generator::real(int depth) {
  if (depth <= 0)
    return realLeaf();
  switch (rng_.below(8)) {
  case 0:
    return realLeaf();
  case 1:
    return wholeReal(depth);
  case 2:
  case 3:
    return realUnary(depth);
  case 4:
  case 5:
    return realStructure(depth);
  default:
    return realBinary(depth);
  }
}

/// The logit inside of something, so that most scores depend on it.
Node Generator::aroundLogit(int depth) {
  double most = facts_.huge ? 1600 : 8;
  Node s{Type::F32, "s", {}, -most, most, 3e-7 * most, false};
  for (int i = 0; i < depth; ++i) {
    Node other = real(depth - 1);
    switch (rng_.below(9)) {
    case 0:
      s = orElse(
          makeReal("($ + $)", {s, other}, s.lo + other.lo, s.hi + other.hi, s.error + other.error),
          s);
      break;
    case 1: {
      auto [lo, hi] = corners(s, other, [](double x, double y) { return x * y; });
      s = orElse(
          makeReal("($ * $)", {s, other}, lo, hi, s.size() * other.error + other.size() * s.error),
          s);
      break;
    }
    case 2:
    case 3: {
      double cap = std::exp(rng_.uniform(-1, 9));
      s = orElse(makeReal(fmt::format("softcap($, {:.3f})", cap), {s}, cap * std::tanh(s.lo / cap),
                          cap * std::tanh(s.hi / cap), s.error + 8 * unit * s.size()),
                 s);
      break;
    }
    case 4:
      s = makeReal("select($, $, $)", {condition(depth - 1), s, other}, std::min(s.lo, other.lo),
                   std::max(s.hi, other.hi), std::max(s.error, other.error));
      break;
    case 5:
      s = makeReal("leaky($)", {s}, std::min(s.lo, s.lo * 0.25), std::max(s.hi, s.hi * 0.25),
                   s.error);
      break;
    case 6:
      s = makeReal("max($, $)", {s, other}, std::max(s.lo, other.lo), std::max(s.hi, other.hi),
                   s.error + other.error);
      break;
    case 7:
      s = orElse(makeReal("($ - log(1.0 + exp($)))", {other, s}, other.lo - std::max(s.hi, 0.0) - 1,
                          other.hi, s.error + other.error + 8 * unit),
                 s);
      if (s.form.size() > 1 && s.args.size() == 2 && s.size() > 80) // exp overflows beyond
        s = s.args[1];
      break;
    default:
      s = orElse(
          makeReal("($ - $)", {s, other}, s.lo - other.hi, s.hi - other.lo, s.error + other.error),
          s);
    }
  }
  return s;
}

Node Generator::score() {
  Node s = aroundLogit(int(rng_.between(1, 4)));
  if (tensors.size() >= 4 || !rng_.oneIn(4))
    return s;
  // A bias that hides keys by -inf, as callers who have no mask do.
  TensorDecl hiding{fresh("hide"), rng_.oneIn(2) ? DType::F32 : DType::BF16, {"heads", "k"}, false};
  tensors.push_back(hiding);
  return makeReal("($ + " + hiding.name + "[h, k])", {s}, s.lo - 2, s.hi + 2, s.error);
}

} // namespace attune::e2e::random
