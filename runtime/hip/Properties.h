// What the simulated device says of itself: an MI355X, in the two layouts that HIP programs were
// compiled for (before ROCm 6, and since).
#pragma once
#include <cstddef>
#include <cstdint>

namespace attune::hip {

namespace chip {
constexpr const char *name = "AMD Instinct MI355X (Attune simulator)";
constexpr const char *arch = "gfx950:sramecc+:xnack-";
constexpr int major = 9, minor = 5;
constexpr uint64_t memoryBytes = uint64_t(288) << 30;
constexpr int cus = 256, simdsPerCu = 4, lanes = 64;
constexpr int wavesPerSimd = 8, wavesPerCu = wavesPerSimd * simdsPerCu;
constexpr int groupsPerCu = 16;   ///< that have barriers, so more than one wave
constexpr int vgprsPerSimd = 512; ///< per lane, AGPRs included
constexpr int registersPerCu = vgprsPerSimd * simdsPerCu * lanes;
constexpr int ldsBytes = 160 * 1024, ldsUnit = 1280;
constexpr int maxThreads = 1024, maxGridX = 0x7fffffff, maxGridYz = 65536;
constexpr int clockKhz = 2400000, timerKhz = 100000; ///< the timer of s_memrealtime
constexpr int memoryClockKhz = 2000000, memoryBusBits = 8192;
constexpr int l2Bytes = 4 << 20; ///< of one XCD
constexpr int maxPitch = 0x7fffffff, constantBytes = 0x7fffffff, textureAlignment = 256;
constexpr int pciBus = 1;
} // namespace chip

struct ArchFlags {
  uint32_t bits;
};

/// hipDeviceProp_t of HIP up to 5.7 (hipGetDeviceProperties).
struct PropertiesR0000 {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate, memoryBusWidth;
  size_t totalConstMem;
  int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode;
  int clockInstructionRate;
  ArchFlags arch;
  int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
  size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard, canMapHostMemory, gcnArch;
  char gcnArchName[256];
  int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  int maxTexture1DLinear, maxTexture1D, maxTexture2D[2], maxTexture3D[3];
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  size_t memPitch, textureAlignment, texturePitchAlignment;
  int kernelExecTimeoutEnabled, ECCEnabled, tccDriver;
  int cooperativeUnmatched[4]; ///< function, grid, block, shared memory
  int isLargeBar, asicRevision, managedMemory, directManagedMemAccessFromHost;
  int concurrentManagedAccess, pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables;
};
static_assert(sizeof(PropertiesR0000) == 792);

/// hipDeviceProp_t since HIP 6.0 (hipGetDevicePropertiesR0600).
struct PropertiesR0600 {
  char name[256], uuid[16], luid[8];
  unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory;
  int computeMode, textures[26], surfaces[14]; ///< extents; there are no textures here
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize;
  int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess;
  int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
  int reserved[63], hipReserved[32];
  char gcnArchName[256];
  size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  ArchFlags arch;
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  int cooperativeUnmatched[4];
  int isLargeBar, asicRevision;
};
static_assert(sizeof(PropertiesR0600) == 1472 && offsetof(PropertiesR0600, gcnArchName) == 1160);

/// Devices differ in their bus and their uuid.
PropertiesR0000 propertiesR0000(int ordinal);
PropertiesR0600 propertiesR0600(int ordinal);

/// Workgroups of `threads` threads that a CU holds at once; 0: not even one.
int groupsOnCu(int vgprs, uint64_t ldsBytes, int threads);

} // namespace attune::hip
