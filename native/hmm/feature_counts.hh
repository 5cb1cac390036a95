// Feature counts of labelled sequences: f(x_i, y_i) as the rows of a sparse matrix.
//
// Features are numbered as data/chain_features.py says: node, pair, transition, trigram, each list sorted, so that a
// feature is found by binary search. Features that are not listed are left out.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::hmm {

struct LabelledSequences {
  std::span<const std::int64_t> sequence_ptr;  // [n_sequences + 1]
  std::span<const std::int32_t> labels;        // [n_tokens]
  std::span<const std::int64_t> indptr;        // [n_tokens + 1]
  std::span<const std::int32_t> attributes;    // [n_occurrences]
  std::span<const double> values;              // [n_occurrences], or empty: all are 1
};

struct ChainFeatureLists {
  std::size_t n_labels = 0;
  std::span<const std::int64_t> node_ptr;        // [n_attributes + 1]
  std::span<const std::int32_t> node_label;
  std::span<const std::int64_t> pair_ptr;        // [n_attributes + 1]
  std::span<const std::int32_t> pair_code;       // y' L + y
  std::span<const std::int32_t> transition_code; // y' L + y
  std::span<const std::int32_t> trigram_code;    // (y'' L + y') L + y, y'' = L at the start
};

struct FeatureRows {
  std::vector<std::int64_t> indptr;  // [n_sequences + 1]
  std::vector<std::int32_t> indices;  // ascending within a row
  std::vector<double> values;
};

// Everything about data and lists but the labels: pointers, ranges, and that the lists ascend; throws InvalidInput.
void check_features(const LabelledSequences& data, const ChainFeatureLists& features);

// Refuses sequences with unknown labels.
FeatureRows count_features(ThreadPool& pool, const LabelledSequences& data, const ChainFeatureLists& features);

}  // namespace loglinear::hmm
