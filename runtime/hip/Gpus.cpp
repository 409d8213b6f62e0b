#include "runtime/hip/Gpus.h"
#include "runtime/abi/Environment.h"
#include "runtime/hip/Runtime.h"
#include <fmt/format.h>

namespace attune::hip {
namespace {

constexpr int mostDevices = 16;

int devicesAsked() {
  const auto count = numberFrom(environment, Variable::ATTUNE_HIP_DEVICES, 1, mostDevices, 1);
  if (count)
    return int(*count);
  say("hipInit", count.error().message + "; one device it is");
  return 1;
}

int &currentOrdinal() {
  thread_local int ordinal = 0;
  return ordinal;
}

} // namespace

Gpus::Gpus() {
  for (int ordinal = 0, count = devicesAsked(); ordinal < count; ++ordinal)
    gpus_.push_back(std::make_unique<Gpu>(ordinal));
}

Gpu &Gpus::current() { return at(currentOrdinal()); }

Outcome Gpus::check(int ordinal) const {
  if (ordinal >= 0 && ordinal < count())
    return {};
  std::string known = count() == 1 ? "there is one, device 0"
                                   : fmt::format("there are {}, 0 to {}", count(), count() - 1);
  return {hipErrorInvalidDevice, fmt::format("device {}; {}", ordinal, known)};
}

Outcome Gpus::setCurrent(int ordinal) {
  auto outcome = check(ordinal);
  if (outcome.ok())
    currentOrdinal() = ordinal;
  return outcome;
}

Gpu *Gpus::holding(uint64_t address) {
  for (const auto &gpu : gpus_)
    if (gpu->simulator.memory().find(address, 1))
      return gpu.get();
  return nullptr;
}

} // namespace attune::hip
