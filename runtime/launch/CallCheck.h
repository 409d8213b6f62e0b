// Does a call fit a kernel? Every tensor against the sidecar, before anything is launched.
#pragma once
#include "runtime/launch/Attention.h"

namespace attune {

/// The numbers of a call that its tensors agree on.
struct CallShape {
  int64_t batch = 0;
  int64_t maxQLen = 0; ///< dense: q_len
  int64_t kvLen = 0;   ///< dense only
};

/// Limits of a call, by name, so that errors, tests and documents agree.
namespace limits {
/// Lengths, batch and token counts: positions are 32-bit and a kernel adds tile sizes to them.
constexpr int64_t length = int64_t(1) << 30;
/// Bytes that a kernel may address with a 32-bit offset from one base: the rows of a tile, a
/// captured tensor.
constexpr int64_t span32 = int64_t(1) << 31;
/// Rows of the largest q block or kv tile that a plan may choose.
constexpr int64_t tileRows = 256;
/// q, k, v and out move in vectors of this many bytes.
constexpr int64_t rowAlignment = 16;
/// Workgroups times threads of a launch (a 32-bit count on the hardware).
constexpr int64_t threads = (int64_t(1) << 32) - 1;
} // namespace limits

Result<CallShape> checkCall(const ProblemShape &, const AttentionCall &);

} // namespace attune
