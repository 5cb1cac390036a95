// Shapes and back-off models with the arrays they view, checked once and kept alive together.
#pragma once
#include "backoff/model.hh"
#include "bindings/arrays.hh"
#include "trie/build.hh"

namespace loglinear::bindings {

struct BoundShape {
  In<std::int64_t> context_start, entry_start;
  In<std::uint32_t> context_word, context_child, context_entry, entry_word;
  trie::TrieView shape;

  BoundShape(ThreadPool& pool, std::size_t n_words, In<std::int64_t> context_starts,
             In<std::int64_t> entry_starts, In<std::uint32_t> context_words, In<std::uint32_t> children,
             In<std::uint32_t> entries, In<std::uint32_t> entry_words)
      : context_start(std::move(context_starts)),
        entry_start(std::move(entry_starts)),
        context_word(std::move(context_words)),
        context_child(std::move(children)),
        context_entry(std::move(entries)),
        entry_word(std::move(entry_words)),
        shape{context_start.size() == 0 ? 0 : context_start.size() - 1, n_words, view(context_start), view(entry_start),
              view(context_word), view(context_child), view(context_entry), {}, view(entry_word), {}, {}} {
    nb::gil_scoped_release release;
    shape.check_backoff(pool);
  }
};

struct BoundBackoff {
  BoundShape& bound;
  In<double> log_backoff, log_probability;
  backoff::BackoffArrays model;

  BoundBackoff(ThreadPool& pool, BoundShape& of, In<double> backoffs, In<double> probabilities)
      : bound(of), log_backoff(std::move(backoffs)), log_probability(std::move(probabilities)),
        model{of.shape, view(log_backoff), view(log_probability)} {
    nb::gil_scoped_release release;
    model.check_values(pool);
  }
};

inline nb::tuple shape_arrays(trie::OwnedShape&& shape) {
  return nb::make_tuple(to_numpy(std::move(shape.context_start)), to_numpy(std::move(shape.entry_start)),
                        to_numpy(std::move(shape.context_word)), to_numpy(std::move(shape.context_child)),
                        to_numpy(std::move(shape.context_entry)), to_numpy(std::move(shape.entry_word)));
}

// The arrays of a trie as they go to Python, in the order of the fields of NgramTrie.
inline nb::tuple arrays_tuple(trie::TrieArrays&& trie) {
  return nb::make_tuple(to_numpy(std::move(trie.context_start)), to_numpy(std::move(trie.entry_start)),
                        to_numpy(std::move(trie.context_word)), to_numpy(std::move(trie.context_child)),
                        to_numpy(std::move(trie.context_entry)), to_numpy(std::move(trie.context_count)),
                        to_numpy(std::move(trie.entry_word)), to_numpy(std::move(trie.entry_parent)),
                        to_numpy(std::move(trie.entry_count)));
}

}  // namespace loglinear::bindings
