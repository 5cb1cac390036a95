// What n-gram tries and back-off models share: contexts and entries without their values.
//
// src/loglinear/data/ngram.py describes the layout; here a context may have no entries and an entry no parent. A shape
// is checked once, where it comes in; everything below then trusts it: loops over parents end, searches stay inside.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::backoff {

inline constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;  // no context, no entry
inline constexpr std::size_t kHighestOrder =
    255;  // lengths are told in a byte; more means that the model is something else

struct NgramShape {
  std::size_t order = 0, n_words = 0;
  std::span<const std::int64_t> context_start;   // [order + 1]
  std::span<const std::int64_t> entry_start;     // [order + 1]
  std::span<const std::uint32_t> context_word;   // [n_contexts]
  std::span<const std::uint32_t> context_child;  // [n_contexts + 1]
  std::span<const std::uint32_t> context_entry;  // [n_contexts + 1]
  std::span<const std::uint32_t> entry_word;     // [n_entries]

  std::size_t n_contexts() const { return context_word.size(); }
  std::size_t n_entries() const { return entry_word.size(); }

  // Throws InvalidInput unless all of the layout holds, and <s> is only ever the oldest word of a context.
  void check(util::ThreadPool& pool) const;

  // The context with one older word, the entry of a word; kNowhere where there is none.
  std::uint32_t child(std::uint32_t context, std::uint32_t word) const;
  std::uint32_t entry(std::uint32_t context, std::uint32_t word) const;
  // The same for words that come in ascending order: the search begins at `from`, which moves to where it ended.
  std::uint32_t entry_after(std::uint32_t& from, std::uint32_t context, std::uint32_t word) const;

  // The context without its oldest word, of every context: [n_contexts]; kNowhere for the empty one.
  std::vector<std::uint32_t> parents() const;
};

struct OwnedShape {
  std::size_t order = 0, n_words = 0;
  std::vector<std::int64_t> context_start, entry_start;
  std::vector<std::uint32_t> context_word, context_child, context_entry, entry_word;

  operator NgramShape() const {
    return {order, n_words, context_start, entry_start, context_word, context_child, context_entry, entry_word};
  }
};

// A back-off model: a shape and natural logarithms (src/loglinear/base_models/backoff.py).
struct BackoffArrays {
  NgramShape shape;
  std::span<const double> log_backoff;      // [n_contexts]
  std::span<const double> log_probability;  // [n_entries]

  // The lengths, and that no value is NaN or plus infinity; the shape is checked by itself.
  void check_values(util::ThreadPool& pool) const;

  // log p(word | context) by backing off; `parents` are those of the shape.
  double log_p(std::uint32_t context, std::uint32_t word, std::span<const std::uint32_t> parents) const;
};

// body(begin, end) over the contexts of one length.
template <class Body>
void for_contexts(util::ThreadPool& pool, const NgramShape& shape, std::size_t length, Body body) {
  const auto first = static_cast<std::uint32_t>(shape.context_start[length]);
  const auto n = static_cast<std::size_t>(shape.context_start[length + 1]) - first;
  util::parallel_for(pool, n, 1 << 13, [&](std::size_t begin, std::size_t end) {
    body(first + static_cast<std::uint32_t>(begin), first + static_cast<std::uint32_t>(end));
  });
}

// All contexts and entries of either, of models over the same words.
OwnedShape unite(const NgramShape& a, const NgramShape& b);

// For each context of `shape` the longest context of `model` that it ends in: [shape.n_contexts].
std::vector<std::uint32_t> nearest_contexts(util::ThreadPool& pool, const NgramShape& model, const NgramShape& shape);

}  // namespace loglinear::backoff
