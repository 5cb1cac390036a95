// Features of a label chain and the sequences they are found in, as checked views of a caller's arrays.
//
//   w = [ node | pair | transition | trigram ]
//
// node features (attribute, y), pair features (attribute, y', y), transitions (y', y), trigrams (y'', y', y) with
// y'' = L at the start. Codes are y' L + y and (y'' L + y') L + y; within an attribute they ascend.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/errors.hh"
#include "util/thread_pool.hh"

namespace loglinear::chain {

// How the weights of an attribute are reached: few of them one by one, many of them as a whole row of scores.
struct WeightRows {
  struct Row {
    std::uint32_t begin;   // place of the first weight, or number of the expanded row
    std::uint16_t count;   // kExpanded, or the number of weights
    std::uint16_t offset;  // of the first weight in a row
  };
  static constexpr std::uint16_t kExpanded = 0xFFFF;
  std::vector<Row> rows;                // [n_attributes]
  std::vector<std::uint32_t> expanded;  // attributes that have an expanded row
  std::vector<std::uint16_t> offsets;   // of every weight in a row

  // Code c of `n_codes` possible ones lies at c / L * Lp + c % L of a row.
  void build(std::span<const std::int64_t> ptr, std::span<const std::int32_t> codes, std::size_t L, std::size_t Lp,
             std::size_t n_codes);
};

struct ChainFeatures {
  std::size_t L, Lp;  // labels, and rounded up to a multiple of 4
  std::size_t n_numbers;  // the last so many attributes are columns of an array of numbers, which all tokens have
  std::span<const std::int64_t> node_ptr;
  std::span<const std::int32_t> node_label;
  std::span<const std::int64_t> pair_ptr;
  std::span<const std::int32_t> pair_code;
  std::span<const std::int32_t> transition_code;
  std::span<const std::int32_t> trigram_code;

  WeightRows nodes;  // rows of Lp
  WeightRows pairs;  // rows of L Lp, where these are small; else empty

  ChainFeatures(std::size_t n_labels, std::span<const std::int64_t> node_pointers,
                std::span<const std::int32_t> node_labels, std::span<const std::int64_t> pair_pointers,
                std::span<const std::int32_t> pair_codes, std::span<const std::int32_t> transitions,
                std::span<const std::int32_t> trigrams, std::size_t numbers = 0);

  std::size_t first_number() const { return n_attributes() - n_numbers; }
  std::size_t n_attributes() const { return node_ptr.size() - 1; }
  std::size_t pair_begin() const { return node_label.size(); }
  std::size_t transition_begin() const { return pair_begin() + pair_code.size(); }
  std::size_t trigram_begin() const { return transition_begin() + transition_code.size(); }
  std::size_t n_weights() const { return trigram_begin() + trigram_code.size(); }
};

// A row of numbers for every token, by sequence: [n_sequences] pointers to [T][width], or none at all.
struct TokenArrays {
  std::vector<const float*> rows;
  std::size_t width = 0;

  const float* row(std::size_t sequence, std::size_t t) const { return rows[sequence] + t * width; }
  bool empty() const { return rows.empty(); }
};

// Sequences of tokens with attributes; an empty `values` means that all are 1.
struct Sequences {
  std::span<const std::int64_t> ptr;      // [n_sequences + 1]
  std::span<const std::int64_t> indptr;   // [n_tokens + 1]
  std::span<const std::int32_t> indices;  // attributes
  std::span<const double> values;
  std::size_t n_attributes;
  TokenArrays numbers;    // values of the last `numbers.width` attributes, which are not in `indices`
  TokenArrays emissions;  // scores of labels that are given, [T][L]

  Sequences(std::span<const std::int64_t> sequence_pointers, std::span<const std::int64_t> row_pointers,
            std::span<const std::int32_t> attribute_indices, std::span<const double> attribute_values,
            std::size_t attributes, TokenArrays token_numbers = {}, TokenArrays token_emissions = {});

  std::size_t size() const { return ptr.size() - 1; }
  std::size_t n_tokens() const { return indptr.size() - 1; }
  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(ptr[i]); }
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(ptr[i + 1] - ptr[i]); }
  std::size_t longest() const;

  // Sequence numbers that cut the work into `parts` pieces of similar size: [parts + 1].
  std::vector<std::size_t> cut(std::size_t parts) const;
};

// The features that occur in labelled sequences, counting only attributes whose scope has the bit (1 node, 2 pair).
// A label of -1 takes part in no feature.
struct ObservedFeatures {
  std::vector<std::int64_t> ptr;     // [n_attributes + 1]
  std::vector<std::int32_t> codes;
};
ObservedFeatures observed_features(ThreadPool& pool, const Sequences& sequences,
                                   std::span<const std::int32_t> labels, std::size_t L,
                                   std::span<const std::uint8_t> scopes, bool pairs, std::int64_t min_count);

}  // namespace loglinear::chain
