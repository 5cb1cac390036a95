// Scratch memory that chunks of work reuse: as many pieces exist as were in use at once.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace loglinear {

template <class T>
class Reused {
 public:
  template <class Make>
  std::unique_ptr<T> take(Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> piece = std::move(free_.back());
        free_.pop_back();
        return piece;
      }
    }
    return make();
  }
  void give(std::unique_ptr<T> piece) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(piece));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace loglinear
