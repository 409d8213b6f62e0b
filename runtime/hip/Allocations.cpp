#include "runtime/hip/Allocations.h"
#include "runtime/hip/Properties.h"
#include <cstring>
#include <fmt/format.h>

namespace attune::hip {

namespace {
uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }
} // namespace

Outcome Allocations::allocate(void **out, size_t bytes, Home home) {
  if (!out)
    return {hipErrorInvalidValue, "the pointer to fill in is null"};
  *out = nullptr;
  if (bytes == 0)
    return {};
  Gpu &gpu = gpus_.current();
  if (home == Home::Device && bytes > chip::memoryBytes - used())
    return {hipErrorOutOfMemory, fmt::format("{} bytes asked for, {} of {} are free", bytes,
                                             chip::memoryBytes - used(), chip::memoryBytes)};
  const char *what = home == Home::Device ? "device" : "host";
  auto address =
      gpu.simulator.memory().alloc(bytes, fmt::format("{} allocation #{}", what, count_));
  if (!address)
    return {hipErrorOutOfMemory, address.error().message};
  ++count_;
  blocks_[*address] = {bytes, home, &gpu};
  if (home == Home::Device)
    used_[&gpu] += bytes;
  *out = sim::Memory::host(*address);
  return {};
}

/// As in HIP, either call frees either kind.
Outcome Allocations::release(void *pointer) {
  if (!pointer)
    return {};
  auto at = blocks_.find(addressOf(pointer));
  if (at == blocks_.end())
    return {hipErrorInvalidValue,
            fmt::format("HIP did not give out this pointer, or it is free already: {}",
                        describe(addressOf(pointer)))};
  if (at->second.home == Home::Device)
    used_[at->second.gpu] -= at->second.bytes;
  at->second.gpu->simulator.memory().free(at->first);
  blocks_.erase(at);
  return {};
}

void Allocations::releaseAll() {
  Gpu &gpu = gpus_.current();
  std::erase_if(blocks_, [&](const auto &entry) {
    if (entry.second.gpu == &gpu)
      gpu.simulator.memory().free(entry.first);
    return entry.second.gpu == &gpu;
  });
  used_.erase(&gpu);
}

size_t Allocations::used() const {
  auto at = used_.find(&gpus_.current());
  return at == used_.end() ? 0 : at->second;
}

std::string Allocations::describe(uint64_t address) const {
  Gpu *gpu = gpus_.holding(address);
  return (gpu ? *gpu : gpus_.current()).simulator.memory().describe(address);
}

Allocations::Range Allocations::find(const void *pointer) const {
  auto at = blocks_.upper_bound(addressOf(pointer));
  if (at == blocks_.begin())
    return {};
  --at;
  if (addressOf(pointer) - at->first >= at->second.bytes)
    return {};
  return {sim::Memory::host(at->first), at->second.bytes, at->second.home};
}

/// A pointer into device memory must have all bytes there; one that has to be and is not is wrong.
Outcome Allocations::checkSide(const char *side, const void *pointer, size_t bytes,
                               bool device) const {
  if (!pointer)
    return {hipErrorInvalidValue, fmt::format("the {} is null", side)};
  Gpu *gpu = gpus_.holding(addressOf(pointer));
  bool inside = gpu != nullptr;
  if ((device && !inside) || (inside && !gpu->simulator.memory().find(addressOf(pointer), bytes)))
    return {hipErrorInvalidValue,
            fmt::format("{} bytes from the {} are not in one buffer: {}", bytes, side,
                        describe(addressOf(pointer) + (inside ? bytes - 1 : 0)))};
  return {};
}

Outcome Allocations::copy(void *to, const void *from, size_t bytes, int kind) const {
  bool known = (kind >= HostToHost && kind <= CopyDefault) || kind == DeviceToDeviceNoCu;
  if (!known)
    return {hipErrorInvalidMemcpyDirection, fmt::format("{} is no hipMemcpyKind", kind)};
  if (bytes == 0)
    return {};
  bool both = kind == DeviceToDevice || kind == DeviceToDeviceNoCu;
  if (auto bad = checkSide("destination", to, bytes, both || kind == HostToDevice); !bad.ok())
    return bad;
  if (auto bad = checkSide("source", from, bytes, both || kind == DeviceToHost); !bad.ok())
    return bad;
  std::memmove(to, from, bytes);
  return {};
}

Outcome Allocations::copyRows(void *to, size_t toPitch, const void *from, size_t fromPitch,
                              size_t width, size_t height, int kind) const {
  if (width > toPitch || width > fromPitch)
    return {hipErrorInvalidPitchValue,
            fmt::format("rows of {} bytes at pitches {} and {}", width, toPitch, fromPitch)};
  for (size_t row = 0; row < height; ++row) {
    auto outcome = copy(static_cast<char *>(to) + row * toPitch,
                        static_cast<const char *>(from) + row * fromPitch, width, kind);
    if (!outcome.ok())
      return outcome;
  }
  return {};
}

Outcome Allocations::fill(void *to, uint32_t value, size_t width, size_t count) const {
  if (count == 0)
    return {};
  size_t bytes;
  if (__builtin_mul_overflow(width, count, &bytes))
    return {hipErrorInvalidValue, "the size does not fit 64 bits"};
  if (auto bad = checkSide("destination", to, bytes, true); !bad.ok())
    return bad;
  if (width == 1)
    std::memset(to, int(value), count);
  else
    for (size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char *>(to) + i * width, &value, width);
  return {};
}

Outcome Allocations::fillRows(void *to, size_t pitch, int value, size_t width,
                              size_t height) const {
  if (width > pitch)
    return {hipErrorInvalidPitchValue, fmt::format("rows of {} bytes at pitch {}", width, pitch)};
  for (size_t row = 0; row < height; ++row)
    if (auto bad = fill(static_cast<char *>(to) + row * pitch, uint32_t(value), 1, width);
        !bad.ok())
      return bad;
  return {};
}

} // namespace attune::hip
