// Instructions that move data between lanes, or between a lane and a scalar register.
#include "runtime/sim/CrossLane.h"
#include "runtime/sim/Lanes.h"
#include <algorithm>
#include <utility>

namespace attune::sim {

namespace {
/// A lane select or scalar operand of these instructions is an SGPR, M0 or a constant.
uint32_t laneSelect(const Wave &w, const Inst &i) { return scalar32(w, i, i.src[1]) & 63; }
} // namespace

void vReadfirstlaneB32(Wave &w, const Inst &i) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2];
  SourceRows src = fetchSource(w, i, 0, Width::B32, buffer, mask);
  writeScalar32(w, i.dst, src.lo[firstLane(w.exec())]);
}
/// EXEC does not matter to these two.
void vReadlaneB32(Wave &w, const Inst &i) {
  uint64_t mask = kAllLanes;
  alignas(64) LaneRow buffer[2];
  SourceRows src = fetchSource(w, i, 0, Width::B32, buffer, mask);
  writeScalar32(w, i.dst, src.lo[laneSelect(w, i)]);
}
void vWritelaneB32(Wave &w, const Inst &i) {
  w.row(i.dst)[laneSelect(w, i)] = scalar32(w, i, i.src[0]);
}

void vSwapB32(Wave &w, const Inst &i) {
  uint32_t *a = w.row(i.dst), *b = w.row(i.src[0]);
  uint64_t mask = w.exec();
  for (int l = 0; l < kLanes; ++l)
    if (mask >> l & 1)
      std::swap(a[l], b[l]);
}
void vPermlane16SwapB32(Wave &w, const Inst &i) {
  permlane16Swap(w.row(i.dst), w.row(i.src[0]), w.exec());
}
void vPermlane32SwapB32(Wave &w, const Inst &i) {
  permlane32Swap(w.row(i.dst), w.row(i.src[0]), w.exec());
}

/// Bits of the mask below the own lane, plus src1: lo counts lanes 0..31, hi lanes 32..63.
static void maskedBitCount(Wave &w, const Inst &i, int firstLaneOfHalf) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2], out;
  Source<uint32_t> bits(w, i, 0, buffer[0], mask), add(w, i, 1, buffer[1], mask);
  for (int l = 0; l < kLanes; ++l) {
    int below = std::clamp(l - firstLaneOfHalf, 0, 32);
    uint32_t of = uint32_t((uint64_t(1) << below) - 1);
    out[l] = uint32_t(std::popcount(bits[l] & of)) + add[l];
  }
  commitRow(w, i, 0, out, mask);
}
void vMbcntLoU32B32(Wave &w, const Inst &i) { maskedBitCount(w, i, 0); }
void vMbcntHiU32B32(Wave &w, const Inst &i) { maskedBitCount(w, i, 32); }

} // namespace attune::sim
