// From a caller's tensors to a launch: checks every tensor against the sidecar, works out the grid
// and packs the kernel arguments by name. Pure arithmetic on views; no device is touched.
#pragma once
#include "runtime/device/Device.h"
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune {

/// A tensor in device memory. Strides are in elements; the last dimension of q, k, v and out must
/// have stride 1.
struct TensorView {
  DevicePtr data = 0;
  DType dtype = DType::BF16;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool hasElements() const;
  static TensorView packed(DevicePtr data, DType dtype, std::vector<int64_t> shape);
};

/// One call. Shapes (dense / varlen):
///   q    [batch, q_len, num_q_heads, head_dim]      / [q tokens, num_q_heads, head_dim]
///   k    [batch, kv_len, num_kv_heads, head_dim]    / [kv tokens, num_kv_heads, head_dim]
///   v    [batch, kv_len, num_kv_heads, v_head_dim]  / [kv tokens, num_kv_heads, v_head_dim]
///   out  [batch, q_len, num_q_heads, v_head_dim]    / [q tokens, num_q_heads, v_head_dim]
///   lse  f32 [batch, num_q_heads, q_len]            / f32 [num_q_heads, q tokens]
///   sink f32 [num_q_heads]
struct AttentionCall {
  TensorView q, k, v, out;
  std::optional<TensorView> lse, sink;
  DevicePtr cuSeqlensQ = 0, cuSeqlensK = 0;  ///< varlen: device i32[batch + 1]
  int64_t batch = 0;                         ///< varlen: number of sequences
  int64_t maxQLen = 0;                       ///< varlen: an upper bound of the q lengths
  std::map<std::string, TensorView> tensors; ///< captured tensors by name
  std::map<std::string, double> scalars;     ///< run-time scalars by name
};

/// Plain data; valid while the views and lengths it was made from are.
struct LaunchPlan {
  LaunchDims dims;
  std::vector<uint8_t> kernarg;
  bool empty = false; ///< nothing to do (no query rows)
};

/// Errors name the tensor, the dimension, what it must be and what it is; the limits are those of
/// CallCheck.h: strides of 0 or more, rows of q, k, v and out dense and 16-byte aligned, 256 rows
/// and captured tensors within 2^31 bytes, outputs whose elements do not overlap, fewer than 2^32
/// threads.
Result<LaunchPlan> planLaunch(const Sidecar &, const AttentionCall &);

} // namespace attune
