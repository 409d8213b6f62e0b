// Spec texts for planned kernels: one file for each combination of features, sizes as parameters.
#pragma once
#include <string>

namespace attune::aot {

struct SpecFeatures {
  bool causal = true, window = false, chunk = false, sink = false, alibi = false, softcap = false,
       scale = false;
};

/// "prefill_window_softcap"; an encoder is "encoder".
std::string specName(const SpecFeatures &);

/// Parameters: dtype, num_q_heads, num_kv_heads, head_dim; with the feature width, length, cap,
/// scale_dim.
std::string specText(const SpecFeatures &);

} // namespace attune::aot
