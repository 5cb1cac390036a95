// Pruning of back-off models (src/loglinear/backoff/model.py): entries are removed and back-off weights
// recomputed, so that every distribution still sums to one.
//
//   unseen(h) = sum of p(w | h)  over the words w without an entry after h
//   below(h)  = sum of p(w | h') over the same words,        h' = h without its oldest word
//   backoff(h) = unseen(h) / below(h)
//
// Both sums are taken from positive terms wherever one minus the rest would cancel: the words of h' that h lacks, and
// unseen(h'). A removed entry adds its probability to unseen(h); back-off weights then follow, shortest contexts first.
//
// Relative entropy (Stolcke, "Entropy-based Pruning of Backoff Language Models", 1998, equations 2 to 5): leaving out
// (h, w) alone costs
//   D = -p(h) { p(w | h) [log p(w | h') + log b' - log p(w | h)] + unseen(h) [log b' - log b] },
//   b' = (unseen(h) + p(w | h)) / (below(h) + p(w | h')),
// and multiplies the perplexity by exp(D). p(h) is the product of the model's own probabilities, <s> counting as </s>.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backoff/model.hh"

namespace loglinear::backoff {

// Throws InvalidInput unless every range lies where the layout says, words ascend and all V unigrams are there.
void check_prunable(ThreadPool& pool, const BackoffArrays& model);

// The following rely on a checked model; all lengths of arguments are theirs to check.

// unseen [n_contexts] of a model whose back-off weights are right.
void unseen_mass(ThreadPool& pool, const BackoffArrays& model, std::span<double> unseen);

// unseen[h] += what the entries that are not kept have.
void add_cut_mass(ThreadPool& pool, const BackoffArrays& model, std::span<const std::uint8_t> keep,
                  std::span<double> unseen);

// log_backoff [n_contexts] with which the model sums to one; model.log_backoff is not read.
void backoff_of_unseen(ThreadPool& pool, const BackoffArrays& model, std::span<const double> unseen,
                       std::span<double> log_backoff);

// keep[e] = 0 for entries of order 2 and more whose loss raises the perplexity by less than `threshold`, relatively.
// An entry stays that is the beginning or the end of a longer one that stays, so both closures are kept.
void entropy_cut(ThreadPool& pool, const BackoffArrays& model, std::span<const double> unseen, double threshold,
                 std::span<std::uint8_t> keep);

// The arrays of a model without some entries, and without the contexts that then have neither entries nor longer
// contexts with entries; back-off weights stay as they are.
struct SelectedModel {
  std::vector<std::int64_t> context_start, entry_start;
  std::vector<std::uint32_t> context_word, context_child, context_entry, entry_word;
  std::vector<double> log_backoff, log_probability;
};

// Fills contexts[c] = 1 where context c stays.
SelectedModel select_entries(const BackoffArrays& model, std::span<const std::uint8_t> keep,
                             std::span<std::uint8_t> contexts);

}  // namespace loglinear::backoff
