// From a model's config and the way it is served to the kernels it needs.
//
// Every stack of the model (text, images) and every kind of layer in it (with a window, full) is a
// variant: a spec with its parameters, and the reason for it. What this version of the compiler
// cannot make yet is listed too, by name: a plan that left it out would look complete.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/aot/List.h"
#include <string>
#include <string_view>
#include <vector>

namespace attune::aot {

struct Serving {
  int tensorParallel = 1; ///< ranks that share the heads
  int pageSize = 0;       ///< tokens of a page of the KV cache; 0: K and V are contiguous
  int specDecode = 0;     ///< tokens that are drafted per step
  std::string kvDtype{};  ///< of the KV cache; empty: as the model
  std::string dtype{};    ///< of q and out; empty: as the config says, else bf16
};

/// What kernels exist for.
struct Limits {
  std::vector<int> headDims;
  std::vector<std::string> dtypes;
};

struct Variant {
  std::string name; ///< "llama full", for tables
  std::string spec; ///< file name of its spec
  std::string text; ///< of its spec
  std::vector<std::pair<std::string, std::string>> set;
  std::string reason;
};

struct NotCovered {
  std::string name, reason;
  bool layers = false; ///< layers without any kernel: such a model cannot be served at all
};

struct ModelPlan {
  std::vector<Variant> variants;
  std::vector<NotCovered> notCovered;
};

/// Errors: those of readConfig; InvalidArgument, the serving options do not fit the model.
Result<ModelPlan> planModel(std::string_view configJson, const std::string &fileName,
                            const Serving &, const Limits &);

/// The variants as a list; `heading` is a comment of whole lines.
std::string planText(const ModelPlan &, std::string_view heading);

} // namespace attune::aot
