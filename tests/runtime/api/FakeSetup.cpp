// The fake compiler's environment, with a code object that is assembled here.
#include "tests/runtime/api/Testing.h"
#include "tests/sim/coreHarness.h"
#include <cassert>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace attune::testing {
namespace {

std::string scratch(const char *file) { return simtest::scratchDir() + "/" + file; }

} // namespace

void useFakeCompiler() {
  static const bool written [[maybe_unused]] = [] {
    const simtest::Bytes code = simtest::assemble(simtest::kernelText("s_endpgm"));
    std::ofstream(scratch("code"), std::ios::binary)
        .write(reinterpret_cast<const char *>(code.data()), std::streamsize(code.size()));
    return !code.empty();
  }();
  assert(written);
  std::filesystem::remove(scratch("log"));
  setenv("FAKE_CODE", scratch("code").c_str(), 1);
  setenv("FAKE_LOG", scratch("log").c_str(), 1);
  setenv("ATTUNE_COMPILER", ATTUNE_FAKE_COMPILER, 1);
}

size_t compiles() {
  std::error_code missing;
  const auto size = std::filesystem::file_size(scratch("log"), missing);
  return missing ? 0 : size_t(size);
}

} // namespace attune::testing
