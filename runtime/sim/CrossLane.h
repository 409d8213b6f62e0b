// Lanes that read other lanes: DPP, the permlane swaps, and SDWA's bytes and words within a lane.
//
// DPP works on rows of 16 lanes and banks of 4. A control names for each destination lane a source
// lane, or none (past the end of the row). A source is valid if it exists and is active. A
// destination lane whose source is invalid gets 0 with bound_ctrl and is left unwritten without;
// row_mask and bank_mask leave lanes unwritten in any case.
#pragma once
#include <cstdint>
#include <optional>

namespace attune::sim {

struct DppTable {
  uint8_t source[64]; ///< lane to read; the lane itself where there is none
  uint64_t exists;    ///< lanes that have a source
};

/// The table of a 9-bit dpp_ctrl, nothing if gfx950 has no such control.
std::optional<DppTable> dppTable(unsigned control);

/// Fetches src0 through DPP into `out` (may be `in`) and returns the lanes the instruction writes.
uint64_t applyDpp(const DppTable &, bool boundCtrl, unsigned rowMask, unsigned bankMask,
                  uint64_t exec, const uint32_t *in, uint32_t *out);

/// v_permlane32_swap_b32: lanes 32..63 of `dst` with lanes 0..31 of `src`. A lane of either
/// register is written only if it is active.
void permlane32Swap(uint32_t *dst, uint32_t *src, uint64_t exec);
/// v_permlane16_swap_b32: lanes 16..31 and 48..63 of `dst` with lanes 0..15 and 32..47 of `src`.
void permlane16Swap(uint32_t *dst, uint32_t *src, uint64_t exec);

/// SDWA operand and destination selects by their encodings.
enum class SdwaSel : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };
enum class SdwaUnused : uint8_t { Pad, SignExtend, Preserve };

/// The selected bits of an operand, zero- or sign-extended to 32.
constexpr uint32_t sdwaSelect(uint32_t x, SdwaSel sel, bool signExtend) {
  if (sel == SdwaSel::Dword)
    return x;
  bool word = sel >= SdwaSel::Word0;
  unsigned shift = word ? 16 * (unsigned(sel) - unsigned(SdwaSel::Word0)) : 8 * unsigned(sel);
  uint32_t v = (x >> shift) & (word ? 0xffffu : 0xffu);
  uint32_t sign = word ? 0x8000u : 0x80u;
  return signExtend ? (v ^ sign) - sign : v;
}

/// Puts a result into the selected part of the destination; the rest is 0, the sign, or what was
/// there.
constexpr uint32_t sdwaMerge(uint32_t old, uint32_t result, SdwaSel sel, SdwaUnused unused) {
  if (sel == SdwaSel::Dword)
    return result;
  bool word = sel >= SdwaSel::Word0;
  unsigned shift = word ? 16 * (unsigned(sel) - unsigned(SdwaSel::Word0)) : 8 * unsigned(sel);
  unsigned width = word ? 16 : 8;
  uint32_t mask = (word ? 0xffffu : 0xffu) << shift;
  uint32_t part = (result << shift) & mask;
  if (unused == SdwaUnused::Preserve)
    return (old & ~mask) | part;
  bool negative = (result >> (width - 1)) & 1;
  if (unused == SdwaUnused::SignExtend && negative)
    return part | (~mask & ~((1u << shift) - 1)); // bits above; bits below stay 0
  return part;
}

/// v_readfirstlane: the first active lane, lane 0 if none is.
constexpr unsigned firstLane(uint64_t exec) {
  unsigned lane = 0;
  while (exec && !(exec & 1)) {
    exec >>= 1;
    ++lane;
  }
  return lane;
}

} // namespace attune::sim
