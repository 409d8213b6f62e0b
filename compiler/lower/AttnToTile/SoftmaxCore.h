// Streaming softmax in base 2, one query per lane column.
//
// S^T has keys on rows and queries on columns, so a query's statistics are a row reduction:
// registers of a lane, then one exchange with the lane that holds the other half of its keys. State
// per query: the maximum m of the scores seen, the sum l of exp2((s - m) * c) and the unnormalised
// output O. A new tile with maximum m' gives
//   m2 = max(m, m'), alpha = exp2((m - m2) * c), p = exp2(s * c - m2 * c), l = alpha * l + sum p, O
//   = alpha * O + V^T p.
// c is scale * log2(e) when the scores are the raw products, so Q is never multiplied and never
// rounded twice; it is log2(e) when a score function made them. The sum stays split over the two
// lane halves until the end: alpha is the same in both, so one exchange after the loop is enough.
// Scores of a function may be of any size: -3.4e38 stands for "hidden" in many models. There a
// rounding of m2 * c could exceed what exp2 and P hold, so p = exp2((s - m2) * c), one operation
// more, and the greatest p is exactly 1.
// A query that has seen no key keeps m = -inf; its exponent uses 0 instead, so that -inf - -inf is
// never formed.
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
  mlir::Value m; ///< stat
  mlir::Value l; ///< halfStat
  mlir::Value o; ///< output
};

class SoftmaxCore {
public:
  /// `exact`: the scores are those of a function.
  SoftmaxCore(const FragTypes &types, double c, bool exact) : types_(types), c_(c), exact_(exact) {}

  SoftmaxState initial(const TileBuilder &) const;
  /// Takes a tile of scores; returns the new state, O already rescaled, and P to be multiplied with
  /// V.
  std::pair<SoftmaxState, mlir::Value> step(const TileBuilder &, const SoftmaxState &,
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
  /// alpha and P for the maxima before and after a tile.
  std::pair<mlir::Value, mlir::Value> weights(const TileBuilder &, mlir::Value before,
                                              mlir::Value m, mlir::Value scores) const;
  std::pair<mlir::Value, mlir::Value> exactWeights(const TileBuilder &, mlir::Value before,
                                                   mlir::Value m, mlir::Value scores) const;

  FragTypes types_;
  double c_;
  bool exact_;
};

} // namespace attune
