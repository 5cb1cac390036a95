// Queries of words within classes: p(w | h) = p(class of w | h) exp(theta of w in h and its suffixes) / Z(class, h).
//
// With one class this is an n-gram model, of any estimator: a back-off model is maximum entropy with weights
// log p(w | h) - log p(w | parent h) - log backoff(h). Z is a sum of positive terms over the words of a class, taken
// directly, so nothing cancels. The words of a class are numbered one after the other; `rank` gives those numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trie/view.hh"
#include "util/thread_pool.hh"

namespace loglinear::ngram {

class Within {
 public:
  // The trie's shape, the weight of each entry, the first word of each class and the number of each word in that order.
  Within(ThreadPool& pool, const trie::TrieView& trie, std::span<const double> weight,
         std::span<const std::uint32_t> class_start, std::span<const std::uint32_t> rank);

  std::size_t n_words() const { return base_.size(); }
  std::size_t n_classes() const { return class_start_.size() - 1; }
  std::uint32_t class_of(std::uint32_t word) const { return class_of_[rank_[word]]; }

  // The longest context of every event (words and ends of sentences) of a text, in the words' own numbers.
  void leaves(std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
              std::span<std::uint32_t> out) const;
  void check_leaves(std::span<const std::uint32_t> leaf) const;  // throws InvalidInput for a context it lacks
  // log p(w | class of w, h) of events, and the order of the longest n-gram found.
  void log_probabilities(ThreadPool& pool, std::span<const std::uint32_t> leaf, std::span<const std::uint32_t> words,
                         std::span<double> out, std::span<std::uint8_t> found) const;

  // The words of one history at a time, all of them: load, ask, unload.
  class Loaded {
   public:
    explicit Loaded(const Within& model);
    void load(std::uint32_t leaf, const double* class_log_p);  // [n_classes]; null where there is one class
    void unload();
    double probability(std::uint32_t word) const {
      const std::uint32_t w = model_.rank_[word];
      return score_[w] * scale_[model_.class_of_[w]];
    }

   private:
    const Within& model_;
    std::vector<double> score_, scale_;   // [n_words], [n_classes]
    std::vector<std::uint32_t> touched_;  // words whose score is not that of the empty context
  };

 private:
  std::uint8_t order_of(std::uint32_t context) const;  // of its entries

  trie::TrieView trie_;
  std::vector<std::uint32_t> class_start_, class_of_, rank_, parent_;
  std::vector<double> base_, gain_;  // exp of weights: of words, each class scaled by its largest; of all entries
};

}  // namespace loglinear::ngram
