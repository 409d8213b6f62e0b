// A device whose memory is the host's and whose kernel is a function of its argument bytes. What is
// given back twice, or used after that, is an exception. Any thread.
#pragma once
#include "runtime/device/Device.h"
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>

namespace attune::testing {

class FakeDevice : public Device {
public:
  std::function<void(const std::vector<uint8_t> &kernarg)> body = [](const auto &) {};
  std::string kernelName;  ///< the one that every module has; empty: any
  int failAllocation = -1; ///< which allocation fails
  bool failLaunch = false;
  std::atomic<int> launches{0};
  int allocations = 0; ///< so far

  size_t buffers() const { return counted(memory_); }
  size_t modules() const { return counted(modules_); } ///< that are loaded

  std::string name() const override { return "fake"; }
  std::string arch() const override { return "gfx950"; }
  Result<DevicePtr> alloc(uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    if (allocations++ == failAllocation)
      return Error{ErrorCode::Device, "out of memory"};
    std::unique_ptr<uint8_t[]> block(new uint8_t[bytes + 16]);
    DevicePtr p = (reinterpret_cast<DevicePtr>(block.get()) + 15) / 16 * 16;
    memory_[p] = std::move(block);
    return p;
  }
  void free(DevicePtr p) override {
    std::lock_guard lock(mutex_);
    demand(memory_.erase(p) == 1, "freed what is no buffer");
  }
  Result<void> copyIn(DevicePtr to, const void *from, uint64_t bytes) override {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return {};
  }
  Result<void> copyOut(void *to, DevicePtr from, uint64_t bytes) override {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return {};
  }
  Result<ModuleHandle> load(std::span<const uint8_t> code) override {
    std::lock_guard lock(mutex_);
    if (code.empty())
      return Error{ErrorCode::InvalidArgument, "no code"};
    return *modules_.insert(++lastModule_).first;
  }
  void unload(ModuleHandle m) override {
    std::lock_guard lock(mutex_);
    demand(modules_.erase(m) == 1, "unloaded what is no module");
  }
  Result<KernelHandle> kernel(ModuleHandle m, const std::string &name) override {
    demandModule(m);
    if (!kernelName.empty() && name != kernelName)
      return Error{ErrorCode::NotFound, "the code object has no kernel \"" + name + "\""};
    return m;
  }
  Result<void> launch(KernelHandle k, const LaunchDims &, std::span<const uint8_t> kernarg,
                      void *) override {
    demandModule(k);
    ++launches;
    if (failLaunch)
      return Error{ErrorCode::SimFault, "stopped"};
    body({kernarg.begin(), kernarg.end()});
    return {};
  }
  Result<void> synchronize(void *) override { return {}; }

private:
  static void demand(bool good, const char *otherwise) {
    if (!good)
      throw std::logic_error(otherwise);
  }
  void demandModule(ModuleHandle m) const {
    std::lock_guard lock(mutex_);
    demand(modules_.contains(m), "used a module that is not loaded");
  }
  template <class Things> size_t counted(const Things &things) const {
    std::lock_guard lock(mutex_);
    return things.size();
  }

  mutable std::mutex mutex_;
  std::map<DevicePtr, std::unique_ptr<uint8_t[]>> memory_;
  std::set<ModuleHandle> modules_;
  ModuleHandle lastModule_ = 0;
};

} // namespace attune::testing
