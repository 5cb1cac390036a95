// The n-gram trie of a corpus that is too large for memory.
//
// Pieces of the corpus are sorted as in trie/build.hh and their distinct n-grams written to one file as records
//
//     history, most recent word first, `<s>` repeated where it ends early [order - 1]; word; count
//
// one sorted run after the other. The runs are merged through buffers of a given size, the sums written to the levels
// of a trie (trie/writer.hh) whose columns are files, and the levels joined to the arrays of the result, one file each.
// The result is that of build_trie, to the bit, however the corpus was cut.
//
// Memory: 48 bytes per token of a piece; then the buffers, 16 bytes per word of the vocabulary and 64 KiB for each of
// 14 columns of each level.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trie/sort.hh"
#include "trie/writer.hh"
#include "util/disk_column.hh"
#include "util/thread_pool.hh"

namespace loglinear::trie {

class TrieRuns {
 public:
  // `folder` exists and has no files of the names used here; who made it removes it.
  TrieRuns(std::string folder, std::size_t n_words, std::size_t order);

  // Adds the sentences, in pieces of at most so many tokens.
  void add(ThreadPool& pool, const SentencesView& sentences, std::size_t piece_tokens);

  // Writes files named as the arrays of TrieArrays to the folder; nothing can be added afterwards.
  struct Starts {
    std::vector<std::int64_t> context_start, entry_start;
  };
  Starts finish(std::size_t buffer_bytes);

  std::size_t n_runs() const { return runs_.size(); }
  std::size_t n_tokens() const { return n_tokens_; }

 private:
  struct Run {
    std::uint64_t first;  // record
    std::uint64_t size;
  };
  using DiskLevel = TrieLevel<DiskColumn>;
  void add_piece(ThreadPool& pool, const Corpus& corpus);
  void write_run(const Corpus& corpus, std::span<const std::uint32_t> positions, std::span<const std::uint8_t> shared);
  void merge(std::span<DiskLevel> levels, std::size_t buffer_bytes);
  void join_entries(std::span<DiskLevel> levels, const Starts& all) const;
  void join_contexts(std::span<DiskLevel> levels, const Starts& all) const;

  std::string folder_;
  std::size_t n_words_, order_;
  ScratchFile file_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> word_counts_;  // [V]
  std::size_t n_tokens_ = 0;
  bool finished_ = false;
};

}  // namespace loglinear::trie
