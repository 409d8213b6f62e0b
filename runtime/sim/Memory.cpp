#include "runtime/sim/Memory.h"
#include "runtime/sim/AddressSpace.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

namespace attune::sim {
namespace {
constexpr uint64_t kGuard = 1u << 20;
constexpr uint64_t kLimit = uint64_t(1)
                            << 46; // beyond it a request is a mistake, and x86-64 has no room

uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
uint64_t bitmapBytes(uint64_t bytes) { return (bytes + 63) / 64 * 8; }

void setBits(uint64_t *words, uint64_t first, uint64_t count) {
  for (uint64_t end = first + count; first < end;) {
    uint64_t bit = first % 64, n = std::min(64 - bit, end - first);
    words[first / 64] |= (n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1) << bit;
    first += n;
  }
}
} // namespace

Memory::~Memory() {
  for (const Mapping &m : mappings_)
    release(m);
  leaveQuarantine(0, ~uint64_t(0));
}

void Memory::release(const Mapping &m) {
  munmap(host(m.mapBase), m.mapBytes);
  if (m.region.defined)
    munmap(m.region.defined, bitmapBytes(m.region.bytes));
}

void Memory::defineAll(Mapping &m) {
  if (m.region.defined)
    munmap(m.region.defined, bitmapBytes(m.region.bytes));
  m.region.defined = nullptr;
  m.allDefined = true;
}

/// Gives a mapping its bits, all clear. Without room for them its bytes count as defined.
void Memory::trackBytes(Mapping &m) {
  void *p = mmap(nullptr, bitmapBytes(m.region.bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    m.allDefined = true;
  else
    m.region.defined = static_cast<uint64_t *>(p);
}

void Memory::define(uint64_t address, uint64_t bytes) {
  auto *m = const_cast<Mapping *>(nearest(address));
  if (!m || bytes == 0 || m->allDefined || !m->region.contains(address, bytes))
    return;
  if (bytes == m->region.bytes)
    return defineAll(*m);
  if (!m->region.defined)
    trackBytes(*m);
  if (m->region.defined)
    setBits(m->region.defined, address - m->region.base, bytes);
}

void Memory::beginLaunch(bool followed) {
  for (Mapping &m : mappings_)
    if (!followed)
      defineAll(m);
    else if (!m.allDefined && !m.region.defined)
      trackBytes(m);
}

Result<uint64_t> Memory::alloc(uint64_t bytes, const std::string &name) {
  return map(bytes, name, {});
}

Result<uint64_t> Memory::allocAt(uint64_t address, uint64_t bytes, const std::string &name) {
  if (address % kPage || address < 2 * kGuard || address > kLimit * 2)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{:#x} is not a multiple of {} from {:#x} to 2^47; nearest: {:#x}",
                             address, kPage, 2 * kGuard,
                             std::clamp(address / kPage * kPage, 2 * kGuard, kLimit * 2 - kGuard))};
  return map(bytes, name, address);
}

Result<uint64_t> Memory::map(uint64_t bytes, const std::string &name, std::optional<uint64_t> at) {
  bytes = std::max<uint64_t>(bytes, 1);
  if (bytes > kLimit)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("simulator memory: {} bytes asked for, the limit is 2^46", bytes)};
  Mapping m;
  uint64_t body = roundUp(bytes, kPage);
  m.mapBytes = body + 2 * kGuard;
  if (at)
    leaveQuarantine(*at - kGuard, *at - kGuard + m.mapBytes);
  void *p =
      mmap(at ? host(*at - kGuard) : nullptr, m.mapBytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  if (p == MAP_FAILED && at && (errno == EEXIST || errno == ENOMEM || errno == EPERM)) {
    auto free = nearestFreeRange(*at - kGuard, m.mapBytes);
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{:#x} is taken; {}", *at,
                             free ? fmt::format("nearest free: {:#x}", *free + kGuard)
                                  : "no range of that size is free")};
  }
  if (p == MAP_FAILED)
    return Error{ErrorCode::Device,
                 fmt::format("simulator memory: the host cannot reserve {} bytes", bytes)};
  m.mapBase = reinterpret_cast<uint64_t>(p);
  m.region = {m.mapBase + kGuard, bytes, name.empty() ? fmt::format("buffer #{}", counter_) : name,
              nullptr};
  ++counter_;
  if (mprotect(host(m.region.base), body, PROT_READ | PROT_WRITE) != 0) {
    munmap(p, m.mapBytes);
    return Error{ErrorCode::Device,
                 fmt::format("simulator memory: the host cannot commit {} bytes", bytes)};
  }
  if (poison_ >= 0)
    std::memset(host(m.region.base), poison_, bytes);
  auto place = std::upper_bound(
      mappings_.begin(), mappings_.end(), m.region.base,
      [](uint64_t base, const Mapping &other) { return base < other.region.base; });
  uint64_t base = m.region.base;
  mappings_.insert(place, std::move(m));
  return base;
}

void Memory::free(uint64_t address) {
  auto at = std::find_if(mappings_.begin(), mappings_.end(),
                         [&](const Mapping &m) { return m.region.base == address; });
  if (at == mappings_.end())
    return;
  Mapping &m = *at;
  defineAll(m); // gives up its bits
  // A fresh mapping in place of the old one: no pages, no access.
  mmap(host(m.mapBase), m.mapBytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (quarantine_.size() == kQuarantined) {
    release(quarantine_.front());
    quarantine_.pop_front();
  }
  quarantine_.push_back(std::move(m));
  mappings_.erase(at);
}

/// Gives the host back what overlaps [first, last).
void Memory::leaveQuarantine(uint64_t first, uint64_t last) {
  std::erase_if(quarantine_, [&](const Mapping &m) {
    bool leaves = m.mapBase < last && first < m.mapBase + m.mapBytes;
    if (leaves)
      release(m);
    return leaves;
  });
}

Result<void> Memory::copyIn(uint64_t to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return {};
  if (!find(to, bytes))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("copy to the device of {} bytes: {}", bytes, describe(to))};
  std::memcpy(host(to), from, bytes);
  define(to, bytes);
  return {};
}

Result<void> Memory::copyOut(void *to, uint64_t from, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  if (!find(from, bytes))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("copy from the device of {} bytes: {}", bytes, describe(from))};
  std::memcpy(to, host(from), bytes);
  return {};
}

const Region *Memory::find(uint64_t address, uint64_t bytes) const {
  const Mapping *m = nearest(address);
  return m && m->region.contains(address, bytes) ? &m->region : nullptr;
}

/// The last mapping that starts at or below the address, else the first one.
const Memory::Mapping *Memory::nearest(uint64_t address) const {
  auto at =
      std::upper_bound(mappings_.begin(), mappings_.end(), address,
                       [](uint64_t a, const Mapping &other) { return a < other.region.base; });
  if (at == mappings_.begin())
    return mappings_.empty() ? nullptr : &*at;
  return &*(at - 1);
}

std::string Memory::describe(uint64_t address) const {
  for (auto m = quarantine_.rbegin(); m != quarantine_.rend(); ++m)
    if (const Region &r = m->region; r.contains(address, 1))
      return fmt::format("{:#x} is at byte {} of {} [{:#x}, {} bytes], which was freed", address,
                         address - r.base, r.name, r.base, r.bytes);
  const Mapping *m = nearest(address);
  if (!m)
    return fmt::format("{:#x} lies in no buffer (none is allocated)", address);
  // The next mapping may be nearer than the one below.
  if (size_t i = m - mappings_.data() + 1;
      i < mappings_.size() && address > m->region.base + m->region.bytes &&
      mappings_[i].region.base - address < address - (m->region.base + m->region.bytes))
    m = &mappings_[i];
  const Region &r = m->region;
  std::string where = address < r.base
                          ? fmt::format("{} bytes before the start of", r.base - address)
                      : address >= r.base + r.bytes
                          ? fmt::format("{} bytes past the end of", address - (r.base + r.bytes))
                          : fmt::format("at byte {} of", address - r.base);
  return fmt::format("{:#x} is {} {} [{:#x}, {} bytes]", address, where, r.name, r.base, r.bytes);
}

} // namespace attune::sim
