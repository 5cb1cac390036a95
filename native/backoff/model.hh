// A back-off model as flat arrays (src/loglinear/backoff/model.py): a trie and natural logarithms.
//
//   log p(w | h) = log_probability(e)                        where h has an entry e for w
//   log p(w | h) = log_backoff(h) + log p(w | parent(h))     otherwise
#pragma once
#include <cstdint>
#include <span>

#include "trie/view.hh"

namespace loglinear::backoff {

struct BackoffArrays {
  trie::TrieView shape;
  std::span<const double> log_backoff;      // [n_contexts]
  std::span<const double> log_probability;  // [n_entries]

  // Throws InvalidInput unless the lengths fit and no value is NaN or plus infinity; the shape is checked by itself.
  void check_values(ThreadPool& pool) const;

  // log p(word | context) by backing off; `parents` are those of the shape.
  double log_p(std::uint32_t context, std::uint32_t word, std::span<const std::uint32_t> parents) const;
};

}  // namespace loglinear::backoff
