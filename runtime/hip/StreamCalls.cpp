// HIP's calls about streams, events, capture and graphs.
#include "runtime/hip/Runtime.h"

using namespace attune::hip;

namespace {

using StreamCallback = void (*)(hipStream_t, hipError_t, void *);
using HostFunction = void (*)(void *);

/// Nothing is ever pending: a call that waits only reports what a kernel did before.
Outcome waited(const Gpu &gpu, Outcome outcome) {
  return outcome.ok() ? Outcome(gpu.error) : outcome;
}

hipError_t synchronize(const char *name, hipStream_t stream) {
  return call(name, [&](Runtime &r) {
    return waited(r.streams.gpuOf(stream), r.streams.synchronize(stream));
  });
}

} // namespace

extern "C" {

hipError_t hipStreamCreate(hipStream_t *out) {
  return call(__func__, [&](Runtime &r) { return r.streams.create(out, 0, 0); });
}
hipError_t hipStreamCreateWithFlags(hipStream_t *out, unsigned flags) {
  return call(__func__, [&](Runtime &r) { return r.streams.create(out, flags, 0); });
}
hipError_t hipStreamCreateWithPriority(hipStream_t *out, unsigned flags, int priority) {
  return call(__func__, [&](Runtime &r) { return r.streams.create(out, flags, priority); });
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return call(__func__, [&](Runtime &r) { return r.streams.destroy(stream); });
}
hipError_t hipStreamSynchronize(hipStream_t stream) { return synchronize(__func__, stream); }
hipError_t hipStreamQuery(hipStream_t stream) { return synchronize(__func__, stream); }

hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *out) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    attuneHipStream *stream = r.streams.find(handle);
    if (!stream || !out)
      return {hipErrorInvalidValue, "no such stream, or no pointer to fill in"};
    *out = stream->flags;
    return {};
  });
}
hipError_t hipStreamGetPriority(hipStream_t handle, int *out) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    attuneHipStream *stream = r.streams.find(handle);
    if (!stream || !out)
      return {hipErrorInvalidValue, "no such stream, or no pointer to fill in"};
    *out = stream->priority;
    return {};
  });
}
hipError_t hipStreamGetDevice(hipStream_t handle, int *out) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    if (!r.streams.find(handle) || !out)
      return {hipErrorInvalidValue, "no such stream, or no pointer to fill in"};
    *out = r.streams.gpuOf(handle).ordinal;
    return {};
  });
}

hipError_t hipStreamAddCallback(hipStream_t stream, StreamCallback callback, void *data, unsigned) {
  return call(__func__, [&](Runtime &r) {
    return r.streams.submit(r, stream, [=](Runtime &now) {
      callback(stream, now.streams.gpuOf(stream).error, data);
      return Outcome();
    });
  });
}
hipError_t hipLaunchHostFunc(hipStream_t stream, HostFunction function, void *data) {
  return call(__func__, [&](Runtime &r) {
    return r.streams.submit(r, stream, [=](Runtime &) {
      function(data);
      return Outcome();
    });
  });
}

hipError_t hipEventCreate(hipEvent_t *out) {
  return call(__func__, [&](Runtime &r) { return r.streams.createEvent(out, 0); });
}
hipError_t hipEventCreateWithFlags(hipEvent_t *out, unsigned flags) {
  return call(__func__, [&](Runtime &r) { return r.streams.createEvent(out, flags); });
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return call(__func__, [&](Runtime &r) { return r.streams.destroyEvent(event); });
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call(__func__, [&](Runtime &r) { return r.streams.record(event, stream); });
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return call(__func__,
              [&](Runtime &r) { return waited(r.gpus.current(), r.streams.checkEvent(event)); });
}
hipError_t hipEventQuery(hipEvent_t event) {
  return call(__func__,
              [&](Runtime &r) { return waited(r.gpus.current(), r.streams.checkEvent(event)); });
}
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t end) {
  return call(__func__, [&](Runtime &r) { return r.streams.elapsed(milliseconds, start, end); });
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return call(__func__, [&](Runtime &r) { return r.streams.wait(stream, event); });
}

hipError_t hipStreamBeginCapture(hipStream_t stream, int mode) {
  return call(__func__, [&](Runtime &r) { return r.streams.beginCapture(stream, mode); });
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *out) {
  return call(__func__, [&](Runtime &r) { return r.streams.endCapture(stream, out); });
}
hipError_t hipStreamIsCapturing(hipStream_t stream, int *status) {
  return call(__func__, [&](Runtime &r) { return r.streams.captureInfo(stream, status, nullptr); });
}
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, int *status, unsigned long long *id) {
  return call(__func__, [&](Runtime &r) { return r.streams.captureInfo(stream, status, id); });
}
hipError_t hipThreadExchangeStreamCaptureMode(int *mode) {
  return call(__func__, [&](Runtime &r) { return r.streams.exchangeMode(mode); });
}

hipError_t hipGraphCreate(hipGraph_t *out, unsigned) {
  return call(__func__, [&](Runtime &r) { return r.streams.createGraph(out); });
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call(__func__, [&](Runtime &r) { return r.streams.destroyGraph(graph); });
}
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  return call(__func__, [&](Runtime &r) { return r.streams.nodes(graph, nodes, count); });
}
hipError_t hipGraphInstantiate(hipGraphExec_t *out, hipGraph_t graph, hipGraphNode_t *, char *,
                               size_t) {
  return call(__func__, [&](Runtime &r) { return r.streams.instantiate(out, graph); });
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *out, hipGraph_t graph, unsigned long long) {
  return call(__func__, [&](Runtime &r) { return r.streams.instantiate(out, graph); });
}
hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return call(__func__, [&](Runtime &r) { return r.streams.destroyExec(exec); });
}
hipError_t hipGraphUpload(hipGraphExec_t, hipStream_t) {
  return call(__func__, [](Runtime &) { return Outcome(); }); // nothing to prepare
}
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return call(__func__, [&](Runtime &r) { return r.streams.launchGraph(r, exec, stream); });
}

} // extern "C"
