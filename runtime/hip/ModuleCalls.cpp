// HIP's calls about code: modules, what the compiler registers before main, launches, occupancy.
#include "runtime/hip/Properties.h"
#include "runtime/hip/Runtime.h"
#include "runtime/launch/File.h"
#include <fmt/format.h>

using namespace attune::hip;

namespace {

using Extents = std::array<uint32_t, 3>;

struct LaunchConfig {
  Dim3 grid, block;
  size_t sharedBytes;
  hipStream_t stream;
};

/// What kernel<<<...>>> pushes and its stub pops.
std::vector<LaunchConfig> &pushed() {
  thread_local std::vector<LaunchConfig> stack;
  return stack;
}

Outcome enqueue(Runtime &r, attuneHipFunction *f, const LaunchConfig &c, void **params,
                void **extra) {
  KernelCall kernel{.gpu = f->module->gpu,
                    .module = f->module->id,
                    .kernel = f->info.name,
                    .grid = {c.grid.x, c.grid.y, c.grid.z},
                    .block = {c.block.x, c.block.y, c.block.z},
                    .dynamicLds = uint32_t(c.sharedBytes),
                    .kernarg = {}};
  if (int gpu = r.streams.gpuOf(c.stream).ordinal; gpu != kernel.gpu->ordinal)
    return {hipErrorInvalidHandle,
            fmt::format("kernel {} was loaded on device {}, the stream is of device {}",
                        kernel.kernel, kernel.gpu->ordinal, gpu)};
  for (uint32_t extent : kernel.grid)
    if (extent == 0)
      return {hipErrorInvalidConfiguration, "a grid extent is 0"};
  if (c.sharedBytes > chip::ldsBytes)
    return {hipErrorInvalidConfiguration,
            fmt::format("{} bytes of dynamic LDS; a CU has {}", c.sharedBytes, chip::ldsBytes)};
  if (auto outcome = packArguments(kernel.kernarg, f->info, params, extra); !outcome.ok())
    return outcome;
  return r.streams.submit(r, c.stream,
                          [kernel = std::move(kernel)](Runtime &) { return launch(kernel); });
}

Outcome launchStub(Runtime &r, const void *stub, const LaunchConfig &config, void **args) {
  attuneHipFunction *f = nullptr;
  auto outcome = r.modules.stub(&f, stub);
  return outcome.ok() ? enqueue(r, f, config, args, nullptr) : outcome;
}

/// Around a launch, as hipExtLaunchKernel wants.
Outcome between(Runtime &r, hipEvent_t start, hipEvent_t stop, hipStream_t stream,
                const std::function<Outcome()> &body) {
  if (start)
    if (auto outcome = r.streams.record(start, stream); !outcome.ok())
      return outcome;
  auto outcome = body();
  return outcome.ok() && stop ? r.streams.record(stop, stream) : outcome;
}

FatBinary *binaryOf(void **handle) { return reinterpret_cast<FatBinary *>(handle); }

Outcome giveFunctionAttribute(int *out, int attribute, const attune::sim::KernelInfo &k) {
  int maxThreads = k.maxThreads ? int(k.maxThreads) : chip::maxThreads;
  if (!out)
    return {hipErrorInvalidValue, "the pointer to fill in is null"};
  switch (attribute) {
  case AttributeMaxThreads:
    *out = maxThreads;
    return {};
  case AttributeSharedBytes:
    *out = int(k.ldsBytes);
    return {};
  case AttributeConstBytes:
  case AttributeCacheMode:
  case AttributeCarveout:
    *out = 0;
    return {};
  case AttributeLocalBytes:
    *out = int(k.scratchBytes);
    return {};
  case AttributeRegisters:
    *out = int(k.vgprs);
    return {};
  case AttributePtxVersion:
  case AttributeBinaryVersion:
    *out = chip::major * 10 + chip::minor;
    return {};
  case AttributeMaxDynamicShared:
    *out = chip::ldsBytes - int(k.ldsBytes);
    return {};
  default:
    return {hipErrorInvalidValue, fmt::format("{} is no hipFunction_attribute", attribute)};
  }
}

Outcome giveOccupancy(int *groups, const attuneHipFunction *f, int threads, size_t dynamicBytes) {
  if (!groups || threads <= 0)
    return {hipErrorInvalidValue, "no pointer to fill in, or a block without threads"};
  *groups = groupsOnCu(int(f->info.vgprs), f->info.ldsBytes + dynamicBytes, threads);
  return {};
}

/// The block of whole waves that keeps most threads on a CU; the larger one of equals.
Outcome giveBestBlock(int *grid, int *block, const attuneHipFunction *f, size_t dynamicBytes,
                      int limit) {
  if (!grid || !block)
    return {hipErrorInvalidValue, "a pointer to fill in is null"};
  int most = f->info.maxThreads ? int(f->info.maxThreads) : chip::maxThreads;
  if (limit > 0)
    most = std::min(most, limit);
  int bestThreads = 0;
  *grid = *block = 0;
  for (int threads = std::min(chip::lanes, most); threads <= most; threads += chip::lanes) {
    int groups = groupsOnCu(int(f->info.vgprs), f->info.ldsBytes + dynamicBytes, threads);
    if (groups * threads < bestThreads || groups == 0)
      continue;
    bestThreads = groups * threads;
    *block = threads;
    *grid = groups * chip::cus;
  }
  return {};
}

hipError_t ofFunction(const char *name, hipFunction_t f,
                      const std::function<Outcome(Runtime &, attuneHipFunction *)> &body) {
  return call(name, [&](Runtime &r) {
    attuneHipFunction *known = nullptr;
    auto outcome = r.modules.stub(&known, f);
    return outcome.ok() ? body(r, known) : Outcome(hipErrorInvalidHandle, "no such function");
  });
}

hipError_t ofStub(const char *name, const void *stub,
                  const std::function<Outcome(Runtime &, attuneHipFunction *)> &body) {
  return call(name, [&](Runtime &r) {
    attuneHipFunction *f = nullptr;
    auto outcome = r.modules.stub(&f, stub);
    return outcome.ok() ? body(r, f) : outcome;
  });
}

} // namespace

extern "C" {

// What clang -x hip calls before main, after it, and around kernel<<<...>>>.

void **__hipRegisterFatBinary(const void *data) {
  auto *wrapper = static_cast<const FatBinaryWrapper *>(data);
  void **handle = nullptr;
  call(__func__, [&](Runtime &r) -> Outcome {
    if (wrapper->magic != fatBinaryMagic)
      return {hipErrorInvalidImage, "the fat binary's magic is not HIPF"};
    handle = reinterpret_cast<void **>(r.modules.addBinary(wrapper->binary));
    return {};
  });
  return handle;
}

void __hipUnregisterFatBinary(void **handle) {
  call(__func__, [&](Runtime &r) {
    r.modules.removeBinary(binaryOf(handle));
    return Outcome();
  });
}

void __hipRegisterFunction(void **handle, const void *stub, char *, const char *kernel, unsigned,
                           void *, void *, Dim3 *, Dim3 *, int *) {
  call(__func__, [&](Runtime &r) {
    r.modules.addStub(binaryOf(handle), stub, kernel);
    return Outcome();
  });
}

void __hipRegisterVar(void **handle, void *shadow, char *, char *name, int, size_t, int, int) {
  call(__func__, [&](Runtime &r) {
    r.modules.addVariable(binaryOf(handle), shadow, name);
    return Outcome();
  });
}

hipError_t __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t sharedBytes,
                                      hipStream_t stream) {
  pushed().push_back({grid, block, sharedBytes, stream});
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(Dim3 *grid, Dim3 *block, size_t *sharedBytes,
                                     hipStream_t *stream) {
  if (pushed().empty())
    return call(__func__, [](Runtime &) { return Outcome(hipErrorMissingConfiguration); });
  const LaunchConfig &c = pushed().back();
  *grid = c.grid;
  *block = c.block;
  *sharedBytes = c.sharedBytes;
  *stream = c.stream;
  pushed().pop_back();
  return hipSuccess;
}

// Modules.

hipError_t hipModuleLoadData(hipModule_t *out, const void *image) {
  return call(__func__, [&](Runtime &r) { return r.modules.load(out, image); });
}

hipError_t hipModuleLoadDataEx(hipModule_t *out, const void *image, unsigned, void *, void **) {
  return call(__func__, [&](Runtime &r) { return r.modules.load(out, image); });
}

hipError_t hipModuleLoad(hipModule_t *out, const char *path) {
  return call(__func__, [&](Runtime &r) -> Outcome {
    if (!path)
      return {hipErrorInvalidValue, "the path is null"};
    auto bytes = attune::readFile(path);
    if (!bytes)
      return {hipErrorFileNotFound, bytes.error().message};
    return r.modules.load(out, bytes->data(), bytes->size());
  });
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call(__func__, [&](Runtime &r) { return r.modules.unload(module); });
}

hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name) {
  return call(__func__, [&](Runtime &r) { return r.modules.function(out, module, name); });
}

hipError_t hipModuleGetGlobal(void **address, size_t *bytes, hipModule_t module, const char *name) {
  return call(__func__, [&](Runtime &r) {
    Symbol symbol;
    auto outcome = r.modules.global(symbol, module, name);
    if (outcome.ok() && address)
      *address = symbol.address;
    if (outcome.ok() && bytes)
      *bytes = symbol.bytes;
    return outcome;
  });
}

hipError_t hipGetFuncBySymbol(hipFunction_t *out, const void *stub) {
  return ofStub(__func__, stub, [&](Runtime &, attuneHipFunction *f) -> Outcome {
    if (!out)
      return {hipErrorInvalidValue, "the pointer to fill in is null"};
    *out = f;
    return {};
  });
}

// Launches.

hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, hipStream_t stream, void **params,
                                 void **extra) {
  return ofFunction(__func__, f, [&](Runtime &r, attuneHipFunction *known) {
    return enqueue(r, known, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream},
                   params, extra);
  });
}

/// Its grid is in threads.
hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t threadsX, uint32_t threadsY,
                                    uint32_t threadsZ, uint32_t blockX, uint32_t blockY,
                                    uint32_t blockZ, size_t sharedBytes, hipStream_t stream,
                                    void **params, void **extra, hipEvent_t start, hipEvent_t stop,
                                    uint32_t) {
  return ofFunction(__func__, f, [&](Runtime &r, attuneHipFunction *known) -> Outcome {
    Extents threads = {threadsX, threadsY, threadsZ}, block = {blockX, blockY, blockZ};
    for (int axis = 0; axis < 3; ++axis)
      if (block[axis] == 0 || threads[axis] % block[axis])
        return {
            hipErrorInvalidConfiguration,
            fmt::format("{} threads in workgroups of {}: the last one would not be whole, which "
                        "the simulator does not run",
                        threads[axis], block[axis])};
    LaunchConfig config{{threadsX / blockX, threadsY / blockY, threadsZ / blockZ},
                        {blockX, blockY, blockZ},
                        sharedBytes,
                        stream};
    return between(r, start, stop, stream,
                   [&] { return enqueue(r, known, config, params, extra); });
  });
}

hipError_t hipLaunchKernel(const void *stub, Dim3 grid, Dim3 block, void **args, size_t sharedBytes,
                           hipStream_t stream) {
  return call(__func__, [&](Runtime &r) {
    return launchStub(r, stub, {grid, block, sharedBytes, stream}, args);
  });
}

hipError_t hipExtLaunchKernel(const void *stub, Dim3 grid, Dim3 block, void **args,
                              size_t sharedBytes, hipStream_t stream, hipEvent_t start,
                              hipEvent_t stop, int) {
  return call(__func__, [&](Runtime &r) {
    return between(r, start, stop, stream,
                   [&] { return launchStub(r, stub, {grid, block, sharedBytes, stream}, args); });
  });
}

// Attributes and occupancy.

hipError_t hipFuncGetAttributes(FunctionAttributes *out, const void *stub) {
  return ofStub(__func__, stub, [&](Runtime &, attuneHipFunction *f) -> Outcome {
    if (!out)
      return {hipErrorInvalidValue, "the pointer to fill in is null"};
    constexpr int version = chip::major * 10 + chip::minor;
    *out = {.binaryVersion = version,
            .cacheModeCA = 0,
            .constSizeBytes = 0,
            .localSizeBytes = f->info.scratchBytes,
            .maxDynamicSharedSizeBytes = chip::ldsBytes - int(f->info.ldsBytes),
            .maxThreadsPerBlock = f->info.maxThreads ? int(f->info.maxThreads) : chip::maxThreads,
            .numRegs = int(f->info.vgprs),
            .preferredShmemCarveout = 0,
            .ptxVersion = version,
            .sharedSizeBytes = f->info.ldsBytes};
    return {};
  });
}

hipError_t hipFuncGetAttribute(int *out, int attribute, hipFunction_t f) {
  return ofFunction(__func__, f, [&](Runtime &, attuneHipFunction *known) {
    return giveFunctionAttribute(out, attribute, known->info);
  });
}

hipError_t hipFuncSetAttribute(const void *stub, int attribute, int value) {
  return ofStub(__func__, stub, [&](Runtime &, attuneHipFunction *f) -> Outcome {
    if (attribute == AttributeCarveout)
      return {}; // a hint
    if (attribute != AttributeMaxDynamicShared)
      return {hipErrorInvalidValue, fmt::format("attribute {} cannot be set", attribute)};
    if (value < 0 || value > chip::ldsBytes - int(f->info.ldsBytes))
      return {hipErrorInvalidValue,
              fmt::format("{} bytes of dynamic LDS; {} can have 0 to {}", value, f->info.name,
                          chip::ldsBytes - int(f->info.ldsBytes))};
    return {}; // every launch may have them
  });
}

hipError_t hipFuncSetCacheConfig(const void *, int) {
  return call(__func__, [](Runtime &) { return Outcome(); }); // a hint
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *groups, const void *stub, int threads,
                                                        size_t dynamicBytes) {
  return ofStub(__func__, stub, [&](Runtime &, attuneHipFunction *f) {
    return giveOccupancy(groups, f, threads, dynamicBytes);
  });
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *groups, const void *stub,
                                                                 int threads, size_t dynamicBytes,
                                                                 unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(groups, stub, threads, dynamicBytes);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *groups, hipFunction_t f,
                                                              int threads, size_t dynamicBytes) {
  return ofFunction(__func__, f, [&](Runtime &, attuneHipFunction *known) {
    return giveOccupancy(groups, known, threads, dynamicBytes);
  });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *groups, hipFunction_t f,
                                                                       int threads,
                                                                       size_t dynamicBytes,
                                                                       unsigned) {
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(groups, f, threads, dynamicBytes);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *stub,
                                             size_t dynamicBytes, int limit) {
  return ofStub(__func__, stub, [&](Runtime &, attuneHipFunction *f) {
    return giveBestBlock(grid, block, f, dynamicBytes, limit);
  });
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t f,
                                                   size_t dynamicBytes, int limit) {
  return ofFunction(__func__, f, [&](Runtime &, attuneHipFunction *known) {
    return giveBestBlock(grid, block, known, dynamicBytes, limit);
  });
}

} // extern "C"
