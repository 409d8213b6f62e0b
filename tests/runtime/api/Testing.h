// What the tests of attune.h and of what is behind it share: contexts with the fake compiler
// (FakeCompiler.cpp), a device that counts, specs by name.
#pragma once
#include "runtime/api/Context.h"
#include "runtime/include/attune/attune.h"
#include "tests/runtime/cache/Testing.h"
#include <atomic>
#include <string>

namespace attune::testing {

using cache::testing::Child;
using cache::testing::TempDir;

/// Causal attention called `name`, varlen, 4 over 2 heads of 64, with an LSE; the fake compiler's
/// behaviour follows from the name.
std::string specText(const std::string &name);
ParsedSpec specOf(const std::string &name);

/// Prepares the fake compiler's environment; the code object is assembled once per process.
void useFakeCompiler();
/// How often it compiled since useFakeCompiler().
size_t compiles();

ContextOptions optionsFor(const std::string &directory, CompileWhere = CompileWhere::InProcess);

/// Loads anything, counts what is loaded and launched, and keeps the last arguments.
class CountingDevice : public Device {
public:
  std::atomic<int> loaded{0}, launches{0};
  std::vector<uint8_t> kernarg;

  std::string name() const override { return "counting"; }
  std::string arch() const override { return "gfx950"; }
  Result<DevicePtr> alloc(uint64_t) override { return DevicePtr(4096); }
  void free(DevicePtr) override {}
  Result<void> copyIn(DevicePtr, const void *, uint64_t) override { return {}; }
  Result<void> copyOut(void *, DevicePtr, uint64_t) override { return {}; }
  Result<ModuleHandle> load(std::span<const uint8_t>) override {
    ++loaded;
    return ++modules_;
  }
  void unload(ModuleHandle) override { --loaded; }
  Result<KernelHandle> kernel(ModuleHandle m, const std::string &) override { return m; }
  Result<void> launch(KernelHandle, const LaunchDims &, std::span<const uint8_t> args,
                      void *) override {
    ++launches;
    kernarg.assign(args.begin(), args.end());
    return {};
  }
  Result<void> synchronize(void *) override { return {}; }

private:
  std::atomic<ModuleHandle> modules_{0};
};

} // namespace attune::testing
