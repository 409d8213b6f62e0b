// One attention call from tensors in host memory: allocate, copy, launch, read back, free.
//
// This is how the command line and the tests run a kernel; a server keeps its tensors on the device
// and uses planLaunch. The output is filled with NaN before the launch, so a row that the kernel
// does not write shows.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/device/Device.h"
#include "runtime/launch/HostTensor.h"
#include <map>
#include <optional>
#include <string>

namespace attune {

/// Shapes as in AttentionCall (Attention.h); any layout that a call may have.
struct HostCall {
  HostTensor q, k, v;
  std::optional<HostTensor> sink;
  std::optional<HostTensor> cuSeqlensQ, cuSeqlensK; ///< varlen: i32[batch + 1]
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, double> scalars;
};

struct HostRunOptions {
  std::optional<Shape> outStrides, lseStrides; ///< packed if absent
  /// Spare bytes around and between the elements of out and lse are checked to be untouched.
  bool guards = false;
  int64_t maxQLen = -1; ///< varlen: the bound to declare; -1: the longest real length
};

struct HostResult {
  HostTensor out;
  std::optional<HostTensor> lse;
};

/// A code object on a device, unloaded with this object. The device must live longer.
class LoadedKernel {
public:
  static Result<LoadedKernel> load(Device &, const KernelImage &);
  LoadedKernel(LoadedKernel &&) noexcept;
  LoadedKernel &operator=(LoadedKernel &&) noexcept;
  ~LoadedKernel();

  Result<HostResult> run(const HostCall &, const HostRunOptions & = {}) const;
  const Sidecar &sidecar() const { return sidecar_; }

private:
  LoadedKernel(Device &device, ModuleHandle module, KernelHandle kernel, Sidecar sidecar)
      : device_(&device), module_(module), kernel_(kernel), sidecar_(std::move(sidecar)) {}
  Device *device_;
  ModuleHandle module_;
  KernelHandle kernel_;
  Sidecar sidecar_;
};

/// One sequence of a call. Starts are token numbers; dense storage counts its sequences one after
/// another.
struct SequenceBounds {
  int64_t qStart = 0, qLen = 0, kStart = 0, kvLen = 0;
};

/// Reads lengths from the shapes (dense) or from cu_seqlens, whose contents are checked: no
/// negative start, never decreasing, inside q and k.
Result<std::vector<SequenceBounds>> sequencesOf(const ProblemShape &, const HostCall &);

} // namespace attune
