// Trees of sentences: the best, the k best, samples, the one of greatest expected recall; marginals of constituents.
#pragma once
#include <cstdint>
#include <vector>

#include "grammar/parsing.hh"

namespace loglinear::grammar {

// Trees of symbols in pre-order; a leaf's word is its place in the sentence. A sentence without a tree has no nodes.
struct DecodedTrees {
  std::vector<std::int64_t> tree_ptr{0};
  std::vector<std::int32_t> symbol, word, size;
  std::vector<double> score;        // [n_trees] logarithms
  std::vector<std::int64_t> list_ptr{0};  // trees of each sentence
};

struct Input {
  const TreeModel& model;
  const TreeBank& bank;
  const Masks& masks;
  const Constraints& constraints;
};

DecodedTrees best_trees(ThreadPool& pool, const Input& input);
DecodedTrees nbest_trees(ThreadPool& pool, const Input& input, std::size_t k);  // Huang and Chiang 2005, algorithm 3
DecodedTrees sample_trees(ThreadPool& pool, const Input& input, std::size_t n_samples, std::uint64_t seed);

// Constituents with a probability of at least `threshold`, by sentence, span and label; tags are constituents too, with
// the labels n_labels + tag.
struct Marginals {
  std::vector<std::int64_t> ptr{0};
  std::vector<std::int32_t> begin, end, label;
  std::vector<double> probability;
};
Marginals constituent_marginals(ThreadPool& pool, const Input& input, std::size_t n_labels, double threshold);

// The tree with the greatest sum of (probability - cost) over its labelled constituents (Goodman 1996: cost 0). Its
// nodes are labels: chains of one unary rule each, given by `label_ptr` and `labels` of the constraints; n_labels + t
// stands for tag t.
DecodedTrees recall_trees(ThreadPool& pool, const Input& input, std::size_t n_labels, double cost);

}  // namespace loglinear::grammar
