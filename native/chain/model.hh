// Scores of label chains under given weights, and the way back from residuals to gradients.
//
// A sequence of T tokens has a lattice of states. Three machines walk it:
//
//   dense    states are labels; transition scores M [L][Lp]
//   sparse   states are labels, but only few transitions differ from a background score (0: no weight, or -infinity:
//            forbidden); a step costs O(L + listed transitions), exactly
//   pairs    states are label pairs (previous, current): pair features, second order
//
// Scores of the states of all tokens lie in one array N: dense and sparse [T][Lp]; pairs [T][L Lp], of which the first
// token uses the first row alone (there is no label before it). N holds everything that depends on one state: weights,
// the base distribution, start and stop; for pairs also the transition weights.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "chain/features.hh"
#include "chain/tokens.hh"
#include "util/aligned.hh"

namespace loglinear::chain {

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Scores of a base distribution or a constraint, added to those of the weights; -infinity forbids. Any may be empty.
struct ChainBase {
  std::span<const double> start;        // [L]
  std::span<const double> stop;         // [L], or [(L + 1) L] by label pair
  std::span<const double> transitions;  // [L L]
  std::span<const double> trigrams;     // [(L + 1) L L]
};

enum class Machine { dense, sparse, pairs };

// Sums of residuals over some sequences. `outer` and `negative` (to be taken off) await
// multiplication by exp(transition scores); the others are final.
struct ChainGradient {
  AlignedDoubles weights;           // node and pair features reached one by one
  AlignedDoubles rows, pair_rows;   // [n_expanded][Lp], [n_expanded][L Lp]; after them those of bundles
  AlignedDoubles numbers;           // [n_numbers][Lp]
  AlignedDoubles transitions;       // [L][Lp], or one per listed transition (sparse): final
  AlignedDoubles outer, negative;   // dense [L][Lp], sparse [n_edges], pairs [(L + 1)][L][Lp]: await exp
  AlignedDoubles trigrams;          // [(L + 1)][L][Lp]: final
  ListedSums listed;
  double value = 0.0;
};

// Work space of an evaluation, kept for the next one: fresh pages cost more than zeroing old ones.
struct ChainWork {
  AlignedDoubles rows, pair_rows;    // of weights: those of attributes, then those of bundles
  ListedPotentials listed;           // where the tokens have listed pairs
  std::vector<ChainGradient> parts;  // one for each thread
};

class ChainModel {
 public:
  ChainModel(const ChainFeatures& features, const ChainBase& base, const char* machine = "auto");

  // Takes weights, which must outlive the next call. `potentials` also prepares what forward-backward needs.
  void set(std::span<const double> weights, bool potentials);

  const ChainFeatures& features;
  Machine machine;
  std::size_t L, Lp;
  std::size_t stride;        // doubles of N per token
  bool trigrams = false;     // pairs: whether there are trigram scores

  AlignedDoubles M;     // [L][Lp] transition scores; for pairs they are added to N
  AlignedDoubles E;     // dense: exp(M - highest)
  AlignedDoubles panels, back_panels;  // the same as steps of several sequences read it, and transposed
  AlignedDoubles G, E3; // pairs with trigrams: [(L + 1)][L][Lp]
  AlignedDoubles E3t;   // [L][L][Lp]: E3t[b][c][a] = E3[a][b][c]
  double highest = 0.0;      // shift of the potentials of transitions or trigrams
  double range = 0.0;        // largest difference of two finite ones
  // sparse: transitions listed by their second label
  struct Edge {
    std::int32_t from, to, weight;  // weight: place in w, or -1
    double base;
  };
  std::vector<Edge> edges;
  std::vector<std::int64_t> edge_ptr;   // [L + 1]
  std::vector<std::int32_t> edge_from;  // [n_edges]
  std::vector<std::int64_t> out_ptr;    // [L + 1]: the same transitions by their first label
  std::vector<std::int32_t> out_edge;   // [n_edges]
  std::vector<double> edge_score, edge_potential, edge_excess;  // score; exp(score - highest); that less background's
  double background = 0.0, background_potential = 1.0;

  std::size_t row_count(std::size_t t) const { return machine == Machine::pairs && t > 0 ? L : 1; }
  std::size_t outer_size() const;
  // Whether scores of label pairs and trigrams are those of weights alone.
  bool steps_are_weights() const {
    return base_transitions_.empty() && base_trigrams_.empty() && stop_.size() <= L;
  }
  std::span<const double> weights() const { return w_; }

  // The rows of `work` under these weights.
  void fill(ThreadPool& pool, const ChainTokens& tokens, ChainWork& work) const;
  // u [Lp] += the scores of the labels of token t of a sequence.
  void label_scores(const Sequences& sequences, const ChainTokens* tokens, const ChainWork* work, std::size_t sequence,
                    std::size_t t, const double* node_base, double* u) const;
  void scatter_labels(const Sequences& sequences, const ChainTokens& tokens, std::size_t sequence, std::size_t t,
                      const double* u, ChainGradient& gradient) const;
  // N of one sequence. `node_base` [n_tokens][L] may be null. `tokens` are the same sequences with attributes resolved,
  // and `work` has their rows; or both are null: worth it where the scores are taken more than once.
  void scores(const Sequences& sequences, const ChainTokens* tokens, const ChainWork* work, std::size_t sequence,
              const double* node_base, double* N) const;
  // Adds to the gradient what residuals dN [as N] say.
  void scatter(const Sequences& sequences, const ChainTokens& tokens, std::size_t sequence, double* dN,
               ChainGradient& gradient) const;

  // Residuals of bundles go to what they are made of.
  void unbundle(const ChainTokens& tokens, ChainGradient& gradient) const;

  // Makes sums of this model's size, all zero; buffers that are there are used again. `tokens` may be null.
  void clear(ChainGradient& gradient, const ChainTokens* tokens = nullptr) const;
  // out [n_weights] = the sum of parts, in order.
  void finish(ThreadPool& pool, std::span<const ChainGradient> parts, std::span<double> out) const;

  // Scores of the steps from (to) one label to (from) all others are added to x [L]; not for pairs.
  void add_steps_from(std::size_t label, double* x) const;
  void add_steps_to(std::size_t label, double* x) const;
  // The gradient of these: residuals r [L] of the steps from (to) one label.
  void scatter_steps_from(std::size_t label, const double* r, ChainGradient& gradient) const;
  void scatter_steps_to(std::size_t label, const double* r, ChainGradient& gradient) const;

 private:
  void layout_sparse();
  void expand(const WeightRows& rows, std::span<const std::int64_t> ptr, const double* weights, std::size_t size,
              AlignedDoubles& out) const;
  void prefetch_rows(const Sequences& sequences, std::int64_t end) const;
  void add_nodes(const Sequences& sequences, std::size_t token, double* u) const;
  void add_numbers(const Sequences& sequences, std::size_t sequence, std::size_t t, double* u) const;
  void scatter_numbers(const Sequences& sequences, std::size_t sequence, std::size_t t, const double* u,
                       ChainGradient& gradient) const;
  void add_pairs(const Sequences& sequences, std::size_t token, double* P) const;
  void scatter_pairs(const Sequences& sequences, std::size_t token, const double* P, ChainGradient& gradient) const;
  std::span<const double> w_;
  std::vector<double> start_, stop_;        // stop [L] or [(L + 1)][L]
  std::vector<double> base_transitions_, base_trigrams_;
  AlignedDoubles expanded_, expanded_pairs_;  // [n_expanded][Lp], [n_expanded][L Lp]
  AlignedDoubles numbers_;                    // [n_numbers][Lp]: the weights of numbers
  std::vector<std::int32_t> pair_place_;    // offsets of pair codes in a padded [L][Lp] block
};

}  // namespace loglinear::chain
