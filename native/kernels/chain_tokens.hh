// Tokens whose attributes have been resolved to places of weights, once before training.
//
// A token's node scores are the sum of whole rows (attributes with weights for many labels) and of single weights. Both
// are listed token by token, so that an evaluation reads them in order and only the weights themselves at random.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/chain_features.hh"

namespace loglinear {

struct ChainTokens {
  std::vector<std::int64_t> row_ptr, item_ptr;  // [n_tokens + 1]
  std::vector<std::uint32_t> rows;              // numbers of expanded rows
  std::vector<std::uint32_t> places;            // of single weights
  std::vector<std::uint16_t> labels;            // of single weights
  std::vector<double> row_values, item_values;  // empty where all values are 1

  ChainTokens(ThreadPool& pool, const ChainFeatures& features, const Sequences& sequences);

  std::size_t n_tokens() const { return row_ptr.size() - 1; }
};

}  // namespace loglinear
