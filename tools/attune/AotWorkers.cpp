// One loop over poll.
#include "tools/attune/AotWorkers.h"
#include "runtime/abi/Environment.h"
#include "runtime/process/Child.h"
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace attune::tool {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int watchMs = 100; // how often memory and time are looked at

/// Resident bytes of a process; 0 if it is gone.
uint64_t residentBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return file ? resident * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

struct Worker {
  std::optional<Child> child;
  size_t request = 0; ///< that it is at, while the child is busy
  Clock::time_point start;

  bool busy() const { return child && child->busy(); }
  uint64_t memory() const { return child ? residentBytes(child->pid()) : 0; }

  Result<void> give(const std::vector<std::string> &command, size_t number,
                    const std::string &bytes) {
    if (!child) {
      Result<Child> started = Child::start(command);
      if (!started)
        return started.error();
      child = std::move(*started);
    }
    child->ask(bytes);
    request = number;
    start = Clock::now();
    return {};
  }

  void watch(const WorkersOptions &options) {
    if (options.memoryBytes > 0 && memory() > 2 * options.memoryBytes)
      child->kill(fmt::format("needed more than {} MiB, twice what --worker-memory allows",
                              2 * options.memoryBytes >> 20));
    else if (Clock::now() - start > options.time)
      child->kill(fmt::format("took longer than {} s, which {} sets",
                              double(options.time.count()) / 1000,
                              nameOf(Variable::ATTUNE_COMPILE_TIMEOUT)));
  }

  /// The answer, if it is there. A worker that ended, or has grown too large, makes room.
  std::optional<Result<std::string>> answer(const WorkersOptions &options) {
    auto answer = child->answer();
    if (!answer)
      watch(options);
    else if (!*answer) {
      answer = Error{ErrorCode::Internal,
                     fmt::format("the compiler's process {}", answer->error().message)};
      child.reset();
    } else if (options.memoryBytes > 0 && memory() > options.memoryBytes)
      child.reset();
    return answer;
  }
};

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
    std::vector<pollfd> files;
    for (Worker &worker : workers) {
      if (!worker.busy() && next < requests.size()) {
        if (auto ok = worker.give(options.command, next, requests[next]); !ok)
          return ok;
        ++next;
      }
      if (worker.busy())
        worker.child->watch(files);
    }
    (void)poll(files.data(), nfds_t(files.size()), watchMs); // EINTR: nothing is ready
    for (Worker &worker : workers) {
      if (!worker.busy())
        continue;
      const size_t request = worker.request;
      if (auto answer = worker.answer(options)) {
        ++answered;
        done(request, std::move(*answer));
      }
    }
  }
  return {};
}

} // namespace attune::tool
