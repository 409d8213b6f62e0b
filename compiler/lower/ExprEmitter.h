// Emits expressions of a spec into a score or mask region.
//
// What is emitted is the normal form, in which equal nodes are one: `causal && window(8)` says
// `k <= q` twice and its region has it once. Constants that only the lowering needs are shared too.
#pragma once
#include "compiler/dialect/attn/AttnOps.h"
#include "compiler/spec/Model.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace attune {

class ExprEmitter {
public:
  /// `body` is the block of the score region (with the logit) or of the mask region.
  ExprEmitter(mlir::OpBuilder &, attn::KernelOp, const spec::Model &, mlir::Block *body);

  mlir::Value emit(spec::ExprId);

  /// What `s` stands for; the first argument of the block until replaced.
  mlir::Value logit() const { return logit_; }
  void setLogit(mlir::Value logit) { logit_ = logit; }

private:
  mlir::Value emitNode(const spec::Expr &, llvm::ArrayRef<mlir::Value> args);
  mlir::Value index(spec::IndexName) const;
  mlir::Value read(int64_t tensor, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value scalar(int64_t number);
  mlir::Value operation(spec::ExprKind, spec::ScalarType, llvm::ArrayRef<mlir::Value> args);
  mlir::Value realSequence(spec::ExprKind, mlir::Value x, mlir::Value y);
  mlir::Value wholeSequence(spec::ExprKind, mlir::Value x, mlir::Value y);
  mlir::Value toF32(mlir::Value);
  mlir::Value toI32(mlir::Value);
  mlir::Value nonZero(mlir::Value divisor);
  mlir::Value floorDiv(mlir::Value, mlir::Value divisor);
  mlir::Value floorMod(mlir::Value, mlir::Value divisor);
  mlir::Value constI(int64_t);
  mlir::Value constF(double);

  template <class OpT, class... Args> mlir::Value make(Args &&...args) {
    return OpT::create(b_, loc_, std::forward<Args>(args)...);
  }

  /// Kind, type, literal bits, then the operands: equal keys are equal values.
  using Key = std::vector<uint64_t>;
  static Key keyOf(spec::ExprKind, spec::ScalarType, double f, int64_t i,
                   llvm::ArrayRef<mlir::Value> args);

  mlir::OpBuilder &b_;
  attn::KernelOp kernel_;
  const spec::Model &model_;
  mlir::Block *body_;
  mlir::Value logit_;
  mlir::Location loc_;
  llvm::DenseMap<spec::ExprId, mlir::Value> done_;
  std::map<Key, mlir::Value> known_;
  llvm::DenseMap<mlir::Value, mlir::Value> nonZero_; ///< divisor to what is divided by
};

} // namespace attune
