#include "grammar/outside.hh"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// As chart_spread of native/simd/grammar.inc, which does it for sums.
template <class Semiring>
void spread(const simd::RowProduct* products, const std::vector<double>& g, const std::vector<double>& rows,
            std::vector<double>& out_rows, const std::vector<double>& splits, std::vector<double>& out_splits,
            std::vector<double>& mass) {
  if constexpr (std::is_same_v<Semiring, SumSemiring>) {
    simd::loops().charts.spread(products, g.size(), g.data(), rows.data(), out_rows.data(), splits.data(),
                                out_splits.data(), mass.data());
    return;
  }
  for (std::size_t p = 0; p < g.size(); ++p) {
    const simd::RowProduct& x = products[p];
    double* const left = out_rows.data() + (x.left - rows.data());
    double* const right = out_rows.data() + (x.right - rows.data());
    double* const split = out_splits.data() + (x.split - splits.data());
    mass[p] = Semiring::zero;
    for (std::int32_t k = x.low; k <= x.high; ++k) {
      const double f = Semiring::times(g[p], x.split[k]), both = Semiring::times(x.left[k], x.right[k]);
      left[k] = Semiring::plus(left[k], Semiring::times(f, x.right[k]));
      right[k] = Semiring::plus(right[k], Semiring::times(f, x.left[k]));
      split[k] = Semiring::plus(split[k], Semiring::times(f, both));
      mass[p] = Semiring::plus(mass[p], Semiring::times(both, x.split[k]));
    }
  }
}

}  // namespace

template <class Semiring>
double Outside<Semiring>::probability(const Chart<Semiring>& inside, std::size_t symbol, std::size_t i, std::size_t j) const {
  const double in = inside.value(symbol, i, j), out = values_[inside.cell(i, j) * rules_.n_symbols + symbol];
  return in == Semiring::zero ? 0.0 : Semiring::ratio(Semiring::times(in, out), total_);
}

template <class Semiring>
double Outside<Semiring>::unary_probability(const Chart<Semiring>& inside, std::size_t u, std::size_t i, std::size_t j) const {
  const double in = inside.value(at(rules_.unary_child[u]), i, j);
  const double out = values_[inside.cell(i, j) * rules_.n_symbols + at(rules_.unary_parent[u])];
  if (in == Semiring::zero) return 0.0;
  return Semiring::ratio(Semiring::times(Semiring::times(out, inside.rule_value(rules_.n_binary() + u, i, j)), in), total_);
}

template <class Semiring>
void Outside<Semiring>::note(PartCounts& counts, std::size_t c, std::size_t i, std::size_t j, double x) const {
  if (!anchored_) return;
  const std::size_t m = rules_.n_targets();
  for (const std::size_t target : {rules_.n_labels + c, at(rules_.class_label[c])}) {
    counts.begin[i * m + target] += x;
    counts.end[j * m + target] += x;
    counts.length[(j - i) * m + target] += x;
  }
}

// The outside sums of a cell: what larger spans have given to its symbols as their children.
template <class Semiring>
void Outside<Semiring>::gather(const Chart<Semiring>& inside, const Limits& limits, std::size_t i, std::size_t j) {
  const std::size_t place = i * (inside.n() + 1) + j, size = inside.row_size();
  double* const values = &values_[inside.cell(i, j) * rules_.n_symbols];
  for (std::size_t s = 0; s < rules_.n_symbols; ++s) {
    if (inside.value(s, i, j) == Semiring::zero || limits.hides(place, s)) continue;
    if (const std::int32_t row = rules_.left_row[s]; row >= 0)
      values[s] = Semiring::plus(values[s], rows_[at(inside.left(row, i).place) * size + j]);
    if (const std::int32_t row = rules_.right_row[s]; row >= 0)
      values[s] = Semiring::plus(values[s], rows_[at(inside.right(row, j).place) * size + i]);
  }
}

template <class Semiring>
void Outside<Semiring>::down_unary(const Chart<Semiring>& inside, const Limits& limits, std::size_t i, std::size_t j,
                                   PartCounts* counts) {
  const std::size_t place = i * (inside.n() + 1) + j;
  double* const values = &values_[inside.cell(i, j) * rules_.n_symbols];
  for (std::size_t u = rules_.n_unary(); u-- > 0;) {
    const std::size_t parent = at(rules_.unary_parent[u]), child = at(rules_.unary_child[u]), r = rules_.n_binary() + u;
    const double in_child = inside.value(child, i, j);
    if (in_child == Semiring::zero || values[parent] == Semiring::zero) continue;
    if (!limits.allows(place, parent) || !limits.allows_unary(place, u)) continue;
    const double out = Semiring::times(values[parent], inside.rule_value(r, i, j));
    values[child] = Semiring::plus(values[child], out);
    if (!counts) continue;
    const double x = Semiring::ratio(Semiring::times(out, in_child), total_);
    counts->rule[r] += x;
    note(*counts, at(rules_.rule_class[r]), i, j, x);
  }
}

template <class Semiring>
void Outside<Semiring>::down(const Chart<Semiring>& inside, const Limits& limits, std::size_t i, std::size_t j,
                             PartCounts* counts) {
  const double* const values = &values_[inside.cell(i, j) * rules_.n_symbols];
  inside.collect(i, j, limits, pairs_);
  factor_.clear();
  for (std::size_t p = 0; p < pairs_.n; ++p) {  // pairs whose parents have no outside sum are left out
    const Rules::Pair& pair = rules_.pairs[at(pairs_.number[p])];
    double out = Semiring::zero;
    for (std::size_t r = at(pair.first); r < at(pair.last); ++r)
      out = Semiring::plus(out, Semiring::times(values[at(rules_.pair_parent[r])], inside.own_value(at(rules_.pair_rule[r]))));
    if (out == Semiring::zero) continue;
    const std::size_t kept = factor_.size();
    pairs_.products[kept] = pairs_.products[p];
    pairs_.number[kept] = pairs_.number[p];
    pairs_.factor[kept] = pairs_.factor[p];
    factor_.push_back(Semiring::times(out, pairs_.factor[p]));
  }
  mass_.resize(factor_.size());
  spread<Semiring>(pairs_.products.data(), factor_, inside.rows(), rows_, inside.split_rows(), splits_, mass_);
  if (!counts) return;
  for (std::size_t p = 0; p < factor_.size(); ++p) {
    if (mass_[p] == Semiring::zero) continue;
    const Rules::Pair& pair = rules_.pairs[at(pairs_.number[p])];
    note(*counts, at(pair.rule_class), i, j, Semiring::ratio(Semiring::times(factor_[p], mass_[p]), total_));
    const double each = Semiring::times(pairs_.factor[p], mass_[p]);
    for (std::size_t q = at(pair.first); q < at(pair.last); ++q) {
      const std::size_t r = at(rules_.pair_rule[q]);
      const double out = Semiring::times(values[at(rules_.pair_parent[q])], inside.own_value(r));
      counts->rule[r] += Semiring::ratio(Semiring::times(out, each), total_);
    }
  }
}

template <class Semiring>
void Outside<Semiring>::count_splits(const Chart<Semiring>& inside, PartCounts& counts) const {
  const std::size_t size = inside.row_size(), m = rules_.n_targets();
  for (std::size_t c = 0; c < rules_.n_classes(); ++c)
    for (std::size_t k = 1; k < inside.n(); ++k)
      if (const double x = splits_[c * size + k]; x != Semiring::zero) {
        const double p = Semiring::ratio(x, total_);
        counts.split[k * m + rules_.n_labels + c] += p;
        counts.split[k * m + at(rules_.class_label[c])] += p;
      }
}

template <class Semiring>
void Outside<Semiring>::fill(const Chart<Semiring>& inside, const Scores& scores, const Limits& limits, PartCounts* counts) {
  const std::size_t n = inside.n(), S = rules_.n_symbols, T = rules_.n_tags();
  anchored_ = scores.anchored();
  total_ = inside.value(rules_.start, 0, n);
  values_.assign(n * (n + 1) / 2 * S, Semiring::zero);
  rows_.assign(inside.rows().size(), Semiring::zero);
  splits_.assign(inside.split_rows().size(), Semiring::zero);
  if (counts) counts->reset(n, T, rules_.n_rules(), rules_.n_targets());
  values_[inside.cell(0, n) * S + rules_.start] = Semiring::one;
  for (std::size_t width = n; width >= 1; --width)
    for (std::size_t i = 0; i + width <= n; ++i) {
      const std::size_t j = i + width, place = i * (n + 1) + j;
      if (limits.blocks(place)) continue;
      gather(inside, limits, i, j);
      down_unary(inside, limits, i, j, counts);
      if (width > 1) {
        down(inside, limits, i, j, counts);
      } else if (counts) {
        for (std::size_t t = 0; t < T; ++t) {
          const std::size_t s = at(rules_.tag_symbol[t]);
          if (limits.allows(place, s) && inside.token_value(i, t) != Semiring::zero)
            counts->token[i * T + t] = Semiring::ratio(
                Semiring::times(values_[inside.cell(i, j) * S + s], inside.token_value(i, t)), total_);
        }
      }
    }
  if (counts && anchored_) count_splits(inside, *counts);
}

template class Outside<SumSemiring>;
template class Outside<LogSemiring>;

double TreeSums::fill(const Scores& scores, const Limits& limits) {
  const double log_z = inside_.fill(scores, limits);
  in_logs_ = !inside_.in_range() || (inside_.has_tiny() && !(log_z >= best_.fill(scores, limits) - 1e-6));
  if (!in_logs_) return log_z;
  if (!log_inside_) log_inside_.emplace(rules_), log_outside_.emplace(rules_);
  return log_inside_->fill(scores, limits);
}

void TreeSums::fill_outside(const Scores& scores, const Limits& limits, PartCounts* counts) {
  if (in_logs_) log_outside_->fill(*log_inside_, scores, limits, counts);
  else outside_.fill(inside_, scores, limits, counts);
}

}  // namespace loglinear::grammar
