// Byte locks with notes.
#include "runtime/cache/Lease.h"
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

namespace attune::cache {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view publishedMark = "published";
constexpr size_t slotBytes = 192, tagDigits = 16;
constexpr auto firstPause = std::chrono::milliseconds(1),
               longestPause = std::chrono::milliseconds(50);

uint64_t digestBits(const std::string &digest) {
  return std::stoull(digest.substr(0, tagDigits), nullptr, 16);
}

/// 62 bits: offsets are signed, and some servers want the end of a lock below the greatest.
uint64_t lockOffset(const std::string &digest) { return digestBits(digest) >> 2; }

/// 256 slots; two keys that share one overwrite each other's note, which its tag shows.
off_t slotOffset(const std::string &digest) {
  return off_t((digestBits(digest) & 0xff) * slotBytes);
}

std::string whoAndWhen() {
  char host[256] = "unknown";
  gethostname(host, sizeof(host) - 1);
  char when[32] = "";
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  if (gmtime_r(&now, &utc))
    std::strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return fmt::format("pid {} on host {} since {}", getpid(), std::string_view(host).substr(0, 64),
                     when);
}

} // namespace

Lease::Lease(const FileOps &ops, const std::string &directory, const std::string &digest)
    : ops_(ops), directory_(directory), path_(directory + "/lock"), digest_(digest) {}

int Lease::openFile() {
  int error = ops_.open(path_, O_RDWR | O_CREAT, fd_);
  if (error == ENOENT) {
    error = ops_.makeDirs(directory_);
    if (!error)
      error = ops_.open(path_, O_RDWR | O_CREAT, fd_);
  }
  return error;
}

LeaseState Lease::acquire(std::chrono::milliseconds limit, const std::function<bool()> &done) {
  if (int error = openFile()) {
    problem_ = describe(path_, error);
    return LeaseState::NoFile;
  }
  const auto deadline = Clock::now() + limit;
  for (auto pause = firstPause;; pause = std::min(pause * 2, longestPause)) {
    int error = ops_.lockByte(fd_, path_, lockOffset(digest_));
    if (error == 0) {
      othersPublished_ = waited_ && readNote() == publishedMark;
      writeNote(whoAndWhen());
      return LeaseState::Held;
    }
    if (error != EAGAIN) {
      problem_ = describe(path_, error);
      return LeaseState::NoLocks;
    }
    waited_ = true;
    if (done())
      return LeaseState::Served;
    if (Clock::now() >= deadline)
      return LeaseState::TimedOut;
    std::this_thread::sleep_for(pause);
  }
}

std::string Lease::readNote() const {
  char slot[slotBytes] = "";
  ssize_t got = pread(fd_.get(), slot, slotBytes - 1, slotOffset(digest_));
  std::string_view text(slot, got > 0 ? size_t(got) : 0);
  text = text.substr(0, text.find('\n'));
  if (text.size() <= tagDigits || text.substr(0, tagDigits) != digest_.substr(0, tagDigits))
    return ""; // another key's
  return std::string(text.substr(tagDigits + 1));
}

/// Notes are a courtesy: on a full disk there are none.
void Lease::writeNote(std::string_view what) {
  std::string slot = fmt::format("{} {}\n", digest_.substr(0, tagDigits), what);
  slot.resize(slotBytes, ' ');
  [[maybe_unused]] ssize_t written =
      pwrite(fd_.get(), slot.data(), slot.size(), slotOffset(digest_));
}

void Lease::published() { writeNote(publishedMark); }

std::string Lease::holder() const {
  std::string note = readNote();
  return note.empty() || note == publishedMark ? "a process that left no note" : note;
}

} // namespace attune::cache
