// What observers have learned of a text, kept with it from launch to launch: a launch of a few
// milliseconds would otherwise spend much of its watched time on learning the same again. An
// observer takes a note out when it is made and puts it back when it is gone, so a note has one
// user at a time.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace attune::sim {

class Note {
public:
  virtual ~Note() = default;
};

class Notes {
public:
  /// A note of type T for which fits(note) holds; null if there is none.
  template <class T, class Fits> std::unique_ptr<T> take(Fits fits) {
    std::lock_guard lock(mutex_);
    for (std::unique_ptr<Note> &kept : kept_)
      if (auto *note = dynamic_cast<T *>(kept.get()); note && fits(*note)) {
        std::swap(kept, kept_.back());
        static_cast<void>(kept_.back().release());
        kept_.pop_back();
        return std::unique_ptr<T>(note);
      }
    return nullptr;
  }
  /// The oldest goes when there are many: launches of ever new shapes must not add up.
  void keep(std::unique_ptr<Note> note) {
    std::lock_guard lock(mutex_);
    if (kept_.size() >= kMost)
      kept_.erase(kept_.begin());
    kept_.push_back(std::move(note));
  }

private:
  static constexpr size_t kMost = 64;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Note>> kept_;
};

} // namespace attune::sim
