// Every layout of the transposed attention pipeline, derived from one matrix instruction and the
// tile's sizes.
//
// S^T = K Q^T and O^T = V^T P^T on the same MFMA. K and V tiles lie in LDS, filled by 16-byte
// LDS-DMA; K is read as A operands by ds_read_b128, V as A operands by ds_read_b64_tr_b16 in the
// key order in which the accumulators of S^T are B operands. The lowering asks these maps for
// addresses and coordinates and contains no index formula of its own.
//
// Inputs: "register" (element of a lane's vector), "lane", "wave"; "step" counts contraction steps,
// "tile" the m-key subtiles of S^T, "block" the m-dim blocks of O^T, "read" the transposing reads
// of one operand, "instruction" the DMA instructions of a wave.
#pragma once
#include "compiler/layout/Contraction.h"
#include "compiler/layout/Fragment.h"
#include "compiler/layout/LdsLayout.h"

namespace attune::layout {

/// How a workgroup copies a tile to LDS. Instruction i of wave w writes the 1,024 bytes of LDS from
/// 1024 * (w + waves * i) on, 16 by each lane.
struct DmaMap {
  int instructionsPerWave = 0;
  int waves = 0;
  LinearLayout
      source; ///< (lane, wave, instruction) -> (row, byte) of the tile: what the lane has to fetch
  uint32_t ldsByte(int wave, int instruction) const {
    return 1024u * uint32_t(wave + waves * instruction);
  }
};

struct TileLayouts {
  MmaShape mma;
  int kvTile = 0, headDim = 0, vHeadDim = 0, waves = 0;

  LdsLayout k, v;        ///< rows are keys; swizzled, no padding
  int worstConflict = 1; ///< over all reads of K and V; 1 is conflict-free
  LinearLayout kRead;    ///< (lane, step, tile) -> lds byte of 16 bytes: an A operand of K
  LinearLayout
      vRead; ///< (lane, read, step, block) -> lds byte of 8 bytes: part of an A operand of V^T
  DmaMap kDma, vDma;

  LinearLayout q;      ///< (register, lane, step, wave) -> (dim, q): the B operands of Q^T
  LinearLayout scores; ///< (register, lane, tile, wave) -> (key, q): the accumulators of S^T
  LinearLayout out;    ///< (register, lane, block, wave) -> (dim, q): the accumulators of O^T
  /// The scores' registers, counted over all tiles (register + accumulatorsPerLane * tile), are
  /// element r % 8 of PV step r / 8; keyOf is (k, step) -> key.
  LinearLayout keyOf;

  int qkSteps() const { return headDim / mma.k; }
  int pvSteps() const { return kvTile / mma.k; }
  int keyTiles() const { return kvTile / mma.m; }
  int outBlocks() const { return vHeadDim / mma.m; }
};

/// For 16-bit elements. Sizes are powers of two; an error names the size that does not fit and the
/// nearest that does.
Result<TileLayouts> attentionTileLayouts(const MmaShape &, int kvTile, int headDim, int vHeadDim,
                                         int waves);

/// An LDS address with run-time lane part and compile-time rest, split for a `ds_read ... offset:`:
/// the read is at (laneAddress XOR `flip`) + `offset`, where `offset` touches no bit that the lane
/// part or `flip` can set.
struct ConstantPart {
  uint32_t flip = 0;
  uint32_t offset = 0;
};
ConstantPart constantPart(const LinearLayout &laneToByte, std::initializer_list<Coord> constants);

} // namespace attune::layout
