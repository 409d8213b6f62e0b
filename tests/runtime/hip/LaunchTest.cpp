// Modules, launches and faults.
#include "tests/runtime/hip/Library.h"
#include <cstring>
#include <fstream>

using namespace hiptest;
using Catch::Contains;

namespace {

constexpr int n = 300;

/// clang's offload bundle with one entry for each id.
simtest::Bytes bundle(const std::vector<std::string> &ids, const simtest::Bytes &code) {
  simtest::Bytes out;
  auto number = [&](uint64_t value) {
    for (int i = 0; i < 8; ++i)
      out.push_back(uint8_t(value >> (8 * i)));
  };
  auto text = [&](const std::string &s) { out.insert(out.end(), s.begin(), s.end()); };
  text("__CLANG_OFFLOAD_BUNDLE__");
  number(ids.size());
  constexpr uint64_t start = 4096;
  for (const std::string &id : ids) {
    number(start);
    number(id.ends_with("gfx950") ? code.size() : 0);
    number(id.size());
    text(id);
  }
  out.resize(start);
  out.insert(out.end(), code.begin(), code.end());
  return out;
}

std::string loadRefusal(int code, const simtest::Bytes &image) {
  Pointer module = nullptr;
  return refusal(code, "hipModuleLoadData", &module, (const void *)image.data());
}

} // namespace

TEST_CASE("hip: a module's kernel, with pointers to its arguments") {
  VectorAdd add;
  Buffer a(std::vector<float>(n, 1.5f)), b(std::vector<float>(n, 2)), c(n * 4);
  REQUIRE(add.launch(a.get(), b.get(), c.get(), n) == success);
  CHECK(c.read<float>(n) == std::vector<float>(n, 3.5f));
}

TEST_CASE("hip: a module's kernel, with its arguments packed") {
  VectorAdd add;
  Buffer a(std::vector<float>(n, 1)), b(std::vector<float>(n, 2)), c(n * 4);
  struct {
    Pointer a, b, c;
    int n;
  } args = {a.get(), b.get(), c.get(), n};
  size_t size = sizeof args;
  void *extra[] = {(void *)1, &args, (void *)2, &size, (void *)3};
  REQUIRE(add.start(2, 256, 0, nullptr, nullptr, extra) == success);
  CHECK(c.read<float>(n) == std::vector<float>(n, 3));
  void *wrong[] = {(void *)9, &args, (void *)3};
  StderrCapture capture;
  CHECK(add.start(2, 256, 0, nullptr, nullptr, wrong) == invalidValue);
  CHECK(add.start(2, 256, 0, nullptr, wrong, wrong) == invalidValue);
  CHECK(add.start(2, 256, 0, nullptr, nullptr, nullptr) == invalidValue);
  std::string text = capture.text();
  CHECK_THAT(text, Contains("extra[0]") && Contains("both given") &&
                       Contains("vector_add has 4 arguments, none is given"));
}

TEST_CASE("hip: hipExtModuleLaunchKernel counts threads and times the launch") {
  VectorAdd add;
  Buffer a(std::vector<float>(512, 1)), b(std::vector<float>(512, 2)), c(512 * 4);
  Pointer pa = a.get(), pb = b.get(), pc = c.get(), start = nullptr, stop = nullptr;
  int count = 512;
  void *params[] = {&pa, &pb, &pc, &count};
  REQUIRE(hip("hipEventCreate", &start) == success);
  REQUIRE(hip("hipEventCreate", &stop) == success);
  auto launch = [&](unsigned threads) {
    return hip("hipExtModuleLaunchKernel", add.function, threads, 1u, 1u, 256u, 1u, 1u, size_t(0),
               (Pointer) nullptr, (void **)params, (void **)nullptr, start, stop, 0u);
  };
  REQUIRE(launch(512) == success);
  CHECK(c.read<float>(512)[511] == 3);
  float ms = -1;
  REQUIRE(hip("hipEventElapsedTime", &ms, start, stop) == success);
  CHECK(ms > 0);
  StderrCapture capture;
  CHECK(launch(500) == invalidConfiguration);
  CHECK_THAT(capture.text(), Contains("500 threads in workgroups of 256"));
  hip("hipEventDestroy", start);
  hip("hipEventDestroy", stop);
}

TEST_CASE("hip: configurations that no launch can have") {
  VectorAdd add;
  Buffer a(1024);
  Pointer p = a.get();
  int count = 0;
  void *params[] = {&p, &p, &p, &count};
  StderrCapture capture;
  CHECK(add.start(0, 256, 0, nullptr, params, nullptr) == invalidConfiguration);
  CHECK(add.start(1, 1025, 0, nullptr, params, nullptr) == invalidConfiguration);
  CHECK(add.start(1, 256, 160 * 1024 + 1, nullptr, params, nullptr) == invalidConfiguration);
  CHECK(add.start(1, 256, 0, (Pointer)&count, params, nullptr) == invalidHandle);
  CHECK_THAT(capture.text(), Contains("a grid extent is 0") && Contains("1025 threads") &&
                                 Contains("163841 bytes") && Contains("no such stream"));
}

TEST_CASE("hip: code objects by file and bundle; what is not one") {
  const simtest::Bytes &code = simtest::compileFile("basic.cl");
  Pointer module = nullptr, function = nullptr;
  std::string path = simtest::scratchDir() + "/module.co";
  std::ofstream(path, std::ios::binary)
      .write((const char *)code.data(), std::streamsize(code.size()));
  REQUIRE(hip("hipModuleLoad", &module, path.c_str()) == success);
  CHECK_THAT(refusal(notFound, "hipModuleGetFunction", &function, module, "none"),
             Contains("no kernel \"none\"; it has: ") && Contains("vector_add"));
  REQUIRE(hip("hipModuleUnload", module) == success);
  refusal(invalidHandle, "hipModuleUnload", module);
  refusal(fileNotFound, "hipModuleLoad", &module, "/no/such.co");

  auto good = bundle({"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx942",
                      "hipv4-amdgcn-amd-amdhsa--gfx950"},
                     code);
  REQUIRE(hip("hipModuleLoadData", &module, (const void *)good.data()) == success);
  REQUIRE(hip("hipModuleGetFunction", &function, module, "vector_add") == success);
  REQUIRE(hip("hipModuleUnload", module) == success);

  CHECK_THAT(loadRefusal(noBinary, bundle({"hipv4-amdgcn-amd-amdhsa--gfx942"}, code)),
             Contains("no code object for gfx950; it has: hipv4-amdgcn-amd-amdhsa--gfx942"));
  CHECK_THAT(loadRefusal(noBinary, bundle({"hipv4-amdgcn-amd-amdhsa--gfx9500"}, {})),
             Contains("no code object for gfx950"));
  simtest::Bytes compressed(64, 0);
  std::memcpy(compressed.data(), "CCOB", 4);
  CHECK_THAT(loadRefusal(noBinary, compressed), Contains("--no-offload-compress"));
  CHECK_THAT(loadRefusal(invalidImage, simtest::Bytes(64, 7)), Contains("neither a code object"));
  std::ofstream(path, std::ios::binary).write((const char *)code.data(), 1000);
  CHECK_THAT(refusal(invalidImage, "hipModuleLoad", &module, path.c_str()), Contains("cut off"));
}

TEST_CASE("hip: a module's variables") {
  const simtest::Bytes &code = simtest::compileFile("hidden.cl");
  Pointer module = nullptr, function = nullptr, value = nullptr;
  size_t bytes = 0;
  REQUIRE(hip("hipModuleLoadData", &module, (const void *)code.data()) == success);
  REQUIRE(hip("hipModuleGetGlobal", &value, &bytes, module, "value") == success);
  CHECK(bytes == 4);
  uint32_t number = 77;
  REQUIRE(hip("hipMemcpyHtoD", value, (Pointer)&number, size_t(4)) == success);
  REQUIRE(hip("hipModuleGetFunction", &function, module, "through_pointer") == success);
  Buffer out(4);
  Pointer p = out.get();
  void *params[] = {&p};
  REQUIRE(hip("hipModuleLaunchKernel", function, 1u, 1u, 1u, 64u, 1u, 1u, 0u, (Pointer) nullptr,
              (void **)params, (void **)nullptr) == success);
  CHECK(out.read<uint32_t>(1)[0] == 77);
  CHECK_THAT(refusal(notFound, "hipModuleGetGlobal", &value, &bytes, module, "none"),
             Contains("no symbol \"none\""));
  REQUIRE(hip("hipModuleUnload", module) == success);
}

TEST_CASE("hip: attributes and occupancy of a kernel") {
  VectorAdd add;
  int value = 0, groups = 0, grid = 0, block = 0;
  REQUIRE(hip("hipFuncGetAttribute", &value, 0, add.function) == success);
  CHECK(value >= 256);
  struct {
    int versions[2];
    size_t constant, local;
    int dynamic, threads, registers, carveout, ptx;
    size_t shared;
  } attributes = {};
  REQUIRE(hip("hipFuncGetAttributes", (Pointer)&attributes, add.function) == success);
  CHECK(attributes.registers > 0);
  CHECK(attributes.registers <= 64);
  CHECK(attributes.dynamic == 160 * 1024);
  CHECK(attributes.shared == 0);
  auto occupancy = [&](int threads, size_t shared) {
    REQUIRE(hip("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", &groups, add.function,
                threads, shared) == success);
    return groups;
  };
  CHECK(occupancy(256, 0) == 8);         // 32 waves
  CHECK(occupancy(64, 0) == 32);         // one wave needs no barrier
  CHECK(occupancy(128, 0) == 16);        // two do: 16 workgroups
  CHECK(occupancy(256, 80 * 1024) == 2); // LDS
  CHECK(occupancy(256, 80 * 1024 + 1) == 1);
  CHECK(occupancy(256, 160 * 1024 + 1) == 0);
  REQUIRE(hip("hipModuleOccupancyMaxPotentialBlockSize", &grid, &block, add.function, size_t(0),
              512) == success);
  CHECK(block == std::min(512, value));
  CHECK(grid == 256 * 32 * 64 / block);
  CHECK(hip("hipFuncSetAttribute", add.function, 8, 65536) == success);
  CHECK_THAT(refusal(invalidValue, "hipFuncSetAttribute", add.function, 8, 163841),
             Contains("can have 0 to 163840"));
  refusal(invalidDeviceFunction, "hipFuncSetAttribute", (Pointer)&value, 8, 0);
}

TEST_CASE("hip: a fault says where, and stays until the device is reset") {
  VectorAdd add;
  Buffer a(std::vector<float>(n, 1)), small(16);
  StderrCapture capture;
  CHECK(add.launch(a.get(), a.get(), small.get(), n) == launchFailure);
  CHECK(hip("hipDeviceSynchronize") == launchFailure);
  CHECK(hip("hipStreamSynchronize", (Pointer) nullptr) == launchFailure);
  std::vector<float> host(4);
  CHECK(hip("hipMemcpy", (Pointer)host.data(), (const void *)a.get(), size_t(16), deviceToHost) ==
        launchFailure);
  CHECK_THAT(capture.text(), Contains("attune hip: hipModuleLaunchKernel: kernel vector_add") &&
                                 Contains("global_store_dword") && Contains("device allocation"));
  CHECK(hip("hipDeviceReset") == success);
  CHECK(hip("hipDeviceSynchronize") == success);
  hip("hipGetLastError");
}
