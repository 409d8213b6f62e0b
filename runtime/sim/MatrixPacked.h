// Products with f32 sums, blocked for the host: the core under the dense, scaled and sparse
// instructions whose blocks are 16 or 32 rows.
//
// An operand is widened to f32 and packed on the way: A in groups of 8 rows, [k][8], B in panels as
// wide as a tile, [k][16] or more, 16 columns at a time. A tile of D then stays in host registers
// while k runs over two short, dense streams. Packing is a few hundred stores, a tile some 128
// fused multiply-adds: each group is packed before the tiles that precede it are done, so that an
// out-of-order host does both at once.
#pragma once
#include "runtime/sim/Matrix.h"

namespace attune::sim {

inline constexpr unsigned kMaxK = 128;
inline constexpr unsigned kScaleBlock = 32; ///< k that share a scale

/// One block of an operand in its registers, or (`dense`) already widened as [k][32].
struct PackSource {
  ConstLanes regs = nullptr;
  const float *dense = nullptr;
  MatType type = MatType::F32;
  unsigned k = 0;           ///< of the contraction
  unsigned perLane = 0;     ///< elements
  unsigned run = 0;         ///< consecutive k in one lane: perLane, or half of it
  unsigned groupStride = 0; ///< lanes from one lane group to the next
  unsigned firstLane = 0;   ///< of row 0 in lane group 0
};

/// Scales per (block of k, row or column) as e8m0 codes.
using ScaleCodes = uint8_t[kMaxK / kScaleBlock][32];
struct PackedScales {
  ScaleCodes a, b;
};

struct PackedProduct {
  PackSource a, b;
  unsigned m = 0, block = 0;
  float (*d)[64] = nullptr;
};

/// D += A * B in ascending k. A and B must not share registers with D.
void multiplyPacked(const PackedProduct &);
/// Tiles that suit the host: 4 x 16 for 16 vector registers of 8 numbers, 8 rows of whole blocks
/// for 32 of 16. Both give the same bits on any host.
enum class HostTile : uint8_t { Narrow, Wide };
HostTile hostTile();

/// The same for one block of bf16 without broadcasts, 16 x 16 x 16, 16 x 16 x 32, 32 x 32 x 8 or
/// 32 x 32 x 16: what attention kernels spend their time in.
void multiplyPackedBf16(unsigned m, unsigned k, float (*d)[64], ConstLanes a, ConstLanes b,
                        HostTile = hostTile());
/// Per 32 k: the dot product from 0, times both scales (null: 1), added to D with one rounding.
void multiplyPackedScaled(const PackedProduct &, const PackedScales *);

/// Where row i of a block lies in an accumulator: register and first lane. H rows make a run.
struct RowPlace {
  unsigned reg, lane;
};
constexpr RowPlace placeOfRow(unsigned m, unsigned h, unsigned block, unsigned row) {
  unsigned lanesOfBlock = m * m / h;
  unsigned blocksInRegs =
      lanesOfBlock < 64 ? 64 / lanesOfBlock : 1; // blocks side by side in the lanes
  unsigned laneRuns = 64 / blocksInRegs / m;
  unsigned regRuns = m / (h * laneRuns);
  return {row % h + h * (row / (h * laneRuns) + regRuns * (block / blocksInRegs)),
          m * (row / h % laneRuns + laneRuns * (block % blocksInRegs))};
}

} // namespace attune::sim
