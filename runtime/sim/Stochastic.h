// Stochastic rounding (v_cvt_sr_*, v_cvt_scalef32_sr_*): a value between two codes goes to the
// farther one from zero with probability equal to how far along the gap it lies, decided by 32
// random bits that the program supplies. Hardware adds some of those bits below the last kept one;
// how many differs per instruction, so low bits of the seed may act differently there
// [approximate].
#pragma once
#include "runtime/sim/Numerics.h"

namespace attune::sim {

template <Mini F> uint32_t toMiniStochastic(double x, uint32_t seed, Overflow overflow) {
  float f = static_cast<float>(x);
  if (!(std::fabs(x) < std::numeric_limits<double>::infinity()))
    return toMini<F>(f, Round::NearestEven, overflow);
  uint32_t sign = std::signbit(x) ? F.signBit() : 0;
  // Truncation of a double to f32 toward zero, then to the format: both cut, so together they cut
  // once.
  if (std::fabs(double(f)) > std::fabs(x))
    f = asFloat(asBits(f) - 1);
  uint32_t code = toMini<F>(f, Round::TowardZero, Overflow::Saturate) & ~F.signBit();
  if (code == F.maxCode()) // no gap above: the nearest rule decides on overflow
    return toMini<F>(f, Round::NearestEven, overflow);
  double low = fromMini<F>(code), high = fromMini<F>(code + 1);
  double fraction = (std::fabs(x) - low) / (high - low);
  return sign | (code + (fraction + seed * 0x1p-32 >= 1 ? 1 : 0));
}

} // namespace attune::sim
