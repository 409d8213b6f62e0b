// Builds kernels for the simulator's tests from text, with LLVM's own tools, at test time: OpenCL C
// (clang-22) or assembly (llvm-mc-22, ld.lld-22). Sources of some length are files in
// tests/sim/kernels.
#pragma once
#include "runtime/sim/Simulator.h"
#include "tests/support/TempDir.h"
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace simtest {

using Bytes = std::vector<uint8_t>;

/// Runs a shell command; false if it fails. Its output goes to the test's log.
bool runCommand(const std::string &command);
/// A fresh directory that lives as long as the test process.
const std::string &scratchDir();
using attune::testing::readText;
std::string kernelPath(const std::string &file);
Bytes readBytes(const std::string &path);

/// Code object of OpenCL C or assembly in tests/sim/kernels; built once per process. Empty if the
/// tools fail.
const Bytes &compileFile(const std::string &file);
/// Code object of assembly text.
Bytes assemble(const std::string &text);
/// Bytes of instructions without a code object, in order.
std::vector<uint32_t> assembleWords(const std::string &text);

/// A kernel "k" of which only the instructions matter: kernarg pointer in s[0:1], workgroup id in
/// s2, 128 VGPRs + 128 AGPRs. `extra` holds further .amdhsa directives.
std::string kernelText(const std::string &body, const std::string &extra = "");

/// Kernel arguments in C layout order.
class Args {
public:
  template <class T> Args &add(T value) {
    size_t at = (bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  operator std::span<const uint8_t>() const { return bytes_; }

private:
  Bytes bytes_;
};

/// A simulator with one module, and buffers as vectors.
class Fixture {
public:
  explicit Fixture(const Bytes &codeObject);
  template <class T> uint64_t upload(const std::vector<T> &data) {
    uint64_t p = *simulator.memory().alloc(data.size() * sizeof(T));
    (void)simulator.memory().copyIn(p, data.data(), data.size() * sizeof(T));
    return p;
  }
  template <class T> std::vector<T> download(uint64_t p, size_t count) {
    std::vector<T> data(count);
    if (count > 0) // an empty vector has no address
      std::memcpy(data.data(), attune::sim::Memory::host(p), count * sizeof(T));
    return data;
  }
  /// Launches; the error message, or "" and `stats`.
  std::string launch(const std::string &kernel, uint32_t workgroups, uint32_t threads,
                     std::span<const uint8_t> args, attune::sim::RunOptions options = {},
                     uint32_t dynamicLds = 0);

  /// The same with all that a launch can say, but for the strict mode's options.
  std::string launch(attune::sim::Launch);

  /// Launches under strict mode; what it finds is an error.
  bool strict = false;
  attune::sim::Simulator simulator;
  attune::sim::ModuleId module = 0;
  attune::sim::RunStats stats;
};

} // namespace simtest
