#include "runtime/sim/CrossLane.h"
#include <cstring>

namespace attune::sim {
namespace {

/// dpp_ctrl values; each range is named by its first value (0x100 itself is not a shift).
enum Control : unsigned {
  QuadPerm = 0x000, // 0x000..0x0ff
  RowShl = 0x100,   // + 1..15
  RowShr = 0x110,
  RowRor = 0x120,
  WaveShl1 = 0x130,
  WaveRol1 = 0x134,
  WaveShr1 = 0x138,
  WaveRor1 = 0x13c,
  RowMirror = 0x140,
  RowHalfMirror = 0x141,
  RowBcast15 = 0x142,
  RowBcast31 = 0x143,
  RowNewbcast = 0x150, // + 0..15
};
constexpr int kNoSource = -1, kUnknown = -2;

/// Lane that `lane` reads, kNoSource past an end, kUnknown for an undefined control.
int sourceLane(unsigned control, int lane) {
  int row = lane & ~15, inRow = lane & 15, amount = control & 15;
  auto inside = [&](int target, int count, int base) {
    return target >= 0 && target < count ? base + target : kNoSource;
  };
  if (control < RowShl)
    return (lane & ~3) | (control >> (lane % 4 * 2) & 3);
  if (control > RowShl && control < RowShl + 16)
    return inside(inRow + amount, 16, row);
  if (control > RowShr && control < RowShr + 16)
    return inside(inRow - amount, 16, row);
  if (control > RowRor && control < RowRor + 16)
    return row | ((inRow - amount) & 15);
  if (control >= RowNewbcast && control < RowNewbcast + 16)
    return row | amount;
  switch (control) {
  case WaveShl1:
    return inside(lane + 1, 64, 0);
  case WaveRol1:
    return (lane + 1) & 63;
  case WaveShr1:
    return inside(lane - 1, 64, 0);
  case WaveRor1:
    return (lane - 1) & 63;
  case RowMirror:
    return row | (15 - inRow);
  case RowHalfMirror:
    return (lane & ~7) | (7 - (lane & 7));
  case RowBcast15:
    return row ? row - 1 : kNoSource;
  case RowBcast31:
    return lane >= 32 ? 31 : kNoSource;
  default:
    return kUnknown;
  }
}

/// Lanes in banks and rows that the masks allow.
uint64_t maskedLanes(unsigned rowMask, unsigned bankMask) {
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    if ((rowMask >> (lane / 16) & 1) && (bankMask >> (lane / 4 % 4) & 1))
      lanes |= uint64_t(1) << lane;
  return lanes;
}

} // namespace

std::optional<DppTable> dppTable(unsigned control) {
  DppTable table{};
  for (int lane = 0; lane < 64; ++lane) {
    int source = sourceLane(control, lane);
    if (source == kUnknown)
      return std::nullopt;
    table.source[lane] = static_cast<uint8_t>(source == kNoSource ? lane : source);
    table.exists |= uint64_t(source != kNoSource) << lane;
  }
  return table;
}

uint64_t applyDpp(const DppTable &table, bool boundCtrl, unsigned rowMask, unsigned bankMask,
                  uint64_t exec, const uint32_t *in, uint32_t *out) {
  uint32_t data[64];
  std::memcpy(data, in, sizeof(data));
  uint64_t valid = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    unsigned source = table.source[lane];
    bool ok = (table.exists >> lane & 1) && (exec >> source & 1);
    valid |= uint64_t(ok) << lane;
    out[lane] = ok ? data[source] : 0;
  }
  return exec & maskedLanes(rowMask, bankMask) & (boundCtrl ? ~uint64_t(0) : valid);
}

namespace {

/// Exchanges dst[lane + distance] with src[lane] for the lanes whose bit `distance` is clear.
void permlaneSwap(uint32_t *dst, uint32_t *src, uint64_t exec, unsigned distance) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (lane & distance)
      continue;
    uint32_t fromDst = dst[lane + distance], fromSrc = src[lane];
    if (exec >> (lane + distance) & 1)
      dst[lane + distance] = fromSrc;
    if (exec >> lane & 1)
      src[lane] = fromDst;
  }
}

} // namespace

void permlane32Swap(uint32_t *dst, uint32_t *src, uint64_t exec) {
  permlaneSwap(dst, src, exec, 32);
}
void permlane16Swap(uint32_t *dst, uint32_t *src, uint64_t exec) {
  permlaneSwap(dst, src, exec, 16);
}

} // namespace attune::sim
