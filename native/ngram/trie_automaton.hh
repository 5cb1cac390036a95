// A model whose n-grams lie on a trie, straight to an automaton, in arrays of the caller: in memory or mapped.
//
// Of the n-grams of the trie some are kept, with their values; of the others nothing is lost, since backing off gives
// their values (n-grams of weight zero, n-grams that keep nothing of their counts). The arrays are those that
// build_automaton makes of the model without them (backoff/pruning.hh, select_entries): a context stays if it or a
// longer one has an n-gram that is kept, the n-gram that is the beginning of a context that stays is kept too, and a
// context is a state if it has n-grams or a back-off.
//
// Where an n-gram leads is found almost without a search: entries (h, w) of one order come in the order of h, and so do
// the contexts h w among those that end in w. Arrays are read and written from front to back, or from front to back for
// every word, so that they may be larger than memory. Memory beside them: n_contexts / 4 bytes, and 4 for each word and
// thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backoff/automaton.hh"
#include "trie/view.hh"
#include "util/ranked_bits.hh"
#include "util/thread_pool.hh"

namespace loglinear::ngram {

struct TrieValues {
  std::span<const double> log_probability;  // [n_entries]
  std::span<const double> log_backoff;      // [n_contexts]
};

class TrieAutomaton {
 public:
  // The trie needs parents of entries, but no counts; it is checked. keep [n_entries]: 1 for what is kept, to which
  // those are added that must be; links [entries below the highest order] is overwritten. All must outlive this object.
  // Throws InvalidInput for a trie that does not follow the layout, and for more slots than a file can number.
  TrieAutomaton(ThreadPool& pool, const trie::TrieView& trie, const TrieValues& values, std::span<std::uint8_t> keep,
                std::span<std::uint32_t> links);

  std::uint32_t begin() const { return begin_; }  // the state after <s>
  const std::vector<std::int64_t>& context_start() const { return context_start_; }
  std::size_t n_contexts() const { return static_cast<std::size_t>(context_start_.back()); }
  std::size_t n_slots() const { return n_slots_; }

  void write(ThreadPool& pool, std::span<backoff::AutomatonContext> contexts,
             std::span<backoff::AutomatonEntry> entries) const;

 private:
  struct Chunk {
    std::size_t begin, end;       // contexts
    std::uint64_t context, slot;  // of the result: first of the chunk
  };

  std::size_t start(std::size_t k) const { return static_cast<std::size_t>(trie_.context_start[k]); }
  std::uint64_t n_own(std::size_t c) const;
  std::uint32_t state_of(std::size_t k, std::size_t c) const;
  void check(ThreadPool& pool) const;
  void link(ThreadPool& pool);
  void link_contexts(std::size_t begin, std::size_t end);
  void close(ThreadPool& pool);
  void number(ThreadPool& pool);
  void lead(ThreadPool& pool);
  void write_chunk(std::size_t k, const Chunk& chunk, std::span<backoff::AutomatonContext> contexts,
                   std::span<backoff::AutomatonEntry> entries) const;

  trie::TrieView trie_;
  TrieValues values_;
  std::span<std::uint8_t> keep_;
  std::span<std::uint32_t> links_;  // the context of an entry's words, kNowhere for none; then the state it leads to
  RankedBits stays_, states_;       // contexts
  std::vector<std::vector<Chunk>> levels_;  // [order]
  std::vector<std::int64_t> context_start_;
  std::size_t n_slots_ = 0;
  std::uint32_t begin_ = 0;
};

}  // namespace loglinear::ngram
