// A back-off model as an automaton: states are contexts; a word of a text is an arc, after as many back-off arcs as it
// takes to find one.
//
//     log p(w | c) = log_probability(e), and the next state is next(e)      where c has an entry e for w
//     log p(w | c) = log_backoff(c) + log p(w | parent(c))                  otherwise
//
// parent(c) is the longest context that c ends in, next(e) the longest one that the words of e end in. The empty
// context, number 0, has an entry for every word. Values are natural logarithms in single precision: 16 bytes per
// context and 12 per slot of an entry, in two arrays that can be mapped from a file. As in Heafield, "KenLM: Faster and
// Smaller Language Model Queries", 2011, section 4.1, a context without entries and without a back-off is no state.
//
// The entries of the empty context are indexed by word. Those of a context with at most kListed slots are sorted by
// word; those of a larger one are a hash table with linear probing, a third of it blank. Words are compared, not hashes
// of n-grams, so an entry that is found is always the right one.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backoff/model.hh"
#include "util/thread_pool.hh"

namespace loglinear::backoff {

struct AutomatonContext {
  std::uint32_t first, size;  // its slots
  std::uint32_t parent;       // has a smaller number and is shorter; 0 for the empty context
  float log_backoff;
};
struct AutomatonEntry {
  std::uint32_t word;  // kBlank where a slot of a table is empty
  float log_probability;
  std::uint32_t next;
};
static_assert(sizeof(AutomatonContext) == 16 && sizeof(AutomatonEntry) == 12);

inline constexpr std::uint32_t kBlank = 0xFFFFFFFFu;
inline constexpr std::uint32_t kListed = 8;  // slots that are scanned: a cache line and a half

// Where the search for a word begins in a table of `size` slots.
inline std::uint32_t table_slot(std::uint32_t word, std::uint32_t size) {
  const std::uint32_t hash = word * 0x9E3779B1u;
  return static_cast<std::uint32_t>(std::uint64_t{hash} * size >> 32);
}

inline constexpr unsigned kBlockBits = 12;  // contexts are checked in blocks of 4096

// Which blocks of contexts, with their entries, have been checked.
struct CheckedBlocks {
  explicit CheckedBlocks(std::size_t n_contexts) : done((n_contexts >> kBlockBits) + 1) {}
  mutable std::vector<std::atomic<std::uint8_t>> done;
};

// A view of caller-owned arrays. They may come from a file of a stranger: either all of them are checked at once, or,
// with `blocks`, what is read when the automaton is made, and every block of contexts before it is used for the first
// time. Kernels that come to a context by an arc or a state call `enter`, and trust what they find there.
struct BackoffAutomaton {
  std::size_t n_words = 0;
  std::uint32_t begin = 0;                      // the state after <s>
  std::span<const std::int64_t> context_start;  // [order + 1] contexts of length k: context_start[k], ...
  std::span<const AutomatonContext> contexts;
  std::span<const AutomatonEntry> entries;
  const CheckedBlocks* blocks = nullptr;  // null: everything has been checked

  std::size_t order() const { return context_start.size() - 1; }

  // Throws InvalidInput unless every number is in range, every search and every walk to parents ends, and every entry
  // is found where a search looks for it.
  void check(ThreadPool& pool) const;
  // The same for what is not in a block: the sizes, and the empty context, which has every word.
  void check_frame() const;
  // The same for the block of a context, which exists.
  void enter(std::uint32_t context) const {
    if (blocks && !blocks->done[context >> kBlockBits].load(std::memory_order_relaxed)) check_block(context);
  }
  void check_block(std::uint32_t context) const;

  // The slot where the search for a word begins.
  const AutomatonEntry* seek(std::uint32_t context, std::uint32_t word) const {
    if (context == 0) return &entries[word];
    const AutomatonContext& c = contexts[context];
    return entries.data() + c.first + (c.size <= kListed ? 0 : table_slot(word, c.size));
  }

  // The entry of a word, searched from where `seek` said; null where the context has none.
  const AutomatonEntry* find(std::uint32_t context, std::uint32_t word, const AutomatonEntry* at) const {
    if (context == 0) return at;
    const AutomatonContext& c = contexts[context];
    const AutomatonEntry* const end = entries.data() + c.first + c.size;
    if (c.size <= kListed) {
      while (at < end && at->word < word) ++at;
      return at < end && at->word == word ? at : nullptr;
    }
    while (at->word != word) {
      if (at->word == kBlank) return nullptr;
      if (++at == end) at = entries.data() + c.first;
    }
    return at;
  }

  // Number of words of a context.
  std::size_t length(std::uint32_t context) const {
    std::size_t k = 0;
    while (k + 1 < order() && context >= context_start[k + 1]) ++k;
    return k;
  }

  struct Step {
    double log_probability;
    std::uint32_t next;
    std::uint32_t context;  // whose entry it was
  };
  Step step(std::uint32_t context, std::uint32_t word) const {
    double log_backoff = 0.0;
    enter(context);
    for (;;) {
      __builtin_prefetch(&contexts[contexts[context].parent]);  // where the word is not found it is needed next
      if (const AutomatonEntry* e = find(context, word, seek(context, word)))
        return {log_backoff + e->log_probability, e->next, context};
      log_backoff += contexts[context].log_backoff;
      enter(context = contexts[context].parent);
    }
  }
};

struct OwnedAutomaton {
  std::size_t n_words = 0;
  std::uint32_t begin = 0;
  std::vector<std::int64_t> context_start;
  std::vector<AutomatonContext> contexts;
  std::vector<AutomatonEntry> entries;

  operator BackoffAutomaton() const { return {n_words, begin, context_start, contexts, entries, nullptr}; }
};

// The automaton of a checked model. An n-gram that is the beginning of a longer context but has no entry gets
// one, with the probability that backing off gives.
OwnedAutomaton build_automaton(ThreadPool& pool, const BackoffArrays& model);

}  // namespace loglinear::backoff
