// One random test: a spec, the parameters set on it, the shapes and the way of storing the tensors.
// Everything in it follows from the seed.
#pragma once
#include "runtime/sim/Simulator.h"
#include "tests/e2e/random/Generator.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::e2e::random {

struct Case {
  uint64_t seed = 0;
  // The spec.
  DType dtype = DType::BF16, outDtype = DType::BF16;
  bool dtypeIsParam = false, dense = false;
  int qHeads = 1, kvHeads = 1, dim = 64, vDim = 64;
  std::string scale, lse = "natural", schedule;
  bool sink = false;
  std::optional<Node> score, mask;
  std::vector<TensorDecl> tensors;
  std::vector<ScalarDecl> scalars;
  std::vector<ParamDecl> params;
  // The call.
  std::vector<int64_t> qLens, kvLens;
  bool huge = false;      ///< logits of a thousand and more
  bool strided = false;   ///< gaps of NaN, permuted dimensions
  bool slack = false;     ///< varlen: tokens before and after all sequences, NaN; maxQLen too large
  bool poisoned = false;  ///< NaN in keys and values that no row sees
  sim::RunOptions policy; ///< arrival, schedule and their seeds

  std::string text() const;
  std::map<std::string, std::string> sets() const;
  /// Whether the text of score, mask or scale speaks of a name.
  bool uses(const std::string &name) const;
  std::string describe() const;
};

Case makeCase(uint64_t seed);

} // namespace attune::e2e::random
