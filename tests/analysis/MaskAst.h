// Random masks for the property test: a tree that can be evaluated by its own simple rules, and
// built as an attn.kernel. The evaluator shares nothing with the analysis: it knows only what an
// operator does to two numbers.
#pragma once
#include "compiler/dialect/attn/AttnOps.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace attune::test {

enum class Kind {
  // leaves; `number` says which constant, scalar or tensor
  Q,
  K,
  QI,
  B,
  H,
  Ctx,
  QLen,
  KvLen,
  Const,
  Scalar,
  PerBatch,
  PerToken,
  True,
  False,
  // i32
  Add,
  Sub,
  Times,
  FloorDiv,
  Min,
  Max,
  Choose,
  // bool
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Xor,
  Not,
  If,
};

struct Node;
using Mask = std::shared_ptr<const Node>;

struct Node {
  Kind op;
  int64_t number = 0;
  std::vector<Mask> args;
};

Mask leaf(Kind, int64_t number = 0);
Mask node(Kind, std::vector<Mask> args);
inline Mask lit(int64_t value) { return leaf(Kind::Const, value); }

/// Everything a mask can read but q and k.
struct World {
  int64_t qLen = 1, kvLen = 1, b = 0, h = 0;
  std::vector<int64_t> scalars, perBatch,
      perToken; ///< perToken: of this sequence, by position; ends are repeated
  int64_t ctx() const { return kvLen - qLen; }
};

int64_t evaluate(const Node &, const World &, int64_t q, int64_t k);

constexpr int kScalars = 2;

/// An attn.kernel with this mask, at the end of the module; `origin` says which node each value
/// came from.
attn::KernelOp buildKernel(mlir::ModuleOp, const Mask &, llvm::DenseMap<mlir::Value, Mask> &origin);

using Random = std::mt19937_64;
int64_t pick(Random &, int64_t least, int64_t greatest);

/// Boolean combinations of causal, windows, prefixes, chunks, affine comparisons and things no
/// analysis understands.
Mask randomMask(Random &, int depth);

} // namespace attune::test
