// Loads and publishes entries, and cleans up.
#include "runtime/cache/Directory.h"
#include "runtime/abi/Digest.h"
#include "runtime/cache/Notes.h"
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <random>
#include <tuple>
#include <unistd.h>

namespace attune::cache {

namespace {

constexpr size_t digestDigits = 64;
constexpr int64_t useIsNotedEverySeconds = 60;

enum class FileKind { Entry, Temporary, MovedAside, NotOurs };

FileKind kindOf(const std::string &name) {
  if (name.size() <= digestDigits || name[digestDigits] != '.' ||
      name.find_first_not_of("0123456789abcdef") != digestDigits)
    return FileKind::NotOurs;
  std::string_view rest = std::string_view(name).substr(digestDigits);
  if (rest == ".kernel")
    return FileKind::Entry;
  return rest.ends_with(".tmp")   ? FileKind::Temporary
         : rest.ends_with(".bad") ? FileKind::MovedAside
                                  : FileKind::NotOurs;
}

/// No two writers share a name: 64 random bits, because process ids repeat across containers.
std::string uniqueWord() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

Error ioError(const std::string &path, int error) {
  return Error{ErrorCode::Io, describe(path, error)};
}

} // namespace

std::string Directory::entryPath(const std::string &digest) const {
  return path_ + "/" + digest + ".kernel";
}

bool Directory::open(const std::string &path, uint64_t most, Opened &opened) const {
  // Non-blocking, or a pipe under the entry's name would hold us up.
  if (int error = ops_.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, opened.fd)) {
    bool missing = error == ENOENT || error == ENOTDIR;
    opened.fault.state = missing ? EntryState::Missing : EntryState::Corrupt;
    opened.fault.reason = describe(path, error);
    return false;
  }
  if (int error = ops_.read(opened.fd, path, most, opened.bytes, opened.status)) {
    opened.fault.state = EntryState::Corrupt;
    opened.fault.reason = error == EINVAL ? path + ": is not a file" : describe(path, error);
    return false;
  }
  return true;
}

Entry Directory::load(const Key &key) const {
  const std::string path = entryPath(key.digest());
  Opened opened;
  if (!open(path, mostEntryBytes, opened))
    return std::move(opened.fault);
  Entry entry = decodeEntry(opened.bytes, key.text());
  if (entry.state != EntryState::Good)
    entry.reason = fmt::format("{}: {}", path, entry.reason);
  else if (std::time(nullptr) - opened.status.st_mtime >= useIsNotedEverySeconds)
    ops_.touch(opened.fd, path); // fails on read-only layers, which forget nothing
  return entry;
}

int Directory::write(const std::string &temp, std::span<const uint8_t> bytes) const {
  Fd fd;
  int error = ops_.open(temp, O_WRONLY | O_CREAT | O_EXCL, fd);
  if (error)
    return error;
  error = ops_.writeAll(fd, temp, bytes);
  if (!error)
    error = ops_.sync(fd, temp);
  int late = ops_.close(std::move(fd), temp);
  error = error ? error : late;
  if (error)
    ops_.remove(temp);
  return error;
}

/// What is no file cannot be replaced by one: it is moved aside first.
int Directory::moveIntoPlace(const std::string &temp, const std::string &digest) const {
  const std::string entry = entryPath(digest);
  int error = ops_.rename(temp, entry);
  if (error == EISDIR || error == ENOTEMPTY || error == EEXIST) {
    ops_.rename(entry, fmt::format("{}/{}.{}.bad", path_, digest, uniqueWord()));
    error = ops_.rename(temp, entry);
  }
  if (error)
    ops_.remove(temp);
  return error;
}

int Directory::tryPublish(const std::string &digest, std::span<const uint8_t> bytes,
                          std::string &blame) const {
  const std::string temp = fmt::format("{}/{}.{}.tmp", path_, digest, uniqueWord());
  blame = temp;
  if (int error = write(temp, bytes))
    return error;
  blame = entryPath(digest);
  if (int error = moveIntoPlace(temp, digest))
    return error;
  blame = path_;
  return ops_.syncDir(path_);
}

Result<void> Directory::publish(const std::string &digest, std::span<const uint8_t> entry) const {
  std::string blame;
  int error = tryPublish(digest, entry, blame);
  if (error == ENOENT) { // the first entry, or someone removed the directory under us
    if (int failed = ops_.makeDirs(path_))
      return ioError(path_, failed);
    error = tryPublish(digest, entry, blame);
  }
  if (error)
    return ioError(blame, error);
  return {};
}

/// Opening a directory for reading revalidates what an NFS client believes about its names.
void Directory::refresh() const {
  std::vector<DirItem> items;
  ops_.list(path_, items);
}

Result<std::vector<EntryInfo>> Directory::entries(uint64_t bytesOfEach) const {
  std::vector<DirItem> items;
  if (int error = ops_.list(path_, items); error && error != ENOENT)
    return ioError(path_, error);
  std::vector<EntryInfo> entries;
  for (const DirItem &item : items) {
    if (kindOf(item.name) != FileKind::Entry)
      continue;
    EntryInfo info{item.name.substr(0, digestDigits),
                   path_ + "/" + item.name,
                   uint64_t(item.status.st_size),
                   item.status.st_mtime,
                   {}};
    Opened opened;
    if (!open(info.path, bytesOfEach, opened))
      info.entry = std::move(opened.fault);
    else {
      info.entry = bytesOfEach == mostEntryBytes
                       ? decodeEntry(opened.bytes, "")
                       : decodeHead(opened.bytes, uint64_t(opened.status.st_size));
      if (info.entry.state == EntryState::Good && sha256Hex(info.entry.keyText) != info.digest)
        info.entry = Entry{EntryState::Foreign, "it is the entry of another kernel", {}, {}};
      if (info.entry.state != EntryState::Good)
        info.entry.reason = fmt::format("{}: {}", info.path, info.entry.reason);
    }
    if (info.entry.state == EntryState::Missing)
      continue; // removed meanwhile
    entries.push_back(std::move(info));
  }
  std::sort(entries.begin(), entries.end(), [](const EntryInfo &a, const EntryInfo &b) {
    return std::tie(b.lastUsed, a.digest) < std::tie(a.lastUsed, b.digest);
  });
  return entries;
}

/// Takes back its builder's note as well, or waiters would look for the entry.
int Directory::removeEntry(const std::string &digest) const {
  const std::string path = lockPath(path_);
  Fd lock;
  if (ops_.open(path, O_RDWR, lock) == 0 && readNote(lock, digest) == publishingNote)
    writeNote(lock, digest, "removed");
  int error = ops_.remove(entryPath(digest));
  return error == ENOENT ? 0 : error;
}

Result<CollectReport> Directory::collect(uint64_t limitBytes, std::chrono::seconds tempAge) const {
  std::vector<DirItem> items;
  if (int error = ops_.list(path_, items); error && error != ENOENT)
    return ioError(path_, error);
  CollectReport report;
  std::vector<DirItem> entries;
  const int64_t now = std::time(nullptr);
  for (DirItem &item : items) {
    const FileKind kind = kindOf(item.name);
    const std::string path = path_ + "/" + item.name;
    if (kind == FileKind::Entry && S_ISREG(item.status.st_mode)) {
      report.keptEntries += 1;
      report.keptBytes += uint64_t(item.status.st_size);
      entries.push_back(std::move(item));
    } else if (kind == FileKind::MovedAside || (kind == FileKind::Entry && limitBytes == 0))
      report.removedLeftovers += ops_.removeTree(path) == 0;
    else if (kind == FileKind::Temporary && now - item.status.st_mtime >= tempAge.count())
      report.removedLeftovers += ops_.remove(path) == 0;
  }
  std::sort(entries.begin(), entries.end(), [](const DirItem &a, const DirItem &b) {
    auto time = [](const DirItem &item) {
      return std::pair(item.status.st_mtim.tv_sec, item.status.st_mtim.tv_nsec);
    };
    return std::pair(time(a), a.name) < std::pair(time(b), b.name);
  });
  for (const DirItem &item : entries) {
    if (limitBytes != 0 && report.keptBytes <= limitBytes)
      break;
    if (int error = removeEntry(item.name.substr(0, digestDigits)))
      return ioError(path_ + "/" + item.name, error);
    const uint64_t bytes = uint64_t(item.status.st_size);
    report.keptEntries -= 1;
    report.keptBytes -= bytes;
    report.removedEntries += 1;
    report.removedBytes += bytes;
  }
  return report;
}

Result<CollectReport> Directory::clear(std::chrono::seconds tempAge) const {
  return collect(0, tempAge);
}

Result<void> Directory::remove(const EntryInfo &info) const {
  // Replaced since: another size or time. A rebuild that slips in after this look and is removed
  // costs a recompile, nothing else.
  struct stat now;
  if (lstat(info.path.c_str(), &now) == 0 &&
      (uint64_t(now.st_size) != info.bytes || now.st_mtime != info.lastUsed))
    return {};
  int error = removeEntry(info.digest);
  if (error == EISDIR || error == EPERM)
    error = ops_.removeTree(info.path);
  if (error)
    return ioError(info.path, error);
  return {};
}

} // namespace attune::cache
