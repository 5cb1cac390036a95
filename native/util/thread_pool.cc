#include "util/thread_pool.hh"

#include <exception>
#include <string>

#include "util/errors.hh"

namespace loglinear {

ThreadPool::ThreadPool(int n_threads) {
  if (n_threads < 1 || n_threads > 1024)
    throw InvalidInput("n_threads must be between 1 and 1024, not " + std::to_string(n_threads));
  workers_.reserve(static_cast<std::size_t>(n_threads) - 1);
  try {
    for (int t = 1; t < n_threads; ++t) workers_.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // the system has no thread or memory left: results are the same with fewer
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::drain() {
  for (;;) {
    const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= n_chunks_ || failed_.load(std::memory_order_relaxed)) return;
    try {
      (*task_)(chunk);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_ || chunk < error_chunk_) {
        error_ = std::current_exception();
        error_chunk_ = chunk;
      }
      failed_.store(true, std::memory_order_relaxed);
    }
  }
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
    }
    drain();
    std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

void ThreadPool::run(std::size_t n_chunks, const std::function<void(std::size_t)>& task) {
  std::unique_lock<std::mutex> caller(caller_, std::defer_lock);
  if (workers_.empty() || n_chunks <= 1 || !caller.try_lock()) {
    for (std::size_t chunk = 0; chunk < n_chunks; ++chunk) task(chunk);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    n_chunks_ = n_chunks;
    next_.store(0, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed);
    error_ = nullptr;
    running_ = static_cast<int>(workers_.size());
    ++generation_;
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  task_ = nullptr;
  if (error_) {
    std::exception_ptr error = error_;
    error_ = nullptr;
    lock.unlock();
    std::rethrow_exception(error);
  }
}

}  // namespace loglinear
