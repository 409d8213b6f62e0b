// What no library on this machine can show: other versions of HIP, other chips, and exactly which
// calls a launch makes.
#include "tests/runtime/device/FakeHip.h"
#include "runtime/device/HipDevice.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <dlfcn.h>

using namespace attune;
using Catch::Contains;
using Calls = std::vector<std::string>;

namespace {

/// The state of a fake library, as it is at the beginning.
fakehip::State &fresh(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    FAIL(dlerror());
  auto *get = reinterpret_cast<fakehip::State *(*)()>(dlsym(handle, "fakeHipState"));
  REQUIRE(get);
  return *get() = {};
}

std::string refusal(const char *library, int ordinal = 0) {
  auto device = makeHipDevice(ordinal, library);
  REQUIRE_FALSE(device);
  return device.error().message;
}

} // namespace

TEST_CASE("hip device: the property layouts of HIP 5 and of HIP 6 and 7") {
  for (auto [library, version] : {std::pair(FAKE_HIP_5, 50221153),
                                  {FAKE_HIP_5, 50700000},
                                  {FAKE_HIP_6, 60000000},
                                  {FAKE_HIP_6, 70100000}}) {
    fakehip::State &state = fresh(library);
    state.version = version;
    state.target = "gfx942:sramecc+:xnack+";
    auto devices = listHipDevices(library);
    REQUIRE(devices);
    REQUIRE(devices->size() == 2);
    CHECK((*devices)[1].name == "hip:1");
    CHECK((*devices)[1].target.text() == "gfx942:sramecc+:xnack+");
    CHECK_THAT((*devices)[1].product,
               Contains("Fake GPU, HIP " + std::to_string(version / 10000000)));
    auto device = makeHipDevice(1, library);
    REQUIRE(device);
    CHECK((*device)->arch() == "gfx942");
    CHECK((*device)->name() == "hip:1");
  }
}

TEST_CASE("hip device: versions and layouts that are not known are refused by name") {
  fakehip::State &state = fresh(FAKE_HIP_6);
  state.version = 40421401;
  CHECK_THAT(refusal(FAKE_HIP_6), Contains("is of version 4 (40421401); HIP 5 to 7 are known"));
  state.version = 80000000;
  CHECK_THAT(refusal(FAKE_HIP_6), Contains("version 8"));
  state.version = 70000000;
  state.target = "\x01\x02";
  CHECK_THAT(refusal(FAKE_HIP_6), Contains("lays out its device properties in a way"));
  CHECK_THAT(refusal("libm.so.6"),
             Contains("is no HIP runtime of version 5 to 7: it lacks hipFree"));
}

TEST_CASE("hip device: no device, and ordinals out of range") {
  fakehip::State &state = fresh(FAKE_HIP_6);
  CHECK_THAT(refusal(FAKE_HIP_6, 2), Contains("hip:2: there are 2 devices, hip:0 to hip:1"));
  CHECK_THAT(refusal(FAKE_HIP_6, -1), Contains("hip:-1: there are 2 devices"));
  state.devices = 1;
  CHECK_THAT(refusal(FAKE_HIP_6, 1), Contains("hip:1: there is one device, hip:0"));
  state.devices = 0;
  CHECK_THAT(refusal(FAKE_HIP_6), Contains("no device: HIP 6.4 (") && Contains("sees none; "));
  CHECK(state.lastError == 0);
  setenv("HIP_VISIBLE_DEVICES", "", 1);
  CHECK_THAT(refusal(FAKE_HIP_6), Contains("HIP_VISIBLE_DEVICES is \"\""));
  unsetenv("HIP_VISIBLE_DEVICES");
}

TEST_CASE("hip device: a launch is one call on the caller's stream, and two to know the device") {
  fakehip::State &state = fresh(FAKE_HIP_6);
  auto device = makeHipDevice(1, FAKE_HIP_6);
  REQUIRE(device);
  auto module = (*device)->load(simtest::compileFile("basic.cl"));
  REQUIRE(module);
  auto kernel = (*device)->kernel(*module, "vector_add");
  REQUIRE(kernel);
  const std::vector<uint8_t> kernarg = {1, 2, 3, 4};
  void *stream = &state;

  state.calls.clear();
  REQUIRE((*device)->launch(*kernel, {}, kernarg, stream));
  CHECK(state.calls ==
        Calls{"hipGetDevice", "hipSetDevice 1", "hipModuleLaunchKernel", "hipSetDevice 0"});
  CHECK(state.launchStream == stream);
  CHECK(state.kernarg == kernarg);

  state.current = 1;
  state.calls.clear();
  REQUIRE((*device)->launch(*kernel, {}, {}, nullptr));
  CHECK(state.calls == Calls{"hipGetDevice", "hipModuleLaunchKernel"});
  CHECK(state.launchStream == nullptr);
  CHECK(state.kernarg.empty());
}

TEST_CASE("hip device: a failure names call, kernel and launch, and leaves HIP's error clear") {
  fakehip::State &state = fresh(FAKE_HIP_6);
  auto device = makeHipDevice(0, FAKE_HIP_6);
  REQUIRE(device);
  auto module = (*device)->load(simtest::compileFile("basic.cl"));
  REQUIRE(module);
  auto kernel = (*device)->kernel(*module, "vector_add");
  REQUIRE(kernel);
  state.launchError = 719;
  LaunchDims dims{.grid = {3, 2, 1}, .block = {256, 1, 1}, .dynamicLdsBytes = 64};
  auto launched = (*device)->launch(*kernel, dims, {}, nullptr);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().code == ErrorCode::Device);
  CHECK(
      launched.error().message ==
      "hip:0: hipModuleLaunchKernel of vector_add (grid 3x2x1, block 256x1x1, 64 bytes of dynamic "
      "LDS): it went wrong (hipErrorLaunchFailure)");
  CHECK(state.lastError == 0);
}

TEST_CASE("hip device: what is left goes with the device; what is not ours stays") {
  fakehip::State &state = fresh(FAKE_HIP_6);
  auto device = makeHipDevice(0, FAKE_HIP_6);
  REQUIRE(device);
  REQUIRE((*device)->load(simtest::compileFile("basic.cl")));
  REQUIRE((*device)->alloc(0));
  auto freed = (*device)->alloc(16);
  REQUIRE(freed);
  (*device)->free(*freed);
  state.calls.clear();
  (*device)->free(*freed);
  (*device)->free(0x1234);
  (*device)->unload(77);
  CHECK(state.calls.empty());
  device->reset();
  CHECK(state.calls == Calls{"hipGetDevice", "hipModuleUnload", "hipFree"});
}

TEST_CASE("hip device: handles of a module that is gone are refused") {
  fresh(FAKE_HIP_6);
  auto device = makeHipDevice(0, FAKE_HIP_6);
  REQUIRE(device);
  auto module = (*device)->load(simtest::compileFile("basic.cl"));
  REQUIRE(module);
  auto kernel = (*device)->kernel(*module, "vector_add");
  REQUIRE(kernel);
  (*device)->unload(*module);
  auto again = (*device)->load(simtest::compileFile("basic.cl"));
  REQUIRE(again);
  auto launched = (*device)->launch(*kernel, {}, {}, nullptr);
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message, Contains("whose module is not loaded"));
  CHECK_FALSE((*device)->kernel(*module, "vector_add"));
}
