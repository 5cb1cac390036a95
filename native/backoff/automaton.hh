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
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backoff/model.hh"
#include "disk/open_file.hh"
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

// How many slots the entries of a context take.
inline std::uint64_t slots_of(bool is_empty_context, std::uint64_t n_entries) {
  return is_empty_context || n_entries <= kListed ? n_entries : n_entries + n_entries / 2 + 1;
}

// Writes the entries of a context, which come in the order of their words, to its slots.
class SlotWriter {
 public:
  SlotWriter(AutomatonEntry* slots, std::uint64_t size, bool is_empty_context)
      : slots_(slots), size_(static_cast<std::uint32_t>(size)), listed_(is_empty_context || size <= kListed) {
    if (!listed_) std::fill(slots, slots + size, AutomatonEntry{kBlank, 0.0f, 0});
  }
  void add(const AutomatonEntry& entry) {
    if (listed_) {
      *slots_++ = entry;
      return;
    }
    std::uint32_t at = table_slot(entry.word, size_);
    while (slots_[at].word != kBlank) at = at + 1 == size_ ? 0 : at + 1;
    slots_[at] = entry;
  }

 private:
  AutomatonEntry* slots_;
  std::uint32_t size_;
  bool listed_;
};

// Automata of files are checked block by block, and read block by block, before a block is used for the first time.
//
// A block is kContextsInBlock contexts and their entries. Where a file is given, the arrays of the automaton are empty
// memory, and a block is read into its place; nobody writes there again, so that what was checked stays as it is,
// whatever happens to the file. Blocks may be entered by many threads.
struct BackoffAutomaton;

inline constexpr unsigned kBlockBits = 12;
inline constexpr std::size_t kContextsInBlock = std::size_t{1} << kBlockBits;

// Where the arrays of an automaton are in a file, and the memory that they are to be read to.
struct StoredAutomaton {
  const disk::OpenFile* file;
  std::uint64_t contexts_at, entries_at;
  AutomatonContext* contexts;
  AutomatonEntry* entries;
};

class CheckedBlocks {
 public:
  // Reads the empty context with its entries, if the arrays are in a file. Throws InvalidInput for a faulty file, as all
  // do here.
  CheckedBlocks(const BackoffAutomaton& automaton, const StoredAutomaton* stored);

  bool done(std::size_t block) const { return done_[block].load(std::memory_order_acquire) != 0; }
  void enter(const BackoffAutomaton& automaton, std::size_t block) const;
  std::size_t size() const { return done_.size(); }

 private:
  void read_and_check(const BackoffAutomaton& automaton, std::uint32_t first, std::uint32_t last) const;
  void claim(std::uint64_t begin, std::uint64_t end) const;
  void release(std::uint64_t begin, std::uint64_t end) const;

  const StoredAutomaton* stored_;
  mutable std::vector<std::atomic<std::uint8_t>> done_;
  mutable std::array<std::mutex, 16> locks_;
  // The slots that blocks have, by the first one: no two blocks of a file, whatever it holds, are read to one place.
  mutable std::mutex claims_lock_;
  mutable std::map<std::uint64_t, std::uint64_t> claims_;
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
    if (blocks && !blocks->done(context >> kBlockBits)) blocks->enter(*this, context >> kBlockBits);
  }
  // The same for contexts [first, last), where the slots of the next one begin at `end`.
  void check_contexts(std::uint32_t first, std::uint32_t last, std::uint64_t end) const;

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
