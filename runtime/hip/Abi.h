// HIP's binary interface as this library speaks it: plain C types of the same layout and the same
// values as HIP's, declared here so that no HIP header is needed. Handles are pointers to this
// library's own objects.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

// Not namespaced: the names are HIP's, and callers link against them.
typedef enum hipError_t : int { // every int is one: programs ask for the names of any
#define HIP_ERROR(NAME, VALUE, TEXT) NAME = VALUE,
#include "runtime/hip/Errors.def"
} hipError_t;

typedef struct attuneHipStream *hipStream_t;
typedef struct attuneHipEvent *hipEvent_t;
typedef struct attuneHipModule *hipModule_t;
typedef struct attuneHipFunction *hipFunction_t;
typedef struct attuneHipGraph *hipGraph_t;
typedef struct attuneHipGraphExec *hipGraphExec_t;
typedef struct attuneHipGraphNode *hipGraphNode_t;

} // extern "C"

namespace attune::hip {

/// dim3
struct Dim3 {
  uint32_t x, y, z;
};

/// hipMemcpyKind
enum CopyKind : int {
  HostToHost = 0,
  HostToDevice = 1,
  DeviceToHost = 2,
  DeviceToDevice = 3,
  CopyDefault = 4, ///< wherever the pointers point to
  DeviceToDeviceNoCu = 1024,
};

/// hipStreamCaptureMode
enum CaptureMode : int { CaptureGlobal = 0, CaptureThreadLocal = 1, CaptureRelaxed = 2 };

/// hipStreamCaptureStatus
enum CaptureStatus : int { NotCapturing = 0, Capturing = 1, CaptureInvalid = 2 };

constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;

/// The marks in the list of hipModuleLaunchKernel's `extra`.
constexpr uintptr_t launchParamPointer = 1, launchParamSize = 2, launchParamEnd = 3;

/// hipFuncAttributes
struct FunctionAttributes {
  int binaryVersion, cacheModeCA;
  size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  size_t sharedSizeBytes;
};

/// hipFunction_attribute
enum FunctionAttribute : int {
  AttributeMaxThreads = 0,
  AttributeSharedBytes = 1,
  AttributeConstBytes = 2,
  AttributeLocalBytes = 3,
  AttributeRegisters = 4,
  AttributePtxVersion = 5,
  AttributeBinaryVersion = 6,
  AttributeCacheMode = 7,
  AttributeMaxDynamicShared = 8,
  AttributeCarveout = 9,
};

/// What clang's `-x hip` embeds and passes to __hipRegisterFatBinary.
struct FatBinaryWrapper {
  uint32_t magic, version;
  const void *binary;
  void *unused;
};
constexpr uint32_t fatBinaryMagic = 0x48495046; // "HIPF"

} // namespace attune::hip
