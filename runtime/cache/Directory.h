// One cache directory on disk: load, publish, and the housekeeping behind `attune cache`.
//
// Files, all side by side:
//   DIGEST.kernel               an entry (EntryFile.h)
//   DIGEST.UNIQUE.tmp           an entry being written; only its writer knows the name
//   DIGEST.UNIQUE.bad           something that was no file, moved out of an entry's way
//   lock                        leases (Lease.h)
// Anything else in the directory is not ours and is never touched.
//
// An entry appears by rename, complete and synced; nobody ever changes one in place. So readers
// take no lock, a removal hurts nobody who has already read, and a corrupt entry is not removed by
// who finds it (someone else may just have replaced it) but replaced by its rebuild.
//
// The modification time of an entry is the time of its last use, to the minute.
#pragma once
#include "runtime/cache/FileOps.h"
#include "runtime/cache/Key.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace attune::cache {

/// One line of `attune cache ls` or `verify`.
struct EntryInfo {
  std::string digest, path;
  uint64_t bytes = 0;
  int64_t lastUsed = 0; ///< seconds since 1970
  Entry entry;          ///< state and reason; key and image when good
};

struct CollectReport {
  uint64_t keptEntries = 0, keptBytes = 0;
  uint64_t removedEntries = 0, removedBytes = 0;
  uint64_t removedLeftovers = 0; ///< temporary files of dead writers, things moved aside
};

/// How old a temporary file must be before it counts as left by a dead writer.
constexpr std::chrono::seconds leftoverAge = std::chrono::hours(1);

class Directory {
public:
  Directory(std::string path, FileOps ops) : path_(std::move(path)), ops_(std::move(ops)) {}

  const std::string &path() const { return path_; }
  const FileOps &ops() const { return ops_; }
  std::string entryPath(const std::string &digest) const;

  Entry load(const Key &) const;
  /// Makes the bytes of an entry the file of this digest. Errors: Io, with the file and the
  /// system's reason; nothing half-written stays behind.
  Result<void> publish(const std::string &digest, std::span<const uint8_t> entry) const;

  /// Makes a network file system look again at what is in the directory.
  void refresh() const;

  /// Every entry, the most recently used first: list() reads heads, verify() checks all bytes.
  Result<std::vector<EntryInfo>> list() const { return entries(listedBytes); }
  Result<std::vector<EntryInfo>> verify() const { return entries(mostEntryBytes); }
  /// Removes the least recently used entries until the rest fits into `limitBytes` (0: all go),
  /// and leftovers.
  Result<CollectReport> collect(uint64_t limitBytes,
                                std::chrono::seconds tempAge = leftoverAge) const;
  /// Removes every entry, and leftovers. Users beside it recompile, nothing else.
  Result<CollectReport> clear(std::chrono::seconds tempAge = leftoverAge) const;
  /// Removes entries that verify() found corrupt or foreign; not those replaced since.
  Result<void> remove(const EntryInfo &) const;

private:
  struct Opened {
    Fd fd;
    Bytes bytes;
    struct stat status;
    Entry fault; ///< Missing or Corrupt: it could not be read
  };
  bool open(const std::string &path, uint64_t most, Opened &) const;
  Result<std::vector<EntryInfo>> entries(uint64_t bytesOfEach) const;
  int write(const std::string &temp, std::span<const uint8_t> bytes) const;
  int moveIntoPlace(const std::string &temp, const std::string &digest) const;
  int removeEntry(const std::string &digest) const;
  int tryPublish(const std::string &digest, std::span<const uint8_t> bytes,
                 std::string &blame) const;

  std::string path_;
  FileOps ops_;
};

} // namespace attune::cache
