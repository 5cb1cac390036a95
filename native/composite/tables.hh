// From the events of a text to features: equal rows of numbers joined, and the contexts and entries of events found.
//
// The tables are those of problem.hh, with the last symbol of every context: the contexts below one parent are sorted by
// it. All results are the same on any number of threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::composite {

// Rows of several columns, equal ones joined, in lexicographic order.
struct Groups {
  std::vector<std::uint32_t> example;  // [n_groups] the first row of the group
  std::vector<std::uint32_t> count;    // [n_groups]
  std::vector<std::uint32_t> number;   // [n_rows] the group of the row
};
Groups group_rows(ThreadPool& pool, std::span<const std::span<const std::uint32_t>> columns);

struct Table {
  std::span<const std::uint32_t> context_parent, context_symbol, context_entry, entry_word;

  // Throws InvalidInput where the arrays do not fit together.
  void check() const;
};

// The deepest context of every event: symbols [n_events][depth], -1 where the chain ends.
void find_leaves(ThreadPool& pool, const Table& table, std::span<const std::int32_t> symbols, std::size_t depth,
                 std::span<std::uint32_t> leaf);

// How often each entry is active: its context is that of an event, or above it, and its word follows.
void count_entries(ThreadPool& pool, const Table& table, std::span<const std::uint32_t> leaf,
                   std::span<const std::uint32_t> words, std::span<double> out);

// The sum of the weights of the entries of every event, and the depth of the deepest.
void score_entries(ThreadPool& pool, const Table& table, std::span<const std::uint32_t> leaf,
                   std::span<const std::uint32_t> words, std::span<const double> weights, std::span<double> score,
                   std::span<std::uint8_t> depth);

// out [n_events][n_back]: the numbers of the events first_back, first_back + 1, ... before each in its sentence;
// `begin` before the first event, if that is not negative, then -1.
void previous_symbols(ThreadPool& pool, std::span<const std::int32_t> numbers, std::span<const std::int64_t> event_ptr,
                      std::size_t first_back, std::size_t n_back, std::int32_t begin, std::span<std::int32_t> out);

}  // namespace loglinear::composite
