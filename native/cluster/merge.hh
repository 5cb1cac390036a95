// Brown's hierarchical merge (Brown et al. 1992), with the window of Liang (2005).
//
// Each of the k most frequent words begins as a class; every other word, by falling count, becomes a class, and then
// the two classes merge whose merge costs the least of the log-likelihood of the class bigram model (exchange.hh). In
// the end the k classes merge to one: the tree of these merges gives each class a string of bits. Classes from elsewhere
// get their bits in the same way. Words still to come are a class of their own, which never merges, and so is the
// boundary of sentences: the likelihood is that of a whole text at any time.
//
// With h(x, y) = g(x) + g(y) - g(x + y) and g(x) = x log x, the loss of a merge of a and b is
//
//     sum_{d != a,b} [h(N(a,d), N(b,d)) + h(N(d,a), N(d,b))] - 2 h(N(a), N(b))
//         + g(N(a,a)) + g(N(a,b)) + g(N(b,a)) + g(N(b,b)) - g(N(a,a) + N(a,b) + N(b,a) + N(b,b)).
//
// A table holds it for all pairs. When t joins s, the terms of d = s and d = t change for the pairs with a class that
// stands beside t, and the pairs of s itself are summed anew; when a word leaves those to come, likewise.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "cluster/bigrams.hh"
#include "cluster/class_table.hh"
#include "util/thread_pool.hh"

namespace loglinear::cluster {

class Merger {
 public:
  // Words without a class: the most frequent ones begin as classes, the others follow by insert().
  Merger(ThreadPool& pool, const Bigrams& bigrams, std::size_t n_classes);
  // Classes to make a tree of; labels [n_words], below n_classes but for the boundary.
  Merger(ThreadPool& pool, const Bigrams& bigrams, std::size_t n_classes, std::span<const std::uint32_t> labels);

  // Gives up to n_more of the words to come a class; returns how many are still to come.
  std::size_t insert(ThreadPool& pool, std::size_t n_more);
  // Makes one class of all words to come, in place of the cheapest merge: for those who will not wait.
  void put_rest(ThreadPool& pool);
  // Classes of the words, from 0; [n_words]; only when no words are to come.
  std::vector<std::uint32_t> labels() const;

  // Merges classes until there is one; the i-th of the n_classes - 1 merges is of two nodes, and makes node
  // n_classes + i. Nodes below n_classes are the classes, numbered as labels() numbers them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tree(ThreadPool& pool);

 private:
  using Slots = std::vector<std::size_t>;
  struct Pair {
    std::size_t a = 0, b = 0;
  };
  std::size_t boundary() const { return n_slots_; }
  std::size_t rest() const { return n_slots_ + 1; }
  double* losses_of(std::size_t slot) { return &losses_[slot * table_.stride]; }
  void begin(ThreadPool& pool);
  Slots beside(const std::vector<char>& marks, std::size_t but) const;
  double own_terms(std::size_t a, std::size_t b) const;
  void sum_losses(ThreadPool& pool, std::size_t slot);
  void add_thirds(ThreadPool& pool, const Slots& rows, std::initializer_list<std::size_t> thirds, double scale);
  void mirror(const Slots& rows);
  void split_rest(ThreadPool& pool, std::uint32_t word, std::size_t slot);
  void pour(std::size_t into, std::size_t from);
  void merge(ThreadPool& pool, Pair pair);
  Pair cheapest() const;

  const Bigrams& bigrams_;
  std::size_t n_classes_, n_slots_;
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;                              // in order_, the first word to come
  std::size_t free_ = 0;                              // a slot without a class, while words come
  std::vector<std::uint32_t> labels_;                 // [n_words]: slot of each word, also rest() and boundary()
  std::vector<std::vector<std::uint32_t>> members_;   // [n_slots]
  std::vector<char> active_;                          // [n_slots]
  ClassTable table_;
  std::vector<double> losses_;                        // [n_slots][stride], both halves; infinite for free slots
};

}  // namespace loglinear::cluster
