// System calls with retries.
#include "runtime/cache/FileOps.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace attune::cache {

namespace {

/// What may be gone a moment later: NFS answers so around renames, lock recovery and lost replies.
bool isTransient(int error) {
  return error == EINTR || error == EBUSY || error == ESTALE || error == ENOLCK;
}

struct flock byteLock(short type, uint64_t offset) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = off_t(offset);
  lock.l_len = 1;
  return lock;
}

constexpr int lastPauseMs = 64;                // pauses of 1, 4, 16 and 64 ms
constexpr size_t chunkBytes = size_t(1) << 16; // of one write

} // namespace

Fd::~Fd() {
  if (value_ >= 0)
    ::close(value_);
}

template <class Call> int FileOps::attempt(FileOp op, const std::string &path, Call call) const {
  for (int pause = 1;; pause *= 4) {
    int error = hook_ ? hook_(op, path) : 0;
    if (error == 0)
      error = call() < 0 ? errno : 0;
    if (!isTransient(error) || pause > lastPauseMs)
      return error;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

int FileOps::open(const std::string &path, int flags, Fd &fd) const {
  return attempt(FileOp::Open, path, [&] {
    fd = Fd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
    return fd.get();
  });
}

int FileOps::read(const Fd &fd, const std::string &path, uint64_t most, Bytes &out,
                  struct stat &status) const {
  return attempt(FileOp::Read, path, [&] {
    if (fstat(fd.get(), &status) < 0)
      return -1;
    if (!S_ISREG(status.st_mode) || uint64_t(status.st_size) > mostEntryBytes) {
      errno = S_ISREG(status.st_mode) ? EFBIG : EINVAL;
      return -1;
    }
    out.resize(size_t(std::min(uint64_t(status.st_size), most)));
    size_t have = 0;
    while (have < out.size()) {
      ssize_t got = ::pread(fd.get(), out.data() + have, out.size() - have, off_t(have));
      if (got < 0)
        return -1;
      if (got == 0)
        break; // shorter than it was: the digest will tell
      have += size_t(got);
    }
    out.resize(have);
    return 0;
  });
}

int FileOps::writeAll(const Fd &fd, const std::string &path, std::span<const uint8_t> bytes) const {
  while (!bytes.empty()) {
    ssize_t done = 0;
    int error = attempt(FileOp::Write, path, [&] {
      done = ::write(fd.get(), bytes.data(), std::min(bytes.size(), chunkBytes));
      return int(done < 0 ? -1 : 0);
    });
    if (error)
      return error;
    bytes = bytes.subspan(size_t(done));
  }
  return 0;
}

int FileOps::sync(const Fd &fd, const std::string &path) const {
  return attempt(FileOp::Sync, path, [&] { return fsync(fd.get()); });
}

int FileOps::close(Fd fd, const std::string &path) const {
  // Linux closes the descriptor whatever it answers, so there is nothing to try again.
  int error = hook_ ? hook_(FileOp::Close, path) : 0;
  int late = ::close(fd.release()) < 0 && errno != EINTR ? errno : 0;
  return error ? error : late;
}

int FileOps::syncDir(const std::string &path) const {
  Fd dir;
  if (int error = open(path, O_RDONLY | O_DIRECTORY, dir))
    return error;
  int error = sync(dir, path);
  return error == EINVAL ? 0 : error; // a file system without the notion
}

int FileOps::rename(const std::string &from, const std::string &to) const {
  return attempt(FileOp::Rename, to, [&] { return ::rename(from.c_str(), to.c_str()); });
}

int FileOps::remove(const std::string &path) const {
  return attempt(FileOp::Remove, path, [&] { return ::unlink(path.c_str()); });
}

int FileOps::removeTree(const std::string &path) const {
  return attempt(FileOp::Remove, path, [&] {
    std::error_code failed;
    std::filesystem::remove_all(path, failed);
    errno = failed.value();
    return failed ? -1 : 0;
  });
}

int FileOps::makeDirs(const std::string &path) const {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    struct stat status;
    if (stat(part.c_str(), &status) != 0) {
      int error = attempt(FileOp::MakeDir, part, [&] { return ::mkdir(part.c_str(), 0777); });
      if (error && error != EEXIST)
        return error;
    } else if (!S_ISDIR(status.st_mode))
      return ENOTDIR;
    if (end == std::string::npos)
      return 0;
  }
}

int FileOps::touch(const Fd &fd, const std::string &path) const {
  return attempt(FileOp::Touch, path, [&] { return futimens(fd.get(), nullptr); });
}

int FileOps::list(const std::string &path, std::vector<DirItem> &out) const {
  return attempt(FileOp::List, path, [&] {
    out.clear();
    std::unique_ptr<DIR, int (*)(DIR *)> dir(opendir(path.c_str()), closedir);
    if (!dir)
      return -1;
    while (dirent *item = readdir(dir.get())) {
      DirItem found{item->d_name, {}};
      // What is gone between the two calls was removed by someone else, who may.
      if (fstatat(dirfd(dir.get()), item->d_name, &found.status, AT_SYMLINK_NOFOLLOW) == 0)
        out.push_back(std::move(found));
    }
    return 0;
  });
}

int FileOps::lockByte(const Fd &fd, const std::string &path, uint64_t offset) const {
  int error = attempt(FileOp::Lock, path, [&] {
    struct flock lock = byteLock(F_WRLCK, offset);
    return fcntl(fd.get(), F_OFD_SETLK, &lock);
  });
  return error == EACCES ? EAGAIN : error; // POSIX allows either for "held"
}

void FileOps::unlockByte(const Fd &fd, uint64_t offset) const {
  struct flock lock = byteLock(F_UNLCK, offset);
  fcntl(fd.get(), F_OFD_SETLK, &lock); // if it fails, closing does it
}

std::string describe(const std::string &path, int error) {
  return fmt::format("{}: {}", path, std::generic_category().message(error));
}

} // namespace attune::cache
