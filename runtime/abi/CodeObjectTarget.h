// Which device a code object was built for, read from its ELF header before anything loads it.
//
// A target id is a processor and the state of two features that code is compiled for:
// "gfx950:sramecc+:xnack-". Code that names no state runs under either; code that does runs only
// where the device is in that state. A device names the state of every feature that it has.
//
//   code \ device          gfx950:sramecc+:xnack-
//   gfx950                 runs
//   gfx950:xnack-          runs
//   gfx950:xnack+          refused: xnack is off
//   gfx942                 refused: another processor
//   gfx9-4-generic         may run: it is for the device's library to say
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

enum class FeatureState : uint8_t {
  Unspecified, ///< code: runs under either; device: does not have the feature
  Off,
  On,
};

struct TargetId {
  std::string processor;
  FeatureState sramecc = FeatureState::Unspecified;
  FeatureState xnack = FeatureState::Unspecified;

  std::string text() const; ///< "gfx950:sramecc+:xnack-"
  bool operator==(const TargetId &) const = default;
};

/// Errors: InvalidArgument, for text that is no target id.
Result<TargetId> parseTargetId(std::string_view);

/// The processor that the low byte of e_flags names; "machine 0x..", if it is none that we know.
std::string processorOfFlags(uint32_t flags);

struct CodeObjectTarget {
  TargetId id;
  int version = 0;     ///< of the code object format: 4, 5 or 6
  bool linked = false; ///< an executable, not a relocatable object
};

/// Errors: InvalidArgument for bytes that are no AMDGPU code object, or of which a part is missing:
/// whoever reads the object next trusts its tables.
Result<CodeObjectTarget> readCodeObjectTarget(std::span<const uint8_t>);

/// Refuses code that `device` cannot run; `name` is what the message calls the device.
/// Errors: Unsupported, naming both target ids and what to build instead.
Result<void> checkRunsOn(const CodeObjectTarget &, const TargetId &device, std::string_view name);

/// Both of the above, for a device that is about to load the bytes.
Result<void> checkCodeObject(std::span<const uint8_t>, const TargetId &device,
                             std::string_view name);

/// The kernels of a code object (its symbols NAME.kd), sorted; of a damaged one, those that are
/// left.
std::vector<std::string> kernelNames(std::span<const uint8_t>);

} // namespace attune
