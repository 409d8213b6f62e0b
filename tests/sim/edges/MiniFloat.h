// The narrow formats by enumeration: every code's value from the format's definition, and rounding
// as a search among them.
#pragma once
#include "tests/sim/edges/SoftFloat.h"

namespace simtest {

struct MiniFormat {
  int exp, man, bias;
  bool hasInfinity, hasNan; ///< IEEE-like top exponent; e4m3fn: only the code of all ones is a NaN
  int bits() const { return 1 + exp + man; }
  uint32_t sign() const { return 1u << (exp + man); }
  uint32_t largest() const { return sign() - 1 - (hasInfinity ? 1u << man : hasNan ? 1 : 0); }
};
inline constexpr MiniFormat kOcpFp8{4, 3, 7, false, true}, kOcpBf8{5, 2, 15, true, true},
    kOcpFp6{2, 3, 1, false, false}, kOcpBf6{3, 2, 3, false, false}, kOcpFp4{2, 1, 1, false, false};

Num decodeMini(const MiniFormat &, uint32_t code);

/// The two codes around |x| that is finite and not beyond the largest value, and how far x lies
/// between them: low <= |x| < high. Exact if `fraction` is 0.
struct Neighbours {
  uint32_t low = 0, high = 0;
  double fraction = 0;
  int sideOfMiddle = 0; ///< -1: nearer to low, 0: in the middle, 1: nearer to high
};
Neighbours neighbours(const MiniFormat &, const Num &x);

/// What a conversion may give; NaN and infinity where the format lacks them, and overflow there,
/// are not documented except as the largest value when saturating.
struct MiniResult {
  uint32_t code = 0;
  bool anyNan = false, undocumented = false;
};
MiniResult encodeMini(const MiniFormat &, const Num &x, bool saturate);

/// 2^(e - 127) from the exponent field of an f32; false for 255, which is NaN.
bool scaleExponent(uint32_t f32Bits, int &exponent);

} // namespace simtest
