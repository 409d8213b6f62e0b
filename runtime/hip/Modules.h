// Code objects, and the two ways to name what is in them: a module and a string
// (hipModuleGetFunction), or the address of a host stub that the compiler registered before main
// (kernel<<<...>>>). Registered binaries are loaded when first used, as HIP does: a program may
// carry code for other chips.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/hip/Abi.h"
#include "runtime/hip/Gpus.h"
#include "runtime/hip/Outcome.h"
#include "runtime/sim/Simulator.h"
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attune::hip {

/// A launch with its arguments packed: what a stream runs, or a graph keeps.
struct KernelCall {
  Gpu *gpu = nullptr;
  sim::ModuleId module = 0;
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t dynamicLds = 0;
  std::vector<uint8_t> kernarg;
};

struct Symbol {
  void *address = nullptr;
  size_t bytes = 0;
};

} // namespace attune::hip

struct attuneHipFunction {
  attuneHipModule *module = nullptr;
  attune::sim::KernelInfo info;
};

struct attuneHipModule {
  attune::hip::Gpu *gpu = nullptr; ///< that it was loaded on
  attune::sim::ModuleId id = 0;
  std::vector<uint8_t> image; ///< the code object
  std::map<std::string, attuneHipFunction> functions;
};

namespace attune::hip {

/// One __hipRegisterFatBinary.
struct FatBinary {
  const void *image = nullptr;
  std::map<Gpu *, attuneHipModule *> modules; ///< on each GPU since its first use there
};

class Modules {
public:
  explicit Modules(Gpus &gpus) : gpus_(gpus) {}

  /// On the current GPU.
  Outcome load(attuneHipModule **out, const void *image, size_t limit = SIZE_MAX);
  Outcome unload(attuneHipModule *);
  Outcome function(attuneHipFunction **out, attuneHipModule *, const char *name);
  Outcome global(Symbol &out, attuneHipModule *, const char *name);

  FatBinary *addBinary(const void *image);
  void removeBinary(FatBinary *);
  void addStub(FatBinary *, const void *stub, const char *kernel);
  void addVariable(FatBinary *, const void *shadow, const char *name);
  /// A kernel by its stub, on the current GPU, or by a handle that `function` gave.
  Outcome stub(attuneHipFunction **out, const void *stub);
  Outcome variable(Symbol &out, const void *shadow);

private:
  struct Registered {
    FatBinary *binary;
    std::string name;
  };
  Outcome moduleOf(attuneHipModule **out, FatBinary *);
  bool isFunction(const void *) const;

  Gpus &gpus_;
  std::map<const attuneHipModule *, std::unique_ptr<attuneHipModule>> modules_;
  std::map<const FatBinary *, std::unique_ptr<FatBinary>> binaries_;
  std::map<const void *, Registered> stubs_, variables_;
};

/// Packs `params` (pointers to the arguments, as the kernel's metadata lists them) or `extra` (the
/// bytes themselves).
Outcome packArguments(std::vector<uint8_t> &out, const sim::KernelInfo &, void **params,
                      void **extra);

} // namespace attune::hip
