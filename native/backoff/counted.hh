// A counted model straight from a trie in mapped files to an automaton in mapped files, order by order.
//
// The values are those of smooth (smoothing.hh, interpolated) and the arrays those of build_automaton (automaton.hh), to
// the bit; n-grams with at most `cut` tokens are left out. No array is read at random: contexts, entries and their
// parents come one after the other. Where an entry leads is known without a search: entries (h, w) of one order come in
// the order of h, and so do the contexts h w among those that end in w, and every word but </s> that occurs is followed by
// another token. So the next of the contexts that end in w is always the one.
//
// Memory: 16 bytes per word, a few megabytes for each thread, and where something is left out n_contexts / 7 bytes. Disk:
// the result, and the probabilities (8 bytes) and arcs (4 bytes) of the entries of two orders below the highest. With
// `consume`, the trie is given back to the disk as it is used.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backoff/automaton.hh"
#include "backoff/smoothing.hh"
#include "disk/mapped.hh"
#include "disk/meter.hh"
#include "trie/merge.hh"
#include "util/thread_pool.hh"

namespace loglinear::backoff {

struct MappedAutomaton {
  std::size_t n_words = 0;
  std::uint32_t begin = 0;
  std::vector<std::int64_t> context_start;
  std::vector<std::int64_t> n_ngrams;  // [order]
  disk::MappedArray<AutomatonContext> contexts;
  disk::MappedArray<AutomatonEntry> entries;

  operator BackoffAutomaton() const { return {n_words, begin, context_start, contexts, entries}; }
};

struct CountedOptions {
  std::string folder;
  bool consume = false;
  disk::WorkMeter* meter = nullptr;  // counts entries
};

// `adjusted` counts as for smooth. The trie must be that of a text, all its n-grams included; others are refused.
template <class Position>
MappedAutomaton build_counted(ThreadPool& pool, trie::MappedTrie<Position>& trie,
                              disk::MappedArray<Position>& adjusted, std::span<const OrderSmoothing> orders,
                              const CountedOptions& options);

}  // namespace loglinear::backoff
