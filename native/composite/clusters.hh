// Normalisers and expectations of composite models by sharing over intersections: what a set of sources adds together
// is summed once for all histories that have the same contexts of these sources (Wu 2002, lemma 2, with the hierarchy
// of each source kept; Lafferty and Suhm's cluster expansion where every pattern is a source of its own).
//
// With S_i(e) the product of the parameters of entry e of source i and its parents, and D_i(e) = S_i(e) - S_i(parent e)
// (S = 1 above depth 1), the product of source i's parameters for a word is 1 + sum of D_i over its entries, so
//
//   Z(x) / Z(unigrams) = 1 + sum over sets K of sources, over contexts c_i of x in the sources i of K, of
//                        T(c_K),      T(c_K) = sum over words w with entries in all of c_K of p(w) prod_{i in K} D_i
//
// A *node* is a tuple of contexts whose words intersect; it holds its terms as numbers of entries, one per source. For
// K = {i} these are the entries of a context themselves. Nodes of one K that differ only in the depth of the first
// source are summed along that source, so a history refers to one node per *column*: a set K and the depths of its
// other sources. With weights that are not negative all terms are positive and nothing cancels.
//
// The first source, which should be the one with most entries, is swept in units that fit the cache: its products, the
// nodes it owns, the histories that end there, and back again to the gradient. The others' sums are made before and
// after. Chunks of units have sums of their own, added in order: the same bits on any number of threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "composite/problem.hh"

namespace loglinear::composite {

struct Column {
  std::vector<std::uint32_t> sources;      // ascending; the first owns the column
  std::vector<std::uint32_t> depths;       // of the other sources
  std::vector<std::uint32_t> depth_start;  // [depth of the owner + 2] nodes by depth of the owner's context (0: none)
  std::vector<std::uint32_t> context;      // [n_nodes] of the owner, ascending
  std::vector<std::uint32_t> parent;       // [n_nodes] the node with the parent of that context, or kNone
  std::vector<std::uint64_t> term;         // [n_nodes + 1]
  std::vector<std::uint32_t> entries;      // [n_terms][sources]
  std::vector<std::uint32_t> node;         // [n_histories] the deepest node of the history, or kNone

  std::size_t n_nodes() const { return context.size(); }
  std::uint64_t n_terms() const { return term.back(); }
  std::size_t bytes() const;
};

// All columns with at least one node. `apart` lists sets of sources, as bits, whose words are taken for disjoint: no set
// that contains one of them gets a column, and the result is an approximation. Throws InvalidInput where the columns
// would take more than `max_bytes`.
std::vector<Column> build_columns(ThreadPool& pool, const Problem& problem, std::span<const std::uint32_t> apart,
                                  std::uint64_t max_bytes);

class Clusters {
 public:
  // The problem's arrays must outlive this object and have been checked. `unit`: entries swept together.
  Clusters(ThreadPool& pool, const Problem& problem, std::span<const std::uint32_t> apart, std::uint64_t max_bytes,
           std::size_t unit = 8192);

  double value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const;
  void hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                      std::span<double> out) const;
  void log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const;

  std::uint64_t terms() const;  // of all normalisers: unigrams, entries and intersections
  std::size_t bytes() const;
  std::span<const Column> columns() const { return columns_; }

  struct Unit {
    std::uint32_t begin, end;              // depth-1 contexts of the first source
    std::uint32_t first_history, history;  // histories [first_history, history)
  };

 private:
  template <class Num>
  double evaluate(ThreadPool& pool, std::span<const double> w, std::span<const double> v, std::span<double> out,
                  std::span<double> log_z, bool is_signed) const;

  const Problem& problem_;
  std::vector<Column> columns_;        // those owned by the first source come first
  std::size_t n_owned_ = 0;            // how many those are
  std::vector<Unit> units_;
  std::vector<std::uint32_t> chunks_;  // [n_chunks + 1] units
};

}  // namespace loglinear::composite
