// Tokens whose attributes have been resolved to places of weights, once before training.
//
// The scores of a token's states are the sum of whole rows (attributes with weights for many labels) and of single
// weights. Both are listed token by token, so that an evaluation reads them in order and only the weights at random.
// Attributes that recur together are bundled (bundles.hh): their sum is one row more.
#pragma once
#include <cstdint>
#include <vector>

#include "chain/features.hh"
#include "chain/listed_pairs.hh"
#include "util/aligned.hh"

namespace loglinear::chain {

// Sequences in groups of similar length, the longest first, empty ones left out. Members of a group are computed side
// by side. Groups depend on the lengths and the number of states alone.
struct SequenceGroups {
  std::vector<std::size_t> order;  // numbers of sequences
  std::vector<std::size_t> ptr{0};  // groups in `order`
  std::size_t most_tokens = 0;     // of a group

  SequenceGroups(const ChainFeatures& features, const Sequences& sequences);
  std::size_t size() const { return ptr.size() - 1; }
  std::span<const std::size_t> members(std::size_t group) const {
    return {order.data() + ptr[group], ptr[group + 1] - ptr[group]};
  }
  // Numbers of groups that cut the work into `parts` pieces of similar size: [parts + 1].
  std::vector<std::size_t> cut(const Sequences& sequences, std::size_t parts) const;
};

struct ResolvedWeights {
  std::vector<std::int64_t> row_ptr, item_ptr;  // [n_tokens + n_bundles + 1]: tokens, then the members of bundles
  std::vector<std::uint32_t> rows;              // numbers of rows: those of attributes, then bundles
  std::vector<std::uint32_t> places;            // of single weights
  std::vector<std::uint16_t> offsets;           // of single weights in a row of scores
  std::vector<double> row_values, item_values;  // empty where all values are 1
  std::size_t n_tokens = 0, n_expanded = 0, n_bundles = 0;

  ResolvedWeights() = default;
  // Rows have `size` scores. Without bundles, rows may be changed from token to token.
  ResolvedWeights(ThreadPool& pool, const WeightRows& weights, const Sequences& sequences, std::size_t size,
                  bool bundled = true);

  std::size_t n_rows() const { return n_expanded + n_bundles; }
  // All rows: those of attributes, as they are given, and the sums of bundles.
  void fill(ThreadPool& pool, const double* weights, const double* expanded, std::size_t size,
            AlignedDoubles& all) const;
  // Residuals of bundles go to their members.
  void unbundle(std::size_t size, double* weights, double* all) const;

  // scores += the weights of a token; `all` are rows of `size`.
  void add(std::size_t token, const double* weights, const double* all, std::size_t size, double* scores) const;
  // The reverse: weights and rows += residuals.
  void scatter(std::size_t token, const double* residuals, std::size_t size, double* weights, double* all) const;
  // The same where rows have entries without a weight, which stay zero: `has` [rows] is 1 at the others. No values.
  void scatter_where(std::size_t token, const double* residuals, std::size_t size, const double* has, double* weights,
                     double* all) const;

 private:
  void prefetch(std::size_t token, const double* weights, const double* all, std::size_t size) const;
};

struct ChainTokens {
  const ChainFeatures* features;  // whose weights the places are of
  SequenceGroups groups;
  ResolvedWeights nodes, pairs;  // pairs empty where the features have no rows for them
  ListedPairs listed;            // empty where they are no better states than all pairs, or not asked for
  ResolvedWeights listed_pairs;  // the weights of pairs by these states

  // `by_listed`: whether label pairs will be the states, and may be listed ones.
  ChainTokens(ThreadPool& pool, const ChainFeatures& features, const Sequences& sequences, bool by_listed = false);
  std::size_t n_tokens() const { return nodes.n_tokens; }
};

}  // namespace loglinear::chain
