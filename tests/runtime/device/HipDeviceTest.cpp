// The HIP device for real, on the simulator's libamdhip64: memory, modules, launches, streams,
// graphs, threads, growth, errors.
#include "runtime/device/HipDevice.h"
#include "tests/runtime/hip/Library.h"
#include <fmt/format.h>
#include <thread>

using namespace attune;
using namespace hiptest;
using Catch::Contains;

namespace {

constexpr int n = 300;

/// The library reads it when it is first called.
const bool twoDevices = setenv("ATTUNE_HIP_DEVICES", "2", 1) == 0;

std::unique_ptr<Device> open(int ordinal = 0) {
  auto device = makeHipDevice(ordinal, SIM_HIP_LIBRARY);
  INFO((device ? "" : device.error().message));
  REQUIRE(device);
  return std::move(*device);
}

DevicePtr upload(Device &device, const std::vector<float> &data) {
  auto p = device.alloc(data.size() * sizeof(float));
  REQUIRE(p);
  REQUIRE(device.copyIn(*p, data.data(), data.size() * sizeof(float)));
  return *p;
}

std::vector<float> download(Device &device, DevicePtr p) {
  std::vector<float> data(n);
  REQUIRE(device.copyOut(data.data(), p, n * sizeof(float)));
  return data;
}

/// vector_add, on a device, with its buffers.
struct Adder {
  explicit Adder(Device &d) : device(d) {
    auto loaded = device.load(simtest::compileFile("basic.cl"));
    INFO((loaded ? "" : loaded.error().message));
    REQUIRE(loaded);
    module = *loaded;
    auto found = device.kernel(module, "vector_add");
    REQUIRE(found);
    kernel = *found;
    a = upload(device, std::vector<float>(n, 1.5f));
    b = upload(device, std::vector<float>(n, 2));
    c = upload(device, std::vector<float>(n, -1));
  }
  Result<void> launch(void *stream = nullptr, uint32_t threads = 256) {
    simtest::Args args; // gone when the launch returns: a graph must have copied it
    args.add(a).add(b).add(c).add(n);
    return device.launch(kernel, {.grid = {(n + 255) / 256, 1, 1}, .block = {threads, 1, 1}}, args,
                         stream);
  }
  std::vector<float> result() { return download(device, c); }
  Device &device;
  ModuleHandle module = 0;
  KernelHandle kernel = 0;
  DevicePtr a = 0, b = 0, c = 0;
};

long residentKiB() {
  long pages = 0;
  std::string text = simtest::readText("/proc/self/statm");
  REQUIRE(std::sscanf(text.c_str(), "%*d %ld", &pages) == 1);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

} // namespace

TEST_CASE("hip device: a kernel on the default stream and on one of the caller's") {
  auto device = open();
  CHECK(device->name() == "hip:0");
  CHECK(device->arch() == "gfx950");
  Adder add(*device);
  REQUIRE(add.launch());
  REQUIRE(device->synchronize());
  CHECK(add.result() == std::vector<float>(n, 3.5f));

  Pointer stream = nullptr;
  REQUIRE(hip("hipStreamCreate", &stream) == success);
  std::vector<float> five(n, 5);
  REQUIRE(device->copyIn(add.a, five.data(), n * sizeof(float)));
  REQUIRE(add.launch(stream));
  REQUIRE(device->synchronize(stream));
  CHECK(add.result() == std::vector<float>(n, 7));
  hip("hipStreamDestroy", stream);
}

TEST_CASE("hip device: a launch is captured into a graph and replayed") {
  auto device = open();
  Adder add(*device);
  Pointer stream = nullptr, graph = nullptr, exec = nullptr;
  REQUIRE(hip("hipStreamCreate", &stream) == success);
  REQUIRE(hip("hipStreamBeginCapture", stream, 0) == success); // global: forbids what waits
  REQUIRE(add.launch(stream));
  REQUIRE(hip("hipStreamEndCapture", stream, &graph) == success);
  size_t nodes = 0;
  REQUIRE(hip("hipGraphGetNodes", graph, (Pointer) nullptr, &nodes) == success);
  CHECK(nodes == 1);
  CHECK(add.result() == std::vector<float>(n, -1)); // nothing has run
  REQUIRE(hip("hipGraphInstantiate", &exec, graph, (Pointer) nullptr, (Pointer) nullptr,
              size_t(0)) == success);
  for (float value : {10.f, 20.f}) {
    std::vector<float> data(n, value);
    REQUIRE(device->copyIn(add.a, data.data(), n * sizeof(float)));
    REQUIRE(hip("hipGraphLaunch", exec, stream) == success);
    REQUIRE(device->synchronize(stream));
    CHECK(add.result() == std::vector<float>(n, value + 2));
  }
  hip("hipGraphExecDestroy", exec);
  hip("hipGraphDestroy", graph);
  hip("hipStreamDestroy", stream);
}

TEST_CASE("hip device: what a capture forbids is refused by the call's name") {
  auto device = open();
  Adder add(*device);
  Pointer stream = nullptr, graph = nullptr;
  REQUIRE(hip("hipStreamCreate", &stream) == success);
  REQUIRE(hip("hipStreamBeginCapture", stream, 0) == success);
  StderrCapture quiet;
  auto waited = device->synchronize(stream);
  REQUIRE_FALSE(waited);
  CHECK_THAT(
      waited.error().message,
      Contains("hip:0: hipStreamSynchronize: operation not permitted when stream is capturing "
               "(hipErrorStreamCaptureUnsupported)"));
  auto buffer = device->alloc(16);
  REQUIRE_FALSE(buffer);
  CHECK_THAT(buffer.error().message, Contains("hip:0: hipMalloc of 16 bytes ("));
  CHECK(hip("hipStreamEndCapture", stream, &graph) == captureInvalidated);
  CHECK(hip("hipStreamDestroy", stream) == success);
}

TEST_CASE("hip device: two threads share it") {
  auto device = open();
  auto run = [&](float value, int &wrong) {
    Adder add(*device);
    std::vector<float> data(n, value);
    for (int round = 0; round < 20; ++round) {
      bool good = bool(device->copyIn(add.a, data.data(), n * sizeof(float))) &&
                  bool(add.launch()) && bool(device->synchronize());
      wrong += !good || add.result() != std::vector<float>(n, value + 2);
    }
    device->unload(add.module);
  };
  simtest::compileFile("basic.cl"); // once, before the threads
  int wrong[2] = {};
  std::thread other(run, 100.f, std::ref(wrong[0]));
  run(200.f, wrong[1]);
  other.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}

TEST_CASE("hip device: loading and unloading does not grow the process") {
  auto device = open();
  const simtest::Bytes &code = simtest::compileFile("basic.cl");
  auto cycles = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto module = device->load(code);
      REQUIRE(module);
      REQUIRE(device->kernel(*module, "vector_add"));
      device->unload(*module);
    }
  };
  cycles(200);
  long before = residentKiB();
  cycles(2000);
  INFO("from " << before << " to " << residentKiB() << " KiB");
  CHECK(residentKiB() - before < 1024); // of 2000 code objects, 16 KiB or more each
}

TEST_CASE("hip device: errors name the device, the call and what is there") {
  auto device = open();
  Adder add(*device);
  auto missing = device->kernel(add.module, "vector_sub");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK_THAT(missing.error().message,
             Contains("hip:0: the code object has no kernel \"vector_sub\"; it has: ") &&
                 Contains("vector_add"));
  StderrCapture quiet;
  auto launched = add.launch(nullptr, 2048);
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message,
             Contains("hipModuleLaunchKernel of vector_add (grid 2x1x1, block 2048x1x1") &&
                 Contains("hipErrorInvalidConfiguration"));
  auto huge = device->alloc(uint64_t(1) << 60);
  REQUIRE_FALSE(huge);
  CHECK_THAT(huge.error().message, Contains("hipMalloc of 1152921504606846976 bytes (") &&
                                       Contains(" of 309237645312 are free): out of memory "
                                                "(hipErrorOutOfMemory)"));
  std::vector<char> host(n * 8);
  CHECK_THAT(device->copyOut(host.data(), add.c, n * 8).error().message,
             Contains("hip:0: hipMemcpy from the device (2400 bytes): invalid argument"));
  CHECK(hip("hipPeekAtLastError") == success); // the program's own checks find nothing of ours
  CHECK_THAT(device->load(simtest::Bytes(64, 7)).error().message, Contains("not a 64-bit"));
}

TEST_CASE("hip device: a fault in a kernel is the launch's error") {
  StderrCapture quiet; // of the frees after the reset, too
  auto device = open();
  Adder add(*device);
  auto small = device->alloc(16);
  REQUIRE(small);
  add.c = *small;
  auto launched = add.launch();
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message, Contains("hipErrorLaunchFailure"));
  CHECK_FALSE(device->synchronize());
  REQUIRE(hip("hipDeviceReset") == success);
}

TEST_CASE("hip device: two devices, each with its own memory, code and faults") {
  REQUIRE(twoDevices);
  StderrCapture quiet;
  auto first = open(0), second = open(1);
  CHECK(second->name() == "hip:1");
  Adder add0(*first), add1(*second);
  std::vector<float> ten(n, 10);
  REQUIRE(second->copyIn(add1.a, ten.data(), n * sizeof(float)));
  for (int current : {0, 1}) { // whichever the caller has current
    REQUIRE(hip("hipSetDevice", current) == success);
    REQUIRE(add1.launch());
    REQUIRE(add0.launch());
    CHECK(add0.result() == std::vector<float>(n, 3.5f));
    CHECK(add1.result() == std::vector<float>(n, 12));
    int now = -1;
    REQUIRE(hip("hipGetDevice", &now) == success);
    CHECK(now == current);
  }
  REQUIRE(hip("hipSetDevice", 0) == success);

  Pointer stream = nullptr; // of device 0
  REQUIRE(hip("hipStreamCreate", &stream) == success);
  CHECK_THAT(add1.launch(stream).error().message, Contains("hipErrorInvalidHandle"));
  CHECK(add0.launch(stream));
  hip("hipStreamDestroy", stream);

  add1.b = add0.b; // memory of the other device: no peer access
  CHECK_THAT(add1.launch().error().message, Contains("hipErrorLaunchFailure"));
  CHECK_FALSE(second->synchronize());
  CHECK(add0.launch());
  REQUIRE(hip("hipSetDevice", 1) == success);
  REQUIRE(hip("hipDeviceReset") == success);
  REQUIRE(hip("hipSetDevice", 0) == success);
  CHECK(second->synchronize());
  CHECK(add0.result() == std::vector<float>(n, 3.5f));
}

TEST_CASE("hip device: a thread of its own starts on device 0 and launches on device 1") {
  auto device = open(1);
  Adder add(*device);
  bool launched = false;
  int after = -1;
  std::thread([&] {
    launched = bool(add.launch()) && bool(device->synchronize());
    hip("hipGetDevice", &after);
  }).join();
  CHECK(launched);
  CHECK(after == 0);
  CHECK(add.result() == std::vector<float>(n, 3.5f));
}
