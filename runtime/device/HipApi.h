// libamdhip64 as a table of functions: HIP 5, 6 or 7, found at run time (SharedLibrary.h).
//
// Between these versions the calls that Attune needs have kept their parameters. What changed is
// hipDeviceProp_t, which HIP 6 laid out anew under the name hipGetDevicePropertiesR0600, keeping
// the old function for old programs; of it only the target id is read.
#pragma once
#include "runtime/abi/CodeObjectTarget.h"
#include "runtime/abi/Result.h"
#include <cstddef>
#include <memory>
#include <string>

namespace attune {

struct HipApi {
#define HIP_FUNCTION(NAME, RESULT, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#define HIP_OPTIONAL HIP_FUNCTION
#include "runtime/device/HipApi.def"

  std::string library; ///< its path
  int major = 0, minor = 0;

  std::string name() const; ///< "HIP 6.4 (/opt/rocm/lib/libamdhip64.so.6)"
  /// What a call that returned `code` says: "WHAT: out of memory (hipErrorOutOfMemory)". Clears
  /// HIP's error of this thread, which the program's own calls would else find.
  Error failure(int code, const std::string &what) const;

  /// At least 1. Errors: Device, with what to look at on this machine.
  Result<int> deviceCount() const;
  Result<TargetId> target(int ordinal) const;
  std::string productName(int ordinal) const; ///< "AMD Instinct MI355X"; empty if HIP does not say
};

/// Whether a search for GPUs is worth opening a HIP library, which takes tens of milliseconds: the
/// amdgpu driver is there, or the process has a HIP library, or the environment names one.
bool hipIsPlausible();

/// The library at a path, or the one that the process has or the loader finds if it is empty.
/// Errors: NotFound without a library; Unsupported for a version other than 5 to 7, or a library
/// that lacks a function.
Result<std::shared_ptr<const HipApi>> openHip(const std::string &library = "");

} // namespace attune
