// Bodies of the narrow-format templates of Numerics.h: branch-free integer code that vectorises
// over lanes.
#pragma once

namespace attune::sim {

template <Mini F> ATTUNE_SIM_INLINE float fromMini(uint32_t code) {
  constexpr int shift = 23 - F.man;
  constexpr uint32_t magnitude = F.signBit() - 1;
  constexpr uint32_t smallestNormal = 1u << F.man;
  uint32_t sign = (code & F.signBit()) << (31 - F.exp - F.man);
  uint32_t abs = code & magnitude;
  uint32_t bits;
  if constexpr (F.exp == 8) { // the exponent range of f32 itself
    bits = abs << shift;
  } else {
    uint32_t normal = (abs << shift) + (uint32_t(127 - F.bias) << 23);
    // A denormal code is an integer count of the smallest one, 2^(1-bias-man): exact, and no host
    // denormals.
    constexpr float unit = std::bit_cast<float>(uint32_t(127 + 1 - F.bias - F.man) << 23);
    uint32_t denormal = asBits(static_cast<float>(static_cast<int32_t>(abs)) * unit);
    bits = abs < smallestNormal ? denormal : normal;
  }
  if constexpr (F.specials == Mini::Ieee) {
    uint32_t special = 0x7f800000u | (abs << shift);
    bits = abs >= F.infCode() ? (abs > F.infCode() ? special | 0x00400000u : special) : bits;
  } else if constexpr (F.specials == Mini::NanOnly) {
    bits = abs == magnitude ? 0x7fc00000u : bits;
  }
  return asFloat(sign | bits);
}

/// What is added below the kept bits before they are cut off.
template <class U>
ATTUNE_SIM_INLINE U roundingAddend(Round round, U significand, uint32_t shift, bool negative) {
  U below = (U(1) << shift) - 1;
  switch (round) {
  case Round::NearestEven:
    return (below >> 1) + ((significand >> shift) & 1);
  case Round::Up:
    return negative ? 0 : below;
  case Round::Down:
    return negative ? below : 0;
  case Round::TowardZero:
    break;
  }
  return 0;
}

template <Mini F> ATTUNE_SIM_INLINE uint32_t toMini(float x, Round round, Overflow overflow) {
  constexpr uint32_t shift = 23 - F.man;
  constexpr int32_t smallestExp = 127 + 1 - F.bias; // f32 exponent field of the smallest normal
  uint32_t bits = asBits(x), abs = bits & 0x7fffffffu;
  bool negative = bits >> 31;
  uint32_t sign = negative ? F.signBit() : 0;

  int32_t field = static_cast<int32_t>(abs >> 23);
  uint32_t significand = (abs & 0x007fffffu) | (field ? 0x00800000u : 0);
  field = field ? field : 1;
  // Below the smallest normal more bits go; at 26 or more nothing but a directed rounding remains.
  int32_t deficit = smallestExp > field ? smallestExp - field : 0;
  int32_t steps = field > smallestExp ? field - smallestExp : 0;
  uint32_t cut = shift + uint32_t(deficit);
  cut = cut < 26 ? cut : 26;
  uint32_t kept = (significand + roundingAddend(round, significand, cut, negative)) >> cut;
  // The hidden bit of `kept` carries into the exponent, as does a mantissa that rounds up to 2.
  uint32_t code = (uint32_t(steps) << F.man) + kept;

  bool towardInfinity =
      round == Round::NearestEven || round == (negative ? Round::Down : Round::Up);
  bool special = overflow == Overflow::Special && towardInfinity;
  uint32_t beyond = F.specials == Mini::None || !special ? F.maxCode()
                    : F.specials == Mini::Ieee           ? F.infCode()
                                                         : F.nanCode();
  code = code > F.maxCode() ? beyond : code;
  if constexpr (F.specials == Mini::Ieee) {
    code = abs == 0x7f800000u ? F.infCode() : code;
    uint32_t payload = F.nanCode() | ((abs >> shift) & ((1u << F.man) - 1));
    code = abs > 0x7f800000u ? payload : code;
  } else if constexpr (F.specials == Mini::NanOnly) {
    code = abs == 0x7f800000u ? (overflow == Overflow::Special ? F.nanCode() : F.maxCode()) : code;
    code = abs > 0x7f800000u ? F.nanCode() : code;
  } else {
    code = abs >= 0x7f800000u ? F.maxCode() : code;
  }
  return sign | code;
}

template <Mini F> ATTUNE_SIM_INLINE float fromMiniScaled(uint32_t code, uint8_t e8m0) {
  // Exact unless the product is an f32 denormal or out of range; then one rounding, from double.
  double scale = asDouble(uint64_t(1023 - 127 + e8m0) << 52);
  return e8m0 == 0xff ? std::numeric_limits<float>::quiet_NaN()
                      : static_cast<float>(static_cast<double>(fromMini<F>(code)) * scale);
}

/// A double rounded to f32 so that a second rounding to fewer bits gives what one rounding would
/// ("round to odd").
ATTUNE_SIM_INLINE float roundToOdd(double x) {
  constexpr double largest = std::numeric_limits<float>::max();
  double clamped = x > largest ? largest : x < -largest ? -largest : x;
  float f =
      static_cast<float>(std::fabs(x) == std::numeric_limits<double>::infinity() ? x : clamped);
  uint32_t bits = asBits(f);
  bool exact = !(std::fabs(x) < std::numeric_limits<double>::infinity()) ||
               static_cast<double>(f) == clamped || (bits & 1);
  // The two f32 neighbours of x differ in their last bit; this one is even, so take the other.
  uint32_t other = std::fabs(x) > std::fabs(static_cast<double>(f)) ? bits + 1 : bits - 1;
  return asFloat(exact ? bits : other);
}

template <Mini F>
ATTUNE_SIM_INLINE uint32_t toMiniScaled(float x, uint8_t e8m0, Overflow overflow) {
  double inverse = asDouble(uint64_t(1023 + 127 - e8m0) << 52);
  float scaled =
      e8m0 == 0xff ? std::numeric_limits<float>::quiet_NaN() : roundToOdd(double(x) * inverse);
  return toMini<F>(scaled, Round::NearestEven, overflow);
}

} // namespace attune::sim
