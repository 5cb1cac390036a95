// The weights that a part of the examples has, among those of the whole: ascending positions, kept as stretches of
// neighbours, so that values are copied and added block by block.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::linear {

class Subset {
 public:
  Subset(std::span<const std::int64_t> positions, std::int64_t n_whole);

  std::size_t size() const { return size_; }

  // part[i] = whole[positions[i]]
  void gather(ThreadPool& pool, std::span<const double> whole, std::span<double> part) const;
  // whole[positions[i]] += part[i]
  void add(ThreadPool& pool, std::span<const double> part, std::span<double> whole) const;

 private:
  struct Stretch {
    std::size_t whole, part, length;
  };
  void check(std::size_t part, std::size_t whole) const;
  template <class Body>
  void for_each(ThreadPool& pool, Body body) const;

  std::size_t size_, n_whole_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> chunks_;  // first stretches of pieces of about kVectorChunk values, and the end
};

}  // namespace loglinear::linear
