// The few file operations of the cache, as network file systems need them: each answers 0 or an
// errno, and what such a system reports for a moment (EINTR, EBUSY, ESTALE, ENOLCK) is tried again
// for a tenth of a second before it is believed.
//
// Every operation first asks a hook. Tests use it to fail an operation or to kill the process right
// before it; without one the operation costs a comparison more.
#pragma once
#include "runtime/cache/EntryFile.h"
#include <functional>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace attune::cache {

enum class FileOp { Open, Read, Write, Sync, Close, Rename, Remove, Lock, MakeDir, Touch, List };

/// Called before each operation; a result other than 0 is the errno it fails with.
using FileHook = std::function<int(FileOp, const std::string &path)>;

/// A file descriptor that is closed when it goes.
class Fd {
public:
  Fd() = default;
  explicit Fd(int value) : value_(value) {}
  Fd(Fd &&other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Fd &operator=(Fd &&other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Fd();
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

private:
  int value_ = -1;
};

struct DirItem {
  std::string name;
  struct stat status;
};

class FileOps {
public:
  explicit FileOps(FileHook hook = {}) : hook_(std::move(hook)) {}

  int open(const std::string &path, int flags, Fd &fd) const; ///< adds O_CLOEXEC; mode 0666 & umask
  /// The first `most` bytes of a regular file; EINVAL for anything else (a directory, a pipe),
  /// EFBIG for what is too large to be an entry.
  int read(const Fd &, const std::string &path, uint64_t most, Bytes &out,
           struct stat &status) const;
  int writeAll(const Fd &, const std::string &path, std::span<const uint8_t> bytes) const;
  int sync(const Fd &, const std::string &path) const;
  int close(Fd, const std::string &path) const; ///< tells of late write errors
  int syncDir(const std::string &path) const;
  int rename(const std::string &from, const std::string &to) const;
  int remove(const std::string &path) const; ///< a file
  int removeTree(const std::string &path) const;
  int makeDirs(const std::string &path) const;          ///< and its parents
  int touch(const Fd &, const std::string &path) const; ///< modification time = now
  int list(const std::string &path, std::vector<DirItem> &out) const;
  /// Takes an exclusive lock of one byte of the file; EAGAIN when someone else has it. The lock
  /// goes with the descriptor, and so with its process.
  int lockByte(const Fd &, const std::string &path, uint64_t offset) const;
  /// Gives it back even if a process that was forked meanwhile has the descriptor too.
  void unlockByte(const Fd &, uint64_t offset) const;

private:
  template <class Call> int attempt(FileOp op, const std::string &path, Call call) const;
  FileHook hook_;
};

/// "PATH: what errno means".
std::string describe(const std::string &path, int error);

} // namespace attune::cache
