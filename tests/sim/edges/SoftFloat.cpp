#include "tests/sim/edges/SoftFloat.h"
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

namespace simtest {
namespace {

constexpr int kTop = 124; // where sums are aligned: room for a carry, a borrow and the sign

int topBit(Wide x) {
  uint64_t high = uint64_t(x >> 64);
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(uint64_t(x));
}

/// x >> n with the bits that fall out gathered in bit 0.
Wide jammed(Wide x, int n) {
  if (n > 126)
    return x != 0;
  return (x >> n) | Wide((x & ((Wide(1) << n) - 1)) != 0);
}

bool roundsUp(Wide rest, Wide half, bool odd, bool negative, Rounding rounding) {
  switch (rounding) {
  case Rounding::Even:
    return rest > half || (rest == half && odd);
  case Rounding::Up:
    return rest != 0 && !negative;
  case Rounding::Down:
    return rest != 0 && negative;
  case Rounding::Zero:
    break;
  }
  return false;
}

/// sig * 2^exp to a multiple of 2^unit, in units.
Wide rounded(const Num &x, int unit, Rounding rounding) {
  int shift = unit - x.exp;
  if (shift <= 0)
    return x.sig << -shift;
  if (shift > topBit(x.sig) + 1) // below half a unit
    return roundsUp(1, 2, false, x.neg, rounding);
  Wide half = Wide(1) << (shift - 1);
  Wide kept = shift > 127 ? 0 : x.sig >> shift, rest = x.sig - (shift > 127 ? 0 : kept << shift);
  return kept + roundsUp(rest, half, kept & 1, x.neg, rounding);
}

uint64_t overflowed(Format f, bool negative, Rounding rounding) {
  bool outward =
      rounding == Rounding::Even || rounding == (negative ? Rounding::Down : Rounding::Up);
  return outward ? f.infinity() : f.largest();
}

} // namespace

Num infinity(bool negative) {
  Num x;
  x.inf = true;
  x.neg = negative;
  return x;
}
Num aNan() {
  Num x;
  x.nan = true;
  x.payload = uint64_t(1) << 51;
  return x;
}
Num fromInt(__int128 value) {
  Num x;
  x.neg = value < 0;
  x.sig = value < 0 ? Wide(0) - Wide(value) : Wide(value);
  return x;
}
Num negated(Num x) {
  x.neg = !x.neg;
  return x;
}
Num magnitude(Num x) {
  x.neg = false;
  return x;
}

Num decode(Format f, uint64_t bits) {
  Num x;
  x.neg = bits & f.sign();
  uint64_t fraction = bits & (f.smallestNormal() - 1);
  int field = int(bits >> f.man) & ((1 << f.exp) - 1);
  if (field == (1 << f.exp) - 1) {
    x.nan = fraction != 0;
    x.inf = !x.nan;
    x.payload = fraction << (52 - f.man);
    return x;
  }
  x.sig = fraction | (field ? f.smallestNormal() : 0);
  x.exp = (field ? field : 1) - f.bias() - f.man;
  return x;
}

uint64_t encode(Format f, const Num &x, Rounding rounding, bool flush) {
  uint64_t sign = x.neg ? f.sign() : 0;
  if (x.nan)
    return sign | f.infinity() | f.quiet() | x.payload >> (52 - f.man);
  if (x.inf || x.sig == 0)
    return sign | (x.inf ? f.infinity() : 0);
  int lowest = 1 - f.bias(), exponent = exponentOf(x);
  bool normal = exponent >= lowest;
  uint64_t units = uint64_t(rounded(x, (normal ? exponent : lowest) - f.man, rounding));
  // The hidden bit adds one to the exponent field, and so does a carry out of the fraction.
  int64_t field = normal ? exponent + f.bias() - 1 : 0;
  if (field >= (1 << f.exp) - 1)
    return sign | overflowed(f, x.neg, rounding);
  uint64_t bits = (uint64_t(field) << f.man) + units;
  if (bits >= f.infinity())
    bits = overflowed(f, x.neg, rounding);
  return sign | (flush && bits < f.smallestNormal() ? 0 : bits);
}

Num mul(const Num &a, const Num &b) {
  if (a.nan || b.nan)
    return a.nan ? a : b;
  if ((a.inf && b.zero()) || (b.inf && a.zero()))
    return aNan();
  if (a.inf || b.inf)
    return infinity(a.neg != b.neg);
  Num r;
  r.neg = a.neg != b.neg;
  r.sig = a.sig * b.sig; // formats have 53 bits at most
  r.exp = a.exp + b.exp;
  return r;
}

Num add(const Num &a, const Num &b, Rounding rounding) {
  if (a.nan || b.nan)
    return a.nan ? a : b;
  if (a.inf || b.inf)
    return a.inf && b.inf && a.neg != b.neg ? aNan() : a.inf ? a : b;
  if (a.zero() && b.zero()) {
    Num r = a;
    r.neg = a.neg == b.neg ? a.neg : rounding == Rounding::Down;
    return r;
  }
  if (a.zero() || b.zero())
    return a.zero() ? b : a;
  Num x = a, y = b;
  for (Num *n : {&x, &y}) {
    int up = kTop - topBit(n->sig);
    n->sig = up >= 0 ? n->sig << up : jammed(n->sig, -up);
    n->exp -= up;
  }
  if (x.exp < y.exp || (x.exp == y.exp && x.sig < y.sig))
    std::swap(x, y);
  Wide other = jammed(y.sig, x.exp - y.exp);
  Num r = x;
  r.sig = x.neg == y.neg ? x.sig + other : x.sig - other;
  if (r.sig == 0)
    r.neg = rounding == Rounding::Down;
  return r;
}

Num fusedSum(const Num &a, const Num &b, const Num &c, Rounding rounding) {
  Num product = mul(a, b);
  return c.nan && !a.nan && !b.nan ? c : add(product, c, rounding);
}

Num scaled(Num x, int n) {
  x.exp += n;
  return x;
}

int compare(const Num &a, const Num &b) {
  if (a.nan || b.nan)
    return 2;
  if (a.inf && b.inf)
    return a.neg == b.neg ? 0 : a.neg ? -1 : 1;
  Num d = add(a, negated(b));
  return d.zero() ? 0 : d.neg ? -1 : 1;
}

Num toIntegral(const Num &x, Rounding rounding) {
  if (!x.finite() || x.sig == 0 || x.exp >= 0)
    return x;
  Num r = x;
  r.sig = rounded(x, 0, rounding);
  r.exp = 0;
  return r;
}

__int128 toInt(const Num &x, __int128 lowest, __int128 highest) {
  if (x.nan)
    return 0;
  if (x.inf || (x.sig != 0 && exponentOf(x) > 100))
    return x.neg ? lowest : highest;
  Num whole = toIntegral(x, Rounding::Zero);
  __int128 value = whole.sig == 0 ? 0 : __int128(whole.sig << whole.exp);
  value = x.neg ? -value : value;
  return value < lowest ? lowest : value > highest ? highest : value;
}

int exponentOf(const Num &x) { return topBit(x.sig) + x.exp; }

Num divide(const Num &a, const Num &b) {
  Num r;
  r.neg = a.neg != b.neg;
  if (a.zero())
    return r;
  // Long division, a bit at a time; both significands have 53 bits at most.
  Wide divisor = b.sig, rest = a.sig;
  int up = topBit(divisor) - topBit(rest);
  rest = up > 0 ? rest << up : rest;
  divisor = up < 0 ? divisor << -up : divisor;
  r.exp = a.exp - b.exp - up - 110;
  for (int bit = 0; bit <= 110; ++bit) {
    r.sig <<= 1;
    if (rest >= divisor) {
      rest -= divisor;
      r.sig |= 1;
    }
    rest <<= 1;
  }
  r.sig = r.sig << 1 | Wide(rest != 0);
  r.exp -= 1;
  return r;
}

double approximate(const Num &x) {
  double magnitude = x.nan   ? std::numeric_limits<double>::quiet_NaN()
                     : x.inf ? std::numeric_limits<double>::infinity()
                             : std::ldexp(double(x.sig), x.exp);
  return x.neg ? -magnitude : magnitude;
}

} // namespace simtest
