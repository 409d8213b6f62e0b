#include "runtime/hip/Properties.h"
#include <algorithm>
#include <cstring>

namespace attune::hip {

namespace {

/// hipDeviceArch_t is a bit field: every feature but surfaces (14) and dynamic parallelism (16),
/// and the funnel shift (11), which AMD devices do not report.
constexpr uint32_t archBits = 0x1ffff & ~(1u << 14 | 1u << 16 | 1u << 11);

/// What both layouts have under the same names.
template <class P> P common(int ordinal) {
  P p;
  std::memset(&p, 0, sizeof p);
  std::strncpy(p.name, chip::name, sizeof p.name - 1);
  std::strncpy(p.gcnArchName, chip::arch, sizeof p.gcnArchName - 1);
  p.totalGlobalMem = chip::memoryBytes;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = chip::ldsBytes;
  p.regsPerBlock = chip::registersPerCu;
  p.warpSize = chip::lanes;
  p.maxThreadsPerBlock = chip::maxThreads;
  for (int &extent : p.maxThreadsDim)
    extent = chip::maxThreads;
  p.maxGridSize[0] = chip::maxGridX;
  p.maxGridSize[1] = p.maxGridSize[2] = chip::maxGridYz;
  p.clockRate = chip::clockKhz;
  p.clockInstructionRate = chip::timerKhz;
  p.memoryClockRate = chip::memoryClockKhz;
  p.memoryBusWidth = chip::memoryBusBits;
  p.totalConstMem = chip::constantBytes;
  p.major = chip::major;
  p.minor = chip::minor;
  p.multiProcessorCount = chip::cus;
  p.l2CacheSize = chip::l2Bytes;
  p.maxThreadsPerMultiProcessor = chip::wavesPerCu * chip::lanes;
  p.arch.bits = archBits;
  p.concurrentKernels = p.canMapHostMemory = p.ECCEnabled = p.isLargeBar = 1;
  p.pciBusID = chip::pciBus + ordinal;
  p.memPitch = chip::maxPitch;
  p.textureAlignment = p.texturePitchAlignment = chip::textureAlignment;
  p.managedMemory = p.directManagedMemAccessFromHost = p.concurrentManagedAccess = 1;
  return p;
}

} // namespace

PropertiesR0000 propertiesR0000(int ordinal) { return common<PropertiesR0000>(ordinal); }

PropertiesR0600 propertiesR0600(int ordinal) {
  auto p = common<PropertiesR0600>(ordinal);
  std::strncpy(p.uuid, "attune-sim-gfx9", sizeof p.uuid);
  p.uuid[sizeof p.uuid - 1] = char(ordinal);
  p.asyncEngineCount = p.unifiedAddressing = 1;
  p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin = chip::ldsBytes;
  p.regsPerMultiprocessor = chip::registersPerCu;
  p.maxBlocksPerMultiProcessor = chip::wavesPerCu;
  return p;
}

int groupsOnCu(int vgprs, uint64_t ldsBytes, int threads) {
  if (threads < 1 || threads > chip::maxThreads || ldsBytes > chip::ldsBytes)
    return 0;
  int waves = (threads + chip::lanes - 1) / chip::lanes;
  int resident = std::min(chip::wavesPerSimd, chip::vgprsPerSimd / std::max(vgprs, 1));
  int groups = resident * chip::simdsPerCu / waves;
  if (waves > 1)
    groups = std::min(groups, chip::groupsPerCu);
  uint64_t lds = (ldsBytes + chip::ldsUnit - 1) / chip::ldsUnit * chip::ldsUnit;
  return lds ? std::min(groups, int(chip::ldsBytes / lds)) : groups;
}

} // namespace attune::hip
