// A launch worked out from shapes alone, to be repeated with other pointers.
//
// A plan is plain data: the grid, and the kernel's arguments with holes where the addresses go. It
// is made once for each set of shapes (a serving loop has few) and may then be run any number of
// times: a run fills the holes on its own stack and launches, so it allocates nothing, looks at no
// length on the device and can be captured into a graph.
//
// A plan is valid while
//   - the tensors have the shapes, strides and types that it was made from, except that varlen
//     tensors may hold fewer tokens;
//   - dense: batch, q_len and kv_len are those of the shapes;
//   - varlen: the batch is that of the plan (shorter ones repeat the last element of cu_seqlens),
//   no
//     q length exceeds max_q_len, and cu_seqlens stays within the tokens given.
// What a caller says of a run is checked against this; what only the device knows is the caller's
// promise, and a kernel that meets a longer length leaves its last rows unwritten.
#pragma once
#include "runtime/launch/Attention.h"
#include <span>

namespace attune {

/// Addresses of a run, by their numbers in CallPlan::Hole. Captured tensors follow in the order of
/// the sidecar's problem.
enum CallPointer : uint16_t { Q, K, V, Out, Lse, Sink, CuSeqlensQ, CuSeqlensK, FirstTensor };

/// What a caller knows of one run; 0: as the plan.
struct RunBounds {
  int64_t batch = 0, maxQLen = 0, qTokens = 0, kvTokens = 0;
};

struct CallPlan {
  struct Hole {
    uint32_t offset = 0;    ///< in the kernel's arguments
    uint16_t pointer = 0;   ///< CallPointer
    uint16_t alignment = 1; ///< bytes
    bool needed = true;     ///< the tensor has elements
  };
  LaunchDims dims;
  std::vector<uint8_t> kernarg; ///< with zeros in the holes
  std::vector<Hole> holes;
  std::vector<std::string> names; ///< of the pointers, for messages
  bool empty = false;             ///< nothing to launch
  bool dense = true;
  RunBounds bounds; ///< that it was made for

  /// The rule above with this plan's numbers.
  std::string validWhile() const;
};

/// Kernels have a few hundred bytes of arguments; a run keeps them on its stack.
constexpr size_t mostKernargBytes = 4096;

/// Addresses in `shapes` are ignored. Errors: as planLaunch.
Result<CallPlan> planCall(const Sidecar &, AttentionCall shapes);

/// Fills the holes: `kernarg` has the plan's size. Errors: InvalidArgument, for a run outside the
/// plan, a null or misaligned address.
Result<void> bindCall(const CallPlan &, std::span<const DevicePtr> pointers, const RunBounds &,
                      std::span<uint8_t> kernarg);

} // namespace attune
