// The embedded simulator (runtime/sim) as a device: the default where there is no GPU.
#pragma once
#include "runtime/abi/CodeObjectTarget.h"
#include "runtime/device/Device.h"
#include "runtime/sim/Simulator.h"

namespace attune {

/// What the simulated chip is, and the state of its features.
const TargetId &simTarget();

/// Every launch on the device runs with these options: host threads, instruction budget, the
/// policies of arrival and schedule, and who watches.
std::unique_ptr<Device> makeSimDevice(const sim::RunOptions & = {});

/// The same where the simulator may be a library of its own (SimLibrary.cpp): libattune finds
/// libattune-sim.so beside itself. Errors: NotFound, with the path.
Result<std::unique_ptr<Device>> openSimDevice(const sim::RunOptions & = {});

} // namespace attune
