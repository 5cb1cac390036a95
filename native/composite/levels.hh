// Normalisers and expectations of composite models by super-features: the patterns are put into levels, and sums are
// shared by all histories that agree on the contexts of the first levels (Wu 2002, sections 3.5 and 3.6).
//
// With f_l(w) the product of the parameters of all patterns of level l that word w has in a history (1 where it has
// none), p(w) the normalised unigrams and Y_l the words with f_l active,
//
//   Z(x) / Z(unigrams) = 1 + sum over levels l of T_l,   T_l = sum over w in Y_l of (f_l(w) - 1) p(w) prod_{m < l} f_m(w)
//
// (equation 3.37, whose print skips an order). T_l depends on the contexts of levels up to l only, so a node of the tree
// of such contexts computes it once. The choice of levels gives the methods of the seed:
//
//   unigram caching                      one level with all patterns
//   generalised hierarchical training    level l holds the patterns of order l + 1 of all sources
//   divide and conquer                   level 0 holds the partition variable, folded into the unigrams (3.40)
//   both                                 level 0 the partition variable, then the orders of the other sources
//
// Expectations come from the same walk: a history's Z is known at its leaf, and A(node) = sum of count / Z of the
// histories below goes up again (3.41 - 3.49). One visit of a node costs |Y_l| terms, for any signs and values of
// features. Where signed weights make a sum cancel, the history is summed over all words (naive_history).
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "composite/problem.hh"

namespace loglinear::composite {

struct Pattern {
  std::uint32_t source, depth;
};

class Levels {
 public:
  // The problem's arrays must outlive this object and have been checked. Every pattern must be in exactly one level.
  Levels(ThreadPool& pool, const Problem& problem, std::vector<std::vector<Pattern>> levels);

  double value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const;
  void hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                      std::span<double> out) const;
  // log Z of every history.
  void log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const;

  std::uint64_t terms() const { return terms_; }  // of the last evaluation's normalisers; 0 before the first
  std::vector<std::uint64_t> nodes() const;       // by level
  std::size_t bytes() const;                      // of the tree

 private:
  template <class Num>
  friend class Walk;
  template <class Num>
  double evaluate(ThreadPool& pool, std::span<const double> w, std::span<const double> v, std::span<double> out,
                  std::span<double> log_z) const;

  struct Level {
    std::vector<Pattern> patterns;
    std::vector<std::uint32_t> example;  // [n_nodes] a history of the node
    std::vector<std::uint32_t> child;    // [n_nodes + 1] first child in the next level; of the last: first history
  };
  const Problem& problem_;
  std::vector<Level> levels_;
  std::vector<std::uint32_t> order_;   // [n_histories] histories in the order of the tree's leaves
  std::vector<std::uint32_t> chunks_;  // [n_chunks + 1] nodes of the first level
  mutable std::uint64_t terms_ = 0;
};

}  // namespace loglinear::composite
