// Outside sums of a chart, and the expected counts of the parts of a sentence's trees.
//
// From the root down:       out(B, i, k) += out(A, i, j) s(r, i, k, j) in(C, k, j), and likewise for C
//
// The probability that a tree has A over [i, j) is out(A, i, j) in(A, i, j) / Z (Lari and Young 1990).
#pragma once
#include <optional>

#include "grammar/chart.hh"

namespace loglinear::grammar {

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

// Semiring: SumSemiring or LogSemiring.
template <class Semiring>
class Outside {
 public:
  explicit Outside(const Rules& rules) : rules_(rules) {}
  // Of a chart with a tree; counts are written if wanted.
  void fill(const Chart<Semiring>& inside, const Scores& scores, const Limits& limits, PartCounts* counts);

  // Probabilities of a symbol, and of a unary rule, over a span.
  double probability(const Chart<Semiring>& inside, std::size_t symbol, std::size_t i, std::size_t j) const;
  double unary_probability(const Chart<Semiring>& inside, std::size_t u, std::size_t i, std::size_t j) const;

 private:
  void gather(const Chart<Semiring>& inside, const Limits& limits, std::size_t i, std::size_t j);
  void down_unary(const Chart<Semiring>& inside, const Limits& limits, std::size_t i, std::size_t j, PartCounts* counts);
  void down(const Chart<Semiring>& inside, const Limits& limits, std::size_t i, std::size_t j, PartCounts* counts);
  void note(PartCounts& counts, std::size_t c, std::size_t i, std::size_t j, double x) const;
  void count_splits(const Chart<Semiring>& inside, PartCounts& counts) const;

  const Rules& rules_;
  bool anchored_ = false;
  double total_ = Semiring::zero;
  std::vector<double> values_, rows_, splits_;  // in the shapes of those of the chart
  std::vector<double> factor_, mass_;
  typename Chart<Semiring>::Pairs pairs_;
};

// Inside and outside sums of one sentence after another, in logarithms where numbers lose range: where they are too large,
// or where they are small and the best tree has vanished from their sum.
class TreeSums {
 public:
  explicit TreeSums(const Rules& rules) : rules_(rules), inside_(rules), best_(rules), outside_(rules) {}

  double fill(const Scores& scores, const Limits& limits);  // log Z, -infinity without a tree
  void fill_outside(const Scores& scores, const Limits& limits, PartCounts* counts);  // where there is a tree

  // Calls work(chart, outside) with those that hold the sums.
  template <class Work>
  auto visit(Work work) const {
    return in_logs_ ? work(*log_inside_, *log_outside_) : work(inside_, outside_);
  }

  std::size_t n() const { return inside_.n(); }
  bool has(std::size_t symbol, std::size_t i, std::size_t j) const {
    return visit([&](const auto& inside, const auto&) { return inside.value(symbol, i, j) != no_value(inside); });
  }
  double probability(std::size_t symbol, std::size_t i, std::size_t j) const {
    return visit([&](const auto& inside, const auto& outside) { return outside.probability(inside, symbol, i, j); });
  }
  double unary_probability(std::size_t u, std::size_t i, std::size_t j) const {
    return visit([&](const auto& inside, const auto& outside) { return outside.unary_probability(inside, u, i, j); });
  }

 private:
  template <class Semiring>
  static constexpr double no_value(const Chart<Semiring>&) { return Semiring::zero; }

  const Rules& rules_;
  InsideChart inside_;
  BestChart best_;
  Outside<SumSemiring> outside_;
  bool in_logs_ = false;
  std::optional<LogChart> log_inside_;
  std::optional<Outside<LogSemiring>> log_outside_;
};

}  // namespace loglinear::grammar
