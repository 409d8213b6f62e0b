// Streams, events and capture; Graphs.cpp has the rest of the class.
#include "runtime/hip/Streams.h"
#include "runtime/hip/Runtime.h"
#include <fmt/format.h>

namespace attune::hip {

namespace {

/// How this thread's captures treat calls that affect the whole device.
int &threadMode() {
  thread_local int mode = CaptureGlobal;
  return mode;
}

Outcome nullPointer() { return {hipErrorInvalidValue, "the pointer to fill in is null"}; }

constexpr uintptr_t streamLegacy = 1, streamPerThread = 2;

} // namespace

Outcome Streams::create(hipStream_t *out, unsigned flags, int priority) {
  if (!out)
    return nullPointer();
  if (flags > streamNonBlocking)
    return {hipErrorInvalidValue, fmt::format("stream flags are 0 or 1, not {}", flags)};
  auto stream = std::make_unique<attuneHipStream>(
      attuneHipStream{flags, priority, &gpus_.current(), nullptr});
  *out = stream.get();
  streams_[*out] = std::move(stream);
  return {};
}

Outcome Streams::destroy(hipStream_t handle) {
  auto at = streams_.find(handle);
  if (at == streams_.end())
    return hipErrorInvalidHandle;
  if (std::shared_ptr<Capture> capture = handle->capture) {
    capture->members.erase(handle);
    capture->unjoined.erase(handle);
    if (capture->origin == handle) {
      for (attuneHipStream *member : capture->members)
        member->capture = nullptr;
      captures_.erase(capture->id);
    } else {
      capture->invalid = true;
    }
  }
  streams_.erase(at);
  return {};
}

attuneHipStream *Streams::find(hipStream_t handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= streamPerThread)
    return &default_;
  auto at = streams_.find(handle);
  return at == streams_.end() ? nullptr : at->second.get();
}

Gpu &Streams::gpuOf(hipStream_t handle) {
  attuneHipStream *stream = find(handle);
  return stream && stream->gpu ? *stream->gpu : gpus_.current();
}

Outcome Streams::invalidate(Capture &capture, hipError_t error) {
  capture.invalid = true;
  return error;
}

/// A capture that forbids calls on the whole device in this thread.
Capture *Streams::forbidding() {
  if (threadMode() == CaptureRelaxed)
    return nullptr;
  for (auto &[id, capture] : captures_)
    if ((capture->mode == CaptureGlobal && threadMode() == CaptureGlobal) ||
        (capture->mode != CaptureRelaxed && capture->thread == std::this_thread::get_id()))
      return capture.get();
  return nullptr;
}

Outcome Streams::checkUnsafe() {
  Capture *capture = forbidding();
  return capture ? invalidate(*capture, hipErrorStreamCaptureUnsupported) : Outcome();
}

Outcome Streams::submit(Runtime &runtime, hipStream_t handle, Work work) {
  attuneHipStream *stream = find(handle);
  if (!stream)
    return {hipErrorInvalidHandle, "no such stream"};
  if (stream->capture) {
    Capture &capture = *stream->capture;
    if (capture.invalid)
      return hipErrorStreamCaptureInvalidated;
    capture.graph.nodes.push_back(
        std::make_shared<attuneHipGraphNode>(attuneHipGraphNode{std::move(work)}));
    if (stream != capture.origin)
      capture.unjoined[stream] = capture.graph.nodes.size();
    return {};
  }
  if (stream == &default_ && reinterpret_cast<uintptr_t>(handle) <= streamLegacy)
    for (auto &[id, capture] : captures_)
      if (capture->mode != CaptureRelaxed && !(capture->origin->flags & streamNonBlocking))
        return invalidate(*capture, hipErrorStreamCaptureImplicit);
  return work(runtime);
}

Outcome Streams::synchronize(hipStream_t handle) {
  attuneHipStream *stream = find(handle);
  if (!stream)
    return {hipErrorInvalidHandle, "no such stream"};
  if (stream->capture)
    return invalidate(*stream->capture, hipErrorStreamCaptureUnsupported);
  return {};
}

Outcome Streams::createEvent(hipEvent_t *out, unsigned flags) {
  if (!out)
    return nullPointer();
  auto event = std::make_unique<attuneHipEvent>();
  event->flags = flags;
  *out = event.get();
  events_[*out] = std::move(event);
  return {};
}

Outcome Streams::destroyEvent(hipEvent_t event) {
  return events_.erase(event) ? hipSuccess : hipErrorInvalidHandle;
}

Outcome Streams::record(hipEvent_t event, hipStream_t handle) {
  attuneHipStream *stream = find(handle);
  if (!events_.contains(event) || !stream)
    return {hipErrorInvalidHandle, "no such event or stream"};
  event->capture = stream->capture;
  event->stream = stream;
  if (stream->capture) {
    event->position = stream->capture->graph.nodes.size();
    return stream->capture->invalid ? hipErrorStreamCaptureInvalidated : hipSuccess;
  }
  event->recorded = true;
  event->when = std::chrono::steady_clock::now();
  return {};
}

Outcome Streams::wait(hipStream_t handle, hipEvent_t event) {
  attuneHipStream *stream = find(handle);
  if (!events_.contains(event) || !stream)
    return {hipErrorInvalidHandle, "no such event or stream"};
  std::shared_ptr<Capture> capture = event->capture.lock();
  if (!capture || !captures_.contains(capture->id))
    return stream->capture ? invalidate(*stream->capture, hipErrorStreamCaptureIsolation)
                           : Outcome();
  if (stream == &default_)
    return invalidate(*capture, hipErrorStreamCaptureImplicit);
  if (stream->capture && stream->capture != capture)
    return invalidate(*capture, hipErrorStreamCaptureMerge);
  stream->capture = capture;
  capture->members.insert(stream);
  if (stream != capture->origin)
    capture->unjoined[stream] = capture->graph.nodes.size();
  auto joined = capture->unjoined.find(event->stream);
  if (event->stream != stream && joined != capture->unjoined.end() &&
      joined->second <= event->position)
    capture->unjoined.erase(joined);
  return {};
}

Outcome Streams::checkEvent(hipEvent_t event) const {
  if (!events_.contains(event))
    return {hipErrorInvalidHandle, "no such event"};
  std::shared_ptr<Capture> capture = event->capture.lock();
  return capture && captures_.contains(capture->id) ? hipErrorCapturedEvent : hipSuccess;
}

Outcome Streams::elapsed(float *milliseconds, hipEvent_t start, hipEvent_t end) const {
  if (!milliseconds)
    return nullPointer();
  for (hipEvent_t event : {start, end}) {
    if (auto outcome = checkEvent(event); !outcome.ok())
      return outcome;
    if (!event->recorded || (event->flags & eventDisableTiming))
      return {hipErrorInvalidHandle, "an event was not recorded, or without a time"};
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
  return {};
}

Outcome Streams::beginCapture(hipStream_t handle, int mode) {
  attuneHipStream *stream = find(handle);
  if (!stream)
    return {hipErrorInvalidHandle, "no such stream"};
  if (mode < CaptureGlobal || mode > CaptureRelaxed)
    return {hipErrorInvalidValue, fmt::format("{} is no hipStreamCaptureMode", mode)};
  if (stream == &default_)
    return {hipErrorStreamCaptureUnsupported, "the default stream cannot be captured"};
  if (stream->capture)
    return {hipErrorIllegalState, "the stream is capturing already"};
  auto capture = std::make_shared<Capture>();
  capture->id = nextCapture_++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->members.insert(stream);
  captures_[capture->id] = capture;
  stream->capture = std::move(capture);
  return {};
}

Outcome Streams::endCapture(hipStream_t handle, hipGraph_t *out) {
  attuneHipStream *stream = find(handle);
  if (!stream || !out)
    return {hipErrorInvalidValue, "no such stream, or no pointer to fill in"};
  *out = nullptr;
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return {hipErrorIllegalState, "the stream is not capturing"};
  if (capture->origin != stream)
    return hipErrorStreamCaptureUnmatched;
  if (capture->mode != CaptureRelaxed && capture->thread != std::this_thread::get_id())
    return hipErrorStreamCaptureWrongThread;
  for (attuneHipStream *member : capture->members)
    member->capture = nullptr;
  captures_.erase(capture->id);
  if (capture->invalid)
    return hipErrorStreamCaptureInvalidated;
  if (!capture->unjoined.empty())
    return hipErrorStreamCaptureUnjoined;
  *out = adopt(std::move(capture->graph));
  return {};
}

Outcome Streams::captureInfo(hipStream_t handle, int *status, unsigned long long *id) {
  attuneHipStream *stream = find(handle);
  if (!stream || !status)
    return {hipErrorInvalidValue, "no such stream, or no pointer to fill in"};
  *status = !stream->capture ? NotCapturing : stream->capture->invalid ? CaptureInvalid : Capturing;
  if (id)
    *id = stream->capture ? stream->capture->id : 0;
  return {};
}

Outcome Streams::exchangeMode(int *mode) {
  if (!mode || *mode < CaptureGlobal || *mode > CaptureRelaxed)
    return {hipErrorInvalidValue, "the mode is null or no hipStreamCaptureMode"};
  std::swap(*mode, threadMode());
  return {};
}

} // namespace attune::hip
