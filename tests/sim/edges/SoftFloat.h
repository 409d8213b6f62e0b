// Floating-point arithmetic by integers: what IEEE 754 says a sum, product or conversion is,
// computed exactly and rounded once. The reference of the edge tests; it shares nothing with the
// simulator, which uses the host's floating-point unit.
//
//   Num a = decode(kF32, bits), b = decode(kF32, other);
//   uint64_t sum = encode(kF32, add(a, b, Rounding::Up), Rounding::Up);
#pragma once
#include <cstdint>

namespace simtest {

/// A binary interchange format: exponent and fraction bits.
struct Format {
  int exp, man;
  constexpr int bias() const { return (1 << (exp - 1)) - 1; }
  constexpr int bits() const { return 1 + exp + man; }
  constexpr uint64_t sign() const { return uint64_t(1) << (exp + man); }
  constexpr uint64_t infinity() const { return ((uint64_t(1) << exp) - 1) << man; }
  constexpr uint64_t quiet() const { return uint64_t(1) << (man - 1); }
  constexpr uint64_t largest() const { return infinity() - 1; }
  constexpr uint64_t smallestNormal() const { return uint64_t(1) << man; }
  bool isNan(uint64_t bits) const { return (bits & (sign() - 1)) > infinity(); }
  bool isSignalling(uint64_t bits) const { return isNan(bits) && !(bits & quiet()); }
  bool isDenormal(uint64_t bits) const {
    return (bits & infinity()) == 0 && (bits & (sign() - 1)) != 0;
  }
};
inline constexpr Format kF16Format{5, 10}, kBf16Format{8, 7}, kF32Format{8, 23}, kF64Format{11, 52};

/// By their numbers in MODE.
enum class Rounding : uint8_t { Even, Up, Down, Zero };

using Wide = unsigned __int128;

/// An exact number: sig * 2^exp, sig 0 for zero. NaN keeps its fraction, aligned at bit 51.
struct Num {
  bool nan = false, inf = false, neg = false;
  Wide sig = 0;
  int exp = 0;
  uint64_t payload = 0;
  bool zero() const { return !nan && !inf && sig == 0; }
  bool finite() const { return !nan && !inf; }
};

Num decode(Format, uint64_t bits);
/// Rounded once; a NaN comes out quiet. `flush`: a denormal result becomes a zero of its sign.
uint64_t encode(Format, const Num &, Rounding = Rounding::Even, bool flush = false);

Num infinity(bool negative);
Num aNan();
Num fromInt(__int128);
Num negated(Num);
Num magnitude(Num);

/// Exact up to a sticky lowest bit; of several NaNs the first. The rounding mode decides the sign
/// of an exact zero only.
Num mul(const Num &, const Num &);
Num add(const Num &, const Num &, Rounding = Rounding::Even);
/// a * b + c with one rounding to come; an infinity times zero gives way to a NaN c.
Num fusedSum(const Num &a, const Num &b, const Num &c, Rounding = Rounding::Even);
/// x * 2^n.
Num scaled(Num, int n);
/// 1 if a > b, 0 if equal, -1 if less, 2 if unordered.
int compare(const Num &a, const Num &b);
/// The neighbouring integer in a direction; exact for integers and infinities.
Num toIntegral(const Num &, Rounding);
/// Toward zero, saturating; 0 for NaN.
__int128 toInt(const Num &, __int128 lowest, __int128 highest);
/// The unbiased exponent of the leading bit; x is finite and not zero.
int exponentOf(const Num &);
/// a / b rounded to 100 bits or more with a sticky bit; both finite, b not zero.
Num divide(const Num &a, const Num &b);
double approximate(const Num &);

} // namespace simtest
