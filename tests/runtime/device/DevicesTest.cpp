// Devices by name, the environment, and the HIP library that Debian ships.
#include "runtime/device/Devices.h"
#include "runtime/device/HipDevice.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

using namespace attune;
using Catch::Contains;

namespace {

/// A variable of the environment, for the length of a test.
class Set {
public:
  Set(const char *name, const std::string &value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Set() { unsetenv(name_); }
  Set(const Set &) = delete;

private:
  const char *name_;
};

std::string nameOf(const Result<std::unique_ptr<Device>> &device) {
  return device ? (*device)->name() : "error: " + device.error().message;
}

} // namespace

TEST_CASE("devices: by name") {
  Set library("ATTUNE_HIP_LIBRARY", SIM_HIP_LIBRARY);
  CHECK(nameOf(openDevice("sim")) == "sim");
  CHECK(nameOf(openDevice("hip")) == "hip:0");
  CHECK(nameOf(openDevice("hip:0")) == "hip:0");
  CHECK(nameOf(openDevice("auto")) == "hip:0");
  CHECK_THAT(nameOf(openDevice("hip:9")), Contains("hip:9: there "));
  for (const char *wrong : {"gpu", "hip:", "hip:x", "hip:-1", "hip:1 ", "HIP", "sim:0"})
    CHECK(nameOf(openDevice(wrong)) ==
          fmt::format("error: \"{}\" names no device; legal are sim, hip, hip:N and auto", wrong));
}

TEST_CASE("devices: ATTUNE_DEVICE names the device where the caller names none") {
  Set library("ATTUNE_HIP_LIBRARY", SIM_HIP_LIBRARY);
  CHECK(nameOf(openDevice()) == "hip:0");
  Set device("ATTUNE_DEVICE", "sim");
  CHECK(nameOf(openDevice()) == "sim");
  CHECK(nameOf(openDevice("hip")) == "hip:0");
  Set empty("ATTUNE_DEVICE", "");
  CHECK(nameOf(openDevice()) == "hip:0");
  Set wrong("ATTUNE_DEVICE", "cuda");
  CHECK_THAT(nameOf(openDevice()),
             Contains("ATTUNE_DEVICE=cuda: legal values are sim, hip, hip:N or auto"));
}

TEST_CASE("devices: without a HIP library") {
  Set library("ATTUNE_HIP_LIBRARY", "/no/such/libamdhip64.so");
  CHECK(nameOf(openDevice("auto")) == "sim");
  CHECK_THAT(nameOf(openDevice("hip")),
             Contains("no library of /no/such/libamdhip64.so (from ATTUNE_HIP_LIBRARY); install "
                      "ROCm, or set ATTUNE_HIP_LIBRARY to the library's path:") &&
                 Contains("cannot open shared object file"));
  DeviceList list = listDevices();
  REQUIRE(list.devices.size() == 1);
  CHECK(list.devices[0].name == "sim");
  CHECK_THAT(list.noHip, Contains("no library of"));
}

// What a process has loaded stays loaded, so these two run in processes of their own (below).
TEST_CASE("fresh process: auto opens no HIP library where there is no driver", "[.fresh]") {
  const auto mapped = [] {
    return simtest::readText("/proc/self/maps").find("libamdhip64") != std::string::npos;
  };
  REQUIRE_FALSE(mapped());
  CHECK(nameOf(openDevice("auto")) == "sim");
  CHECK_FALSE(mapped());
}

TEST_CASE("fresh process: auto takes the HIP library that the process has", "[.fresh]") {
  REQUIRE(dlopen(SIM_HIP_LIBRARY, RTLD_NOW | RTLD_GLOBAL));
  CHECK(nameOf(openDevice("auto")) == "hip:0");
}

TEST_CASE("devices: auto opens a HIP library only where it may find a GPU") {
  if (std::filesystem::exists("/dev/kfd")) {
    WARN("skipped: this machine has a driver");
    return;
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const char *name : {"auto opens no HIP library where there is no driver",
                           "auto takes the HIP library that the process has"})
    CHECK(std::system(fmt::format("'{}' 'fresh process: {}' >&2", self, name).c_str()) == 0);
}

TEST_CASE("devices: auto passes over GPUs of another kind") {
  Set library("ATTUNE_HIP_LIBRARY", FAKE_HIP_GFX942);
  CHECK(nameOf(openDevice("auto")) == "sim");
  CHECK(nameOf(openDevice("hip:1")) == "hip:1");
}

TEST_CASE("devices: the list has HIP's devices, then the simulator") {
  Set library("ATTUNE_HIP_LIBRARY", SIM_HIP_LIBRARY);
  DeviceList list = listDevices();
  CHECK(list.noHip.empty());
  REQUIRE(list.devices.size() == 3); // ATTUNE_HIP_DEVICES of HipDeviceTest.cpp
  CHECK(list.devices[0].name == "hip:0");
  CHECK(list.devices[1].name == "hip:1");
  CHECK(list.devices[0].target.text() == "gfx950:sramecc+:xnack-");
  CHECK_THAT(list.devices[0].product,
             Contains("AMD Instinct MI355X (Attune simulator), HIP 6.4 (") &&
                 Contains(SIM_HIP_LIBRARY));
  CHECK(list.devices.back().name == "sim");
}

TEST_CASE("devices: Debian's HIP 5.2 loads; without a GPU it is refused in words") {
  const std::string debian = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5";
  if (!std::filesystem::exists(debian)) {
    WARN("skipped: " << debian << " is not there; apt-get install libamdhip64-5");
    return;
  }
  if (std::filesystem::exists("/dev/kfd")) {
    WARN("skipped: this machine has a GPU");
    return;
  }
  auto device = makeHipDevice(0, debian);
  REQUIRE_FALSE(device);
  CHECK(device.error().code == ErrorCode::Device);
  CHECK_THAT(device.error().message,
             Contains("no device: HIP 5.2 (" + debian + ") sees none; there is no /dev/kfd"));
}
