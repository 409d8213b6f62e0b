// One loop over poll.
#include "tools/attune/AotWorkers.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace attune::tool {

namespace {

constexpr int watchMs = 100; // how often memory is looked at
constexpr uint64_t mostFrameBytes = uint64_t(1) << 32;

std::string frameHead(uint64_t bytes) {
  return {reinterpret_cast<const char *>(&bytes), sizeof(bytes)};
}

bool sendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    bytes.remove_prefix(size_t(sent));
  }
  return true;
}

/// Resident bytes of a process; 0 if it is gone.
uint64_t residentBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return file ? resident * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

class Worker {
public:
  Worker() = default;
  Worker(Worker &&) = delete;
  ~Worker() { stop(); }

  /// Starts the process if there is none.
  Result<void> start(const std::vector<std::string> &command) {
    if (pid_ > 0)
      return {};
    std::array<int, 2> pair;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
      return Error{ErrorCode::Io, fmt::format("a worker's socket: {}", std::strerror(errno))};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO);
    std::vector<char *> arguments;
    for (const std::string &word : command)
      arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    const int failed =
        posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    socket_ = pair[0];
    if (failed == 0)
      return {};
    pid_ = -1;
    stop();
    return Error{ErrorCode::Io, fmt::format("{}: {}", command[0], std::strerror(failed))};
  }

  /// A worker that is gone is noticed when its answer is waited for.
  void give(size_t request, std::string_view bytes) {
    request_ = request;
    (void)sendFrame(socket_, bytes);
  }

  bool busy() const { return request_.has_value(); }
  size_t request() const { return *request_; }
  int socket() const { return socket_; }
  uint64_t memory() const { return pid_ > 0 ? residentBytes(pid_) : 0; }
  void killFor(std::string reason) {
    reason_ = std::move(reason);
    kill(pid_, SIGKILL);
  }

  /// After poll said so. The answer, or how the process ended; nothing while more is to come.
  std::optional<Result<std::string>> receive() {
    std::array<char, 65536> chunk;
    const ssize_t got = recv(socket_, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      return std::nullopt;
    if (got <= 0) {
      request_.reset();
      return Result<std::string>(Error{ErrorCode::Internal, stop()});
    }
    received_.append(chunk.data(), size_t(got));
    uint64_t bytes = 0;
    if (received_.size() < sizeof(bytes))
      return std::nullopt;
    std::memcpy(&bytes, received_.data(), sizeof(bytes));
    if (received_.size() - sizeof(bytes) < bytes)
      return std::nullopt;
    Result<std::string> answer = received_.substr(sizeof(bytes));
    received_.clear();
    request_.reset();
    return answer;
  }

  /// Ends the process, and says how it ended.
  std::string stop() {
    if (socket_ >= 0)
      close(socket_); // an idle worker ends at the end of its input
    socket_ = -1;
    received_.clear();
    if (pid_ <= 0)
      return "";
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (!reason_.empty())
      return std::exchange(reason_, "");
    if (WIFSIGNALED(status))
      return fmt::format("the compiler was stopped by signal {} ({})", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    return fmt::format("the worker ended with code {} and no answer", WEXITSTATUS(status));
  }

private:
  pid_t pid_ = -1;
  int socket_ = -1;
  std::optional<size_t> request_;
  std::string received_, reason_;
};

void watchMemory(Worker &worker, uint64_t limit) {
  if (limit > 0 && worker.busy() && worker.memory() > 2 * limit)
    worker.killFor(fmt::format("it needed more than {} MiB, twice what --worker-memory allows",
                               2 * limit >> 20));
}

uint64_t numberIn(const std::string &path, std::string_view key) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (key.empty() || word == key) {
      uint64_t value = 0;
      if (key.empty())
        return std::strtoull(word.c_str(), nullptr, 10);
      file >> value;
      return value;
    }
  return 0;
}

/// What the control group of this process may still use; 0 if it has no limit.
uint64_t groupMemory() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) {
      const std::string folder = "/sys/fs/cgroup" + line.substr(3);
      const uint64_t most = numberIn(folder + "/memory.max", "");
      return most - std::min(most, numberIn(folder + "/memory.current", ""));
    }
  return 0;
}

} // namespace

bool sendFrame(int socket, std::string_view bytes) {
  return sendAll(socket, frameHead(bytes.size())) && sendAll(socket, bytes);
}

std::optional<std::string> receiveFrame(int socket) {
  auto readAll = [&](char *to, uint64_t bytes) {
    while (bytes > 0) {
      const ssize_t got = read(socket, to, bytes);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      to += got, bytes -= uint64_t(got);
    }
    return true;
  };
  uint64_t bytes = 0;
  if (!readAll(reinterpret_cast<char *>(&bytes), sizeof(bytes)) || bytes > mostFrameBytes)
    return std::nullopt;
  std::string frame(bytes, '\0');
  return readAll(frame.data(), bytes) ? std::optional(std::move(frame)) : std::nullopt;
}

size_t workersThatFit(uint64_t memoryBytes) {
  uint64_t memory = numberIn("/proc/meminfo", "MemAvailable:") << 10;
  if (const uint64_t group = groupMemory())
    memory = std::min(memory, group);
  const uint64_t fitting = memoryBytes > 0 && memory > 0 ? memory / memoryBytes : 1;
  return std::clamp<uint64_t>(fitting, 1, std::max(1u, std::thread::hardware_concurrency()));
}

Result<void> runWorkers(const std::vector<std::string> &requests, const WorkersOptions &options,
                        const std::function<void(size_t, Result<std::string>)> &done) {
  std::vector<Worker> workers(
      std::clamp<size_t>(options.workers, 1, std::max<size_t>(1, requests.size())));
  size_t next = 0, answered = 0;
  while (answered < requests.size()) {
    std::vector<pollfd> sockets;
    std::vector<Worker *> waiting;
    for (Worker &worker : workers) {
      if (!worker.busy() && next < requests.size()) {
        if (auto ok = worker.start(options.command); !ok)
          return ok;
        worker.give(next, requests[next]);
        ++next;
      }
      if (worker.busy()) {
        sockets.push_back({worker.socket(), POLLIN, 0});
        waiting.push_back(&worker);
      }
    }
    (void)poll(sockets.data(), nfds_t(sockets.size()), watchMs); // EINTR: nothing is ready
    for (size_t i = 0; i < waiting.size(); ++i) {
      const size_t request = waiting[i]->request();
      if (sockets[i].revents == 0) {
        watchMemory(*waiting[i], options.memoryBytes);
        continue;
      }
      if (auto answer = waiting[i]->receive()) {
        ++answered;
        if (options.memoryBytes > 0 && waiting[i]->memory() > options.memoryBytes)
          (void)waiting[i]->stop();
        done(request, std::move(*answer));
      }
    }
  }
  return {};
}

} // namespace attune::tool
