// ROCm's code object manager, comgr 2 or 3, found at run time: the linker and metadata reader that
// every ROCm installation has, for those who must not or cannot link with LLVM's.
//
//   auto comgr = Comgr::open();
//   if (comgr && comgr->knows("gfx950")) executable = comgr->link(relocatable);
//
// comgr knows the chips of its release and no later ones: asked for another, it is not tried.
// Given a damaged object it may crash, so it works in a child process (runtime/process): a few
// milliseconds a call, which compiling has time for.
//
// Thread safety: any thread; calls follow one another, as LLVM's linker has state of its own.
#pragma once
#include "runtime/abi/CodeObjectTarget.h"
#include "runtime/abi/Result.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune {

/// What the metadata of a code object says of one kernel. A field that it does not have is 0.
struct KernelMetadata {
  std::string name;
  int kernargBytes = 0;
  int vgprs = 0, agprs = 0, sgprs = 0;
  int ldsBytes = 0, scratchBytes = 0;
  int maxThreads = 0; ///< of a workgroup
};

class Comgr {
public:
  /// The library at a path, or see docs/devices.md. Errors: NotFound without one; Unsupported for a
  /// version other than 2 and 3 or a library that lacks a function.
  static Result<Comgr> open(const std::string &library = "");

  std::string name() const; ///< "comgr 2.4 (/usr/lib/x86_64-linux-gnu/libamd_comgr.so.2)"
  const std::vector<std::string> &processors() const { return processors_; } ///< sorted
  bool knows(const std::string &processor) const;

  /// Errors: InvalidArgument for what is no relocatable object, Unsupported for a chip that comgr
  /// does not know, naming those that it knows; else what its linker printed.
  Result<std::vector<uint8_t>> link(std::span<const uint8_t> relocatable) const;
  /// Of a linked or relocatable object. Errors: as above.
  Result<std::vector<KernelMetadata>> kernels(std::span<const uint8_t> codeObject) const;

private:
  struct Api;
  class Objects;
  Result<void> readProcessors();
  Result<CodeObjectTarget> accept(std::span<const uint8_t>) const;
  Result<std::vector<uint8_t>> linkHere(std::span<const uint8_t>, const TargetId &) const;
  Result<std::vector<KernelMetadata>> kernelsHere(std::span<const uint8_t>, bool linked) const;
  Error failure(int status, const std::string &call) const;

  std::shared_ptr<const Api> api_;
  std::vector<std::string> processors_;
};

} // namespace attune
