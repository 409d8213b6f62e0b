// Streams, events, stream capture and graphs.
//
// Work on a stream runs at once, so that streams need no queue and events only a time. Capture is
// where they matter: work submitted to a capturing stream becomes a node of a graph instead.
// Waiting for an event that was recorded in a capture draws the waiting stream into it; the stream
// that began the capture must wait for all of them before it ends it. Nodes are kept in the order
// in which they were submitted, which respects every dependency, and a graph launch runs them in
// it.
#pragma once
#include "runtime/hip/Abi.h"
#include "runtime/hip/Gpus.h"
#include "runtime/hip/Outcome.h"
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace attune::hip {

struct Runtime;
using Work = std::function<Outcome(Runtime &)>;

struct Capture;

} // namespace attune::hip

struct attuneHipStream {
  unsigned flags = 0;
  int priority = 0;
  attune::hip::Gpu *gpu = nullptr; ///< null: the default stream, of whichever is current
  std::shared_ptr<attune::hip::Capture> capture;
};

struct attuneHipEvent {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point when;
  // In a capture:
  std::weak_ptr<attune::hip::Capture> capture;
  attuneHipStream *stream = nullptr;
  size_t position = 0; ///< nodes that the capture had by then
};

struct attuneHipGraphNode {
  attune::hip::Work work;
};

struct attuneHipGraph {
  std::vector<std::shared_ptr<attuneHipGraphNode>> nodes;
};

struct attuneHipGraphExec {
  std::vector<std::shared_ptr<attuneHipGraphNode>> nodes;
};

namespace attune::hip {

struct Capture {
  uint64_t id = 0;
  int mode = CaptureGlobal;
  std::thread::id thread;
  attuneHipStream *origin = nullptr;
  std::set<attuneHipStream *> members;
  /// Streams whose work the origin has not waited for, with the number of nodes after their last.
  std::map<attuneHipStream *, size_t> unjoined;
  attuneHipGraph graph;
  bool invalid = false;
};

class Streams {
public:
  explicit Streams(Gpus &gpus) : gpus_(gpus) {}
  /// On the current GPU.
  Outcome create(hipStream_t *out, unsigned flags, int priority);
  Outcome destroy(hipStream_t);
  /// The stream of a handle, the default stream's three names included; null if there is none.
  attuneHipStream *find(hipStream_t);
  /// The GPU that work on a stream runs on; the current one for a handle that is none.
  Gpu &gpuOf(hipStream_t);
  /// Runs work, or captures it.
  Outcome submit(Runtime &, hipStream_t, Work);
  /// Calls that wait: not allowed on a capturing stream.
  Outcome synchronize(hipStream_t);
  /// Calls that affect the whole device (hipMalloc, hipDeviceSynchronize): not allowed while a
  /// capture forbids it.
  Outcome checkUnsafe();

  Outcome createEvent(hipEvent_t *out, unsigned flags);
  Outcome destroyEvent(hipEvent_t);
  Outcome record(hipEvent_t, hipStream_t);
  Outcome wait(hipStream_t, hipEvent_t);
  /// The event has happened, or why that cannot be said.
  Outcome checkEvent(hipEvent_t) const;
  Outcome elapsed(float *milliseconds, hipEvent_t start, hipEvent_t end) const;

  Outcome beginCapture(hipStream_t, int mode);
  Outcome endCapture(hipStream_t, hipGraph_t *out);
  Outcome captureInfo(hipStream_t, int *status, unsigned long long *id);
  Outcome exchangeMode(int *mode);

  Outcome createGraph(hipGraph_t *out);
  Outcome destroyGraph(hipGraph_t);
  Outcome nodes(hipGraph_t, hipGraphNode_t *out, size_t *count) const;
  Outcome instantiate(hipGraphExec_t *out, hipGraph_t);
  Outcome destroyExec(hipGraphExec_t);
  Outcome launchGraph(Runtime &, hipGraphExec_t, hipStream_t);

private:
  Outcome invalidate(Capture &, hipError_t);
  Capture *forbidding();
  hipGraph_t adopt(attuneHipGraph);

  Gpus &gpus_;
  attuneHipStream default_;
  std::map<const attuneHipStream *, std::unique_ptr<attuneHipStream>> streams_;
  std::map<const attuneHipEvent *, std::unique_ptr<attuneHipEvent>> events_;
  std::map<const attuneHipGraph *, std::unique_ptr<attuneHipGraph>> graphs_;
  std::map<const attuneHipGraphExec *, std::unique_ptr<attuneHipGraphExec>> execs_;
  std::map<uint64_t, std::shared_ptr<Capture>> captures_; ///< those that have not ended
  uint64_t nextCapture_ = 1;
};

} // namespace attune::hip
