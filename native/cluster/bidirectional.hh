// Bidirectional exchange (Dehdari, Tan and van Genabith 2016): classes as the words beside them predict them.
//
// Where exchange.hh predicts a class from the class beside it, here the word beside it does (predictive exchange:
// Goodman 2001; Uszkoreit and Brants 2008), p(w | v) = p(w | c(w)) p(c(w) | v), and likewise from the right. Both
// log-likelihoods together are, but for terms that no class changes,
//
//     sum_{v,c} N(v,c) log N(v,c)  +  sum_{c,u} N(c,u) log N(c,u)  -  2 sum_c N(c) log N(c).
//
// A word w in class c gains sum_v [g(N(v,c) + N(v,w)) - g(N(v,c))] over the words v before it, the like over the words u
// after it, and -2 [g(N(c) + N(w)) - g(N(c))], g(x) = x log x. The counts N(v,c) of a word v with many neighbours are a
// row over all classes; those of other words are summed when needed, and then most classes have the gain of a zero.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/bigrams.hh"
#include "util/thread_pool.hh"

namespace loglinear::cluster {

class Bidirectional {
 public:
  // labels [n_words]: a class below n_classes for every word but the boundary. The bigrams are only viewed.
  Bidirectional(const Bigrams& bigrams, std::size_t n_classes, std::span<const std::uint32_t> labels);

  // Visits every word once; returns how many moved.
  std::size_t pass(ThreadPool& pool);

  double objective() const;                                          // the sum above
  std::span<const std::uint32_t> labels() const { return labels_; }  // [n_words]; that of the boundary is n_classes

 private:
  struct Side {                         // N(v,c) for the words after v, or for those before it
    const Neighbours* seen;             // what it counts: the words beside each v
    const Neighbours* visited;          // the words v whose counts a word takes part in
    std::vector<std::int64_t> row;      // [n_words] where the row of a word begins, or -1
    std::vector<std::int32_t> counts;   // rows of n_classes
  };
  struct Scratch {
    std::vector<double> gains;         // [n_classes]
    std::vector<std::int32_t> counts;  // [n_classes + 1] of one word, zero between uses
  };
  void fill(Side& side);
  std::int32_t count(const Side& side, std::size_t word, std::size_t c) const;
  void add_gains(const Side& side, std::uint32_t word, Scratch& scratch) const;
  double put_gain(std::uint32_t word, std::size_t to) const;
  std::uint32_t best_class(std::uint32_t word, Scratch& scratch) const;
  bool move_if_better(std::uint32_t word, std::size_t to);
  std::size_t work(std::uint32_t word) const;

  const Bigrams& bigrams_;
  std::size_t n_classes_;
  std::vector<std::uint32_t> labels_, order_;
  Side after_, before_;
  std::vector<double> totals_;  // [n_classes + 1] N(c)
  std::vector<Scratch> scratch_;
};

}  // namespace loglinear::cluster
