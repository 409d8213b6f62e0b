#include "tests/sim/edges/MiniFloat.h"

namespace simtest {
namespace {

Num valueOf(const MiniFormat &f, uint32_t magnitude) { // also of the code after the largest one
  Num x;
  uint32_t fraction = magnitude & ((1u << f.man) - 1), field = magnitude >> f.man;
  x.sig = fraction | (field ? 1u << f.man : 0);
  x.exp = int(field ? field : 1) - f.bias - f.man;
  return x;
}

} // namespace

Num decodeMini(const MiniFormat &f, uint32_t code) {
  uint32_t magnitude = code & (f.sign() - 1);
  Num x = valueOf(f, magnitude);
  if (magnitude > f.largest()) {
    bool inf = f.hasInfinity && magnitude == f.largest() + 1;
    x = inf ? infinity(false) : aNan();
  }
  x.neg = code & f.sign();
  return x;
}

Neighbours neighbours(const MiniFormat &f, const Num &x) {
  Num positive = magnitude(x);
  uint32_t low = 0, high = f.largest() + 1;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (compare(valueOf(f, middle), positive) <= 0 ? low : high) = middle;
  }
  Num below = valueOf(f, low), gap = add(valueOf(f, high), negated(below));
  Num rest = add(positive, negated(below));
  Neighbours n{low, high, 0, -1};
  n.fraction = approximate(rest) / approximate(gap);
  n.sideOfMiddle = compare(rest, scaled(gap, -1));
  return n;
}

MiniResult encodeMini(const MiniFormat &f, const Num &x, bool saturate) {
  uint32_t sign = x.neg ? f.sign() : 0;
  if (x.nan)
    return {sign | (f.hasInfinity ? f.largest() + 1 + (1u << (f.man - 1)) : f.sign() - 1), true,
            !f.hasNan};
  uint32_t code = f.largest() + 1;
  if (!x.inf && compare(magnitude(x), valueOf(f, f.largest() + 1)) < 0) {
    Neighbours n = neighbours(f, x);
    code = n.sideOfMiddle > 0 || (n.sideOfMiddle == 0 && n.low % 2) ? n.high : n.low;
  }
  bool beyond = code > f.largest();
  if (beyond && x.inf && f.hasInfinity)
    return {sign | code};
  if (beyond && (saturate || !f.hasNan))
    return {sign | f.largest()};
  if (beyond && !f.hasInfinity)
    return {sign | code, true};
  return {sign | code};
}

bool scaleExponent(uint32_t bits, int &exponent) {
  exponent = int(bits >> 23 & 0xff) - 127;
  return exponent != 128;
}

} // namespace simtest
