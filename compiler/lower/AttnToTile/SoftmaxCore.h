// Streaming softmax in base 2, one query per lane column.
//
// S^T has keys on rows and queries on columns, so a query's statistics are a row reduction:
// registers of a lane, then one exchange with the lane that holds the other half of its keys. State
// per query: a bound m of the scores seen, the sum l of exp2((s - m) * c) and the unnormalised
// output O. A new tile with maximum m' adds
//   p = exp2(s * c - m * c), l += sum p, O += V^T p.
// Where m' exceeds m so far that p could exceed 2^8, m first becomes the maximum, and l and O are
// multiplied with alpha = exp2((m - max(m, m')) * c). That is asked once for all rows of a wave and
// is rare after the first tiles: 64 multiplications less in each of the others (head_dim 128). P
// has the same relative error at any height (FlashAttention-4 has the same rule); but a row that
// one key dominates has no weight of exactly 1 any more, and shows the rounding of P. c is scale *
// log2(e) when the scores are the raw products, so Q is never multiplied and never rounded twice;
// it is log2(e) when a score function made them. The sum stays split over the two lane halves until
// the end: alpha is the same in both, so one exchange after the loop is enough. Scores of a
// function may be of any size: -3.4e38 stands for "hidden" in many models. There a rounding of m *
// c could exceed what exp2 and P hold, so p = exp2((s - m) * c), one operation more. A query that
// has seen no key keeps m = -inf; its exponent uses 0 instead, so that -inf - -inf is never formed.
#pragma once
#include "compiler/lower/AttnToTile/TileBuilder.h"

namespace attune {

/// The fragment types of one wave's tile.
struct FragTypes {
  tile::FragType scores;   ///< f32 kvTile x qPerWave, accumulator layout
  tile::FragType weights;  ///< the same in the input type: P, which is already the operand of PV
  tile::FragType output;   ///< f32 v_head_dim x qPerWave
  tile::FragType stat;     ///< f32 1 x qPerWave: one value per query
  tile::FragType halfStat; ///< f32 2 x qPerWave: one value per query and lane half
};

struct SoftmaxState {
  mlir::Value m; ///< stat; -inf before the first visible key
  mlir::Value l; ///< halfStat
  mlir::Value o; ///< output
};

class SoftmaxCore {
public:
  /// `exact`: the scores are those of a function.
  SoftmaxCore(const FragTypes &types, double c, bool exact) : types_(types), c_(c), exact_(exact) {}

  SoftmaxState initial(const TileBuilder &) const;
  /// The state with m high enough for the tile, and O and l as they are under that m.
  SoftmaxState raised(const TileBuilder &, const SoftmaxState &, mlir::Value scores) const;
  /// The new l, and P to be multiplied with V, of a tile that m is high enough for.
  std::pair<mlir::Value, mlir::Value> weights(const TileBuilder &, const SoftmaxState &,
                                              mlir::Value scores) const;

  struct Final {
    mlir::Value output; ///< f32 output / sum, 0 for a query that saw nothing
    mlir::Value lse;    ///< stat: logarithm of the sum of exp, sink included; -inf if empty
    bool natural;       ///< whether `lse` is one of base e already, or of base 2
  };
  /// `sink` is the head's extra logit in natural units (f32), or null; `natural`: what the LSE is
  /// wanted in.
  Final finish(const TileBuilder &, const SoftmaxState &, mlir::Value sink, bool natural) const;

private:
  /// exp2((scores - m) * c); m = -inf counts as 0.
  mlir::Value power(const TileBuilder &, tile::FragType, mlir::Value scores, mlir::Value m) const;

  FragTypes types_;
  double c_;
  bool exact_;
};

} // namespace attune
