#include "runtime/sim/LdsOps.h"
#include "runtime/sim/HostIsa.h"
#include <cstring>

namespace attune::sim {
namespace {

/// Transposes elements of `Bits` bits within each 16 lanes: result element k of lane i is element
/// (16 k + i) of the 16 lanes' bits strung together.
template <unsigned Bits>
ATTUNE_SIM_INLINE void transpose(const uint32_t (*in)[64], uint32_t (*out)[64]) {
  constexpr unsigned words = Bits == 6 ? 3 : 2, perLane = words * 32 / Bits;
  constexpr uint32_t mask = (1u << Bits) - 1;
  for (unsigned base = 0; base < 64; base += 16)
    for (unsigned i = 0; i < 16; ++i) {
      uint64_t result[2] = {0, 0}; // 96 bits at most, element by element
      for (unsigned k = 0; k < perLane; ++k) {
        unsigned element = 16 * k + i;
        unsigned lane = base + element / perLane, bit = element % perLane * Bits;
        uint64_t pair = in[bit / 32][lane];
        if (bit / 32 + 1 < words)
          pair |= uint64_t(in[bit / 32 + 1][lane]) << 32;
        uint64_t value = pair >> (bit % 32) & mask;
        unsigned to = k * Bits;
        result[to / 64] |= value << (to % 64);
        if (to % 64 + Bits > 64)
          result[to / 64 + 1] |= value >> (64 - to % 64);
      }
      for (unsigned w = 0; w < words; ++w)
        out[w][base + i] = static_cast<uint32_t>(result[w / 2] >> (w % 2 * 32));
    }
}

/// The lane of a rotation within 32 lanes: bits of `keep` stay, the others move by `amount`.
unsigned rotatedLane(unsigned lane, uint16_t offset) {
  unsigned keep = offset & 0x1f, amount = offset >> 5 & 0x1f;
  bool right = offset >> 10 & 1;
  unsigned moved = right ? lane - amount : lane + amount;
  return (lane & 0x20) | (lane & keep) | (moved & 0x1f & ~keep);
}

/// The FFT patterns reverse the low bits of the lane: a radix of 2, 4, ..., 32 by how many low
/// offset bits are clear.
unsigned fftLane(unsigned lane, uint16_t offset) {
  unsigned swizzle = offset & 0x1f;
  unsigned reversed = 0;
  for (unsigned bit = 0; bit < 5; ++bit)
    reversed |= (lane >> bit & 1) << (4 - bit);
  // swizzle 0 reverses all five bits, 0x10 the low four apart from the top one, ..., 0x1f nothing.
  unsigned bits = 5;
  for (unsigned bit = 0x10; bits > 0 && (swizzle & bit); bit >>= 1)
    --bits;
  unsigned low = (1u << bits) - 1;
  return (lane & 0x20) | (lane & 0x1f & ~low) | (bits ? reversed >> (5 - bits) & low : 0);
}

} // namespace

ATTUNE_SIM_CLONES void transposeB16(const uint32_t (*in)[64], uint32_t (*out)[64]) {
  transpose<16>(in, out);
}
ATTUNE_SIM_CLONES void transposeB8(const uint32_t (*in)[64], uint32_t (*out)[64]) {
  transpose<8>(in, out);
}
ATTUNE_SIM_CLONES void transposeB4(const uint32_t (*in)[64], uint32_t (*out)[64]) {
  transpose<4>(in, out);
}
ATTUNE_SIM_CLONES void transposeB6(const uint32_t (*in)[64], uint32_t (*out)[64]) {
  transpose<6>(in, out);
}

LaneMap swizzleMap(uint16_t offset) {
  LaneMap map;
  for (unsigned lane = 0; lane < 64; ++lane) {
    unsigned source;
    if ((offset & 0xe000) == 0xe000)
      source = fftLane(lane, offset);
    else if ((offset & 0xe000) == 0xc000)
      source = rotatedLane(lane, offset);
    else if (offset & 0x8000)
      source = (lane & ~3u) | (offset >> (lane % 4 * 2) & 3);
    else
      source = (lane & 0x20) | ((((lane & offset) | (offset >> 5)) ^ (offset >> 10)) & 0x1f);
    map[lane] = static_cast<uint8_t>(source);
  }
  return map;
}

void dsSwizzle(const LaneMap &map, uint64_t exec, const uint32_t *in, uint32_t *out) {
  uint32_t data[64];
  std::memcpy(data, in, sizeof(data));
  for (unsigned lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1)
      out[lane] = exec >> map[lane] & 1 ? data[map[lane]] : 0;
}

void dsBpermute(const uint32_t *address, const uint32_t *data, uint16_t offset, uint64_t exec,
                uint32_t *out) {
  uint32_t result[64];
  for (unsigned lane = 0; lane < 64; ++lane) {
    unsigned source = (address[lane] + offset) / 4 % 64;
    result[lane] = exec >> source & 1 ? data[source] : 0;
  }
  for (unsigned lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1)
      out[lane] = result[lane];
}

void dsPermute(const uint32_t *address, const uint32_t *data, uint16_t offset, uint64_t exec,
               uint32_t *out) {
  uint32_t result[64] = {};
  for (unsigned lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1)
      result[(address[lane] + offset) / 4 % 64] = data[lane];
  for (unsigned lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1)
      out[lane] = result[lane];
}

} // namespace attune::sim
