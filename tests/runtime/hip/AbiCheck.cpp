// The tables and structs of runtime/hip against HIP's own header. SampleTest.cpp compiles this file
// if the header is installed; there is nothing to run.
#define __HIP_PLATFORM_AMD__
#include "runtime/hip/Properties.h"
#include <hip/hip_runtime_api.h>

#define HIP_ERROR(NAME, VALUE, TEXT) static_assert(int(NAME) == VALUE);
#include "runtime/hip/Errors.def"

#define HIP_ATTRIBUTE(NAME, NUMBER, VALUE) static_assert(int(hipDeviceAttribute##NAME) == NUMBER);
#include "runtime/hip/Attributes.def"

#if HIP_VERSION_MAJOR < 6
using Ours = attune::hip::PropertiesR0000;
#else
using Ours = attune::hip::PropertiesR0600;
#endif
static_assert(sizeof(Ours) == sizeof(hipDeviceProp_t));
#define SAME(FIELD) static_assert(offsetof(Ours, FIELD) == offsetof(hipDeviceProp_t, FIELD))
SAME(totalGlobalMem);
SAME(sharedMemPerBlock);
SAME(warpSize);
SAME(maxThreadsDim);
SAME(maxGridSize);
SAME(clockRate);
SAME(memoryBusWidth);
SAME(totalConstMem);
SAME(major);
SAME(multiProcessorCount);
SAME(l2CacheSize);
SAME(maxThreadsPerMultiProcessor);
SAME(clockInstructionRate);
SAME(arch);
SAME(concurrentKernels);
SAME(pciBusID);
SAME(maxSharedMemoryPerMultiProcessor);
SAME(canMapHostMemory);
SAME(gcnArchName);
SAME(integrated);
SAME(hdpMemFlushCntl);
SAME(memPitch);
SAME(textureAlignment);
SAME(ECCEnabled);
SAME(isLargeBar);
SAME(asicRevision);
SAME(managedMemory);
SAME(concurrentManagedAccess);
SAME(pageableMemoryAccess);
