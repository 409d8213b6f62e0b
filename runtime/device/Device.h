// A device that runs code objects: memory, modules, launches. The simulator is one; HIP will be
// another.
//
// Addresses are 64-bit device addresses. On the simulator they are host addresses of reserved
// memory, so a buffer may claim many GiB and only touched pages cost anything.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attune {

using DevicePtr = uint64_t;
using ModuleHandle = uint64_t;

struct LaunchDims {
  uint32_t grid[3] = {1, 1, 1};   ///< workgroups
  uint32_t block[3] = {64, 1, 1}; ///< threads
  uint32_t dynamicLdsBytes = 0;
};

class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0; ///< "sim"
  virtual std::string arch() const = 0; ///< "gfx950"
  /// Uninitialised memory. Reads outside it are errors on the simulator.
  virtual Result<DevicePtr> alloc(uint64_t bytes) = 0;
  virtual void free(DevicePtr) = 0;
  virtual Result<void> copyIn(DevicePtr to, const void *from, uint64_t bytes) = 0;
  virtual Result<void> copyOut(void *to, DevicePtr from, uint64_t bytes) = 0;
  /// Refuses a code object of another arch by name.
  virtual Result<ModuleHandle> load(const std::vector<uint8_t> &codeObject) = 0;
  virtual void unload(ModuleHandle) = 0;
  /// Runs a kernel to its end (the simulator) or enqueues it on `stream` (HIP).
  virtual Result<void> launch(ModuleHandle, const std::string &kernel, const LaunchDims &,
                              const std::vector<uint8_t> &kernarg, void *stream = nullptr) = 0;
};

} // namespace attune
