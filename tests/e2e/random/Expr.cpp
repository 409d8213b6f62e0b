#include "tests/e2e/random/Expr.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace attune::e2e::random {

Rng::Rng(uint64_t seed) : state_(seed) {
  state_ = next(); // or neighbouring seeds would draw the same, one draw apart
}

uint64_t Rng::next() { // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double Rng::uniform(double lo, double hi) {
  return lo + (hi - lo) * std::ldexp(static_cast<double>(next() >> 11), -53);
}

double Rng::normal() {
  double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
  return radius * std::cos(2 * std::numbers::pi * uniform(0, 1));
}

std::string Node::text() const {
  std::string all;
  auto arg = args.begin();
  for (char c : form)
    if (c == '$')
      all += (arg++)->text();
    else
      all += c;
  return all;
}

double Node::size() const { return std::max(std::fabs(lo), std::fabs(hi)); }

int64_t Node::count() const {
  int64_t n = 1;
  for (const Node &arg : args)
    n += arg.count();
  return n;
}

Node makeBool(std::string form, std::vector<Node> args) {
  return {Type::Bool, std::move(form), std::move(args), 0, 1, 0, false};
}

} // namespace attune::e2e::random
