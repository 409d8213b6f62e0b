#include "runtime/device/SimDevice.h"

namespace attune {
namespace {

class SimDevice final : public Device {
public:
  explicit SimDevice(const sim::RunOptions &options) : options_(options) {}

  std::string name() const override { return "sim"; }
  std::string arch() const override { return "gfx950"; }
  Result<DevicePtr> alloc(uint64_t bytes) override { return simulator_.memory().alloc(bytes); }
  void free(DevicePtr p) override { simulator_.memory().free(p); }
  Result<void> copyIn(DevicePtr to, const void *from, uint64_t bytes) override {
    return simulator_.memory().copyIn(to, from, bytes);
  }
  Result<void> copyOut(void *to, DevicePtr from, uint64_t bytes) override {
    return simulator_.memory().copyOut(to, from, bytes);
  }
  Result<ModuleHandle> load(const std::vector<uint8_t> &codeObject) override {
    return simulator_.load(codeObject);
  }
  void unload(ModuleHandle module) override { simulator_.unload(module); }
  /// Launches run to their end, so there is nothing for a stream to order.
  Result<void> launch(ModuleHandle module, const std::string &kernel, const LaunchDims &dims,
                      const std::vector<uint8_t> &kernarg, void *) override {
    sim::Launch launch{.kernel = kernel,
                       .grid = {dims.grid[0], dims.grid[1], dims.grid[2]},
                       .block = {dims.block[0], dims.block[1], dims.block[2]},
                       .dynamicLdsBytes = dims.dynamicLdsBytes,
                       .kernarg = kernarg,
                       .options = options_};
    Result<sim::RunStats> stats = simulator_.launch(module, launch);
    if (!stats)
      return stats.error();
    return {};
  }

private:
  sim::RunOptions options_;
  sim::Simulator simulator_;
};

} // namespace

std::unique_ptr<Device> makeSimDevice(const sim::RunOptions &options) {
  return std::make_unique<SimDevice>(options);
}

} // namespace attune
