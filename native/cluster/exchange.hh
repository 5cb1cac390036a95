// Exchange clustering of words by the likelihood of a class bigram model (Kneser and Ney 1993; Martin, Liermann and
// Ney 1998).
//
// The model is p(w | v) = p(w | c(w)) p(c(w) | c(v)); with its parameters at their best, its log-likelihood is
//
//     sum_{c,d} N(c,d) log N(c,d)  -  2 sum_c N(c) log N(c)  +  sum_w N(w) log N(w).
//
// A pass visits the words by falling count. Taking a word w out of its class and putting it into class c changes only
// row and column c of N; with s_d and p_d the occurrences of w before and after class d, the gain is, for g(x) = x log x,
//
//     sum_d [g(N(c,d) + s_d) - g(N(c,d))] + sum_d [g(N(d,c) + p_d) - g(N(d,c))] - 2 [g(N(c) + N(w)) - g(N(c))]
//
// with the diagonal d = c taken once. For one d this is a loop over neighbouring c in a row of N or of its transpose:
// the gains of a word in all classes cost its neighbours and a vectorised loop per class among them.
//
// Words are taken in batches of fixed work. The threads find the best class of each word of a batch in the same state;
// then the words move in order, each only if its gain, taken again, is positive: the likelihood never falls, and the
// result does not depend on the number of threads. The boundary of sentences has a class of its own, the last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/bigrams.hh"
#include "cluster/class_table.hh"
#include "util/thread_pool.hh"

namespace loglinear::cluster {

// The classes that a word is beside, and scratch for its gains.
struct Surroundings {
  std::vector<std::int32_t> after, before;                   // [n_classes + 1] s_d and p_d, without the word itself
  std::vector<std::uint32_t> after_classes, before_classes;  // those that are not zero
  std::int32_t self = 0;                                     // N(w,w)
  std::vector<double> gains, adjusted;                       // [stride]
};

class Exchange {
 public:
  // labels [n_words]: a class below n_classes for every word but the boundary. The bigrams are only viewed.
  Exchange(const Bigrams& bigrams, std::size_t n_classes, std::span<const std::uint32_t> labels);

  // Visits every word once; returns how many moved.
  std::size_t pass(ThreadPool& pool);

  double log_likelihood() const;
  std::span<const std::uint32_t> labels() const { return labels_; }  // [n_words]; that of the boundary is n_classes

 private:
  void sum_counts();
  void collect(std::uint32_t word, Surroundings& around) const;
  void gains(std::uint32_t word, Surroundings& around) const;
  std::uint32_t best_class(std::uint32_t word, Surroundings& around) const;
  double put_gain(std::uint32_t word, std::size_t to, const Surroundings& around) const;
  void move(std::uint32_t word, std::size_t to, const Surroundings& around);
  bool move_if_better(std::uint32_t word, std::size_t to);

  const Bigrams& bigrams_;
  std::size_t n_classes_;
  std::vector<std::uint32_t> labels_, order_;
  ClassTable table_;                    // the boundary is its last class
  std::vector<Surroundings> around_;   // one per chunk of a batch
};

}  // namespace loglinear::cluster
