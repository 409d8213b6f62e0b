// Jobs that run beside the caller, each named: asking for a name that is queued or running starts
// nothing. A job's error is kept until it has been told once.
//
// A few threads, started when there is work. The end drops what has not begun and waits for the
// rest.
#pragma once
#include "runtime/abi/Result.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace attune {

class Background {
public:
  using Job = std::function<Result<void>()>;

  explicit Background(size_t threads) : most_(threads) {}
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;
  ~Background();

  /// Starts `job` unless one of its name is on its way. Errors: of the last job of this name, once;
  /// then nothing is started.
  Result<void> start(const std::string &name, Job job);

private:
  void work();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, Job>> queue_;
  std::map<std::string, std::optional<Error>> jobs_; ///< an error: the job is over and failed
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};

} // namespace attune
