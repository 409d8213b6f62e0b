// Streams, events, capture and graphs.
#include "tests/runtime/hip/Library.h"

using namespace hiptest;
using Catch::Contains;

namespace {

struct Stream {
  explicit Stream(unsigned flags = 1) {
    REQUIRE(hip("hipStreamCreateWithFlags", &handle, flags) == success);
  }
  ~Stream() { hip("hipStreamDestroy", handle); }
  int begin(int mode = 0) { return hip("hipStreamBeginCapture", handle, mode); }
  int end() { return hip("hipStreamEndCapture", handle, &graph); }
  int status() {
    int value = -1;
    REQUIRE(hip("hipStreamIsCapturing", handle, &value) == success);
    return value;
  }
  int set(Pointer to, int value) { return hip("hipMemsetD32Async", to, value, size_t(1), handle); }
  Pointer handle = nullptr, graph = nullptr;
};

struct Event {
  Event() { REQUIRE(hip("hipEventCreate", &handle) == success); }
  ~Event() { hip("hipEventDestroy", handle); }
  int record(Stream &s) { return hip("hipEventRecord", handle, s.handle); }
  int holdBack(Stream &s) { return hip("hipStreamWaitEvent", s.handle, handle, 0u); }
  Pointer handle = nullptr;
};

size_t nodesOf(Pointer graph) {
  size_t count = 0;
  REQUIRE(hip("hipGraphGetNodes", graph, (void **)nullptr, &count) == success);
  return count;
}

} // namespace

TEST_CASE("hip: events measure what lies between them") {
  Stream s;
  Event first, last;
  VectorAdd add;
  Buffer a(std::vector<float>(4096, 1)), c(4096 * 4);
  float ms = -1;
  refusal(invalidHandle, "hipEventElapsedTime", &ms, first.handle, last.handle);
  REQUIRE(first.record(s) == success);
  REQUIRE(add.launch(a.get(), a.get(), c.get(), 4096, s.handle) == success);
  REQUIRE(last.record(s) == success);
  REQUIRE(hip("hipEventSynchronize", last.handle) == success);
  REQUIRE(hip("hipEventElapsedTime", &ms, first.handle, last.handle) == success);
  CHECK(ms > 0);
  REQUIRE(hip("hipEventElapsedTime", &ms, last.handle, first.handle) == success);
  CHECK(ms < 0);
  refusal(invalidHandle, "hipEventRecord", (Pointer)&ms, s.handle);
}

TEST_CASE("hip: a captured sequence runs when its graph is launched, and again") {
  Stream s;
  VectorAdd add;
  Buffer a(std::vector<float>(256, 1)), c(256 * 4);
  REQUIRE(hip("hipMemset", c.get(), 0, size_t(1024)) == success);
  REQUIRE(s.begin() == success);
  CHECK(s.status() == 1);
  REQUIRE(add.launch(a.get(), c.get(), c.get(), 256, s.handle) == success);
  REQUIRE(add.launch(a.get(), c.get(), c.get(), 256, s.handle) == success);
  REQUIRE(s.end() == success);
  CHECK(s.status() == 0);
  CHECK(nodesOf(s.graph) == 2);
  CHECK(c.read<float>(256)[255] == 0); // nothing ran yet
  Pointer exec = nullptr;
  REQUIRE(hip("hipGraphInstantiate", &exec, s.graph, (void **)nullptr, (char *)nullptr,
              size_t(0)) == success);
  REQUIRE(hip("hipGraphDestroy", s.graph) == success); // the executable graph has its own copy
  for (int launches = 1; launches <= 3; ++launches) {
    REQUIRE(hip("hipGraphLaunch", exec, s.handle) == success);
    CHECK(c.read<float>(256) == std::vector<float>(256, 2.0f * float(launches)));
  }
  REQUIRE(hip("hipGraphExecDestroy", exec) == success);
  refusal(invalidHandle, "hipGraphLaunch", exec, s.handle);
}

TEST_CASE("hip: a capture forks to another stream and joins it") {
  Stream s, side;
  Event fork, join;
  Buffer a(std::vector<int>{0, 0});
  Pointer second = (char *)a.get() + 4;
  REQUIRE(s.begin() == success);
  REQUIRE(s.set(a.get(), 5) == success);
  REQUIRE(fork.record(s) == success);
  REQUIRE(fork.holdBack(side) == success);
  CHECK(side.status() == 1);
  REQUIRE(side.set(second, 6) == success);
  refusal(captureUnmatched, "hipStreamEndCapture", side.handle, &side.graph);
  refusal(capturedEvent, "hipEventQuery", fork.handle);
  REQUIRE(join.record(side) == success);
  REQUIRE(join.holdBack(s) == success);
  REQUIRE(s.end() == success);
  CHECK(side.status() == 0);
  Pointer exec = nullptr;
  REQUIRE(hip("hipGraphInstantiateWithFlags", &exec, s.graph, 0ull) == success);
  REQUIRE(hip("hipGraphLaunch", exec, (Pointer) nullptr) == success);
  CHECK(a.read<int>(2) == std::vector<int>{5, 6});
  hip("hipGraphExecDestroy", exec);
  hip("hipGraphDestroy", s.graph);
}

TEST_CASE("hip: captures that end in an error") {
  Stream s, side;
  Event fork, join;
  Buffer a(8);
  SECTION("a fork that is not joined") {
    REQUIRE(s.begin() == success);
    REQUIRE(fork.record(s) == success);
    REQUIRE(fork.holdBack(side) == success);
    refusal(captureUnjoined, "hipStreamEndCapture", s.handle, &s.graph);
    CHECK(s.graph == nullptr);
  }
  SECTION("work on the side after the event that was waited for") {
    REQUIRE(s.begin() == success);
    REQUIRE(fork.record(s) == success);
    REQUIRE(fork.holdBack(side) == success);
    REQUIRE(join.record(side) == success);
    REQUIRE(side.set(a.get(), 1) == success);
    REQUIRE(join.holdBack(s) == success);
    refusal(captureUnjoined, "hipStreamEndCapture", s.handle, &s.graph);
  }
  SECTION("an event from outside") {
    REQUIRE(join.record(side) == success);
    REQUIRE(s.begin() == success);
    refusal(captureIsolation, "hipStreamWaitEvent", s.handle, join.handle, 0u);
    CHECK(s.status() == 2);
    refusal(captureInvalidated, "hipStreamEndCapture", s.handle, &s.graph);
  }
  SECTION("two captures that meet") {
    REQUIRE(s.begin() == success);
    REQUIRE(side.begin() == success);
    REQUIRE(fork.record(s) == success);
    refusal(captureMerge, "hipStreamWaitEvent", side.handle, fork.handle, 0u);
    refusal(captureInvalidated, "hipStreamEndCapture", s.handle, &s.graph);
    REQUIRE(side.end() == success);
  }
  SECTION("the device is waited for") {
    REQUIRE(s.begin() == success);
    refusal(captureUnsupported, "hipDeviceSynchronize");
    refusal(captureInvalidated, "hipMemsetD32Async", a.get(), 1, size_t(1), s.handle);
    refusal(captureInvalidated, "hipStreamEndCapture", s.handle, &s.graph);
  }
  SECTION("the stream is waited for") {
    REQUIRE(s.begin(2) == success);
    refusal(captureUnsupported, "hipStreamSynchronize", s.handle);
    refusal(captureInvalidated, "hipStreamEndCapture", s.handle, &s.graph);
  }
  SECTION("none was begun") {
    refusal(illegalState, "hipStreamEndCapture", s.handle, &s.graph);
    refusal(captureUnsupported, "hipStreamBeginCapture", (Pointer) nullptr, 0);
    refusal(invalidValue, "hipStreamBeginCapture", s.handle, 3);
  }
}

TEST_CASE("hip: what a capture forbids depends on its mode") {
  Stream s, blocking(0);
  Pointer p = nullptr;
  REQUIRE(s.begin(2) == success); // relaxed
  REQUIRE(hip("hipMalloc", &p, size_t(16)) == success);
  REQUIRE(s.end() == success);
  hip("hipGraphDestroy", s.graph);
  int relaxed = 2;
  REQUIRE(s.begin(0) == success);
  REQUIRE(hip("hipThreadExchangeStreamCaptureMode", &relaxed) == success);
  CHECK(relaxed == 0);
  REQUIRE(hip("hipFree", p) == success); // this thread takes the blame
  REQUIRE(hip("hipThreadExchangeStreamCaptureMode", &relaxed) == success);
  refusal(captureUnsupported, "hipMalloc", &p, size_t(16));
  refusal(captureInvalidated, "hipStreamEndCapture", s.handle, &s.graph);
  REQUIRE(blocking.begin(0) == success); // the default stream waits for blocking streams
  int word = 0;
  refusal(captureImplicit, "hipMemcpy", (Pointer)&word, (const void *)&relaxed, size_t(4), 0);
  refusal(captureInvalidated, "hipStreamEndCapture", blocking.handle, &blocking.graph);
}

TEST_CASE("hip: callbacks run in their place, also in a graph") {
  Stream s;
  static int calls;
  calls = 0;
  void (*count)(void *) = [](void *step) { calls += *static_cast<int *>(step); };
  int step = 3;
  REQUIRE(hip("hipLaunchHostFunc", s.handle, count, (Pointer)&step) == success);
  CHECK(calls == 3);
  REQUIRE(s.begin() == success);
  REQUIRE(hip("hipLaunchHostFunc", s.handle, count, (Pointer)&step) == success);
  REQUIRE(s.end() == success);
  CHECK(calls == 3);
  Pointer exec = nullptr;
  REQUIRE(hip("hipGraphInstantiateWithFlags", &exec, s.graph, 0ull) == success);
  REQUIRE(hip("hipGraphLaunch", exec, s.handle) == success);
  CHECK(calls == 6);
  hip("hipGraphExecDestroy", exec);
  hip("hipGraphDestroy", s.graph);
}
