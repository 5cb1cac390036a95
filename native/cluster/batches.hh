// One pass of an exchange over all words, in batches: see exchange.hh.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::cluster {

inline constexpr std::size_t kChunks = 16;          // of a batch
inline constexpr std::size_t kBatchWork = 1 << 19;  // terms g(x) that a batch takes: about half a millisecond
inline constexpr std::size_t kBatchWords = 256;     // so that few words decide in a state that others have left
inline constexpr double kLeastGain = 1e-5;          // below it, rounding could have made the gain

// work(word): terms to take; best(word, chunk): the class to move to, found in parallel; move(word, class): whether it
// moved. Returns how many did.
template <class Work, class Best, class Move>
std::size_t visit(ThreadPool& pool, const std::vector<std::uint32_t>& order, Work work, Best best, Move move) {
  std::vector<std::uint32_t> found;
  std::size_t n_moved = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::size_t total = 0;
    for (; end < order.size() && end - begin < kBatchWords && total < kBatchWork; ++end) total += work(order[end]);
    found.resize(end - begin);
    pool.run(std::min(kChunks, found.size()), [&](std::size_t chunk) {  // by turns: words of like counts, like work
      for (std::size_t i = chunk; i < found.size(); i += kChunks) found[i] = best(order[begin + i], chunk);
    });
    for (std::size_t i = 0; i < found.size(); ++i) n_moved += move(order[begin + i], found[i]);
  }
  return n_moved;
}

}  // namespace loglinear::cluster
