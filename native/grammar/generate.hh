// Trees drawn from a probabilistic grammar.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"
#include "util/views.hh"

namespace loglinear::grammar {

// Productions of each symbol with cumulative probabilities; first and second are symbols, second -1 for one child;
// first is -1 - word for a word.
struct Productions {
  std::span<const std::int64_t> ptr;  // [n_symbols + 1]
  std::span<const double> cumulative;
  std::span<const std::int32_t> first, second;
  void check() const;
};

struct GeneratedTrees {
  std::vector<std::int64_t> tree_ptr{0};
  std::vector<std::int32_t> symbol, word, size;
};

// Tree t of the same seed is the same for any number of threads. Throws InvalidInput for a tree of more than max_nodes
// nodes: to cut it would falsify expectations.
GeneratedTrees generate_trees(ThreadPool& pool, const Productions& productions, std::int32_t start, std::size_t n,
                              std::uint64_t seed, std::size_t max_nodes);

}  // namespace loglinear::grammar
