// A device that runs code objects: memory, modules, launches. The simulator is one (SimDevice.h),
// a GPU behind the HIP runtime another (HipDevice.h).
//
// Addresses are 64-bit device addresses. On the simulator they are host addresses of reserved
// memory, so a buffer may claim many GiB and only touched pages cost anything.
//
// A stream is what the device's own API calls a stream (hipStream_t); null is the default stream.
// All functions may be called from any thread.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune {

using DevicePtr = uint64_t;
using ModuleHandle = uint64_t;
using KernelHandle = uint64_t; ///< a kernel of a module, valid as long as the module is loaded

struct LaunchDims {
  uint32_t grid[3] = {1, 1, 1};   ///< workgroups
  uint32_t block[3] = {64, 1, 1}; ///< threads
  uint32_t dynamicLdsBytes = 0;
};

class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0; ///< "sim", "hip:0"
  virtual std::string arch() const = 0; ///< "gfx950"
  /// Uninitialised memory. Reads outside it are errors on the simulator.
  virtual Result<DevicePtr> alloc(uint64_t bytes) = 0;
  virtual void free(DevicePtr) = 0;
  /// To and from host memory; done when the call returns, after all work on the default stream.
  virtual Result<void> copyIn(DevicePtr to, const void *from, uint64_t bytes) = 0;
  virtual Result<void> copyOut(void *to, DevicePtr from, uint64_t bytes) = 0;
  /// Refuses a code object of another arch by name.
  virtual Result<ModuleHandle> load(std::span<const uint8_t> codeObject) = 0;
  /// The device must be done with the module's kernels.
  virtual void unload(ModuleHandle) = 0;
  /// Errors: NotFound, with the names of the kernels that the module has.
  virtual Result<KernelHandle> kernel(ModuleHandle, const std::string &name) = 0;
  /// Runs a kernel to its end (the simulator) or enqueues it on `stream` (HIP).
  virtual Result<void> launch(KernelHandle, const LaunchDims &, std::span<const uint8_t> kernarg,
                              void *stream = nullptr) = 0;
  /// Waits for all work on `stream`.
  virtual Result<void> synchronize(void *stream = nullptr) = 0;
};

} // namespace attune
