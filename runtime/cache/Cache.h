// The cache of compiled kernels: memory, then the user's directory, then base directories, then a
// store that machines share, then the compiler.
//
//   auto options = optionsFromEnvironment();
//   options->warn = [](const std::string &text) { ... };
//   Cache cache(*options);
//   auto key = KeyBuilder().add("spec", canonical).add("arch", arch) ... .build();
//   Result<KernelRef> kernel = cache.getOrBuild(*key, [&] { return compile(spec); });
//
// What it promises:
//   - the build function runs once per key, whatever number of threads and processes ask at once,
//     as long as their directory can be written and locked;
//   - a kernel it hands out is whole and of this key, or the build's own result;
//   - trouble with files (full, read-only, missing, damaged, stuck) costs compiles and one warning
//     per kind of trouble, never a failed call;
//   - no call waits for another process longer than the wait limit, nor for the shared store longer
//     than its timeout.
// Errors are those of the build function, and NotFound where building is forbidden.
//
// All functions may be called from any thread. The build function must not ask for its own key.
#pragma once
#include "runtime/cache/Directory.h"
#include "runtime/cache/Key.h"
#include "runtime/cache/Memory.h"
#include "runtime/cache/Options.h"
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::cache {

class Lease;
class Remote;

/// How often what happened (Counters.def), in this process.
struct Counters {
#define CACHE_COUNTER(name, help) uint64_t name = 0;
#include "runtime/cache/Counters.def"
};

/// "name value" of each counter, a line each.
std::string toText(const Counters &);

class Cache {
public:
  using Build = std::function<Result<KernelImage>()>;

  explicit Cache(Options options);
  /// Waits for what is still being stored in the shared tier, within its timeout.
  ~Cache();

  Result<KernelRef> getOrBuild(const Key &, const Build &);
  /// A kernel that this process already has, or null. No system call, no allocation.
  KernelRef find(const Key &key) const { return memory_.find(key.digest()); }

  /// A kernel that memory or a directory has, or null: never builds, never waits and asks no shared
  /// store, for callers that have another kernel to run meanwhile.
  KernelRef lookup(const Key &);
  /// getOrBuild() for a key that lookup() has just missed: looks into no directory a second time.
  Result<KernelRef> buildAfterLookup(const Key &, const Build &);

  Counters counters() const;
  uint64_t memoryBytes() const { return memory_.bytes(); } ///< of kernels kept in memory
  const Options &options() const { return options_; }
  const std::optional<Directory> &directory() const { return user_; } ///< the user's

private:
  enum class Trouble {
    Start,
    Corrupt,
    Foreign,
    Unwritable,
    Lease,
    Waiting,
    Housekeeping,
    Remote,
    Store,
    Count
  };

  void warnOnce(Trouble, const std::string &);
  bool mayPublish() const { return user_ && options_.mode == Mode::On; }
  KernelRef judge(Entry, bool counting);
  KernelRef loadFrom(const Directory &, const Key &, bool counting);
  KernelRef loadFromLayers(const Key &);
  Result<KernelRef> buildMissing(const Key &, const Build &);
  Result<KernelRef> buildUnderLease(const Key &, const Build &);
  KernelRef lookLonger(const Key &);
  Result<KernelRef> fetchOrBuild(const Key &, const Build &, Lease *); ///< a lease, if one is held
  KernelRef fetch(const Key &, Bytes &entry);
  void publish(const Key &, std::span<const uint8_t> entry, Lease *);
  void keepHouse(uint64_t newBytes);
  Error forbidden(const Key &);
  std::string nearestEntry(const Key &) const;

  const Options options_;
  std::optional<Directory> user_;
  std::vector<Directory> base_;
  Memory memory_;
  std::array<std::atomic<bool>, size_t(Trouble::Count)> warned_{};
  std::atomic<uint64_t> bytesSinceHousekeeping_;
  std::atomic<bool> noLocks_{false}; ///< found out once, not at each miss

  struct Atomics {
#define CACHE_COUNTER(name, help) std::atomic<uint64_t> name{0};
#include "runtime/cache/Counters.def"
  } mutable count_;
  std::unique_ptr<Remote> remote_; ///< last: its reports use the rest
};

} // namespace attune::cache
