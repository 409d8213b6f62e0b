// The library as a C program sees it: dlopen, dlsym, and numbers out of HIP's documentation rather
// than this project's headers.
#pragma once
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

/// For the environment of programs that are not instrumented: what the library needs if it is, and
/// no look at what the program itself leaves behind.
#define PRELOAD "ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=" ATTUNE_PRELOAD

namespace hiptest {

inline void *library() {
  static void *handle = dlopen(SIM_HIP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    FAIL(dlerror());
  return handle;
}

/// Calls a function that returns hipError_t; arguments as HIP declares them.
template <class... Args> int hip(const char *name, Args... args) {
  void *symbol = dlsym(library(), name);
  INFO(name);
  REQUIRE(symbol);
  return reinterpret_cast<int (*)(Args...)>(symbol)(args...);
}

/// Everything written to stderr while it lives.
class StderrCapture {
public:
  StderrCapture() : saved_(dup(2)) {
    fflush(stderr);
    FILE *file = fopen(path().c_str(), "wb");
    dup2(fileno(file), 2);
    fclose(file);
  }
  ~StderrCapture() { restore(); }
  std::string text() {
    restore();
    return simtest::readText(path());
  }

private:
  static std::string path() { return simtest::scratchDir() + "/stderr"; }
  void restore() {
    if (saved_ < 0)
      return;
    fflush(stderr);
    dup2(saved_, 2);
    close(saved_);
    saved_ = -1;
  }
  int saved_;
};

/// The message of a call that must fail with `code`.
template <class... Args> std::string refusal(int code, const char *name, Args... args) {
  StderrCapture capture;
  int got = hip(name, args...);
  std::string text = capture.text();
  INFO(name << ": " << text);
  REQUIRE(got == code);
  return text;
}

constexpr int success = 0, invalidValue = 1, outOfMemory = 2, invalidConfiguration = 9,
              invalidPitch = 12, invalidDirection = 21, invalidDeviceFunction = 98,
              invalidDevice = 101, invalidImage = 200, noBinary = 209, fileNotFound = 301,
              invalidHandle = 400, illegalState = 401, notFound = 500, launchFailure = 719,
              notSupported = 801, captureUnsupported = 900, captureInvalidated = 901,
              captureMerge = 902, captureUnmatched = 903, captureUnjoined = 904,
              captureIsolation = 905, captureImplicit = 906, capturedEvent = 907;
constexpr int hostToDevice = 1, deviceToHost = 2, deviceToDevice = 3;

/// A handle or a device pointer.
using Pointer = void *;

/// Device memory that goes away with the test.
class Buffer {
public:
  explicit Buffer(size_t bytes) { REQUIRE(hip("hipMalloc", &p_, bytes) == success); }
  template <class T> explicit Buffer(const std::vector<T> &data) : Buffer(data.size() * sizeof(T)) {
    REQUIRE(hip("hipMemcpy", p_, (const void *)data.data(), data.size() * sizeof(T),
                hostToDevice) == success);
  }
  ~Buffer() { hip("hipFree", p_); }
  Buffer(const Buffer &) = delete;
  Pointer get() const { return p_; }
  template <class T> std::vector<T> read(size_t count) const {
    std::vector<T> data(count);
    REQUIRE(hip("hipMemcpy", (Pointer)data.data(), (const void *)p_, count * sizeof(T),
                deviceToHost) == success);
    return data;
  }

private:
  Pointer p_ = nullptr;
};

/// vector_add of tests/sim/kernels/basic.cl (a, b, c, n), in workgroups of 256 threads.
class VectorAdd {
public:
  VectorAdd() {
    const simtest::Bytes &code = simtest::compileFile("basic.cl");
    REQUIRE(hip("hipModuleLoadData", &module, (const void *)code.data()) == success);
    REQUIRE(hip("hipModuleGetFunction", &function, module, "vector_add") == success);
  }
  ~VectorAdd() { hip("hipModuleUnload", module); }
  int launch(Pointer a, Pointer b, Pointer c, int n, Pointer stream = nullptr) {
    void *params[] = {&a, &b, &c, &n};
    return start(unsigned(n + 255) / 256, 256, 0, stream, params, nullptr);
  }
  int start(unsigned groups, unsigned threads, unsigned shared, Pointer stream, void **params,
            void **extra) {
    return hip("hipModuleLaunchKernel", function, groups, 1u, 1u, threads, 1u, 1u, shared, stream,
               params, extra);
  }
  Pointer module = nullptr, function = nullptr;
};

} // namespace hiptest
