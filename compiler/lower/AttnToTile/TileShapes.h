// The fragment and LDS types of a plan, derived from one matrix instruction by the layout library.
#pragma once
#include "compiler/dialect/attn/AttnOps.h"
#include "compiler/lower/AttnToTile/SoftmaxCore.h"
#include "compiler/schedule/Plan.h"

namespace attune {

struct TileShapes {
  FragTypes frags;
  int64_t kStep = 0;          ///< contraction length of one matrix instruction
  tile::FragType queryLoaded; ///< head_dim x qPerWave: Q^T as it comes from memory
  tile::FragType queries;     ///< the same as B operands, one step after another
  tile::FragType query;       ///< kStep x qPerWave: one of them
  tile::FragType key;         ///< kvTile x kStep: a step of K as A operands
  tile::FragType
      value; ///< v_head_dim x kStep: a step of V^T as A operands, keys in the order P has them
  tile::FragType weightStep; ///< kStep x qPerWave: the matching rows of P
  tile::FragType seen;       ///< i1 kvTile x 1: keys that some query of the wave sees
  tile::FragType seenStep;   ///< i1 kStep x 1: the flags of one step
  tile::FragType result;     ///< v_head_dim x qPerWave in the output type
  tile::FragType stored;     ///< the same as it goes to memory
  tile::LdsType kLds, vLds;
};

/// An error when the tile sizes fit no layout; the message says which and the nearest that do.
Result<TileShapes> makeTileShapes(attn::KernelOp, const schedule::Plan &);

} // namespace attune
