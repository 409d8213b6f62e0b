#include "runtime/sim/MatrixWiden.h"
#include "runtime/sim/Numerics.h"
#include <cstring>

namespace attune::sim {
namespace {

template <Mini F>
ATTUNE_SIM_INLINE void widenMini(Widened<float> &out, ConstLanes in, unsigned elements) {
  constexpr unsigned bits = F.bits();
  constexpr uint32_t mask = (1u << bits) - 1;
  for (unsigned j = 0; j < elements; ++j) {
    unsigned word = j * bits / 32, shift = j * bits % 32;
    const uint32_t *lo = in[word];
    if (shift + bits <= 32) {
      for (unsigned l = 0; l < 64; ++l)
        out[j][l] = fromMini<F>((lo[l] >> shift) & mask);
    } else { // a 6-bit element across two registers
      const uint32_t *hi = in[word + 1];
      for (unsigned l = 0; l < 64; ++l)
        out[j][l] = fromMini<F>(((lo[l] >> shift) | (hi[l] << (32 - shift))) & mask);
    }
  }
}

ATTUNE_SIM_CLONES void widenF16(Widened<float> &out, ConstLanes in, unsigned n) {
  widenMini<kF16>(out, in, n);
}
ATTUNE_SIM_CLONES void widenFp8(Widened<float> &out, ConstLanes in, unsigned n) {
  widenMini<kFp8>(out, in, n);
}
ATTUNE_SIM_CLONES void widenBf8(Widened<float> &out, ConstLanes in, unsigned n) {
  widenMini<kBf8>(out, in, n);
}
ATTUNE_SIM_CLONES void widenFp6(Widened<float> &out, ConstLanes in, unsigned n) {
  widenMini<kFp6>(out, in, n);
}
ATTUNE_SIM_CLONES void widenBf6(Widened<float> &out, ConstLanes in, unsigned n) {
  widenMini<kBf6>(out, in, n);
}
ATTUNE_SIM_CLONES void widenFp4(Widened<float> &out, ConstLanes in, unsigned n) {
  widenMini<kFp4>(out, in, n);
}
ATTUNE_SIM_CLONES void widenBf16(Widened<float> &out, ConstLanes in, unsigned n) {
  for (unsigned w = 0; w < n / 2; ++w)
    for (unsigned l = 0; l < 64; ++l) {
      out[2 * w][l] = asFloat(in[w][l] << 16);
      out[2 * w + 1][l] = asFloat(in[w][l] & 0xffff0000u);
    }
}

} // namespace

void widen(Widened<float> &out, ConstLanes in, MatType type, unsigned elements) {
  switch (type) {
  case MatType::F16:
    return widenF16(out, in, elements);
  case MatType::Bf16:
    return widenBf16(out, in, elements);
  case MatType::Fp8:
    return widenFp8(out, in, elements);
  case MatType::Bf8:
    return widenBf8(out, in, elements);
  case MatType::Fp6:
    return widenFp6(out, in, elements);
  case MatType::Bf6:
    return widenBf6(out, in, elements);
  case MatType::Fp4:
    return widenFp4(out, in, elements);
  default:
    std::memcpy(out, in, elements * sizeof(out[0]));
    return; // f32
  }
}

ATTUNE_SIM_CLONES void widen(Widened<uint32_t> &out, ConstLanes in, MatType, unsigned elements) {
  for (unsigned j = 0; j < elements; ++j)
    for (unsigned l = 0; l < 64; ++l)
      out[j][l] = static_cast<uint32_t>(static_cast<int8_t>(in[j / 4][l] >> (j % 4 * 8)));
}

void widen(Widened<double> &out, ConstLanes in, MatType, unsigned elements) {
  for (unsigned j = 0; j < elements; ++j)
    for (unsigned l = 0; l < 64; ++l)
      out[j][l] = asDouble(in[2 * j][l] | uint64_t(in[2 * j + 1][l]) << 32);
}

} // namespace attune::sim
