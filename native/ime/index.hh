// A lexicon and a back-off automaton, joined for conversion: the entries of every context sorted by the readings of
// their words, so that the entries which fit a place of a text are a few short runs.
//
// Weights are logarithms of probabilities on a grid of 2^-28, kept in single precision. Sums of up to 2^25 are then
// exact in double precision whatever the order of summation: estimates are met, and equal scores are equal to the bit.
// What is impossible in the model weighs kImpossible, as in ARPA files, so that every reading has a conversion; nothing
// weighs more than its inverse.
//
// `follows` says with which characters the readings of a context's entries begin, one bit for each class of characters:
// a context without the bit of the next character behaves as its parent does, which is known without a look at it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backoff/automaton.hh"
#include "ime/lexicon.hh"
#include "util/thread_pool.hh"

namespace loglinear::ime {

static_assert(kNoWord == backoff::kBlank);

inline constexpr double kImpossible = -227.95592420641054;  // log 10^-99

// A word of a reading, without context, and the state after it.
struct Lexeme {
  std::uint32_t surface, word;  // word: kBlank where the language model has none for it
  float weight, channel;        // log p(word), log p(reading | word)
  std::uint32_t next;           // state: the context of the word alone, or 0
  float backoff;                // of that state
  std::uint64_t follows;        // of that state
};

// A word after a context, and the state after both.
struct IndexEntry {
  std::uint32_t lexeme;
  float weight;
  std::uint32_t next;
  float backoff;
  std::uint64_t follows;  // of the state; with kOtherParent
};
static_assert(sizeof(Lexeme) == 32 && sizeof(IndexEntry) == 24);

inline constexpr std::uint64_t kOtherParent = std::uint64_t{1} << 63;  // the state's parent is not the lexeme's state
inline constexpr std::uint64_t kEndBit = std::uint64_t{1} << 62;       // of </s>
inline std::uint64_t character_bit(std::uint32_t c) { return std::uint64_t{1} << (mix_bits(c) % 62); }

class ConversionIndex {
 public:
  // Both are checked; they must outlive the index. `unknown` is the number of <unk>, kBlank for none.
  ConversionIndex(ThreadPool& pool, const backoff::BackoffAutomaton& automaton, const LexiconArrays& lexicon,
                  std::uint32_t unknown);

  const backoff::BackoffAutomaton& automaton() const { return automaton_; }
  const LexiconArrays& lexicon() const { return lexicon_; }
  const ReadingTrie& trie() const { return trie_; }
  std::size_t n_bytes() const;

  // Two lexemes without a reading of their own come last: an unknown word, and the end of a sentence.
  std::uint32_t unknown_lexeme() const { return static_cast<std::uint32_t>(lexicon_.n_lexemes()); }
  std::uint32_t end_lexeme() const { return unknown_lexeme() + 1; }
  const Lexeme& lexeme(std::uint32_t l) const { return lexemes_[l]; }
  std::span<const IndexEntry> entries(std::uint32_t context) const {
    return {entries_.data() + first_[context], first_[context + 1] - first_[context]};
  }
  std::uint64_t follows(std::uint32_t context) const { return follows_[context]; }
  double backoff(std::uint32_t context) const { return weight(automaton_.contexts[context].log_backoff); }

  // A logarithm on the grid.
  static float weight(double logarithm);

 private:
  void number_lexemes(std::uint32_t unknown);
  void fill_context(std::uint32_t context);

  backoff::BackoffAutomaton automaton_;
  LexiconArrays lexicon_;
  ReadingTrie trie_;
  std::vector<Lexeme> lexemes_;              // [n_lexemes + 2]
  std::vector<std::uint64_t> lexeme_bit_;    // [n_lexemes + 2] of the first character
  std::vector<std::uint32_t> word_lexemes_;  // lexemes of each word, ascending
  std::vector<std::uint32_t> word_ptr_;      // [n_words + 1]
  std::vector<std::uint64_t> first_;         // [n_contexts + 1]
  std::vector<std::uint64_t> follows_;       // [n_contexts]
  std::vector<IndexEntry> entries_;
};

}  // namespace loglinear::ime
