// What a model's config.json says about its attention, in terms that are the same for every family.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::aot {

/// The layers of a model whose attention is alike.
struct LayerGroup {
  std::string name; ///< "full", "window 4096", "chunk 8192"
  int64_t layers = 0;
  std::optional<int64_t> window, chunk;
};

/// The attention of one stack of layers: the text model or the image encoder.
struct Stack {
  std::string family; ///< model_type
  int64_t numQHeads = 0, numKvHeads = 0, headDim = 0;
  std::string dtype; ///< "bf16", "fp16", or what the config says; empty: it says nothing
  bool causal = true, sink = false, alibi = false;
  bool imageBlocks = false; ///< rows of one image see each other in both directions
  std::string lacks;        ///< why this version makes no kernel for it; empty: it may
  std::optional<double> softcap;
  std::optional<double> scaleDim; ///< the scale is 1 / sqrt of it; absent: of head_dim
  std::vector<LayerGroup> groups;
};

/// The stacks of a config.json: one, or those of its text_config and encoders; an encoder of
/// unknown family `lacks` a kernel. Errors: InvalidSpec, with the file and the key; Unsupported,
/// the family of the text model is not known.
Result<std::vector<Stack>> readConfig(std::string_view json, const std::string &fileName);

/// The rows of Families.def, sorted.
std::vector<std::string_view> knownFamilies();

} // namespace attune::aot
