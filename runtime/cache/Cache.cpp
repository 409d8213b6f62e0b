// The order of the layers, and what happens on a miss.
#include "runtime/cache/Cache.h"
#include "runtime/cache/Lease.h"
#include "runtime/cache/Remote.h"
#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <thread>

namespace attune::cache {

namespace {

/// How long an entry that its builder has noted as published may stay invisible. NFS clients cache
/// directories for seconds, but beyond this compiling is as fast as waiting.
constexpr std::array lookLongerMs = {2, 10, 30, 100, 200};

/// The user's directory is measured again each time this share of its limit was written.
constexpr uint64_t housekeepingShare = 16;

KernelRef share(KernelImage image) { return std::make_shared<const KernelImage>(std::move(image)); }

std::string nameOf(const Key &key) {
  return key.label().empty() ? key.digest() : fmt::format("{} ({})", key.label(), key.digest());
}

} // namespace

std::string toText(const Counters &counters) {
  std::string text;
#define CACHE_COUNTER(name, help) text += fmt::format("{} {}\n", #name, counters.name);
#include "runtime/cache/Counters.def"
  return text;
}

Cache::Cache(Options options)
    : options_(std::move(options)), memory_(options_.memoryBytes),
      // The first entry a process writes makes it look after the directory.
      bytesSinceHousekeeping_(options_.limitBytes) {
  if (options_.mode != Mode::Off) {
    FileOps ops(options_.fileHook);
    if (!options_.directory.empty())
      user_.emplace(options_.directory, ops);
    for (const std::string &path : options_.base)
      base_.emplace_back(path, ops);
  }
  if (!options_.startWarning.empty())
    warnOnce(Trouble::Start, options_.startWarning);
  if (options_.mode != Mode::Off && !options_.remote.url.empty())
    remote_ = std::make_unique<Remote>(
        options_.remote, [this](const std::string &problem, bool answered) {
          ++(problem.empty() ? count_.remotePuts : count_.remoteErrors);
          // A store out of reach is one kind of trouble, in whichever direction it shows.
          if (!problem.empty())
            warnOnce(answered ? Trouble::Store : Trouble::Remote,
                     fmt::format("{}; what is built here is not shared", problem));
        });
}

Cache::~Cache() = default;

void Cache::warnOnce(Trouble trouble, const std::string &text) {
  if (options_.warn && !warned_[size_t(trouble)].exchange(true))
    options_.warn("attune cache: " + text);
}

Counters Cache::counters() const {
  Counters now;
#define CACHE_COUNTER(name, help) now.name = count_.name;
#include "runtime/cache/Counters.def"
  return now;
}

Result<KernelRef> Cache::getOrBuild(const Key &key, const Build &build) {
  if (KernelRef kernel = memory_.find(key.digest())) {
    ++count_.memoryHits;
    return kernel;
  }
  return memory_.findOrRun(key.digest(), [&]() -> Result<KernelRef> {
    if (KernelRef kernel = loadFromLayers(key))
      return kernel;
    return buildMissing(key, build);
  });
}

Result<KernelRef> Cache::buildAfterLookup(const Key &key, const Build &build) {
  return memory_.findOrRun(key.digest(), [&] { return buildMissing(key, build); });
}

KernelRef Cache::lookup(const Key &key) {
  KernelRef kernel = memory_.find(key.digest());
  if (kernel)
    ++count_.memoryHits;
  else if ((kernel = loadFromLayers(key)))
    memory_.keep(key.digest(), kernel);
  return kernel;
}

Result<KernelRef> Cache::buildMissing(const Key &key, const Build &build) {
  ++count_.misses;
  if (!options_.mayBuild && !remote_)
    return forbidden(key);
  return mayPublish() && !noLocks_ ? buildUnderLease(key, build)
                                   : fetchOrBuild(key, build, nullptr);
}

KernelRef Cache::loadFromLayers(const Key &key) {
  if (user_)
    if (KernelRef kernel = loadFrom(*user_, key, true)) {
      ++count_.diskHits;
      return kernel;
    }
  for (const Directory &layer : base_)
    if (KernelRef kernel = loadFrom(layer, key, true)) {
      ++count_.baseHits;
      return kernel;
    }
  return nullptr;
}

KernelRef Cache::loadFrom(const Directory &layer, const Key &key, bool counting) {
  return judge(layer.load(key), counting);
}

KernelRef Cache::judge(Entry entry, bool counting) {
  if (entry.state == EntryState::Good)
    return share(std::move(entry.image));
  if (entry.state == EntryState::Missing || !counting)
    return nullptr;
  const bool corrupt = entry.state == EntryState::Corrupt;
  ++(corrupt ? count_.corrupt : count_.foreign);
  warnOnce(corrupt ? Trouble::Corrupt : Trouble::Foreign,
           fmt::format("{}; the kernel is built anew", entry.reason));
  return nullptr;
}

Result<KernelRef> Cache::buildUnderLease(const Key &key, const Build &build) {
  KernelRef kernel;
  auto isThere = [&] { return (kernel = loadFrom(*user_, key, false)) != nullptr; };
  Lease lease(user_->ops(), user_->path(), key.digest());
  switch (lease.acquire(options_.waitLimit, isThere)) {
  case LeaseState::Held: {
    // Its last holder may have published between our look and our lease.
    if (isThere() || (lease.othersPublish() && (kernel = lookLonger(key)))) {
      ++count_.served;
      return kernel;
    }
    return fetchOrBuild(key, build, &lease);
  }
  case LeaseState::Served:
    ++count_.served;
    return kernel;
  case LeaseState::TimedOut:
    ++count_.leaseTimeouts;
    warnOnce(Trouble::Waiting,
             fmt::format("waited {} ms for {}, which builds {} ({}); building it here as well",
                         options_.waitLimit.count(), lease.holder(), nameOf(key), lease.path()));
    return fetchOrBuild(key, build, nullptr);
  case LeaseState::NoFile: // the same trouble as not being able to write entries: one warning
    warnOnce(Trouble::Unwritable,
             fmt::format("{}; kernels that are built now are not kept", lease.problem()));
    return fetchOrBuild(key, build, nullptr);
  case LeaseState::NoLocks:
    noLocks_ = true;
    warnOnce(Trouble::Lease,
             fmt::format("{}; processes do not wait for each other's kernels", lease.problem()));
    return fetchOrBuild(key, build, nullptr);
  }
  return Error{ErrorCode::Internal, "a lease in no state"};
}

KernelRef Cache::lookLonger(const Key &key) {
  for (int pause : lookLongerMs) {
    user_->refresh();
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    if (KernelRef kernel = loadFrom(*user_, key, false))
      return kernel;
  }
  return nullptr;
}

/// What is left when no directory has it, in the order of cost.
Result<KernelRef> Cache::fetchOrBuild(const Key &key, const Build &build, Lease *lease) {
  Bytes entry;
  if (KernelRef kernel = fetch(key, entry)) {
    publish(key, entry, lease);
    return kernel;
  }
  if (!options_.mayBuild)
    return forbidden(key);
  ++count_.builds;
  Result<KernelImage> image = build();
  if (!image)
    return image.error();
  const bool shares = remote_ && options_.remote.mayWrite && options_.mode == Mode::On;
  if (mayPublish() || shares)
    entry = encodeEntry(key.text(), *image);
  publish(key, entry, lease);
  if (shares && !remote_->put(key.digest(), std::move(entry)))
    ++count_.remoteSkips;
  return share(std::move(*image));
}

KernelRef Cache::fetch(const Key &key, Bytes &entry) {
  if (!remote_)
    return nullptr;
  RemoteReply reply = remote_->get(key.digest());
  switch (reply.state) {
  case RemoteState::Off:
    ++count_.remoteSkips;
    return nullptr;
  case RemoteState::Miss:
    ++count_.remoteMisses;
    return nullptr;
  case RemoteState::Failed:
    ++count_.remoteErrors;
    warnOnce(Trouble::Remote, fmt::format("{}; kernels are built without it", reply.problem));
    return nullptr;
  case RemoteState::Answered:
    break;
  }
  Entry decoded = decodeEntry(reply.body, key.text());
  if (decoded.state != EntryState::Good)
    decoded.reason = fmt::format("{}: {}", remote_->nameOf(key.digest()), decoded.reason);
  KernelRef kernel = judge(std::move(decoded), true);
  count_.remoteHits += kernel != nullptr;
  entry = std::move(reply.body);
  return kernel;
}

/// To the user's directory. Those who wait for the lease are told first (Notes.h).
void Cache::publish(const Key &key, std::span<const uint8_t> entry, Lease *lease) {
  if (!mayPublish())
    return;
  if (lease)
    lease->publishing();
  if (auto done = user_->publish(key.digest(), entry); !done) {
    ++count_.unpublished;
    warnOnce(Trouble::Unwritable,
             fmt::format("{}; kernels that are built now are not kept", done.error().message));
    if (lease)
      lease->failed();
    return;
  }
  ++count_.published;
  keepHouse(entry.size());
}

void Cache::keepHouse(uint64_t newBytes) {
  if (options_.limitBytes == 0 ||
      (bytesSinceHousekeeping_ += newBytes) < options_.limitBytes / housekeepingShare)
    return;
  bytesSinceHousekeeping_ = 0;
  if (auto done = user_->collect(options_.limitBytes); !done)
    warnOnce(Trouble::Housekeeping,
             fmt::format("{}; the cache may outgrow its limit", done.error().message));
}

Error Cache::forbidden(const Key &key) {
  ++count_.refused;
  std::string text =
      fmt::format("{} is in no cache and ATTUNE_NO_JIT forbids compiling it", nameOf(key));
  if (user_)
    text += fmt::format("; searched {}", user_->path());
  for (const Directory &layer : base_)
    text += fmt::format(", {}", layer.path());
  if (remote_)
    text += fmt::format(", {}", remote_->nameOf(key.digest()));
  if (!key.command().empty())
    text += fmt::format("\nbuild it with: {}", key.command());
  return Error{ErrorCode::NotFound, text + nearestEntry(key)};
}

/// Why it missed is mostly one field: another compiler, another chip. Says which.
std::string Cache::nearestEntry(const Key &key) const {
  std::vector<const Directory *> layers;
  if (user_)
    layers.push_back(&*user_);
  for (const Directory &layer : base_)
    layers.push_back(&layer);
  const auto wanted = parseKey(key.text());
  std::optional<std::vector<std::string>> best;
  std::string digest;
  for (const Directory *layer : layers) {
    auto entries = layer->list();
    for (const EntryInfo &info : entries ? *entries : std::vector<EntryInfo>{}) {
      auto fields = parseKey(info.entry.keyText);
      if (info.entry.state != EntryState::Good || !fields || !wanted)
        continue;
      auto differences = differingFields(*wanted, *fields);
      if (!best || differences.size() < best->size()) {
        best = std::move(differences);
        digest = info.digest;
      }
    }
  }
  return best ? fmt::format("\nnearest: {}, which differs in {}", digest, fmt::join(*best, ", "))
              : "";
}

} // namespace attune::cache
