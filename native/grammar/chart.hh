// Charts of one sentence: the sums (or maxima) over all trees of every symbol and span, and their outside sums.
//
// Inside, over the words [i, j):      in(A, i, j) = sum_r sum_k  s(r, i, k, j) in(B, i, k) in(C, k, j)  + unary rules
// Outside, from the root down:       out(B, i, k) += out(A, i, j) s(r, i, k, j) in(C, k, j), and likewise for C
//
// (Baker 1979; Lari and Young 1990.) Values of left children lie in rows (B, i) along k, those of right children in rows
// (C, j) along k: a rule over a span is one product of two rows. Rows remember between which k they have values (the
// extents of Klein and Manning 2003), so that most rules are passed over. Sums are kept in range by one factor per word,
// which cancels in every product: a factor found wrong at some width is mended in all cells.
#pragma once
#include <cstdint>
#include <vector>

#include "grammar/rules.hh"

namespace loglinear::grammar {

struct Extent {
  std::int32_t low = 0x7FFFFFFF, high = -1;  // least and greatest k with a value
};

template <class Semiring>
class Chart {
 public:
  explicit Chart(const Rules& rules) : rules_(rules) {}

  // Fills the chart; returns the logarithm of the value of the start symbol over all words, -infinity without a tree,
  // infinity where sums leave the range of numbers.
  double fill(const Scores& scores, const Limits& limits);

  std::size_t n() const { return n_; }
  double value(std::size_t symbol, std::size_t i, std::size_t j) const { return values_[cell(i, j) * rules_.n_symbols + symbol]; }
  const double* left(std::size_t row, std::size_t i) const { return &left_[(row * (n_ + 1) + i) * (n_ + 1)]; }
  const double* right(std::size_t row, std::size_t j) const { return &right_[(row * (n_ + 1) + j) * (n_ + 1)]; }
  Extent extent(std::size_t r, std::size_t i, std::size_t j) const;  // splits of binary rule r over [i, j)

  // Scores of rules at spans, as the semiring has them.
  double rule_value(std::size_t r, std::size_t i, std::size_t j) const;
  const double* split_row(std::size_t r) const;  // null where all are one
  double token_value(std::size_t i, std::size_t t) const { return token_[i * rules_.n_tags() + t]; }

  std::size_t cell(std::size_t i, std::size_t j) const { return i * (2 * n_ - i + 1) / 2 + (j - i - 1); }
  static std::size_t bytes(const Rules& rules, std::size_t n);  // memory of a chart of n words

 private:
  void prepare(const Scores& scores);
  void fill_by_rules(std::size_t i, std::size_t j, const Limits& limits);
  void fill_by_pairs(std::size_t i, std::size_t j);
  void finish_cell(std::size_t i, std::size_t j, const Limits& limits);
  double combine(std::size_t r, std::size_t i, std::size_t j) const;
  void rescale(std::size_t width, double factor);

  const Rules& rules_;
  std::size_t n_ = 0;
  Scores scores_;
  double log_scale_ = 0.0;                       // logarithm of what the value over all words was divided by
  std::vector<double> values_;                   // [cells][n_symbols]
  std::vector<double> left_, right_;             // [rows][n + 1][n + 1]
  std::vector<Extent> left_extent_, right_extent_;  // [rows][n + 1]
  std::vector<double> token_, rule_;
  mutable std::vector<double> split_;           // [n_classes][n + 1], rows made when first asked for
  mutable std::vector<std::uint8_t> has_split_;  // [n_classes]
};

struct SumSemiring {
  static constexpr double zero = 0.0, one = 1.0;
  static double plus(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double from_log(double x) { return __builtin_exp(x); }
};
struct MaxSemiring {
  static constexpr double zero = -__builtin_huge_val(), one = 0.0;
  static double plus(double a, double b) { return a > b ? a : b; }
  static double times(double a, double b) { return a + b; }
  static double from_log(double x) { return x; }
};

using InsideChart = Chart<SumSemiring>;
using BestChart = Chart<MaxSemiring>;

// Expected counts of the parts of a sentence's trees, in the shapes of Scores.
struct PartCounts {
  std::vector<double> token;                        // [n][n_tags]
  std::vector<double> rule;                         // [n_rules]
  std::vector<double> begin, end, length, split;    // [n + 1][n_targets]
  void reset(std::size_t n, std::size_t n_tags, std::size_t n_rules, std::size_t n_targets) {
    token.assign(n * n_tags, 0.0);
    rule.assign(n_rules, 0.0);
    for (auto* table : {&begin, &end, &length, &split}) table->assign((n + 1) * n_targets, 0.0);
  }
};

// Outside sums of a filled chart, and the expected counts of its parts.
class Outside {
 public:
  explicit Outside(const Rules& rules) : rules_(rules) {}
  // `probability(symbol, i, j)` may be asked afterwards; counts are written if wanted.
  void fill(const InsideChart& inside, const Scores& scores, const Limits& limits, PartCounts* counts);
  double probability(std::size_t symbol, std::size_t i, std::size_t j) const {
    const std::size_t at = inside_->cell(i, j) * rules_.n_symbols + symbol;
    return values_[at] * inside_->value(symbol, i, j) / total_;
  }
  double unary_probability(std::size_t u, std::size_t i, std::size_t j) const {
    const auto parent = static_cast<std::size_t>(rules_.unary_parent[u]);
    const auto child = static_cast<std::size_t>(rules_.unary_child[u]);
    return values_[inside_->cell(i, j) * rules_.n_symbols + parent] *
           inside_->rule_value(rules_.n_binary() + u, i, j) * inside_->value(child, i, j) / total_;
  }

 private:
  const Rules& rules_;
  const InsideChart* inside_ = nullptr;
  double total_ = 0.0;
  void down_by_rules(const double* values, std::size_t i, std::size_t j, PartCounts* counts);
  void down_by_pairs(const double* values, std::size_t i, std::size_t j, PartCounts* counts);
  void note(PartCounts& counts, std::size_t r, std::size_t i, std::size_t j, double x) const;

  Scores scores_;
  std::vector<double> values_, left_, right_;
  std::vector<double> split_rows_;          // [n_classes][n + 1]
  std::vector<std::uint8_t> touched_;       // [n_classes]
};

}  // namespace loglinear::grammar
