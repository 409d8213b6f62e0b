// The sharded table and its flights.
#include "runtime/cache/Memory.h"
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <optional>

namespace attune::cache {

namespace {

uint64_t bytesOf(const KernelImage &image) { return image.codeObject.size() + sizeof(KernelImage); }

} // namespace

struct Memory::Flight {
  std::mutex mutex;
  std::condition_variable landed;
  std::optional<Result<KernelRef>> result;
};

Memory::Shard &Memory::shardOf(const std::string &digest) const {
  const char digit = digest.back(); // digests are uniform: any hex digit names a shard
  return shards_[size_t(digit <= '9' ? digit - '0' : digit - 'a' + 10) % shards_.size()];
}

KernelRef Memory::find(const std::string &digest) const {
  const Shard &shard = shardOf(digest);
  std::shared_lock lock(shard.mutex);
  auto found = shard.kernels.find(digest);
  if (found == shard.kernels.end())
    return nullptr;
  // Of use only to who looks for the oldest, so the exact order of two uses does not matter.
  found->second.lastUse.store(clock_.fetch_add(1, std::memory_order_relaxed),
                              std::memory_order_relaxed);
  return found->second.kernel;
}

Result<KernelRef> Memory::findOrRun(const std::string &digest,
                                    const std::function<Result<KernelRef>()> &work) {
  Shard &shard = shardOf(digest);
  std::shared_ptr<Flight> flight;
  bool first = false;
  {
    std::unique_lock lock(shard.mutex);
    if (auto found = shard.kernels.find(digest); found != shard.kernels.end())
      return found->second.kernel;
    auto &entry = shard.flights[digest];
    first = !entry;
    if (first)
      entry = std::make_shared<Flight>();
    flight = entry;
  }
  if (first) {
    std::optional<Result<KernelRef>> result;
    try {
      result = work();
    } catch (const std::exception &e) { // out of memory, or a foreign build function that throws
      result = Error{ErrorCode::Internal, fmt::format("building the kernel threw: {}", e.what())};
    } catch (...) {
      result = Error{ErrorCode::Internal, "building the kernel threw"};
    }
    land(shard, digest, flight, std::move(*result));
  }
  std::unique_lock lock(flight->mutex);
  flight->landed.wait(lock, [&] { return flight->result.has_value(); });
  return *flight->result;
}

void Memory::land(Shard &shard, const std::string &digest, const std::shared_ptr<Flight> &flight,
                  Result<KernelRef> result) {
  {
    std::unique_lock lock(shard.mutex);
    if (result)
      insert(shard, digest, *result);
    shard.flights.erase(digest);
  }
  std::unique_lock lock(flight->mutex);
  flight->result = std::move(result);
  flight->landed.notify_all();
}

/// Over the limit, the shard gives up its oldest; the newest stays even if it alone is too big.
void Memory::insert(Shard &shard, const std::string &digest, KernelRef kernel) {
  Slot &slot = shard.kernels[digest];
  if (slot.kernel)
    return;
  bytes_ += bytesOf(*kernel);
  slot.kernel = std::move(kernel);
  slot.lastUse = clock_++;
  while (bytes_ > limitBytes_ && shard.kernels.size() > 1) {
    auto oldest = std::min_element(
        shard.kernels.begin(), shard.kernels.end(),
        [](const auto &a, const auto &b) { return a.second.lastUse < b.second.lastUse; });
    bytes_ -= bytesOf(*oldest->second.kernel);
    shard.kernels.erase(oldest);
  }
}

void Memory::keep(const std::string &digest, KernelRef kernel) {
  Shard &shard = shardOf(digest);
  std::unique_lock lock(shard.mutex);
  insert(shard, digest, std::move(kernel));
}

} // namespace attune::cache
