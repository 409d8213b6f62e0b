// Byte locks.
#include "runtime/cache/Lease.h"
#include "runtime/cache/Notes.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <thread>

namespace attune::cache {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto firstPause = std::chrono::milliseconds(1),
               longestPause = std::chrono::milliseconds(50);

/// 62 bits: offsets are signed, and some servers want the end of a lock below the greatest.
uint64_t lockOffset(const std::string &digest) {
  return std::stoull(digest.substr(0, 16), nullptr, 16) >> 2;
}

} // namespace

Lease::Lease(const FileOps &ops, const std::string &directory, const std::string &digest)
    : ops_(ops), directory_(directory), path_(lockPath(directory)), digest_(digest) {}

Lease::~Lease() {
  if (held_)
    ops_.unlockByte(fd_, lockOffset(digest_));
}

int Lease::openFile() {
  int error = ops_.open(path_, O_RDWR | O_CREAT, fd_);
  if (error == ENOENT) {
    error = ops_.makeDirs(directory_);
    if (!error)
      error = ops_.open(path_, O_RDWR | O_CREAT, fd_);
  }
  return error;
}

/// Not if the file was removed meanwhile, with the directory and the entry as like as not.
bool Lease::saysPublishing() const {
  struct stat status;
  return readNote(fd_, digest_) == publishingNote && fstat(fd_.get(), &status) == 0 &&
         status.st_nlink > 0;
}

LeaseState Lease::acquire(std::chrono::milliseconds limit, const std::function<bool()> &done) {
  if (int error = openFile()) {
    problem_ = describe(path_, error);
    return LeaseState::NoFile;
  }
  const auto deadline = Clock::now() + limit;
  bool waited = false;
  for (auto pause = firstPause;; pause = std::min(pause * 2, longestPause)) {
    int error = ops_.lockByte(fd_, path_, lockOffset(digest_));
    if (error == 0) {
      held_ = true;
      othersPublish_ = waited && saysPublishing();
      writeNote(fd_, digest_, whoAndWhen());
      return LeaseState::Held;
    }
    if (error != EAGAIN) {
      problem_ = describe(path_, error);
      return LeaseState::NoLocks;
    }
    waited = true;
    if (done())
      return LeaseState::Served;
    if (Clock::now() >= deadline)
      return LeaseState::TimedOut;
    std::this_thread::sleep_for(pause);
  }
}

void Lease::failed() { writeNote(fd_, digest_, "failed"); }

void Lease::publishing() { writeNote(fd_, digest_, publishingNote); }

std::string Lease::holder() const {
  std::string note = readNote(fd_, digest_);
  return note.empty() || note == publishingNote ? "a process that left no note" : note;
}

} // namespace attune::cache
