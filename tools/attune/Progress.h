// A sign of life for work that takes long: nothing for the first two seconds, then a line on stderr
// that says what is being done and for how long, rewritten in place on a terminal and repeated
// every ten seconds elsewhere.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace attune::tool {

class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  /// A note behind the text, such as "3 of 14".
  void note(std::string text);
  double elapsedMs() const;

private:
  void watch();
  std::string what_, note_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool finished_ = false;
  std::thread thread_;
};

} // namespace attune::tool
