// One thread per watched piece of work; it sleeps until there is something to say.
#include "tools/attune/Progress.h"
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace attune::tool {

using namespace std::chrono_literals;

Progress::Progress(std::string what)
    : what_(std::move(what)), start_(std::chrono::steady_clock::now()),
      thread_([this] { watch(); }) {}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    finished_ = true;
  }
  done_.notify_one();
  thread_.join();
}

void Progress::note(std::string text) {
  std::lock_guard lock(mutex_);
  note_ = std::move(text);
}

double Progress::elapsedMs() const {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
      .count();
}

void Progress::watch() {
  bool terminal = isatty(STDERR_FILENO);
  bool said = false;
  std::unique_lock lock(mutex_);
  auto wait = 2000ms;
  while (!done_.wait_for(lock, wait, [this] { return finished_; })) {
    fmt::print(stderr, "{}attune: {}{}{} ({:.0f} s){}", terminal ? "\r\033[K" : "", what_,
               note_.empty() ? "" : ", ", note_, elapsedMs() / 1000, terminal ? "" : "\n");
    std::fflush(stderr);
    said = true;
    wait = terminal ? 500ms : 10000ms;
  }
  if (said && terminal)
    fmt::print(stderr, "\r\033[K");
}

} // namespace attune::tool
