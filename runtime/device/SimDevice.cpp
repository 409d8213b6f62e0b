// One simulator serves one caller at a time, so a mutex makes the device safe to share: launches of
// several threads follow each other, each on all host threads.
#include "runtime/device/SimDevice.h"
#include <map>
#include <mutex>

namespace attune {
namespace {

class SimDevice final : public Device {
public:
  explicit SimDevice(const sim::RunOptions &options) : options_(options) {}

  std::string name() const override { return "sim"; }
  std::string arch() const override { return simTarget().processor; }
  Result<DevicePtr> alloc(uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    return simulator_.memory().alloc(bytes);
  }
  void free(DevicePtr p) override {
    std::lock_guard lock(mutex_);
    simulator_.memory().free(p);
  }
  Result<void> copyIn(DevicePtr to, const void *from, uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    return simulator_.memory().copyIn(to, from, bytes);
  }
  Result<void> copyOut(void *to, DevicePtr from, uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    return simulator_.memory().copyOut(to, from, bytes);
  }
  Result<ModuleHandle> load(std::span<const uint8_t> codeObject) override {
    if (auto fits = checkCodeObject(codeObject, simTarget(), name()); !fits)
      return fits.error();
    std::lock_guard lock(mutex_);
    return simulator_.load(codeObject);
  }
  void unload(ModuleHandle module) override {
    std::lock_guard lock(mutex_);
    std::erase_if(kernels_, [&](const auto &entry) { return entry.second.module == module; });
    simulator_.unload(module);
  }
  Result<KernelHandle> kernel(ModuleHandle module, const std::string &name) override;
  Result<void> launch(KernelHandle, const LaunchDims &, std::span<const uint8_t> kernarg,
                      void *stream) override;
  /// Launches run to their end, so there is nothing to wait for.
  Result<void> synchronize(void *) override { return {}; }

private:
  struct Kernel {
    ModuleHandle module;
    std::string name;
  };
  std::mutex mutex_;
  sim::RunOptions options_;
  sim::Simulator simulator_;
  std::map<KernelHandle, Kernel> kernels_;
  KernelHandle next_ = 1;
};

Result<KernelHandle> SimDevice::kernel(ModuleHandle module, const std::string &name) {
  std::lock_guard lock(mutex_);
  Result<std::vector<sim::KernelInfo>> infos = simulator_.kernels(module);
  if (!infos)
    return infos.error();
  std::string known;
  for (const sim::KernelInfo &info : *infos) {
    if (info.name == name) {
      kernels_[next_] = {module, name};
      return next_++;
    }
    known += (known.empty() ? "" : ", ") + info.name;
  }
  return Error{ErrorCode::NotFound, "the code object has no kernel \"" + name + "\"; it has: " +
                                        (known.empty() ? std::string("none") : known)};
}

Result<void> SimDevice::launch(KernelHandle kernel, const LaunchDims &dims,
                               std::span<const uint8_t> kernarg, void *) {
  std::lock_guard lock(mutex_);
  auto at = kernels_.find(kernel);
  if (at == kernels_.end())
    return Error{ErrorCode::InvalidArgument, "a launch of a kernel whose module is not loaded"};
  sim::Launch launch{.kernel = at->second.name,
                     .grid = {dims.grid[0], dims.grid[1], dims.grid[2]},
                     .block = {dims.block[0], dims.block[1], dims.block[2]},
                     .dynamicLdsBytes = dims.dynamicLdsBytes,
                     .kernarg = kernarg,
                     .options = options_};
  Result<sim::RunStats> stats = simulator_.launch(at->second.module, launch);
  if (!stats)
    return stats.error();
  return {};
}

} // namespace

std::unique_ptr<Device> makeSimDevice(const sim::RunOptions &options) {
  return std::make_unique<SimDevice>(options);
}

Result<std::unique_ptr<Device>> openSimDevice(const sim::RunOptions &options) {
  return makeSimDevice(options);
}

} // namespace attune
