// Which keys can a block of query rows see, and which keys does every row of it see?
//
// For the rows at positions q0..q1 (absolute, inclusive) the mask region of an attn.kernel is
// turned into intervals of key positions with closed-form ends. Each interval has an outer hull
// [anyLo, anyHi], keys outside every hull are visible to no row, and an inner part [allLo, allHi]
// that every row sees. A kv tile is then
//   empty   if it meets no hull,
//   full    if it lies inside one inner part (and inside [0, kv_len)),
//   partial otherwise.
// Example, causal && window(W): hull [q0 - W + 1, q1], inner [q1 - W + 1, q0].
// Ends are monotone in q, so the hull takes q0 for lower ends and q1 for upper ends, the inner part
// the reverse.
#pragma once
#include "compiler/dialect/attn/AttnOps.h"
#include <memory>
#include <string>
#include <vector>

namespace attune::analysis {

/// An integer expression over q0, q1 and values that are the same for the whole workgroup.
struct Bound {
  enum Kind {
    Const,
    NegInf,
    PosInf,
    Q0,
    Q1,
    KvLen,
    Uniform,
    Add,
    Sub,
    MulConst,
    FloorDivConst,
    Min,
    Max
  };
  Kind kind = Const;
  int64_t value = 0;   ///< Const; factor of MulConst; divisor of FloorDivConst (> 0)
  mlir::Value uniform; ///< Uniform: a value of the mask region that depends on neither q nor k;
                       ///< i32, or i1 as 0 or 1
  std::vector<Bound> operands; ///< Add, Sub, Min, Max: two; MulConst, FloorDivConst: one
  std::string str() const;     ///< "max(q0 - 4095, 0)", for explain and tests
  bool isConst(int64_t v) const { return kind == Const && value == v; }
};

struct VisibleInterval {
  Bound anyLo, anyHi; ///< inclusive
  Bound allLo, allHi; ///< inclusive; empty when allLo > allHi
};

/// Keys that one row sees, inclusive; Q0 is the row's position.
struct RowKeys {
  Bound lo, hi;
};

struct MaskBounds {
  /// Ordered so that anyLo never decreases from one to the next (proven), so visiting tiles
  /// interval by interval, each clipped to start after the previous one's end, meets every tile
  /// once. Never empty as a list: a mask that hides everything is one interval with anyLo > anyHi.
  std::vector<VisibleInterval> intervals;
  /// What a row sees is the union of these, clipped to [0, kv_len - 1]; empty as a list if that is
  /// not known in closed form, or in so many parts that the mask itself is no longer.
  std::vector<RowKeys> row;
  /// True if the classes equal brute force for every q block; false if some conjunct was not
  /// understood and tiles may be called partial that are empty or full.
  bool exact = true;
  /// True if every key of a hull is seen by some row, for every q block.
  bool exactHulls = true;
  /// The part of the mask that was not understood, in words, for explain ("doc[q] == doc[k]");
  /// empty if exact.
  std::string unanalysed;
};

/// Analyses the mask region (an absent mask sees all of [0, kv_len)). Ends include the clip to [0,
/// kv_len - 1].
MaskBounds analyzeMask(attn::KernelOp kernel);

/// Emits a bound as i32 arith ops. `mapUniform` gives the value, at the builder's point, of a
/// Uniform of the region.
mlir::Value materialize(mlir::OpBuilder &, mlir::Location, const Bound &, mlir::Value q0,
                        mlir::Value q1, mlir::Value kvLen,
                        llvm::function_ref<mlir::Value(mlir::Value)> mapUniform);

/// The same as a number.
int64_t evaluate(const Bound &, int64_t q0, int64_t q1, int64_t kvLen,
                 llvm::function_ref<int64_t(mlir::Value)> uniform);

/// A test pass, attn-print-mask-bounds: prints each kernel's bounds as a remark on it.
void registerPrintMaskBoundsPass();

} // namespace attune::analysis
