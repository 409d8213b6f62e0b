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
  if (home == Home::Device && bytes > chip::memoryBytes - used_)
    return {hipErrorOutOfMemory, fmt::format("{} bytes asked for, {} of {} are free", bytes,
                                             chip::memoryBytes - used_, chip::memoryBytes)};
  const char *what = home == Home::Device ? "device" : "host";
  auto address = memory_.alloc(bytes, fmt::format("{} allocation #{}", what, count_));
  if (!address)
    return {hipErrorOutOfMemory, address.error().message};
  ++count_;
  blocks_[*address] = {bytes, home};
  if (home == Home::Device)
    used_ += bytes;
  *out = sim::Memory::host(*address);
  return {};
}

Outcome Allocations::release(void *pointer, Home home) {
  if (!pointer)
    return {};
  auto at = blocks_.find(addressOf(pointer));
  if (at == blocks_.end() || at->second.home != home) {
    const char *what = home == Home::Device ? "hipMalloc" : "hipHostMalloc";
    return {hipErrorInvalidValue,
            fmt::format("{} did not give out this pointer, or it is free already: {}", what,
                        memory_.describe(addressOf(pointer)))};
  }
  if (home == Home::Device)
    used_ -= at->second.bytes;
  memory_.free(at->first);
  blocks_.erase(at);
  return {};
}

void Allocations::releaseAll() {
  for (const auto &[address, block] : blocks_)
    memory_.free(address);
  blocks_.clear();
  used_ = 0;
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
  bool inside = memory_.find(addressOf(pointer), 1) != nullptr;
  if ((device || inside) && !memory_.find(addressOf(pointer), bytes))
    return {hipErrorInvalidValue,
            fmt::format("{} bytes from the {} are not in one buffer: {}", bytes, side,
                        memory_.describe(addressOf(pointer) + (inside ? bytes - 1 : 0)))};
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
