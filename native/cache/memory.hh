// The words of a document so far, and how often and how lately each was used: what a cache knows before an event.
//
// Before event t of a document the memory holds the events of the last `window`, of the same document, but for the ends
// of sentences. Each word v in it has sums of decays, with decay(h, a) = 2^(-a / h) for a use a events ago:
//
//   unigram j    the sum over the uses i of v of decay(half_life[j], t - i)
//   bigram       the same over the uses after the word before t,          with ngram_half_life
//   trigram      the same over the uses after the two words before t
//
// Uses that leave the window are taken out of the sums. A memory that begins in the middle of a text goes through the
// window before it, so what it holds does not depend on where it began but for rounding.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace loglinear::cache {

struct Shape {
  std::size_t window = 0;
  std::vector<double> half_lives;  // of unigram features
  double ngram_half_life = 0.0;
  std::size_t order = 1;  // longest n-grams with sums: 1, 2 or 3
  double ratio = 1.0;     // r of the features, see cache/loglinear.hh

  std::size_t n_sums() const { return half_lives.size() + order - 1; }
  std::size_t n_features() const { return 2 * n_sums(); }
};

class Memory {
 public:
  // `words` are the events of the whole text, with 0 for the ends of sentences; `document_start` [n_documents + 1].
  Memory(const Shape& shape, std::size_t n_words, std::span<const std::uint32_t> words,
         std::span<const std::int64_t> document_start);

  void begin(std::size_t event);  // as it is before this event
  void advance();                 // over the current event
  std::size_t event() const { return event_; }

  std::span<const std::uint32_t> held() const { return held_; }  // the words in memory, each once
  bool holds(std::uint32_t word) const { return slot_[word] != kEmpty; }
  std::size_t slot(std::uint32_t word) const { return slot_[word]; }  // where `held` has it
  // The sums of unigrams of all words held: [n half-lives][held().size()].
  void sums(std::vector<double>& out) const;
  // The sums of bigrams and trigrams, of the few words that have them.
  struct Repeated {
    std::uint32_t slot;
    double sum[2];
  };
  void repeated(std::vector<Repeated>& out);

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  void add(std::size_t event);
  void forget(std::size_t event);
  void clear();

  const Shape& shape_;
  std::span<const std::uint32_t> words_;
  std::span<const std::int64_t> document_start_;
  std::size_t event_ = 0, document_ = 0, first_ = 0;      // first_: the oldest event in memory
  std::vector<std::vector<double>> decay_;                // [half-life, then n-grams][age]
  std::vector<std::uint32_t> slot_, held_, uses_;         // uses_ by slot
  std::vector<std::vector<double>> sum_;                  // [half-life][slot], as of the event `since_[slot]`
  std::vector<std::size_t> since_;                        // [slot]
  // Events after the same word: the last one by that word, and the one before each, by event modulo the window.
  std::vector<std::int64_t> last_after_, before_;
  std::vector<std::uint32_t> place_;  // [slot] in what `repeated` returns, while it runs
};

}  // namespace loglinear::cache
