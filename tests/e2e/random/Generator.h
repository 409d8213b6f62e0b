// Random scores and masks, and the tensors, scalars, parameters and functions that they turn out to
// need.
#pragma once
#include "runtime/abi/DType.h"
#include "tests/e2e/random/Expr.h"
#include <optional>

namespace attune::e2e::random {

/// What the generator may count on: the shapes come first.
struct Facts {
  int qHeads = 1, kvHeads = 1, batch = 1;
  int64_t longestQ = 0, longestKv = 0;
  bool huge = false;    ///< logits of a thousand and more
  bool shortKv = false; ///< some sequence has kv_len < q_len, so q may be negative
};

struct TensorDecl {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::string> dims;
  bool ascending = false; ///< declared nondecreasing
  std::string text() const;
};

struct ScalarDecl {
  std::string name;
  bool real = false;
  double value = 0;
};

struct ParamDecl {
  std::string name, type, defaultText;
  std::optional<std::string> given; ///< set on the command line
};

/// Functions that a random expression may call; a spec gets the definitions that it uses.
struct FunctionDecl {
  std::string name, text;
};
const std::vector<FunctionDecl> &functionPool();

class Generator {
public:
  Generator(Rng &rng, Facts facts) : rng_(rng), facts_(facts) {}

  Node score();
  Node mask();

  std::vector<TensorDecl> tensors;
  std::vector<ScalarDecl> scalars;
  std::vector<ParamDecl> params;

private:
  Node real(int depth);
  Node realLeaf();
  Node realUnary(int depth);
  Node realBinary(int depth);
  Node realStructure(int depth);
  Node wholeReal(int depth);
  Node aroundLogit(int depth);
  Node integer(int depth);
  Node integerLeaf();
  Node integerBinary(int depth);
  Node condition(int depth);
  Node conditionLeaf();
  Node pattern();
  Node libraryMask();
  Node guarded();
  Node comparison(int depth);

  /// An element of a captured tensor, old or new, every index inside its dimension.
  Node element(DType);
  Node elementNode(const TensorDecl &, std::string form, std::vector<Node> indices) const;
  std::pair<std::string, Node> dimension();
  /// A position, a length: a literal, parameter, scalar or tensor element in [lo, hi].
  Node length(int64_t lo, int64_t hi);
  Node literal(int64_t);
  Node literal(double);
  /// `made` if its bounds are within what the tolerances allow, else `otherwise`.
  Node orElse(Node made, Node otherwise) const;
  std::string fresh(std::string prefix) { return prefix + std::to_string(names_++); }

  Rng &rng_;
  Facts facts_;
  int names_ = 0;
  bool causal_ = false; ///< the mask hides every k > q
};

} // namespace attune::e2e::random
