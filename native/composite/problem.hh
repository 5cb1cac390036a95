// Composite maximum-entropy models: a unigram feature and several information sources, each a chain of nested patterns.
//
//   p(w | x) = exp(theta_w + sum over sources i, over the contexts c of source i in the history x, of
//                  g(c, w) theta(c, w)) / Z(x)
//
// A source is a trie of contexts, like that of n-grams: context 0 is the empty one and has no entries; the contexts of
// depth d are numbered depth_start[d] .. depth_start[d + 1] - 1, sorted by their parents, so the children of a context
// are contiguous. An entry e = (c, w) has a weight; its parent is (parent of c, w), which exists (the patterns of a
// source are nested), or the unigram of w (parent kNone) where c has depth 1. Features are 1, or entry_value.
//
// A history is one context per source, the deepest that has entries, and the number of tokens after it. The weights are
// those of the unigrams, then those of the entries of each source:
//
//   loss(theta) = sum over histories of count(x) log Z(x) - sum over weights of observed * theta
//
// Histories are sorted by the depth-1 context of their first source.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::composite {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

struct Source {
  std::span<const std::uint32_t> depth_start;     // [depth + 2] contexts by depth: 0, 1, ...
  std::span<const std::uint32_t> context_parent;  // [n_contexts]
  std::span<const std::uint32_t> context_entry;   // [n_contexts + 1]
  std::span<const std::uint32_t> entry_word;      // [n_entries] ascending within a context
  std::span<const std::uint32_t> entry_parent;    // [n_entries] or kNone
  std::span<const double> entry_value;            // [n_entries], or empty: all 1
  std::size_t offset = 0;                         // of its weights

  std::size_t depth() const { return depth_start.size() - 2; }
  std::size_t n_contexts() const { return context_parent.size(); }
  std::size_t n_entries() const { return entry_word.size(); }
  std::size_t depth_of(std::uint32_t context) const {
    std::size_t d = 0;
    while (context >= depth_start[d + 1]) ++d;
    return d;
  }
  // The ancestor of a given depth; 0 where the context is not that deep.
  std::uint32_t ancestor(std::uint32_t context, std::size_t d) const {
    if (context < depth_start[d]) return 0;
    while (context >= depth_start[d + 1]) context = context_parent[context];
    return context;
  }
  double value(std::size_t e) const { return entry_value.empty() ? 1.0 : entry_value[e]; }
};

struct Problem {
  std::size_t n_words = 0;
  std::vector<Source> sources;
  std::vector<std::span<const std::uint32_t>> leaf;  // [source][history] its deepest context
  std::span<const double> count;                     // [n_histories]
  std::span<const double> observed;                  // [n_weights]

  std::size_t n_histories() const { return count.size(); }
  std::size_t n_weights() const { return observed.size(); }

  // Throws InvalidInput where an array breaks the rules above, so that the kernels need no checks of their own.
  void check() const;
};

// Loss and gradient by summation over all words for each history, in logarithms: slow, right for any finite weights.
// `terms` gets the number of summands of the normalisers.
double naive(ThreadPool& pool, const Problem& problem, std::span<const double> w, std::span<double> gradient,
             std::uint64_t& terms);

// One history of the same: adds count * expectations into `expected`, returns log Z. `scratch` has n_words doubles.
double naive_history(const Problem& problem, std::span<const double> w, std::size_t history, double count,
                     std::span<double> expected, std::vector<double>& scratch);

// The same for second derivatives: adds count * (covariance of the features) v into `out`.
void naive_tangent(const Problem& problem, std::span<const double> w, std::span<const double> v, std::size_t history,
                   double count, std::span<double> out, std::vector<double>& scratch);
void naive_hessian_vector(ThreadPool& pool, const Problem& problem, std::span<const double> w,
                          std::span<const double> v, std::span<double> out);

// log Z of every history by the same summation, and log p(w | x) for (history, word) pairs.
void naive_log_z(ThreadPool& pool, const Problem& problem, std::span<const double> w, std::span<double> log_z);

// Scores theta_w + ... of all words in one history: [n_words], before normalisation.
void history_scores(const Problem& problem, std::span<const double> w, std::size_t history, std::span<double> scores);

// The largest possible |score| of a word, unigrams apart: beyond a limit, products of exponentials leave their range.
// `is_signed`: some feature lowers the score of its word, so sums may cancel.
struct Extent {
  double size;
  bool is_signed;
};
Extent extent(ThreadPool& pool, const Problem& problem, std::span<const double> w);

}  // namespace loglinear::composite
