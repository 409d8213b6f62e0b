// A HIP program, compiled by clang for gfx950, runs on the library unmodified: linked against it,
// and if ROCm's own library is there, linked against that one and run on this with LD_LIBRARY_PATH.
#include "tests/runtime/hip/Library.h"
#include <filesystem>

using namespace hiptest;
namespace fs = std::filesystem;

namespace {

const std::string source = ATTUNE_HIP_TESTS "/Sample.hip";
const std::string folder = fs::path(SIM_HIP_LIBRARY).parent_path().string();

bool headers() {
  if (fs::exists("/usr/include/hip/hip_runtime.h"))
    return true;
  WARN("skipped: no HIP headers in /usr/include/hip (Debian: apt-get install libamdhip64-dev)");
  return false;
}

/// The program, linked against the libamdhip64 in `libraries`.
std::string built(const std::string &libraries) {
  std::string device = simtest::scratchDir() + "/device.bc",
              program = simtest::scratchDir() + "/sample";
  REQUIRE(
      simtest::runCommand("clang-22 -x cl -cl-std=CL2.0 -O2 -target amdgcn-amd-amdhsa -mcpu=gfx950 "
                          "-nogpulib -emit-llvm -c -o " +
                          device + " " ATTUNE_HIP_TESTS "/DeviceLibrary.cl"));
  // HIP 5's headers want to know the wave size from the compiler, which no longer says it.
  REQUIRE(simtest::runCommand(
      "clang++-22 -x hip --offload-arch=gfx950 -O2 -D__AMDGCN_WAVEFRONT_SIZE=64 "
      "--hip-device-lib-path=" +
      simtest::scratchDir() + " --hip-device-lib=device.bc -o " + program + " " + source + " -L" +
      libraries + " -lamdhip64 -Wl,--allow-shlib-undefined")); // see PRELOAD
  return program;
}

std::string outputOf(const std::string &program) {
  std::string out = simtest::scratchDir() + "/sample.out";
  REQUIRE(simtest::runCommand("sh -c 'exec env LD_LIBRARY_PATH=" + folder + " " PRELOAD " " +
                              program + " > " + out + "'"));
  return simtest::readText(out);
}

} // namespace

TEST_CASE("hip: a program runs on the library it was linked against") {
  if (headers())
    CHECK(outputOf(built(folder)) ==
          "AMD Instinct MI355X (Attune simulator), 256 compute units\nPASSED\n");
}

TEST_CASE("hip: a program linked against ROCm's library runs on this one") {
  const std::string system = "/usr/lib/x86_64-linux-gnu";
  if (!headers() || !fs::exists(system + "/libamdhip64.so"))
    return;
  CHECK(outputOf(built(system)) ==
        "AMD Instinct MI355X (Attune simulator), 256 compute units\nPASSED\n");
}

TEST_CASE("hip: errors, attributes and properties are those of HIP's header") {
  if (headers())
    CHECK(simtest::runCommand("clang++-22 -std=c++20 -fsyntax-only -I " ATTUNE_HIP_TESTS
                              "/../../.. " ATTUNE_HIP_TESTS "/AbiCheck.cpp"));
}
