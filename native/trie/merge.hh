// Sorted runs (trie/runs.hh) to a trie in mapped temporary files.
//
// The contexts are cut into ranges of most recent words, of similar numbers of records. Ranges are merged in parallel,
// their sums written to the levels of a trie (trie/writer.hh) whose columns are on disk, and the levels of all ranges
// joined to the arrays of the result. The result is that of build_trie, to the bit, however the corpus was cut.
//
// Numbers of contexts and entries, and counts, have 32 bits where those suffice, and otherwise 64. `Narrow` and `Wide`
// are those two types, or smaller ones in tests, so that numbers overflow early.
//
// Memory: the buffers, for each thread 128 KiB for each of 7 columns of each level, and 4 or 8 bytes per word. Disk: the
// runs, whose space is given back as they are read, and the result, with its longest array twice.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trie/runs.hh"
#include "trie/view.hh"
#include "disk/mapped.hh"
#include "disk/meter.hh"
#include "util/thread_pool.hh"

namespace loglinear::trie {

template <class Position>
struct MappedTrie {
  std::size_t order = 0, n_words = 0;
  std::vector<std::int64_t> context_start, entry_start;
  disk::MappedArray<std::uint32_t> context_word;
  disk::MappedArray<Position> context_child, context_entry, context_count;
  disk::MappedArray<std::uint32_t> entry_word;
  disk::MappedArray<Position> entry_parent, entry_count;

  static constexpr Position kNone = static_cast<Position>(-1);  // the parent of a unigram
  WideTrieView<Position> view() const {
    return {order,         n_words,    context_start, entry_start, context_word, context_child, context_entry,
            context_count, entry_word, entry_parent,  entry_count};
  }
};

struct MergeOptions {
  Range words{0, SIZE_MAX};         // most recent words of the contexts that are wanted; V is that of `<s>`
  std::size_t buffer_bytes = 1 << 26;
  bool consume = true;              // the runs are gone afterwards
  std::uint64_t most_narrow = 0xFFFFFFFEu;  // counts of levels above this have 64 bits
  disk::WorkMeter* meter = nullptr;       // counts records twice: when they are merged, and when they are joined
};

// All V unigrams are there, with the counts of the whole corpus, and the contexts of the range.
template <class Narrow = std::uint32_t, class Wide = std::uint64_t>
std::variant<MappedTrie<Narrow>, MappedTrie<Wide>> merge_runs(ThreadPool& pool, TrieRuns& runs,
                                                              const MergeOptions& options);

}  // namespace loglinear::trie
