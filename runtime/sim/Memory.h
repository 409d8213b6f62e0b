// Device memory of the simulator. A device address is a host address: every buffer is its own mmap
// region, reserved and not backed (MAP_NORESERVE), so that a buffer may claim many GiB and pay for
// the pages it touches. Buffers are page-rounded, with an inaccessible guard gap before and after,
// and start 4 KiB aligned at the address given out.
//
// The region table knows the exact byte length asked for: an access one byte past the end is found
// although the page is there. `find` is the hot call; its caller keeps a `const Region *` of the
// last hit, which almost always answers.
//
// Which bytes have been written. A fresh buffer is undefined; copyIn, define and a kernel's stores
// change that. Most buffers are written whole by one copy and need no more than that fact. The
// others have a bit for each byte, mapped as lazily as the buffer itself. Bits are kept up by
// strict mode; a launch that nobody follows may write anything, so that all is taken as defined
// behind it.
//
// Buffers are created and released between launches; during a launch the table is read only.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace attune::sim {

struct Region {
  uint64_t base = 0;
  uint64_t bytes = 0;
  std::string name; ///< for messages: "buffer #3", "code object #1"
  /// Bit n: something has written byte n. Null: all of them are defined. Whole 64-bit words; during
  /// a launch they are read and set as atomics.
  uint64_t *defined = nullptr;
  bool contains(uint64_t address, uint64_t n) const {
    return address - base <= bytes && n <= bytes - (address - base) && address >= base;
  }
};

class Memory {
public:
  static constexpr uint64_t kPage = 4096;

  Memory() = default;
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Uninitialised memory of `bytes` bytes (0 is rounded to 1). With a poison byte set, it is
  /// filled with it.
  Result<uint64_t> alloc(uint64_t bytes, const std::string &name = "");
  /// The same at a given address, a multiple of kPage; refused with the nearest free address where
  /// something lies within the buffer or its guard gaps.
  Result<uint64_t> allocAt(uint64_t address, uint64_t bytes, const std::string &name = "");
  /// Its pages go back to the host. Its addresses stay out of use until kQuarantined others have
  /// been freed (or somebody asks for them with allocAt), so that an access through an old pointer
  /// is an error and not one to whatever came next.
  void free(uint64_t address);
  static constexpr size_t kQuarantined = 64;
  /// Fills every later allocation with this byte, to make reads of uninitialised memory visible;
  /// -1: off.
  void setPoison(int byte) { poison_ = byte; }

  /// The host has written these bytes through host(), or is about to.
  void define(uint64_t address, uint64_t bytes);
  /// Before a launch. `followed`: somebody keeps Region::defined up to date during it.
  void beginLaunch(bool followed);

  Result<void> copyIn(uint64_t to, const void *from, uint64_t bytes);
  Result<void> copyOut(void *to, uint64_t from, uint64_t bytes) const;
  static void *host(uint64_t address) { return reinterpret_cast<void *>(address); }

  /// The region that holds all of [address, address + bytes), or null.
  const Region *find(uint64_t address, uint64_t bytes) const;
  /// "0x7f.. is 16 bytes past the end of buffer #2 [0x.., 4096 bytes]": for error messages.
  std::string describe(uint64_t address) const;

private:
  struct Mapping {
    Region region;
    uint64_t mapBase = 0, mapBytes = 0;
    bool allDefined = false;
  };
  static void defineAll(Mapping &);
  static void trackBytes(Mapping &);
  const Mapping *nearest(uint64_t address) const;
  static void release(const Mapping &);
  Result<uint64_t> map(uint64_t bytes, const std::string &name, std::optional<uint64_t> at);
  void leaveQuarantine(uint64_t first, uint64_t last);
  std::vector<Mapping> mappings_;  ///< sorted by region.base
  std::deque<Mapping> quarantine_; ///< freed, the oldest first
  int poison_ = -1;
  uint64_t counter_ = 0;
};

} // namespace attune::sim
