// Sentences under a model of trees: their charts, limits and losses. Sentences are shared out among threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/features.hh"

namespace loglinear::grammar {

// Sets of symbols that may stand over each span, by coarse symbols; those of sentence s begin at ptr[s].
struct Masks {
  std::span<const std::int64_t> ptr;    // [n_sentences + 1], or empty: no masks
  std::span<const std::uint64_t> bits;
  std::span<const std::int32_t> coarse;  // [n_symbols]
  std::size_t n_words = 0;              // words of 64 bits of a cell
  void check(const Rules& rules, const TreeBank& bank) const;
};

// Given brackets and tags.
struct Constraints {
  std::span<const std::int64_t> bracket_ptr;  // [n_sentences + 1], or empty: no brackets
  std::span<const std::int32_t> begin, end, label;  // label: kAnyLabel or a label
  std::span<const std::int32_t> tags;         // [n_tokens] tag or -1; or empty
  std::span<const std::uint8_t> hidden;       // [n_symbols]
  std::span<const std::int64_t> label_ptr;    // [n_unary + 1] labels of constituents that a unary rule makes
  std::span<const std::int32_t> labels;
  bool any() const { return !bracket_ptr.empty() || !tags.empty(); }
  void check(const Rules& rules, const TreeBank& bank) const;
};

// Makes the scores and limits of one sentence after another, in memory of its own.
class Workspace {
 public:
  Workspace(const TreeModel& model, std::span<const double> rule_scores, const TreeBank& bank, const Masks& masks,
            const Constraints& constraints)
      : model_(model), rule_scores_(rule_scores), bank_(bank), masks_(masks), constraints_(constraints) {}

  void set(std::size_t sentence, bool constrained);
  const Scores& scores() const { return scores_; }
  const Limits& limits() const { return limits_; }

 private:
  const TreeModel& model_;
  std::span<const double> rule_scores_;
  const TreeBank& bank_;
  const Masks& masks_;
  const Constraints& constraints_;
  SentenceScores tables_;
  std::vector<double> token_;
  std::vector<std::int32_t> required_;
  Scores scores_;
  Limits limits_;
};

// Cuts [0, n_sentences) into ranges of similar work.
std::vector<std::size_t> share_out(const TreeBank& bank, std::size_t n_parts);

// sum_s log Z(s) - log Z(s, constraints); without constraints the second term is left out. Writes the expected counts of
// the first term, less those of the second. Throws InvalidInput for a sentence without a tree.
double tree_loss(ThreadPool& pool, const TreeModel& model, const TreeBank& bank, const Masks& masks,
                 const Constraints& constraints, std::span<double> gradient);

// log Z of every sentence, -infinity without a tree.
void log_normalisers(ThreadPool& pool, const TreeModel& model, const TreeBank& bank, const Masks& masks,
                     const Constraints& constraints, std::span<double> out);

// Masks from a coarse model: a coarse symbol may stand where its probability is at least `threshold`. `always` are parts
// that are kept (those of gold trees), in coarse symbols.
struct CoarseMasks {
  std::vector<std::int64_t> ptr{0};
  std::vector<std::uint64_t> bits;
  std::int64_t kept = 0, possible = 0;  // symbols over spans
  std::int64_t lost = 0;                // parts of `always` that the threshold would have left out
};
CoarseMasks coarse_masks(ThreadPool& pool, const TreeModel& coarse, const TreeBank& bank, double threshold,
                         std::span<const std::int64_t> always_ptr, std::span<const std::int32_t> always_symbol,
                         std::span<const std::int32_t> always_begin, std::span<const std::int32_t> always_end);

}  // namespace loglinear::grammar
