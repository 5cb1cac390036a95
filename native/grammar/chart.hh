// Charts of one sentence: the sums (or maxima) over all trees of every symbol and span.
//
// Over the words [i, j):      in(A, i, j) = sum_r sum_k  s(r, i, k, j) in(B, i, k) in(C, k, j)  + unary rules
//
// (Baker 1979; Lari and Young 1990.) Values of left children lie in rows (B, i) along k, those of right children in rows
// (C, j) along k: a pair of children over a span is one product of two rows, done once for all rules that have it
// (rules.hh). Rows exist where they have values, and remember between which k (the extents of Klein and Manning 2003),
// so that most pairs are passed over.
//
// Sums are numbers, not logarithms, kept in range by one factor per word, which cancels in every product: a factor found
// wrong at some width is mended in all cells. Where scores are so far from zero that sums mean nothing, `in_range` is
// false; where some values are so small that trees may have vanished from the sums, `has_tiny` is true. Then the chart of
// logarithms (LogSemiring) has to do, as TreeSums of outside.hh decides.
#pragma once
#include <cstdint>
#include <vector>

#include "grammar/rules.hh"
#include "simd/loops.hh"

namespace loglinear::grammar {

// Values of a chart; `products` and `exponentials` work on many at once.
struct SumSemiring {
  static constexpr double zero = 0.0, one = 1.0;
  static double plus(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double from_log(double x) { return __builtin_exp(x); }
  static double to_log(double x) { return __builtin_log(x); }
  static double ratio(double a, double b) { return a / b; }
};
struct MaxSemiring {
  static constexpr double zero = -__builtin_huge_val(), one = 0.0;
  static double plus(double a, double b) { return a > b ? a : b; }
  static double times(double a, double b) { return a + b; }
  static double from_log(double x) { return x; }
  static double to_log(double x) { return x; }
};
struct LogSemiring {
  static constexpr double zero = -__builtin_huge_val(), one = 0.0;
  static double plus(double a, double b) {
    const double most = a > b ? a : b;
    return most == zero ? zero : most + __builtin_log1p(__builtin_exp((a > b ? b : a) - most));
  }
  static double times(double a, double b) { return a + b; }
  static double from_log(double x) { return x; }
  static double to_log(double x) { return x; }
  static double ratio(double a, double b) { return __builtin_exp(a - b); }
};

template <class Semiring>
class Chart {
 public:
  explicit Chart(const Rules& rules) : rules_(rules) {}

  // Fills the chart; returns the logarithm of the value of the start symbol over all words, -infinity without a tree.
  // Where it is not `in_range`, what it returns and holds means nothing.
  double fill(const Scores& scores, const Limits& limits);
  bool in_range() const { return in_range_; }
  bool has_tiny() const { return has_tiny_; }

  std::size_t n() const { return n_; }
  std::size_t cell(std::size_t i, std::size_t j) const { return i * (2 * n_ - i + 1) / 2 + (j - i - 1); }
  double value(std::size_t symbol, std::size_t i, std::size_t j) const { return values_[cell(i, j) * rules_.n_symbols + symbol]; }
  static std::size_t bytes(const Rules& rules, std::size_t n);  // memory of a chart of n words, at most

  // Scores of rules at spans, as the semiring has them.
  double rule_value(std::size_t r, std::size_t i, std::size_t j) const { return Semiring::times(rule_[r], anchor(r, i, j)); }
  double token_value(std::size_t i, std::size_t t) const { return token_[i * rules_.n_tags() + t]; }
  simd::RowProduct splits(std::size_t r, std::size_t i, std::size_t j) const;  // of binary rule r; low > high: none

  // The pairs that make something over a span: products of rows, and the scores of begin, end and length. There are n.
  struct Pairs {
    std::size_t n = 0;
    std::vector<simd::RowProduct> products;
    std::vector<std::int32_t> number;
    std::vector<double> factor;
  };
  void collect(std::size_t i, std::size_t j, const Limits& limits, Pairs& out) const;
  double own_value(std::size_t r) const { return rule_[r]; }  // of a rule, wherever it stands

  // Rows: those of left children by (i, row), those of right children by (j, row).
  struct Row {
    std::int32_t place = -1;                   // where it lies
    std::int32_t low = 0x7FFFFFFF, high = -1;  // least and greatest k with a value
  };
  std::size_t row_size() const { return (n_ + 4) / 4 * 4; }
  const Row& left(std::int32_t row, std::size_t i) const { return left_[i * rules_.n_left + static_cast<std::size_t>(row)]; }
  const Row& right(std::int32_t row, std::size_t j) const { return right_[j * rules_.n_right + static_cast<std::size_t>(row)]; }
  const std::vector<double>& rows() const { return rows_; }
  const std::vector<double>& split_rows() const { return split_; }  // [n_classes + 1][row_size], the last one all one

 private:
  void prepare(const Scores& scores);
  void prepare_tokens(const Scores& scores);
  double anchor(std::size_t r, std::size_t i, std::size_t j) const;
  const double* split_row(std::size_t c) const {
    if (!scores_.anchored()) return &split_[rules_.n_classes() * row_size()];
    if (!has_split_[c]) make_split_row(c);
    return &split_[c * row_size()];
  }
  void make_split_row(std::size_t c) const;
  const double* row(const Row& r) const { return rows_.data() + static_cast<std::size_t>(r.place) * row_size(); }
  void fill_cell(std::size_t i, std::size_t j, const Limits& limits);
  void apply_unary(std::size_t i, std::size_t j, const Limits& limits);
  void show(std::size_t i, std::size_t j, const Limits& limits);
  void put(Row& row, std::size_t k, std::size_t from, double x);
  void rescale(std::size_t width, double factor);

  const Rules& rules_;
  std::size_t n_ = 0;
  Scores scores_;
  double log_scale_ = 0.0;                // logarithm of what the value over all words was divided by
  mutable bool in_range_ = true;
  bool has_tiny_ = false;
  std::vector<double> values_;            // [cells][n_symbols]
  std::vector<Row> left_, right_;         // [n + 1][n_left], [n + 1][n_right]
  std::vector<double> rows_;              // [rows that exist][row_size]
  std::vector<std::int32_t> row_origin_;  // [rows that exist]: i of a left row, j of a right one
  std::vector<double> token_, rule_, sums_;
  Pairs pairs_;
  mutable std::vector<double> split_;            // [n_classes + 1][row_size], made when first asked for
  mutable std::vector<std::uint8_t> has_split_;  // [n_classes]
};

using InsideChart = Chart<SumSemiring>;
using LogChart = Chart<LogSemiring>;
using BestChart = Chart<MaxSemiring>;

}  // namespace loglinear::grammar
