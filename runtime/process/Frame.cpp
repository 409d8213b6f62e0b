#include "runtime/process/Frame.h"
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace attune {
namespace {

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes.remove_prefix(size_t(written));
  }
  return true;
}

bool readAll(int file, char *to, uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t got = read(file, to, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to += got, bytes -= uint64_t(got);
  }
  return true;
}

} // namespace

std::string frameHead(uint64_t bytes) {
  return {reinterpret_cast<const char *>(&bytes), sizeof(bytes)};
}

bool sendFrame(int file, std::string_view bytes) {
  return writeAll(file, frameHead(bytes.size())) && writeAll(file, bytes);
}

std::optional<std::string> receiveFrame(int file) {
  uint64_t bytes = 0;
  if (!readAll(file, reinterpret_cast<char *>(&bytes), sizeof(bytes)) || bytes > mostFrameBytes)
    return std::nullopt;
  std::string frame(bytes, '\0');
  return readAll(file, frame.data(), bytes) ? std::optional(std::move(frame)) : std::nullopt;
}

void serveFrames(const std::function<std::string(std::string_view request)> &answer) {
  std::signal(SIGPIPE, SIG_IGN);
  const int answers = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  while (auto request = receiveFrame(STDIN_FILENO))
    if (!sendFrame(answers, answer(*request)))
      break;
  close(answers);
}

} // namespace attune
