// HIP's calls about the device, versions and errors.
#include "runtime/hip/Properties.h"
#include "runtime/hip/Runtime.h"
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

using namespace attune::hip;

namespace {

/// HIP 6.4: programs and libraries ask it to choose the layout of what they read.
constexpr int hipVersion = 60400000;

struct ErrorRow {
  hipError_t code;
  const char *name, *text;
};
constexpr ErrorRow errors[] = {
#define HIP_ERROR(NAME, VALUE, TEXT) {NAME, #NAME, TEXT},
#include "runtime/hip/Errors.def"
};

const ErrorRow *errorRow(hipError_t code) {
  for (const ErrorRow &row : errors)
    if (row.code == code)
      return &row;
  return nullptr;
}

struct AttributeRow {
  int number, value;
};
constexpr AttributeRow attributes[] = {
#define HIP_ATTRIBUTE(NAME, NUMBER, VALUE) {NUMBER, VALUE},
#include "runtime/hip/Attributes.def"
};

/// Fills *out, or says that it is null.
template <class T> Outcome give(T *out, const T &value) {
  if (!out)
    return {hipErrorInvalidValue, "the pointer to fill in is null"};
  *out = value;
  return {};
}

template <class T> Outcome giveOfDevice(Runtime &r, T *out, const T &value, int device) {
  auto outcome = r.gpus.check(device);
  return outcome.ok() ? give(out, value) : outcome;
}

constexpr int busId = 67; ///< the one attribute in which devices differ

Outcome giveText(char *out, int capacity, const char *text) {
  if (!out || capacity <= 0)
    return {hipErrorInvalidValue, "the buffer to fill in is null or empty"};
  std::snprintf(out, size_t(capacity), "%s", text);
  return {};
}

} // namespace

extern "C" {

hipError_t hipInit(unsigned flags) {
  return call(__func__, [&](Runtime &) {
    return flags == 0 ? Outcome() : Outcome(hipErrorInvalidValue, "flags must be 0");
  });
}

hipError_t hipDriverGetVersion(int *version) {
  return call(__func__, [&](Runtime &) { return give(version, hipVersion); });
}

hipError_t hipRuntimeGetVersion(int *version) {
  return call(__func__, [&](Runtime &) { return give(version, hipVersion); });
}

hipError_t hipGetDeviceCount(int *count) {
  return call(__func__, [&](Runtime &r) { return give(count, r.gpus.count()); });
}

hipError_t hipGetDevice(int *device) {
  return call(__func__, [&](Runtime &r) { return give(device, r.gpus.current().ordinal); });
}

hipError_t hipSetDevice(int device) {
  return call(__func__, [&](Runtime &r) { return r.gpus.setCurrent(device); });
}

hipError_t hipDeviceGet(int *device, int ordinal) {
  return call(__func__, [&](Runtime &r) { return giveOfDevice(r, device, ordinal, ordinal); });
}

hipError_t hipDeviceGetName(char *name, int capacity, int device) {
  return call(__func__, [&](Runtime &r) {
    auto outcome = r.gpus.check(device);
    return outcome.ok() ? giveText(name, capacity, chip::name) : outcome;
  });
}

hipError_t hipDeviceGetPCIBusId(char *id, int capacity, int device) {
  return call(__func__, [&](Runtime &r) {
    auto outcome = r.gpus.check(device);
    std::string text = fmt::format("0000:{:02x}:00.0", chip::pciBus + device);
    return outcome.ok() ? giveText(id, capacity, text.c_str()) : outcome;
  });
}

hipError_t hipDeviceTotalMem(size_t *bytes, int device) {
  return call(__func__, [&](Runtime &r) {
    return giveOfDevice<size_t>(r, bytes, chip::memoryBytes, device);
  });
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, int device) {
  return call(__func__, [&](Runtime &r) {
    auto outcome = giveOfDevice(r, major, chip::major, device);
    return outcome.ok() ? give(minor, chip::minor) : outcome;
  });
}

hipError_t hipDeviceGetAttribute(int *value, int attribute, int device) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    for (const AttributeRow &row : attributes)
      if (row.number == attribute)
        return giveOfDevice(r, value, row.value + (attribute == busId ? device : 0), device);
    return {hipErrorInvalidValue,
            fmt::format("the simulated device has no attribute {}", attribute)};
  });
}

hipError_t hipGetDeviceProperties(PropertiesR0000 *out, int device) {
  return call(__func__,
              [&](Runtime &r) { return giveOfDevice(r, out, propertiesR0000(device), device); });
}

hipError_t hipGetDevicePropertiesR0000(PropertiesR0000 *out, int device) {
  return hipGetDeviceProperties(out, device);
}

hipError_t hipGetDevicePropertiesR0600(PropertiesR0600 *out, int device) {
  return call(__func__,
              [&](Runtime &r) { return giveOfDevice(r, out, propertiesR0600(device), device); });
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return call(__func__, [&](Runtime &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = 0;
    return Outcome();
  });
}

hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
  return call(__func__, [&](Runtime &r) {
    auto outcome = r.gpus.check(peer);
    return outcome.ok() ? giveOfDevice(r, can, 0, device) : outcome;
  });
}

hipError_t hipSetDeviceFlags(unsigned) {
  return call(__func__, [](Runtime &) { return Outcome(); }); // how to wait: nothing ever waits
}

hipError_t hipDeviceSetCacheConfig(int) {
  return call(__func__, [](Runtime &) { return Outcome(); }); // a hint; LDS is not carved from L1
}

hipError_t hipDeviceSynchronize() {
  return call(__func__, [](Runtime &r) {
    auto outcome = r.streams.checkUnsafe();
    return outcome.ok() ? Outcome(r.gpus.current().error) : outcome;
  });
}

hipError_t hipDeviceReset() {
  return call(__func__, [](Runtime &r) {
    r.allocations.releaseAll();
    r.gpus.current().error = hipSuccess;
    return Outcome();
  });
}

hipError_t hipGetLastError() { return std::exchange(lastError(), hipSuccess); }

hipError_t hipPeekAtLastError() { return lastError(); }

const char *hipGetErrorName(hipError_t code) {
  const ErrorRow *row = errorRow(code);
  return row ? row->name : "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t code) {
  const ErrorRow *row = errorRow(code);
  return row ? row->text : "unknown error";
}

hipError_t hipDrvGetErrorName(hipError_t code, const char **text) {
  return call(__func__, [&](Runtime &) { return give(text, hipGetErrorName(code)); });
}

hipError_t hipDrvGetErrorString(hipError_t code, const char **text) {
  return call(__func__, [&](Runtime &) { return give(text, hipGetErrorString(code)); });
}

} // extern "C"
