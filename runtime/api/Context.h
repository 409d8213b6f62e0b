// What a program holds: a device, the caches, the way to the compiler, and the kernels that are
// loaded on the device.
//
//   kernel(spec, knobs)
//     loaded          a table of this context; a hit is one shared lock and no system call
//     cache           memory, then directories (runtime/cache)
//     bundles         finished kernels that `attune aot` wrote; no compiler is asked for its name
//     shared tier, compiler      under the cache's lease
//
// All functions may be called from any thread.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/abi/Result.h"
#include "runtime/api/Background.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/cache/Cache.h"
#include "runtime/compile/CompilerLink.h"
#include "runtime/device/Device.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune {

/// A spec and the text that it came from: the compiler parses it again.
struct ParsedSpec {
  std::string text, attention;
  std::map<std::string, std::string> parameters;
  spec::Model model;

  static Result<ParsedSpec> parse(std::string text, std::string fileName, std::string attention,
                                  std::map<std::string, std::string> parameters);
  static Result<ParsedSpec> parseFile(const std::string &path, std::string attention,
                                      std::map<std::string, std::string> parameters);
};

/// A kernel that is loaded on a device, and keeps that device alive.
class Kernel {
public:
  static Result<std::shared_ptr<const Kernel>> load(std::shared_ptr<Device>, cache::KernelRef,
                                                    std::string digest);
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel();

  Device &device() const { return *device_; }
  KernelHandle handle() const { return handle_; }
  const KernelImage &image() const { return *image_; }
  const Sidecar &sidecar() const { return image_->sidecar; }
  const std::string &digest() const { return digest_; } ///< of its key
  const std::string &sidecarText() const;               ///< as JSON, made when first asked for

private:
  Kernel(std::shared_ptr<Device> device, cache::KernelRef image, std::string digest)
      : device_(std::move(device)), image_(std::move(image)), digest_(std::move(digest)) {}
  std::shared_ptr<Device> device_;
  cache::KernelRef image_;
  std::string digest_;
  mutable std::once_flag sidecarOnce_;
  mutable std::string sidecarText_;
  ModuleHandle module_ = 0;
  KernelHandle handle_ = 0;
};
using KernelPtr = std::shared_ptr<const Kernel>;

struct ContextOptions {
  std::string device; ///< as openDevice; empty: the environment's
  cache::Options cache;
  CompilerOptions compiler;
  int simThreads = 0;
  size_t loadedKernels = 1024; ///< those beyond it that nobody holds are unloaded, oldest use first
};

/// Everything from the environment. Errors: InvalidArgument, naming the variable.
Result<ContextOptions> contextOptionsFromEnvironment();

class Context {
public:
  static Result<std::shared_ptr<Context>> create(ContextOptions);
  /// With a device of the caller's, for tests and benchmarks.
  static std::shared_ptr<Context> create(ContextOptions, std::shared_ptr<Device>);

  Result<KernelPtr> kernel(const ParsedSpec &, const Knobs &);

  struct Soon {
    KernelPtr
        kernel; ///< the one that was asked for, or, while pending, one to run meanwhile or null
    bool pending = false;
  };
  /// Never waits for a compiler. Errors: of the last try in the background; the next call tries
  /// again.
  Result<Soon> kernelSoon(const ParsedSpec &, const Knobs &);

  /// Searched after the cache's directories, in the order of adding.
  void addBundle(bundle::Bundle);

  /// Finds or compiles, and loads on no device.
  Result<cache::KernelRef> image(const ParsedSpec &, const Knobs &);

  struct ListedImage {
    cache::KernelRef image;
    std::optional<Listing> listing; ///< nothing where compiling is forbidden
  };
  /// image() with its listing. No cache keeps listings: a kernel that was found is compiled for it
  /// again, one that was not is compiled once for both.
  Result<ListedImage> listedImage(const ParsedSpec &, const Knobs &);
  Result<cache::Key> key(const ParsedSpec &, const Knobs &);

  Device &device() { return *device_; }
  const std::string &deviceName() const { return deviceName_; }
  const std::string &arch() const { return arch_; }
  cache::Cache &cache() { return cache_; }

private:
  struct Loaded {
    KernelPtr kernel;
    mutable std::atomic<uint64_t> lastUse{0};
  };

  Context(ContextOptions, std::shared_ptr<Device>);
  KernelPtr find(const std::string &wish) const;
  Result<KernelPtr> keep(const std::string &wish, cache::KernelRef, const std::string &digest);
  void unloadOldest(); ///< under the lock
  /// The key; without a compiler, one that says so: bundles can be searched by it, caches cannot.
  Result<cache::Key> keyOrUnbuilt(const ParsedSpec &, const Knobs &,
                                  std::optional<Error> &noCompiler);
  Result<cache::KernelRef> fromBundles(const cache::Key &) const; ///< null: none has it
  /// The kernel, if it is loaded, cached or bundled; else null, and `unbuilt` is what to compile.
  Result<KernelPtr> finished(const ParsedSpec &, const Knobs &, const std::string &wish,
                             std::optional<cache::Key> &unbuilt);
  /// Adds what the bundles have that is nearest, and how to build a bundle that has the kernel.
  Error missing(Error, const ParsedSpec &, const Knobs &, const cache::Key &) const;
  Error missingUnbuilt(const Error &noCompiler, const ParsedSpec &, const Knobs &,
                       const cache::Key &) const; ///< where there is no compiler
  KernelPtr meanwhile(const std::string &wish, const cache::Key &);
  Result<CompileReply> answer(const CompileRequest &);
  Result<KernelImage> compile(const ParsedSpec &, const Knobs &);
  CompileRequest requestFor(const ParsedSpec &, const Knobs &) const;

  const ContextOptions options_;
  const std::shared_ptr<Device> device_;
  const std::string deviceName_, arch_;
  CompilerLink compiler_;
  cache::Cache cache_;
  mutable std::shared_mutex mutex_; ///< of what follows
  std::unordered_map<std::string, Loaded> loaded_;
  std::map<std::string, KernelPtr> meanwhile_; ///< by wish: what may run until it is compiled
  std::vector<std::shared_ptr<const bundle::Bundle>> bundles_;
  mutable std::atomic<uint64_t> clock_{0};
  Background background_; ///< last: its threads use the rest
};

} // namespace attune
