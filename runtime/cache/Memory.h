// The layer in memory: kernels that this process has already loaded or built, and the builds it is
// busy with.
//
// A hit takes one shared lock of one of 16 shards and no system call. Kernels are handed out as
// shared pointers to constants, so that dropping one here never takes it from a user.
//
// Single flight among threads: of all threads that miss one key, one works and the others get its
// result, an error included. Errors are not kept: the next call tries again.
#pragma once
#include "runtime/abi/KernelImage.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace attune::cache {

using KernelRef = std::shared_ptr<const KernelImage>;

class Memory {
public:
  explicit Memory(uint64_t limitBytes) : limitBytes_(limitBytes) {}

  KernelRef find(const std::string &digest) const;
  /// find(), or the result of `work`, which at most one thread per digest runs at a time.
  Result<KernelRef> findOrRun(const std::string &digest,
                              const std::function<Result<KernelRef>()> &work);
  /// Keeps a kernel that was found elsewhere; the first one of a digest stays.
  void keep(const std::string &digest, KernelRef);
  uint64_t bytes() const { return bytes_; }

private:
  struct Flight; ///< a build that threads wait for
  struct Slot {
    KernelRef kernel;
    mutable std::atomic<uint64_t> lastUse{0};
  };
  struct Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<std::string, Slot> kernels;
    std::unordered_map<std::string, std::shared_ptr<Flight>> flights;
  };

  Shard &shardOf(const std::string &digest) const;
  void insert(Shard &, const std::string &digest, KernelRef); ///< under its lock
  void land(Shard &, const std::string &digest, const std::shared_ptr<Flight> &, Result<KernelRef>);

  const uint64_t limitBytes_;
  mutable std::array<Shard, 16> shards_;
  mutable std::atomic<uint64_t> clock_{0};
  std::atomic<uint64_t> bytes_{0};
};

} // namespace attune::cache
