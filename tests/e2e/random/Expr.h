// A random expression of the spec language together with what is known of its value.
//
// The generator keeps, beside the text, the range that a value lies in and a bound of the error
// that f32 arithmetic may make in it. Both grow by the rules of interval and error arithmetic; an
// expression whose bound leaves what the tolerances allow is not made. So a difference from the
// float64 oracle is a fault of the compiler and not of an ill-conditioned formula, and values that
// jump (comparisons, floor, conversions) are only taken of numbers that f32 holds exactly.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attune::e2e::random {

/// Draws that depend on the seed alone, whatever the standard library.
class Rng {
public:
  explicit Rng(uint64_t seed);
  uint64_t next();
  /// 0 to n - 1.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  bool oneIn(int64_t n) { return below(n) == 0; }
  double uniform(double lo, double hi);
  double normal();
  template <class Container> const auto &pick(const Container &choices) {
    return *(std::begin(choices) + below(static_cast<int64_t>(std::size(choices))));
  }

private:
  uint64_t state_;
};

enum class Type : uint8_t { F32, I32, Bool };

struct Node {
  Type type = Type::F32;
  std::string form; ///< the text, with $ where an argument goes
  std::vector<Node> args;
  double lo = 0, hi = 0;
  double error = 0;   ///< f32: how far off f32 arithmetic may be
  bool whole = false; ///< f32: a whole number, and exact

  std::string text() const;
  double size() const; ///< the largest absolute value
  int64_t count() const;
};

Node makeBool(std::string form, std::vector<Node> args = {});

} // namespace attune::e2e::random
