#include "runtime/comgr/Isolated.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

/// The message: how it ended, then that many bytes. No padding: the whole struct travels.
struct Header {
  uint64_t bytes = 0;
  int32_t errorCode = 0;
  int32_t good = 0;
};
static_assert(sizeof(Header) == 16);

void writeAll(int fd, const void *data, size_t bytes) {
  auto *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = write(fd, at, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      _exit(1);
    at += written;
    bytes -= size_t(written);
  }
}

[[noreturn]] void runChild(int fd, const std::function<Result<Bytes>()> &work) {
  for (int number : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM, SIGTRAP})
    std::signal(number, SIG_DFL); // the program's own handlers are not for this
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (int quiet = open("/dev/null", O_WRONLY); quiet >= 0) {
    dup2(quiet, STDOUT_FILENO);
    dup2(quiet, STDERR_FILENO);
  }
  Result<Bytes> result = work();
  Header header;
  header.good = bool(result);
  header.bytes = result ? result->size() : result.error().message.size();
  header.errorCode = result ? 0 : int32_t(result.error().code);
  writeAll(fd, &header, sizeof header);
  writeAll(fd, result ? static_cast<const void *>(result->data()) : result.error().message.data(),
           header.bytes);
  _exit(0);
}

enum class Read { Whole, Cut, Late };

/// Fills `out`; Cut: the writer is gone before that.
Read readAll(int fd, void *out, size_t bytes, Clock::time_point end) {
  auto *at = static_cast<char *>(out);
  while (bytes > 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{fd, POLLIN, 0};
    int ready = left > 0 ? poll(&waiting, 1, int(left)) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return Read::Late;
    ssize_t got = read(fd, at, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return Read::Cut;
    at += got;
    bytes -= size_t(got);
  }
  return Read::Whole;
}

/// How a child that sent no whole message ended; it is killed if it has not.
std::string reap(pid_t child, bool late) {
  if (late)
    kill(child, SIGKILL);
  int status = 0;
  pid_t got;
  do
    got = waitpid(child, &status, 0);
  while (got < 0 && errno == EINTR);
  if (late)
    return "took too long";
  if (got == child && WIFSIGNALED(status))
    return fmt::format("crashed ({})", strsignal(WTERMSIG(status)));
  return "crashed";
}

} // namespace

Result<Bytes> runIsolated(const std::string &what, std::chrono::milliseconds limit,
                          const std::function<Result<Bytes>()> &work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::Device, fmt::format("{}: no pipe: {}", what, std::strerror(errno))};
  auto end = Clock::now() + limit;
  pid_t child = fork();
  if (child == 0)
    runChild(ends[1], work);
  int error = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return Error{ErrorCode::Device, fmt::format("{}: no process: {}", what, std::strerror(error))};
  }
  Header header;
  Bytes bytes;
  Read read = readAll(ends[0], &header, sizeof header, end);
  if (read == Read::Whole) {
    bytes.resize(header.bytes);
    read = readAll(ends[0], bytes.data(), bytes.size(), end);
  }
  close(ends[0]);
  std::string ending = reap(child, read == Read::Late);
  if (read != Read::Whole)
    return Error{ErrorCode::Device, fmt::format("{} {}", what, ending)};
  if (!header.good)
    return Error{ErrorCode(header.errorCode), std::string(bytes.begin(), bytes.end())};
  return bytes;
}

} // namespace attune
