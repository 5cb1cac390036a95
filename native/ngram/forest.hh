// Words within their classes: one maximum-entropy n-gram model per class, over the words of the class alone.
//
//   p(w | c, h) = exp(sum of theta over the entries of w in h and its suffixes) / sum of the same over the words of c
//
// The words of a class are numbered one after the other, so in a trie of n-grams the entries of a context that have a
// class are a run, and these runs are the trie of the class: contexts (c, h), with the tokens of the class after h. Each
// is swept by itself (hierarchical_normalisation.hh), classes in parallel. Weights are those of the entries class by
// class: its words, then its entries of order 2, 3, ...
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ngram/hierarchical_normalisation.hh"
#include "trie/view.hh"

namespace loglinear::ngram {

class Forest {
 public:
  // `class_start` [n_classes + 1]: the words of each class. Entries of order n with fewer than min_counts[n - 1] tokens
  // get no weight, though their tokens count; cut-offs do not fall with the order, and hold from order 2 on. The only
  // word of a class is certain: it has a unigram and nothing else.
  Forest(ThreadPool& pool, const trie::TrieView& trie, std::span<const std::uint32_t> class_start,
         std::span<const std::uint32_t> min_counts);

  Forest(const Forest&) = delete;
  Forest(Forest&&) = default;

  std::size_t n_classes() const { return parts_.size(); }
  std::size_t n_weights() const { return weight_start_.back(); }
  std::span<const std::uint32_t> entry() const { return entry_; }  // [n_weights] of the trie that was given
  std::span<const std::uint32_t> count() const { return count_; }  // [n_weights]

  // The same weights with the tokens of another text.
  Forest on(ThreadPool& pool, std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr) const;

  double value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const;
  void curvature_diagonal(ThreadPool& pool, std::span<const double> w, std::span<double> out) const;
  void hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                      std::span<double> out) const;

 private:
  Forest() = default;
  struct Part {  // the trie of a class; vectors do not move when a part does
    std::vector<std::int64_t> context_start, entry_start;
    std::vector<std::uint32_t> context_word, context_child, context_entry, context_count;
    std::vector<std::uint32_t> entry_word, entry_parent, entry_count;
    std::unique_ptr<NgramMaxent> model;

    trie::TrieView view() const;
  };
  void split(const trie::TrieView& trie, std::span<const std::uint32_t> min_counts);
  void finish(ThreadPool& pool);
  std::size_t class_of(std::uint32_t word) const;
  // Calls use(class, a pool of one thread, its model, its first weight, their number), the largest first.
  template <class Use>
  void each(ThreadPool& pool, Use use) const;

  std::size_t order_ = 0;
  std::vector<std::uint32_t> class_start_;
  std::vector<Part> parts_;
  std::vector<std::size_t> weight_start_;     // [n_classes + 1]
  std::vector<std::uint32_t> by_size_;        // classes, the one with most weights first
  std::vector<std::uint32_t> entry_, count_;  // [n_weights]
};

}  // namespace loglinear::ngram
