// A GPU behind the HIP runtime: libamdhip64 of HIP 5 to 7, found at run time.
//
// A launch is two HIP calls (four, if the thread has another device current), allocates nothing and
// waits for nothing, so it may be captured into a graph. Every call makes its own device current
// and restores the caller's. The Device owns what it gave out: buffers and modules that are left go
// with it, as on the simulator.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/device/DeviceInfo.h"

namespace attune {

/// Device `ordinal` of HIP's numbering (HIP_VISIBLE_DEVICES applies), named "hip:ORDINAL".
/// `library` is a path; empty: see docs/devices.md. Errors: NotFound without a library, Unsupported
/// for one of an unknown version, Device without a GPU, InvalidArgument for an ordinal out of
/// range.
Result<std::unique_ptr<Device>> makeHipDevice(int ordinal, const std::string &library = "");

/// What HIP sees, at least one device. Errors: as above.
Result<std::vector<DeviceInfo>> listHipDevices(const std::string &library = "");

} // namespace attune
