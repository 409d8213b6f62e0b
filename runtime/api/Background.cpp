#include "runtime/api/Background.h"

namespace attune {

Background::~Background() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

Result<void> Background::start(const std::string &name, Job job) {
  std::lock_guard lock(mutex_);
  auto known = jobs_.find(name);
  if (known != jobs_.end()) {
    if (!known->second)
      return {};
    Error error = std::move(*known->second);
    jobs_.erase(known);
    return error;
  }
  jobs_[name];
  queue_.emplace_back(name, std::move(job));
  if (idle_ < queue_.size() && threads_.size() < most_)
    threads_.emplace_back([this] { work(); });
  changed_.notify_one();
  return {};
}

void Background::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    --idle_;
    if (ending_)
      return;
    auto [name, job] = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Result<void> done = job();
    job = nullptr; // what it holds goes without the lock
    lock.lock();
    if (done)
      jobs_.erase(name);
    else
      jobs_[name] = done.error();
  }
}

} // namespace attune
