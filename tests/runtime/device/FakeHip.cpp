#include "tests/runtime/device/FakeHip.h"
#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace fakehip;

namespace {

State state;

int note(const std::string &call, int error = 0) {
  state.calls.push_back(call);
  if (error)
    state.lastError = error;
  return error;
}

int properties(void *out, int ordinal, size_t bytes, size_t archOffset) {
  if (ordinal < 0 || ordinal >= state.devices)
    return note("properties", 101);
  std::memset(out, 0x5a, bytes); // the whole struct is written
  std::strcpy(static_cast<char *>(out), "Fake GPU");
  std::strcpy(static_cast<char *>(out) + archOffset, state.target.c_str());
  return note("properties");
}

} // namespace

extern "C" {

State *fakeHipState() { return &state; }

int hipRuntimeGetVersion(int *out) {
  *out = state.version;
  return 0;
}
int hipGetDeviceCount(int *out) {
  *out = state.devices;
  return state.devices ? 0 : note("hipGetDeviceCount", 100);
}
int hipGetDeviceProperties(void *out, int ordinal) { return properties(out, ordinal, 792, 396); }
#ifdef FAKE_HIP_6
int hipGetDevicePropertiesR0600(void *out, int ordinal) {
  return properties(out, ordinal, 1472, 1160);
}
#endif
int hipGetDevice(int *out) {
  *out = state.current;
  return note("hipGetDevice");
}
int hipSetDevice(int ordinal) {
  state.current = ordinal;
  return note("hipSetDevice " + std::to_string(ordinal));
}
const char *hipGetErrorName(int code) { return code == 719 ? "hipErrorLaunchFailure" : "hipError"; }
const char *hipGetErrorString(int) { return "it went wrong"; }
int hipGetLastError() {
  int code = state.lastError;
  state.lastError = 0;
  return code;
}
int hipMalloc(void **out, size_t bytes) {
  *out = std::malloc(bytes);
  return note("hipMalloc");
}
int hipFree(void *p) {
  std::free(p);
  return note("hipFree");
}
int hipMemGetInfo(size_t *available, size_t *total) {
  *available = *total = 1;
  return note("hipMemGetInfo");
}
int hipMemcpy(void *to, const void *from, size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return note("hipMemcpy");
}
int hipModuleLoadData(void **out, const void *) {
  *out = &state;
  return note("hipModuleLoadData");
}
int hipModuleUnload(void *) { return note("hipModuleUnload"); }
int hipModuleGetFunction(void **out, void *, const char *) {
  *out = &state;
  return note("hipModuleGetFunction");
}
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *stream, void **, void **extra) {
  state.launchStream = stream;
  state.kernarg.clear();
  if (extra) {
    auto *bytes = static_cast<unsigned char *>(extra[1]);
    state.kernarg.assign(bytes, bytes + *static_cast<size_t *>(extra[3]));
  }
  return note("hipModuleLaunchKernel", state.launchError);
}
int hipStreamSynchronize(void *) { return note("hipStreamSynchronize"); }

} // extern "C"
