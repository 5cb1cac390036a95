// Sorted runs: the n-grams of a corpus that is too large for memory, on disk.
//
// Pieces of the corpus are sorted as in trie/build.hh and their distinct n-grams written to one temporary file as records
//
//     history, most recent word first, `<s>` repeated where it ends early [order - 1]; word; count
//
// one sorted run after the other. trie/merge.hh makes a trie of them. Several workers can count parts of one corpus: each
// writes runs of its part; they exchange the records of ranges of contexts (`records` of one, `add_records` of another),
// where a range is one of most recent words of the history, and merge each the ranges that they were given.
//
// Memory: 48 bytes per token of a piece; 8 bytes per word of the vocabulary.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trie/sort.hh"
#include "disk/scratch.hh"
#include "util/thread_pool.hh"

namespace loglinear::disk {
class TokenSpool;
}

namespace loglinear::trie {

class TrieRuns {
 public:
  struct Run {
    std::uint64_t first;  // record
    std::uint64_t size;
  };

  TrieRuns(std::string folder, std::size_t n_words, std::size_t order);

  // Adds the sentences, in pieces of at most so many tokens.
  void add(ThreadPool& pool, const SentencesView& sentences, std::size_t piece_tokens);

  // Adds tokens [begin, end) of a spool, ends of sentences counted, of which numbers[u] is the word of unit u.
  void add(ThreadPool& pool, const disk::TokenSpool& spool, std::uint64_t begin, std::uint64_t end,
           std::span<const std::uint32_t> numbers, std::size_t piece_tokens);

  // Adds a run that was counted elsewhere: `records` [n][order + 1] as `records` returned them, checked; and the counts
  // of words of a corpus that was. A corpus has to be counted once, its records may come in any number of pieces.
  void add_records(std::span<const std::uint32_t> records);
  void add_words(std::span<const std::uint64_t> word_counts);

  // The n-grams whose history has its most recent word in [words.begin, words.end), from all runs, sorted, each once.
  // (An n-gram of more than 2^32 - 1 tokens is there several times.)
  std::vector<std::uint32_t> records(Range words) const;

  std::size_t order() const { return order_; }
  std::size_t n_words() const { return n_words_; }
  std::uint64_t n_tokens() const { return n_tokens_; }
  std::size_t record_size() const { return order_ + 1; }  // numbers
  std::span<const Run> runs() const { return runs_; }
  std::span<const std::uint64_t> word_counts() const { return word_counts_; }  // [V]
  // Records by the most recent word of the history: [V + 1], the last for `<s>`.
  std::span<const std::uint64_t> sizes() const { return sizes_; }
  const disk::ScratchFile& file() const { return file_; }

  // The part of a run whose histories have their most recent word in [words.begin, words.end).
  Run part(const Run& run, Range words) const;

 private:
  void add_piece(ThreadPool& pool, const Corpus& corpus);
  void write_run(ThreadPool& pool, const Corpus& corpus, Buckets& buckets, std::span<const BucketChunk> chunks,
                 std::span<const std::uint8_t> shared);
  std::uint64_t lower_bound(const Run& run, std::size_t word) const;
  std::uint64_t end() const { return runs_.empty() ? 0 : runs_.back().first + runs_.back().size; }

  std::size_t n_words_, order_;
  disk::ScratchFile file_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> word_counts_, sizes_;
  std::uint64_t n_tokens_ = 0;
};

// The records of one run, through a buffer.
class RunReader {
 public:
  RunReader(const disk::ScratchFile& file, TrieRuns::Run run, std::size_t record, std::size_t n_buffered, bool consume)
      : file_(file), next_(run.first), end_(run.first + run.size), record_(record), n_buffered_(n_buffered),
        consume_(consume) {
    load();
  }
  const std::uint32_t* record() const { return buffer_.data() + at_ * record_; }
  bool advance() {  // false at the end
    if (++at_ < n_loaded_) return true;
    return load();
  }

 private:
  bool load();

  const disk::ScratchFile& file_;
  std::uint64_t next_, end_;
  std::size_t record_, n_buffered_;
  bool consume_;  // what was read is taken off the disk
  std::size_t at_ = 0, n_loaded_ = 0;
  std::vector<std::uint32_t> buffer_;
};

// use(record, count) for each distinct n-gram of all readers, in order; none of them may be empty.
template <class Use>
void merge_records(std::vector<RunReader>& readers, std::size_t order, Use use) {
  const auto after = [&](const RunReader* a, const RunReader* b) {
    return std::lexicographical_compare(b->record(), b->record() + order, a->record(), a->record() + order);
  };
  std::vector<RunReader*> heap;
  for (RunReader& reader : readers) heap.push_back(&reader);
  std::make_heap(heap.begin(), heap.end(), after);
  std::vector<std::uint32_t> current(order);
  std::uint64_t count = 0;
  while (!heap.empty()) {
    RunReader* const least = heap.front();
    const std::uint32_t* const record = least->record();
    if (count == 0 || !std::equal(current.begin(), current.end(), record)) {
      if (count > 0) use(current.data(), count);
      std::copy_n(record, order, current.begin());
      count = 0;
    }
    count += record[order];
    if (heap.size() == 1) {
      if (!least->advance()) heap.pop_back();
      continue;
    }
    std::pop_heap(heap.begin(), heap.end(), after);
    if (least->advance()) std::push_heap(heap.begin(), heap.end(), after);
    else heap.pop_back();
  }
  if (count > 0) use(current.data(), count);
}

}  // namespace loglinear::trie
