// HIP's calls about memory. The asynchronous ones are ordered by their stream, and captured on one
// that captures; the others use the default stream, as HIP does.
#include "runtime/hip/Properties.h"
#include "runtime/hip/Runtime.h"
#include <fmt/format.h>

using namespace attune::hip;

namespace {

constexpr size_t pitchUnit = 256;

hipError_t allocate(const char *name, void **out, size_t bytes, Home home) {
  return call(name, [&](Runtime &r) {
    auto outcome = r.streams.checkUnsafe();
    return outcome.ok() ? r.allocations.allocate(out, bytes, home) : outcome;
  });
}

hipError_t release(const char *name, void *pointer) {
  return call(name, [&](Runtime &r) {
    auto outcome = r.streams.checkUnsafe();
    return outcome.ok() ? r.allocations.release(pointer) : outcome;
  });
}

hipError_t submit(const char *name, hipStream_t stream, Work work) {
  return call(name, [&](Runtime &r) {
    hipError_t error = r.streams.gpuOf(stream).error;
    return error != hipSuccess ? Outcome(error) : r.streams.submit(r, stream, std::move(work));
  });
}

hipError_t copy(const char *name, void *to, const void *from, size_t bytes, int kind,
                hipStream_t stream = nullptr) {
  return submit(name, stream,
                [=](Runtime &r) { return r.allocations.copy(to, from, bytes, kind); });
}

hipError_t fill(const char *name, void *to, uint32_t value, size_t width, size_t count,
                hipStream_t stream = nullptr) {
  return submit(name, stream,
                [=](Runtime &r) { return r.allocations.fill(to, value, width, count); });
}

hipError_t copySymbol(const char *name, const void *shadow, void *other, size_t bytes,
                      size_t offset, int kind, bool toSymbol, hipStream_t stream) {
  return call(name, [&](Runtime &r) -> Outcome {
    Symbol symbol;
    if (auto outcome = r.modules.variable(symbol, shadow); !outcome.ok())
      return outcome;
    if (offset > symbol.bytes || bytes > symbol.bytes - offset)
      return {hipErrorInvalidValue, fmt::format("bytes {} to {} of a variable of {}", offset,
                                                offset + bytes, symbol.bytes)};
    void *inside = static_cast<char *>(symbol.address) + offset;
    return r.streams.submit(r, stream, [=](Runtime &now) {
      return toSymbol ? now.allocations.copy(inside, other, bytes, kind)
                      : now.allocations.copy(other, inside, bytes, kind);
    });
  });
}

void *pointer(uint64_t device) { return reinterpret_cast<void *>(device); }

} // namespace

extern "C" {

hipError_t hipMalloc(void **out, size_t bytes) {
  return allocate(__func__, out, bytes, Home::Device);
}
hipError_t hipExtMallocWithFlags(void **out, size_t bytes, unsigned) {
  return allocate(__func__, out, bytes, Home::Device);
}
hipError_t hipMallocManaged(void **out, size_t bytes, unsigned) {
  return allocate(__func__, out, bytes, Home::Device);
}
hipError_t hipMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  if (!pitch || width > chip::memoryBytes)
    return call(__func__, [](Runtime &) {
      return Outcome(hipErrorInvalidValue, "no pitch to fill in, or rows too long");
    });
  *pitch = (width + pitchUnit - 1) / pitchUnit * pitchUnit;
  size_t bytes;
  if (__builtin_mul_overflow(*pitch, height, &bytes))
    bytes = SIZE_MAX;
  return allocate(__func__, out, bytes, Home::Device);
}
hipError_t hipFree(void *p) { return release(__func__, p); }

hipError_t hipMallocAsync(void **out, size_t bytes, hipStream_t stream) {
  return call(__func__, [&](Runtime &r) {
    auto outcome = r.streams.synchronize(stream); // graphs own no memory here
    return outcome.ok() ? r.allocations.allocate(out, bytes, Home::Device) : outcome;
  });
}
hipError_t hipFreeAsync(void *p, hipStream_t stream) {
  return call(__func__, [&](Runtime &r) {
    auto outcome = r.streams.synchronize(stream);
    return outcome.ok() ? r.allocations.release(p) : outcome;
  });
}

hipError_t hipHostMalloc(void **out, size_t bytes, unsigned) {
  return allocate(__func__, out, bytes, Home::Host);
}
hipError_t hipHostAlloc(void **out, size_t bytes, unsigned) {
  return allocate(__func__, out, bytes, Home::Host);
}
hipError_t hipMallocHost(void **out, size_t bytes) {
  return allocate(__func__, out, bytes, Home::Host);
}
hipError_t hipMemAllocHost(void **out, size_t bytes) {
  return allocate(__func__, out, bytes, Home::Host);
}
hipError_t hipHostFree(void *p) { return release(__func__, p); }
hipError_t hipFreeHost(void *p) { return release(__func__, p); }

hipError_t hipHostGetDevicePointer(void **out, void *host, unsigned) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    auto range = r.allocations.find(host);
    if (!out || !range.base || range.home != Home::Host)
      return {hipErrorInvalidValue, "not memory of hipHostMalloc, or no pointer to fill in"};
    *out = host;
    return {};
  });
}

hipError_t hipMemGetInfo(size_t *available, size_t *total) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    if (!available || !total)
      return {hipErrorInvalidValue, "a pointer to fill in is null"};
    *available = chip::memoryBytes - r.allocations.used();
    *total = chip::memoryBytes;
    return {};
  });
}

hipError_t hipMemGetAddressRange(void **base, size_t *bytes, void *device) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    auto range = r.allocations.find(device);
    if (!range.base)
      return hipErrorNotFound;
    if (base)
      *base = range.base;
    if (bytes)
      *bytes = range.bytes;
    return {};
  });
}

hipError_t hipMemPtrGetInfo(void *p, size_t *bytes) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    auto range = r.allocations.find(p);
    if (!range.base || !bytes)
      return {hipErrorInvalidValue, "not memory of this library, or no pointer to fill in"};
    *bytes = range.bytes;
    return {};
  });
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  return copy(__func__, to, from, bytes, kind);
}
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, hipStream_t stream) {
  return copy(__func__, to, from, bytes, kind, stream);
}
hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, int kind,
                               hipStream_t stream) {
  return copy(__func__, to, from, bytes, kind, stream);
}
hipError_t hipMemcpyHtoD(uint64_t to, void *from, size_t bytes) {
  return copy(__func__, pointer(to), from, bytes, HostToDevice);
}
hipError_t hipMemcpyHtoDAsync(uint64_t to, void *from, size_t bytes, hipStream_t stream) {
  return copy(__func__, pointer(to), from, bytes, HostToDevice, stream);
}
hipError_t hipMemcpyDtoH(void *to, uint64_t from, size_t bytes) {
  return copy(__func__, to, pointer(from), bytes, DeviceToHost);
}
hipError_t hipMemcpyDtoHAsync(void *to, uint64_t from, size_t bytes, hipStream_t stream) {
  return copy(__func__, to, pointer(from), bytes, DeviceToHost, stream);
}
hipError_t hipMemcpyDtoD(uint64_t to, uint64_t from, size_t bytes) {
  return copy(__func__, pointer(to), pointer(from), bytes, DeviceToDevice);
}
hipError_t hipMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t bytes, hipStream_t stream) {
  return copy(__func__, pointer(to), pointer(from), bytes, DeviceToDevice, stream);
}
hipError_t hipMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch,
                            size_t width, size_t height, int kind, hipStream_t stream) {
  return submit(__func__, stream, [=](Runtime &r) {
    return r.allocations.copyRows(to, toPitch, from, fromPitch, width, height, kind);
  });
}
hipError_t hipMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                       size_t height, int kind) {
  return hipMemcpy2DAsync(to, toPitch, from, fromPitch, width, height, kind, nullptr);
}

hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                  int kind, hipStream_t stream) {
  return copySymbol(__func__, symbol, const_cast<void *>(from), bytes, offset, kind, true, stream);
}
hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                             int kind) {
  return copySymbol(__func__, symbol, const_cast<void *>(from), bytes, offset, kind, true, nullptr);
}
hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                    int kind, hipStream_t stream) {
  return copySymbol(__func__, symbol, to, bytes, offset, kind, false, stream);
}
hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                               int kind) {
  return copySymbol(__func__, symbol, to, bytes, offset, kind, false, nullptr);
}

hipError_t hipGetSymbolAddress(void **out, const void *symbol) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    Symbol found;
    auto outcome = r.modules.variable(found, symbol);
    if (outcome.ok() && out)
      *out = found.address;
    return outcome;
  });
}
hipError_t hipGetSymbolSize(size_t *out, const void *symbol) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    Symbol found;
    auto outcome = r.modules.variable(found, symbol);
    if (outcome.ok() && out)
      *out = found.bytes;
    return outcome;
  });
}

hipError_t hipMemset(void *to, int value, size_t bytes) {
  return fill(__func__, to, uint8_t(value), 1, bytes);
}
hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream) {
  return fill(__func__, to, uint8_t(value), 1, bytes, stream);
}
hipError_t hipMemsetD8(uint64_t to, unsigned char value, size_t count) {
  return fill(__func__, pointer(to), value, 1, count);
}
hipError_t hipMemsetD8Async(uint64_t to, unsigned char value, size_t count, hipStream_t stream) {
  return fill(__func__, pointer(to), value, 1, count, stream);
}
hipError_t hipMemsetD16(uint64_t to, unsigned short value, size_t count) {
  return fill(__func__, pointer(to), value, 2, count);
}
hipError_t hipMemsetD16Async(uint64_t to, unsigned short value, size_t count, hipStream_t stream) {
  return fill(__func__, pointer(to), value, 2, count, stream);
}
hipError_t hipMemsetD32(uint64_t to, int value, size_t count) {
  return fill(__func__, pointer(to), uint32_t(value), 4, count);
}
hipError_t hipMemsetD32Async(uint64_t to, int value, size_t count, hipStream_t stream) {
  return fill(__func__, pointer(to), uint32_t(value), 4, count, stream);
}
hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
  return submit(__func__, stream, [=](Runtime &r) {
    return r.allocations.fillRows(to, pitch, value, width, height);
  });
}
hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return hipMemset2DAsync(to, pitch, value, width, height, nullptr);
}

} // extern "C"
