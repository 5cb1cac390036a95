// Maximum-entropy n-gram models by two sweeps over the trie: every normaliser, every expectation.
//
//   p(w | h) = exp(sum of theta over the entries of w in h and its suffixes) / Z(h)
//
// Down the trie, with the probability P(e) = p(w | h) of every entry e = (h, w) in place of sums of exponentials:
//
//   r(h) = Z(h) / Z(parent h) = 1 + sum_{e in h} P(parent e) (exp theta_e - 1)
//   P(e) = P(parent e) exp(theta_e) / r(h)                                         P of unigrams: softmax
//   loss = sum_h C(h) log r(h) - sum_e c(e) theta_e                                C(h): tokens whose history ends in h
//
// and up again, with B(h) = sum over the histories x that end in h of their own tokens times Z(h) / Z(x):
//
//   B(h) = own(h) + sum_{children k} B(k) / r(k)
//   E[e] = P(e) (B(h) - sum_{children e' = (k, w) of e} B(k) / r(k)) + sum_{e'} E[e']
//
// One visit to each n-gram, whatever the vocabulary (Wu and Khudanpur 2000; Wu's dissertation, chapter 3, lemma 1 and
// section 3.7; its theorem 3.20 and equation 3.45 have slips, so the recursion above was derived anew). Probabilities
// and ratios stay in range where sums of exponentials overflow. With weights >= 0 nothing cancels; where a ratio falls
// below 1/100 the words without an entry are summed directly (all terms positive); where weights are so large that
// products leave the range of double altogether, the sweeps run in logarithms (ngram/logarithms.cc), and second
// derivatives are summed over the vocabulary (ngram/direct.cc).
//
// The trie is cut into units that fit the second-level cache and are swept down and up before the next: theta, parent
// and count are read once and the gradient written once, 24 bytes per n-gram plus 12 per context; the probabilities
// never leave the cache. Nor does the gradient where a step of training is taken at once. Units are dealt to a fixed number of chunks: the same bits on any number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linear/accelerated.hh"
#include "trie/view.hh"
#include "util/thread_pool.hh"

namespace loglinear::ngram {

// What the contexts of a part of the trie hand up to the unigrams: their loss, and their shares of B of the empty
// context and of the sums over the unigrams' children; the second ones are those of squares.
struct RootSums {
  double loss = 0.0, b = 0.0, b2 = 0.0;
  std::vector<double> d, d2;  // [V]
};

class NgramMaxent {
 public:
  // `unit`: entries and contexts swept together. The trie's arrays must outlive this object and are checked.
  explicit NgramMaxent(const trie::TrieView& trie, std::size_t unit = 8192);

  const trie::TrieView& trie() const { return trie_; }

  // The loss; gradient [n_entries] = E - count.
  double value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const;

  // The loss at path.x, and a step of an accelerated proximal method from there, which is taken unit by unit while the
  // gradient is in cache (linear/accelerated.hh). `offset` [n_entries] or empty is added to the weights; `largest` is
  // at least their largest |weight|, without the offset.
  template <class Kept>
  double value_and_step(ThreadPool& pool, const linear::AcceleratedPath<Kept>& path, std::span<const double> offset,
                        const linear::Separable& penalty, const linear::AcceleratedStep& step, double largest,
                        linear::AcceleratedSums& sums) const;

  // Second derivatives at w: their diagonal sum_x c(x) p (1 - p), and their product with v.
  void curvature_diagonal(ThreadPool& pool, std::span<const double> w, std::span<double> out) const;
  void hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                      std::span<double> out) const;

  // log P(e) of every entry and log r(h) of every context (that of the empty context is log Z).
  void log_probabilities(ThreadPool& pool, std::span<const double> w, std::span<double> log_p,
                         std::span<double> log_r) const;

  // The same for a trie that is part of a larger one: it has all contexts that end in some words, and every unigram,
  // whose weights live elsewhere. `unigrams` [V]: their probabilities, `extent` their largest |weight|; w and what is
  // written: one number per entry above them. False where the weights are too large for products of exponentials.
  bool part_gradient(ThreadPool& pool, std::span<const double> unigrams, double extent, std::span<const double> w,
                     std::span<double> gradient, RootSums& sums) const;
  bool part_curvature(ThreadPool& pool, std::span<const double> unigrams, double extent, std::span<const double> w,
                      std::span<double> out, RootSums& sums) const;
  bool part_probabilities(ThreadPool& pool, std::span<const double> unigrams, double extent,
                          std::span<const double> w, std::span<double> log_p, std::span<double> log_r) const;

  // Contexts [begin, end) of one length that share a parent, with all their descendants, if `leaf`; else one context
  // alone, whose children are the units that follow up to `next`.
  struct Unit {
    std::uint32_t length, begin, end, next;
    bool leaf;
  };
  std::span<const Unit> units() const { return units_; }

 private:
  void plan(std::size_t length, std::uint32_t begin, std::uint32_t end);
  std::size_t subtree(std::size_t length, std::uint32_t context) const;

  trie::TrieView trie_;
  std::size_t unit_;
  std::vector<Unit> units_;           // in the order of a walk
  std::vector<std::uint32_t> chunks_;  // [n_chunks + 1] where the chunks begin in units_
};

// How many entries above the unigrams continue the path of their parent: they alone extend it, it is no unigram, and
// their weights are equal to a millionth and not zero.
std::size_t continued_paths(const trie::TrieView& trie, std::span<const double> w);

// The same in logarithms (ngram/logarithms.cc): right for any finite weights, on one thread.
double log_value_and_gradient(const trie::TrieView& trie, std::span<const double> w, std::span<double> gradient);
void log_log_probabilities(const trie::TrieView& trie, std::span<const double> w, std::span<double> log_p,
                           std::span<double> log_r);

// The same by summation over the vocabulary for each history (ngram/direct.cc): slow, and plain enough to check the
// others by. `second` is empty, or gets H v where `tangent` is v, and the curvature diagonal where that is empty.
double direct_sums(const trie::TrieView& trie, std::span<const double> w, std::span<double> gradient,
                   std::span<const double> tangent, std::span<double> second);

}  // namespace loglinear::ngram
