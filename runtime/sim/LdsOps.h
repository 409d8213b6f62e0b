// What LDS instructions do besides moving bytes: transposing reads, and exchanges that use the LDS
// crossbar only.
//
// Transposing reads. Every lane reads its own 64 bits (96 for 6-bit elements). Within 16 lanes
// these are ne rows of 16 elements (ne = elements a lane) laid out lane after lane, and lane i of
// the 16 receives column i:
//   result[i][k] = data[lane (16 k + i) / ne][(16 k + i) % ne]
#pragma once
#include <array>
#include <cstdint>

namespace attune::sim {

/// ds_read_b64_tr_b16, _b8, _b4 and ds_read_b96_tr_b6 after the loads: `in[w][lane]` is word w that
/// the lane read, `out[w][lane]` what it receives. `in` and `out` must not overlap.
void transposeB16(const uint32_t (*in)[64], uint32_t (*out)[64]); ///< 2 words
void transposeB8(const uint32_t (*in)[64], uint32_t (*out)[64]);  ///< 2 words
void transposeB4(const uint32_t (*in)[64], uint32_t (*out)[64]);  ///< 2 words
void transposeB6(const uint32_t (*in)[64], uint32_t (*out)[64]);  ///< 3 words

/// For each lane the lane it reads from.
using LaneMap = std::array<uint8_t, 64>;

/// The map of ds_swizzle_b32 with this 16-bit offset: quad permutation (bit 15), FFT (0xe000..),
/// rotation (0xc000..) or and/or/xor within 32 lanes.
LaneMap swizzleMap(uint16_t offset);

/// ds_swizzle_b32: writes out[l] for active lanes; an inactive source lane gives 0. `in` and `out`
/// may be the same.
void dsSwizzle(const LaneMap &, uint64_t exec, const uint32_t *in, uint32_t *out);

/// ds_bpermute_b32: lane l reads data of lane ((address[l] + offset) / 4) % 64, 0 if that lane is
/// inactive. Active lanes only are written. `out` may be either input.
void dsBpermute(const uint32_t *address, const uint32_t *data, uint16_t offset, uint64_t exec,
                uint32_t *out);

/// ds_permute_b32: active lane l sends data[l] to lane ((address[l] + offset) / 4) % 64; the
/// highest sender wins, active lanes nobody sends to receive 0.
void dsPermute(const uint32_t *address, const uint32_t *data, uint16_t offset, uint64_t exec,
               uint32_t *out);

/// LDS-DMA (`buffer_load_dword* ... lds`, `global_load_lds_dword*`): byte address in LDS where lane
/// `lane` puts its `size` (4, 12 or 16) bytes. M0 counts in full, not only its low 16 bits, and the
/// slot is by lane number: inactive lanes leave theirs untouched, out-of-range lanes write 0.
constexpr uint32_t ldsDmaAddress(uint32_t m0, uint32_t instOffset, unsigned lane, unsigned size) {
  return m0 + instOffset + lane * size;
}

} // namespace attune::sim
