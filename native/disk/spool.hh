// The tokens of a text in a temporary file, numbered by first occurrence, and the table of its distinct units.
//
// A text is added part by part, each as tokenise_corpus gave it. Its vocabulary is chosen when all of it is known; the
// tokens are then read again in pieces, in the numbers of the vocabulary. Memory: the table, about 60 bytes per unit.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trie/sort.hh"
#include "util/interner.hh"
#include "disk/scratch.hh"
#include "util/thread_pool.hh"

namespace loglinear::disk {

// The distinct units of a part, by first occurrence; see TokenisedCorpus.
struct UnitsView {
  Strings units;
  std::span<const std::int64_t> counts;
  std::span<const std::int32_t> first_text;
  std::span<const std::int64_t> first_line;
};

class TokenSpool {
 public:
  explicit TokenSpool(std::string folder) : file_(std::move(folder)) {}

  // Throws InvalidInput for arrays that do not fit together. `tokens` are overwritten.
  void add(ThreadPool& pool, std::span<std::uint32_t> tokens, std::span<const std::int64_t> sentence_ptr,
           const UnitsView& part);

  std::uint64_t n_tokens() const { return n_tokens_; }
  std::uint64_t n_sentences() const { return n_sentences_; }
  std::uint64_t n_predicted() const { return n_tokens_ + n_sentences_; }  // words and ends of sentences
  std::uint64_t longest() const { return longest_; }                      // tokens of the longest sentence

  const PackedStrings& units() const { return units_.strings(); }
  const std::vector<std::int64_t>& counts() const { return counts_; }
  const std::vector<std::int32_t>& first_text() const { return first_text_; }
  const std::vector<std::int64_t>& first_line() const { return first_line_; }
  void forget_units();  // frees the table; nothing can be added afterwards

  // Tokens [begin, end), ends of sentences counted, in the numbers given for the units, with as much history before
  // them as an n-gram of the order reaches. Throws InvalidInput for a number of V = n_words or more.
  trie::Corpus piece(ThreadPool& pool, std::uint64_t begin, std::uint64_t end, std::span<const std::uint32_t> numbers,
                     std::size_t n_words, std::size_t order) const;

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;  // after each sentence
  ScratchFile file_;
  Interner units_;
  std::vector<std::int64_t> counts_, first_line_;
  std::vector<std::int32_t> first_text_;
  std::uint64_t n_tokens_ = 0, n_sentences_ = 0, longest_ = 0;
  std::size_t n_units_ = 0;
};

}  // namespace loglinear::disk
