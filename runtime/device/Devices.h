// Devices by name.
//
//   sim      the embedded simulator of gfx950
//   hip      the GPU that HIP numbers 0
//   hip:N    the GPU that HIP numbers N
//   auto     the first GPU that is a gfx950; without one, the simulator
#pragma once
#include "runtime/device/Device.h"
#include "runtime/device/DeviceInfo.h"
#include "runtime/sim/Simulator.h"
#include <string_view>

namespace attune {

/// The options are the simulator's, if that is what opens. An empty name is that of ATTUNE_DEVICE,
/// which unset or empty is "auto". Errors: InvalidArgument for a name that is none; those of
/// makeHipDevice for "hip". "auto" fails only if there is a gfx950 and it cannot be opened.
Result<std::unique_ptr<Device>> openDevice(std::string_view name = "",
                                           const sim::RunOptions & = {});

struct DeviceList {
  std::vector<DeviceInfo> devices; ///< the simulator last: there is always one
  std::string noHip;               ///< why none of them is HIP's; else empty
};
DeviceList listDevices();

} // namespace attune
