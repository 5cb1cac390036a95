// A fixed set of threads that run numbered chunks of work.
//
// Reproducible by construction: work is cut into chunks by size, never by who is free; every chunk writes its own
// output or its own partial sum, and partial sums are added in chunk order. Where the cut does not depend on the number
// of threads (ChunkSum, the partitions of matrices) even 1 and N threads agree to the bit.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace loglinear {

class ThreadPool {
 public:
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(chunk) for every chunk in [0, n_chunks) and returns when all are done. An exception thrown by a chunk is
  // rethrown here (the one of the lowest chunk that threw); remaining chunks are skipped. While one caller's chunks
  // run, a second caller runs its own on its own thread: same chunks, same result.
  void run(std::size_t n_chunks, const std::function<void(std::size_t)>& task);

 private:
  void work();
  void drain();

  std::vector<std::thread> workers_;
  std::mutex mutex_;            // guards everything below but the atomics
  std::mutex caller_;           // held by the caller whose job the workers see
  std::condition_variable wake_, done_;
  std::uint64_t generation_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t n_chunks_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  std::size_t error_chunk_ = 0;
};

// Chunk [begin, end) number `chunk` of `n` items cut into pieces of `size`.
struct Range {
  std::size_t begin, end;
};
inline std::size_t chunk_count(std::size_t n, std::size_t size) { return (n + size - 1) / size; }
inline Range chunk_range(std::size_t n, std::size_t size, std::size_t chunk) {
  const std::size_t begin = chunk * size;
  return {begin, begin + size < n ? begin + size : n};
}

inline constexpr std::size_t kVectorChunk = 1 << 15;  // doubles: 256 KiB, half of a small second-level cache

// body(begin, end) over [0, n) in pieces of `size`.
template <class Body>
void parallel_for(ThreadPool& pool, std::size_t n, std::size_t size, Body body) {
  if (n == 0) return;
  pool.run(chunk_count(n, size), [&](std::size_t chunk) {
    const Range r = chunk_range(n, size, chunk);
    body(r.begin, r.end);
  });
}

// Sum of body(begin, end) over pieces, added in order: the same bits on any number of threads.
template <class Body>
double parallel_sum(ThreadPool& pool, std::size_t n, std::size_t size, Body body) {
  if (n == 0) return 0.0;
  std::vector<double> partial(chunk_count(n, size));
  pool.run(partial.size(), [&](std::size_t chunk) {
    const Range r = chunk_range(n, size, chunk);
    partial[chunk] = body(r.begin, r.end);
  });
  double total = 0.0;
  for (double p : partial) total += p;
  return total;
}

}  // namespace loglinear
