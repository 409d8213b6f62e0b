#include "runtime/device/Devices.h"
#include "runtime/abi/Environment.h"
#include "runtime/device/HipApi.h"
#include "runtime/device/HipDevice.h"
#include "runtime/device/SimDevice.h"
#include <charconv>
#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::string_view hipPrefix = "hip:";

Error unknownName(std::string_view name, bool fromVariable) {
  if (fromVariable)
    return illegalValue(Variable::ATTUNE_DEVICE, name);
  return {ErrorCode::InvalidArgument,
          fmt::format("\"{}\" names no device; legal are sim, hip, hip:N and auto", name)};
}

/// The number of "hip:N".
std::optional<int> ordinalOf(std::string_view name) {
  name.remove_prefix(hipPrefix.size());
  int ordinal = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  bool whole = error == std::errc() && end == name.data() + name.size() && ordinal >= 0;
  return whole ? std::optional(ordinal) : std::nullopt;
}

Result<std::unique_ptr<Device>> openBest(const sim::RunOptions &simulator) {
  auto gpus = hipIsPlausible() ? listHipDevices() : std::vector<DeviceInfo>();
  if (gpus)
    for (const DeviceInfo &gpu : *gpus)
      if (gpu.target.processor == simTarget().processor)
        return makeHipDevice(*ordinalOf(gpu.name));
  return openSimDevice(simulator);
}

} // namespace

const TargetId &simTarget() {
  static const TargetId id{"gfx950", FeatureState::On, FeatureState::Off};
  return id;
}

Result<std::unique_ptr<Device>> openDevice(std::string_view name,
                                           const sim::RunOptions &simulator) {
  const auto variable = environment(Variable::ATTUNE_DEVICE);
  const bool fromVariable = name.empty() && variable;
  if (fromVariable)
    name = *variable;
  if (name.empty() || name == "auto")
    return openBest(simulator);
  if (name == "sim")
    return openSimDevice(simulator);
  if (name == "hip")
    return makeHipDevice(0);
  if (name.starts_with(hipPrefix))
    if (auto ordinal = ordinalOf(name))
      return makeHipDevice(*ordinal);
  return unknownName(name, fromVariable);
}

DeviceList listDevices() {
  DeviceList list;
  if (auto hip = listHipDevices())
    list.devices = std::move(*hip);
  else
    list.noHip = hip.error().message;
  list.devices.push_back(
      {.name = "sim", .target = simTarget(), .product = "Attune's simulator of gfx950"});
  return list;
}

} // namespace attune
