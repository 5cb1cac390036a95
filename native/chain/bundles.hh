// Bundles: sets of attributes that recur together, scored once and added to the scores of tokens as one row.
//
// Attributes of templates are functions of few cells: where the attribute of three tags occurs, so do those of each
// tag and each pair of them. The companions of an attribute are the attributes that all tokens with it have. A token
// takes the companions of the attribute that saves most work as a bundle, those that are left of the next one's as
// another, and so on. A bundle stays if the tokens that use it save more work than it costs. Sums are the same but for
// rounding.
#pragma once
#include <cstdint>
#include <vector>

#include "chain/features.hh"

namespace loglinear::chain {

struct Bundles {
  // Entries of tokens, then attributes of bundles: [n_tokens + size + 1] pointers. An entry is an attribute, or
  // n_attributes + the number of a bundle.
  std::vector<std::int64_t> ptr;
  std::vector<std::int32_t> entries;
  std::size_t size = 0;

  // Work is counted in weights that are added one by one; a row counts as `row_cost` of them (infinity: no bundles).
  // Tokens with values other than 1 get none.
  Bundles(ThreadPool& pool, const WeightRows& weights, const Sequences& sequences, double row_cost);
};

}  // namespace loglinear::chain
