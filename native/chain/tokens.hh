// Tokens whose attributes have been resolved to places of weights, once before training.
//
// The scores of a token's states are the sum of whole rows (attributes with weights for many labels) and of single
// weights. Both are listed token by token, so that an evaluation reads them in order and only the weights at random.
#pragma once
#include <cstdint>
#include <vector>

#include "chain/features.hh"

namespace loglinear::chain {

struct ResolvedWeights {
  std::vector<std::int64_t> row_ptr, item_ptr;  // [n_tokens + 1]
  std::vector<std::uint32_t> rows;              // numbers of expanded rows
  std::vector<std::uint32_t> places;            // of single weights
  std::vector<std::uint16_t> offsets;           // of single weights in a row of scores
  std::vector<double> row_values, item_values;  // empty where all values are 1

  ResolvedWeights() = default;
  ResolvedWeights(ThreadPool& pool, const WeightRows& weights, const Sequences& sequences);

  // scores += the weights of a token; `expanded` has rows of `size`.
  void add(std::size_t token, const double* weights, const double* expanded, std::size_t size, double* scores) const;
  // The reverse: weights and expanded rows += residuals.
  void scatter(std::size_t token, const double* residuals, std::size_t size, double* weights, double* expanded) const;
};

struct ChainTokens {
  const ChainFeatures* features;  // whose weights the places are of
  ResolvedWeights nodes, pairs;  // pairs empty where the features have no rows for them

  ChainTokens(ThreadPool& pool, const ChainFeatures& features, const Sequences& sequences);
  std::size_t n_tokens() const { return nodes.row_ptr.size() - 1; }
};

}  // namespace loglinear::chain
