#include "grammar/chart.hh"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace loglinear::grammar {
namespace {

constexpr double kInfinity = __builtin_huge_val();
constexpr double kLarge = 1e20, kSmall = 1e-20;  // the greatest value of a width is kept between them
constexpr double kLeast = 1e-140;                // products of smaller values may vanish
constexpr double kFar = 100.0;                   // scores of single features' sums that are farther from zero are too far

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class Semiring>
constexpr bool is_sum = std::is_same_v<Semiring, SumSemiring>;

template <class Semiring>
void products(const simd::RowProduct* rows, std::size_t n, double* out) {
  if constexpr (is_sum<Semiring>) {
    simd::loops().charts.sums(rows, n, out);
  } else if constexpr (std::is_same_v<Semiring, MaxSemiring>) {
    simd::loops().charts.maxima(rows, n, out);
  } else {
    for (std::size_t p = 0; p < n; ++p) {
      out[p] = Semiring::zero;
      for (std::int32_t k = rows[p].low; k <= rows[p].high; ++k)
        out[p] = Semiring::plus(out[p], rows[p].left[k] + rows[p].right[k] + rows[p].split[k]);
    }
  }
}

// Turns scores into values; false where one is too far from zero for sums.
template <class Semiring>
bool exponentials(double* x, std::size_t n) {
  if constexpr (!is_sum<Semiring>) return true;
  bool near = true;
  for (std::size_t i = 0; i < n; ++i) near = near && (std::fabs(x[i]) <= kFar || x[i] == -kInfinity);
  simd::loops().exp(x, x, n);
  return near;
}

}  // namespace

template <class Semiring>
std::size_t Chart<Semiring>::bytes(const Rules& rules, std::size_t n) {
  return 8 * (n * (n + 1) / 2 * rules.n_symbols + (n + 1) * (n + 4) * (rules.n_left + rules.n_right + 1));
}

template <class Semiring>
double Chart<Semiring>::anchor(std::size_t r, std::size_t i, std::size_t j) const {
  if (!scores_.anchored()) return Semiring::one;
  const std::size_t m = rules_.n_targets();
  double x = 0.0;
  for (const std::size_t t : {rules_.label_of(r), rules_.n_labels + at(rules_.rule_class[r])})
    x += scores_.begin[i * m + t] + scores_.end[j * m + t] + scores_.length[(j - i) * m + t];
  if (is_sum<Semiring> && std::fabs(x) > kFar) in_range_ = false;
  return Semiring::from_log(x);
}

template <class Semiring>
void Chart<Semiring>::make_split_row(std::size_t c) const {
  has_split_[c] = 1;
  const std::size_t m = rules_.n_targets(), size = row_size();
  double* const row = &split_[c * size];
  const double *by_class = &scores_.split[rules_.n_labels + c], *by_label = &scores_.split[at(rules_.class_label[c])];
  for (std::size_t k = 0; k <= n_; ++k) row[k] = by_class[k * m] + by_label[k * m];
  std::fill(row + n_ + 1, row + size, 0.0);
  if (!exponentials<Semiring>(row, size)) in_range_ = false;
}

template <class Semiring>
simd::RowProduct Chart<Semiring>::splits(std::size_t r, std::size_t i, std::size_t j) const {
  const Row& l = left(rules_.left_row[at(rules_.left[r])], i);
  const Row& x = right(rules_.right_row[at(rules_.right[r])], j);
  const std::int32_t low = std::max(l.low, x.low), high = std::min(l.high, x.high);
  if (low > high) return {nullptr, nullptr, nullptr, 1, 0};
  return {row(l), row(x), split_row(at(rules_.rule_class[r])), low, high};
}

template <class Semiring>
void Chart<Semiring>::collect(std::size_t i, std::size_t j, const Limits& limits, Pairs& out) const {
  out.products.resize(rules_.pairs.size()), out.number.resize(rules_.pairs.size()), out.factor.resize(rules_.pairs.size());
  std::size_t n = 0;
  const std::size_t place = i * (n_ + 1) + j, m = rules_.n_targets();
  const Row *const lefts = &left_[i * rules_.n_left], *const rights = &right_[j * rules_.n_right];
  const Rules::Pair* const pairs = rules_.pairs.data();
  const bool anchored = scores_.anchored();
  const double* const begin = anchored ? &scores_.begin[i * m] : nullptr;
  const double* const end = anchored ? &scores_.end[j * m] : nullptr;
  const double* const length = anchored ? &scores_.length[(j - i) * m] : nullptr;
  const auto last = static_cast<std::int32_t>(j);
  for (const Rules::LabelRuns& label : rules_.labels) {
    if (!limits.allows(place, label.parent)) continue;
    const double base = anchored ? begin[label.label] + end[label.label] + length[label.label] : 0.0;
    for (std::size_t run = label.first; run < label.last; ++run) {
      const auto [left_row, first_pair, last_pair] = rules_.runs[run];
      const Row l = lefts[left_row];
      if (l.low >= last) continue;
      for (std::int32_t q = first_pair; q < last_pair; ++q) {
        const Rules::Pair& pair = pairs[q];
        const Row& x = rights[pair.right];
        const std::int32_t low = std::max(l.low, x.low), high = std::min(l.high, x.high);
        if (low > high) continue;
        const std::size_t c = at(pair.rule_class), t = rules_.n_labels + c;
        out.products[n] = {row(l), row(x), split_row(c), low, high};
        out.number[n] = q;
        out.factor[n++] = anchored ? base + begin[t] + end[t] + length[t] : Semiring::one;
      }
    }
  }
  out.n = n;
  if (anchored && !exponentials<Semiring>(out.factor.data(), n)) in_range_ = false;
}

// Tables as the semiring has them: exponentials for sums, which one factor per word keeps in range.
template <class Semiring>
void Chart<Semiring>::prepare(const Scores& scores) {
  scores_ = scores;
  n_ = scores.n;
  in_range_ = true;
  has_tiny_ = false;
  rule_.assign(scores.rule.begin(), scores.rule.end());
  if (!exponentials<Semiring>(rule_.data(), rule_.size())) in_range_ = false;
  split_.resize((rules_.n_classes() + 1) * row_size());
  std::fill(split_.end() - static_cast<std::ptrdiff_t>(row_size()), split_.end(), Semiring::one);
  has_split_.assign(rules_.n_classes(), 0);
  prepare_tokens(scores);
  values_.assign(n_ * (n_ + 1) / 2 * rules_.n_symbols, Semiring::zero);
  left_.assign(rules_.n_left * (n_ + 1), Row{});
  right_.assign(rules_.n_right * (n_ + 1), Row{});
  rows_.clear();
  row_origin_.clear();
}

template <class Semiring>
void Chart<Semiring>::prepare_tokens(const Scores& scores) {
  token_.assign(scores.token.begin(), scores.token.end());
  log_scale_ = 0.0;
  if constexpr (is_sum<Semiring>) {
    const std::size_t T = rules_.n_tags();
    for (std::size_t i = 0; i < n_; ++i) {
      double* row = &token_[i * T];
      double most = *std::max_element(row, row + T);
      if (most == -kInfinity) most = 0.0;
      for (std::size_t t = 0; t < T; ++t) row[t] = row[t] == -kInfinity ? 0.0 : std::exp(row[t] - most);
      log_scale_ += most;
    }
  }
}

template <class Semiring>
void Chart<Semiring>::fill_cell(std::size_t i, std::size_t j, const Limits& limits) {
  double* const values = &values_[cell(i, j) * rules_.n_symbols];
  if (j == i + 1) {
    for (std::size_t t = 0; t < rules_.n_tags(); ++t) {
      const std::size_t s = at(rules_.tag_symbol[t]);
      if (limits.allows(i * (n_ + 1) + j, s)) values[s] = Semiring::plus(values[s], token_value(i, t));
    }
    return;
  }
  collect(i, j, limits, pairs_);
  sums_.resize(pairs_.number.size());
  products<Semiring>(pairs_.products.data(), pairs_.n, sums_.data());
  for (std::size_t p = 0; p < pairs_.n; ++p) {
    if (sums_[p] == Semiring::zero) {
      if constexpr (is_sum<Semiring>) {  // no split has both children, or their product is too small for a number
        const simd::RowProduct& x = pairs_.products[p];
        for (std::int32_t k = x.low; k <= x.high; ++k)
          if (x.left[k] != 0.0 && x.right[k] != 0.0) has_tiny_ = true;
      }
      continue;
    }
    const Rules::Pair& pair = rules_.pairs[at(pairs_.number[p])];
    const double x = Semiring::times(sums_[p], pairs_.factor[p]);
    for (std::size_t r = at(pair.first); r < at(pair.last); ++r) {
      double& value = values[at(rules_.pair_parent[r])];
      value = Semiring::plus(value, Semiring::times(x, rule_[at(rules_.pair_rule[r])]));
    }
  }
}

template <class Semiring>
void Chart<Semiring>::apply_unary(std::size_t i, std::size_t j, const Limits& limits) {
  double* const values = &values_[cell(i, j) * rules_.n_symbols];
  const std::size_t place = i * (n_ + 1) + j;
  for (std::size_t u = 0; u < rules_.n_unary(); ++u) {
    const double child = values[at(rules_.unary_child[u])];
    if (child == Semiring::zero) continue;
    const std::size_t parent = at(rules_.unary_parent[u]);
    if (!limits.allows(place, parent) || !limits.allows_unary(place, u)) continue;
    values[parent] = Semiring::plus(values[parent], Semiring::times(child, rule_value(rules_.n_binary() + u, i, j)));
  }
}

// Puts a value into a row, which begins to exist with its first one; `from` is the other end of its spans.
template <class Semiring>
void Chart<Semiring>::put(Row& row, std::size_t k, std::size_t from, double x) {
  if (row.place < 0) {
    row.place = static_cast<std::int32_t>(row_origin_.size());
    row_origin_.push_back(static_cast<std::int32_t>(from));
    rows_.resize(rows_.size() + row_size(), Semiring::zero);
  }
  rows_[at(row.place) * row_size() + k] = x;
  row.low = std::min(row.low, static_cast<std::int32_t>(k));
  row.high = std::max(row.high, static_cast<std::int32_t>(k));
}

// Shows the values of a cell to the rules of larger spans.
template <class Semiring>
void Chart<Semiring>::show(std::size_t i, std::size_t j, const Limits& limits) {
  const double* const values = &values_[cell(i, j) * rules_.n_symbols];
  const std::size_t place = i * (n_ + 1) + j;
  for (std::size_t s = 0; s < rules_.n_symbols; ++s) {
    if (values[s] == Semiring::zero) continue;
    if constexpr (is_sum<Semiring>) {
      if (values[s] < kLeast) has_tiny_ = true;
      if (!(values[s] <= 1 / kLeast)) in_range_ = false;
    }
    if (limits.hides(place, s)) continue;
    if (const std::int32_t row = rules_.left_row[s]; row >= 0) put(left_[i * rules_.n_left + at(row)], j, i, values[s]);
    if (const std::int32_t row = rules_.right_row[s]; row >= 0) put(right_[j * rules_.n_right + at(row)], i, j, values[s]);
  }
}

// Multiplies the values of every span so far by factor^words; the tokens with it, so that larger spans agree.
template <class Semiring>
void Chart<Semiring>::rescale(std::size_t width, double factor) {
  for (double& x : token_) x *= factor;
  log_scale_ -= static_cast<double>(n_) * std::log(factor);
  std::vector<double> power(n_ + 1, 1.0);
  for (std::size_t w = 1; w <= width; ++w) power[w] = std::pow(factor, static_cast<double>(w));
  for (std::size_t w = 1; w <= width; ++w)
    for (std::size_t i = 0; i + w <= n_; ++i) {
      double* const values = &values_[cell(i, i + w) * rules_.n_symbols];
      for (std::size_t s = 0; s < rules_.n_symbols; ++s) values[s] *= power[w];
    }
  for (std::size_t r = 0; r < row_origin_.size(); ++r)
    for (std::size_t k = 0; k <= n_; ++k) {
      const std::int32_t w = static_cast<std::int32_t>(k) - row_origin_[r];
      rows_[r * row_size() + k] *= power[at(w < 0 ? -w : w)];
    }
}

template <class Semiring>
double Chart<Semiring>::fill(const Scores& scores, const Limits& limits) {
  prepare(scores);
  if (n_ == 0) return -kInfinity;
  for (std::size_t width = 1; width <= n_ && in_range_; ++width) {
    double most = 0.0;
    for (std::size_t i = 0; i + width <= n_; ++i) {
      const std::size_t j = i + width;
      if (limits.blocks(i * (n_ + 1) + j)) continue;
      fill_cell(i, j, limits);
      apply_unary(i, j, limits);
      show(i, j, limits);
      if constexpr (is_sum<Semiring>) {
        const double* const values = &values_[cell(i, j) * rules_.n_symbols];
        most = std::max(most, *std::max_element(values, values + rules_.n_symbols));
      }
    }
    if (is_sum<Semiring> && most > 0.0 && (most > kLarge || most < kSmall) && in_range_)
      rescale(width, std::pow(most, -1.0 / static_cast<double>(width)));
  }
  const double top = value(rules_.start, 0, n_);
  return top == Semiring::zero ? -kInfinity : Semiring::to_log(top) + log_scale_;
}

template class Chart<SumSemiring>;
template class Chart<LogSemiring>;
template class Chart<MaxSemiring>;

}  // namespace loglinear::grammar
