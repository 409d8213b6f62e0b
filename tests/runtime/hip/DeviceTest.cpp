// What the library exports, what the device says of itself, errors, memory.
#include "tests/runtime/hip/Library.h"
#include <cstring>
#include <thread>

using namespace hiptest;
using Catch::Contains;

namespace {

struct Export {
  const char *name, *version;
};
constexpr Export calls[] = {
#define HIP_CALL(NAME, VERSION) {#NAME, "hip_" #VERSION},
#include "runtime/hip/Calls.def"
};
constexpr Export missing[] = {
#define HIP_MISSING(NAME, VERSION) {#NAME, "hip_" #VERSION},
#include "runtime/hip/Missing.def"
};

int attribute(int number) {
  int value = -1;
  REQUIRE(hip("hipDeviceGetAttribute", &value, number, 0) == success);
  return value;
}

} // namespace

TEST_CASE("hip: every row of the tables is exported at its version") {
  for (const Export &e : calls) {
    INFO(e.name);
    CHECK(dlvsym(library(), e.name, e.version));
  }
  for (const Export &e : missing) {
    INFO(e.name);
    CHECK(dlvsym(library(), e.name, e.version));
  }
  CHECK_FALSE(dlvsym(library(), "hipMalloc", "hip_6.0"));
  CHECK_FALSE(dlsym(library(), "_ZN6attune3hip7Runtime3getEv")); // nothing else is
}

TEST_CASE("hip: what is missing says so by name") {
  for (const Export &e : missing)
    CHECK_THAT(refusal(notSupported, e.name),
               Contains(std::string("attune hip: ") + e.name + ": not supported"));
  CHECK(hip("hipGetLastError") == notSupported);
}

TEST_CASE("hip: the last error stays until it is asked for, and is the thread's own") {
  CHECK(hip("hipGetLastError") == success);
  refusal(invalidDevice, "hipSetDevice", 7);
  REQUIRE(hip("hipSetDevice", 0) == success);
  CHECK(hip("hipPeekAtLastError") == invalidDevice);
  int other = -1;
  std::thread([&] { other = hip("hipGetLastError"); }).join();
  CHECK(other == success);
  CHECK(hip("hipGetLastError") == invalidDevice);
  CHECK(hip("hipGetLastError") == success);
}

TEST_CASE("hip: errors have names and texts") {
  auto text = [](const char *call, int code) {
    return std::string(reinterpret_cast<const char *(*)(int)>(dlsym(library(), call))(code));
  };
  CHECK(text("hipGetErrorName", 719) == "hipErrorLaunchFailure");
  CHECK(text("hipGetErrorName", 0) == "hipSuccess");
  CHECK(text("hipGetErrorName", 12345) == "hipErrorUnknown");
  CHECK(text("hipGetErrorName", -1) == "hipErrorUnknown");
  CHECK(text("hipGetErrorString", 2) == "out of memory");
  const char *name = nullptr;
  REQUIRE(hip("hipDrvGetErrorName", 906, &name) == success);
  CHECK(std::string(name) == "hipErrorStreamCaptureImplicit");
}

TEST_CASE("hip: one MI355X") {
  int count = 0, version = 0;
  REQUIRE(hip("hipInit", 0u) == success);
  REQUIRE(hip("hipGetDeviceCount", &count) == success);
  CHECK(count == 1);
  REQUIRE(hip("hipRuntimeGetVersion", &version) == success);
  CHECK(version / 10000000 == 6);
  CHECK(attribute(63) == 256);        // MultiprocessorCount
  CHECK(attribute(87) == 64);         // WarpSize
  CHECK(attribute(74) == 160 * 1024); // MaxSharedMemoryPerBlock
  CHECK(attribute(23) == 9);          // ComputeCapabilityMajor
  CHECK(attribute(61) == 5);          // ComputeCapabilityMinor
  int value = 0;
  CHECK_THAT(refusal(invalidValue, "hipDeviceGetAttribute", &value, 45, 0),
             Contains("no attribute 45"));
  CHECK_THAT(refusal(invalidDevice, "hipDeviceGetAttribute", &value, 87, 1),
             Contains("device 1; there is one"));
  char name[8] = {};
  REQUIRE(hip("hipDeviceGetName", name, 8, 0) == success);
  CHECK(std::string(name) == "AMD Ins");
}

TEST_CASE("hip: properties in both layouts, at the offsets that HIP's headers have") {
  alignas(8) char bytes[2048];
  auto at = [&](size_t offset) {
    uint32_t value;
    std::memcpy(&value, bytes + offset, 4);
    return value;
  };
  std::memset(bytes, 0x55, sizeof bytes);
  REQUIRE(hip("hipGetDeviceProperties", (Pointer)bytes, 0) == success);
  CHECK_THAT(std::string(bytes), Contains("MI355X"));
  CHECK(at(260) == 72); // totalGlobalMem, high half: 288 GiB
  CHECK(at(276) == 64); // warpSize
  CHECK(std::string(bytes + 396) == "gfx950:sramecc+:xnack-");
  CHECK(bytes[792] == 0x55); // and no byte more
  std::memset(bytes, 0x55, sizeof bytes);
  REQUIRE(hip("hipGetDevicePropertiesR0600", (Pointer)bytes, 0) == success);
  CHECK(at(288 + 4) == 72); // totalGlobalMem
  CHECK(at(308) == 64);     // warpSize
  CHECK(at(388) == 256);    // multiProcessorCount
  CHECK(std::string(bytes + 1160) == "gfx950:sramecc+:xnack-");
  CHECK(at(1416) == 160 * 1024); // maxSharedMemoryPerMultiProcessor
  CHECK(bytes[1472] == 0x55);
}

TEST_CASE("hip: allocations are counted, bounded and freed once") {
  size_t before = 0, during = 0, total = 0;
  REQUIRE(hip("hipMemGetInfo", &before, &total) == success);
  CHECK(total == size_t(288) << 30);
  Pointer p = nullptr, q = &total;
  REQUIRE(hip("hipMalloc", &p, size_t(6) << 30) == success);
  REQUIRE(hip("hipMemGetInfo", &during, &total) == success);
  CHECK(before - during == size_t(6) << 30);
  CHECK_THAT(refusal(outOfMemory, "hipMalloc", &q, size_t(283) << 30), Contains("are free"));
  CHECK(q == nullptr);
  Pointer base = nullptr;
  size_t bytes = 0;
  REQUIRE(hip("hipMemGetAddressRange", &base, &bytes, (Pointer)((char *)p + 4096)) == success);
  CHECK(base == p);
  CHECK(bytes == size_t(6) << 30);
  REQUIRE(hip("hipFree", p) == success);
  CHECK_THAT(refusal(invalidValue, "hipFree", p), Contains("free already"));
  REQUIRE(hip("hipFree", (Pointer) nullptr) == success);
  REQUIRE(hip("hipMalloc", &q, size_t(0)) == success);
  CHECK(q == nullptr);
}

TEST_CASE("hip: copies check both ends") {
  std::vector<int> data = {1, 2, 3, 4};
  Buffer a(data), b(16);
  REQUIRE(hip("hipMemcpyDtoD", b.get(), a.get(), size_t(16)) == success);
  CHECK(b.read<int>(4) == data);
  Pointer host = data.data();
  CHECK_THAT(
      refusal(invalidValue, "hipMemcpy", a.get(), (const void *)host, size_t(17), hostToDevice),
      Contains("17 bytes from the destination") && Contains("past the end of"));
  CHECK_THAT(
      refusal(invalidValue, "hipMemcpy", host, (const void *)a.get(), size_t(17), deviceToHost),
      Contains("17 bytes from the source"));
  CHECK_THAT(refusal(invalidValue, "hipMemcpy", host, (const void *)host, size_t(16), hostToDevice),
             Contains("the destination are not in one buffer"));
  refusal(invalidDirection, "hipMemcpy", host, (const void *)host, size_t(16), 9);
  CHECK_THAT(
      refusal(invalidValue, "hipMemcpy", (Pointer) nullptr, (const void *)host, size_t(16), 0),
      Contains("the destination is null"));
}

TEST_CASE("hip: sets of every width, rows, pinned memory") {
  Buffer a(64);
  REQUIRE(hip("hipMemset", a.get(), 0x101ff, size_t(64)) == success);
  REQUIRE(hip("hipMemsetD16", a.get(), (unsigned short)0x1234, size_t(4)) == success);
  REQUIRE(hip("hipMemsetD32", (Pointer)((char *)a.get() + 8), 7, size_t(2)) == success);
  CHECK(a.read<uint32_t>(5) == std::vector<uint32_t>{0x12341234, 0x12341234, 7, 7, 0xffffffff});
  CHECK_THAT(refusal(invalidValue, "hipMemsetD32", a.get(), 7, size_t(17)), Contains("68 bytes"));
  std::vector<char> rows = {'a', 'b', 'x', 'c', 'd', 'x'};
  REQUIRE(hip("hipMemcpy2D", a.get(), size_t(4), (const void *)rows.data(), size_t(3), size_t(2),
              size_t(2), hostToDevice) == success);
  CHECK(a.read<char>(6) == std::vector<char>{'a', 'b', 0x34, 0x12, 'c', 'd'});
  refusal(invalidPitch, "hipMemcpy2D", a.get(), size_t(1), (const void *)rows.data(), size_t(3),
          size_t(2), size_t(2), hostToDevice);
  Pointer pinned = nullptr, device = nullptr;
  REQUIRE(hip("hipHostMalloc", &pinned, size_t(8), 0u) == success);
  REQUIRE(hip("hipHostGetDevicePointer", &device, pinned, 0u) == success);
  std::memcpy(pinned, "abcdefg", 8);
  REQUIRE(hip("hipMemcpy", a.get(), (const void *)device, size_t(8), deviceToDevice) == success);
  CHECK(a.read<char>(8)[6] == 'g');
  REQUIRE(hip("hipHostFree", pinned) == success);
  Pointer pitched = nullptr;
  size_t pitch = 0;
  REQUIRE(hip("hipMallocPitch", &pitched, &pitch, size_t(257), size_t(3)) == success);
  CHECK(pitch == 512);
  REQUIRE(hip("hipMemset2D", pitched, pitch, 1, size_t(257), size_t(3)) == success);
  REQUIRE(hip("hipFree", pitched) == success);
}

TEST_CASE("hip: ATTUNE_HIP_DEVICES is the number of devices") {
  auto count = [](const std::string &value) {
    std::string out = simtest::scratchDir() + "/count";
    REQUIRE(simtest::runCommand("ATTUNE_HIP_DEVICES='" + value +
                                "' " PRELOAD " python3 -c 'import ctypes, sys; n = ctypes.c_int(); "
                                "ctypes.CDLL(sys.argv[1]).hipGetDeviceCount(ctypes.byref(n)); "
                                "open(sys.argv[2], \"w\").write(str(n.value))' " SIM_HIP_LIBRARY
                                " " +
                                out));
    return simtest::readText(out) + simtest::readText(simtest::scratchDir() + "/log");
  };
  CHECK(count("") == "1");
  CHECK(count("3") == "3");
  for (const char *wrong : {"0", "17", "two", "2x"})
    CHECK(count(wrong) == std::string("1attune hip: hipInit: ATTUNE_HIP_DEVICES=") + wrong +
                              ": legal values are 1 to 16; one device it is\n");
}
