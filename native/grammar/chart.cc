#include "grammar/chart.hh"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace loglinear::grammar {
namespace {

constexpr double kInfinity = __builtin_huge_val();
constexpr double kLarge = 1e60, kSmall = 1e-60;  // the greatest value of a width is kept between them

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Sum or maximum over k in [low, high] of a[k] b[k] s[k]; s may be null. Four accumulators, added in a fixed order.
template <class Semiring>
double product(const double* a, const double* b, const double* s, std::int32_t low, std::int32_t high) {
  double x[4] = {Semiring::zero, Semiring::zero, Semiring::zero, Semiring::zero};
  const std::size_t n = at(high - low + 1);
  a += low, b += low;
  std::size_t k = 0;
  if (s) {
    s += low;
    for (; k + 4 <= n; k += 4)
      for (std::size_t l = 0; l < 4; ++l)
        x[l] = Semiring::plus(x[l], Semiring::times(Semiring::times(a[k + l], b[k + l]), s[k + l]));
    for (; k < n; ++k) x[0] = Semiring::plus(x[0], Semiring::times(Semiring::times(a[k], b[k]), s[k]));
  } else {
    for (; k + 4 <= n; k += 4)
      for (std::size_t l = 0; l < 4; ++l) x[l] = Semiring::plus(x[l], Semiring::times(a[k + l], b[k + l]));
    for (; k < n; ++k) x[0] = Semiring::plus(x[0], Semiring::times(a[k], b[k]));
  }
  return Semiring::plus(Semiring::plus(x[0], x[1]), Semiring::plus(x[2], x[3]));
}

}  // namespace

template <class Semiring>
std::size_t Chart<Semiring>::bytes(const Rules& rules, std::size_t n) {
  return 8 * (n * (n + 1) / 2 * rules.n_symbols + (n + 1) * (n + 2) * (rules.n_left + rules.n_right));
}

template <class Semiring>
Extent Chart<Semiring>::extent(std::size_t r, std::size_t i, std::size_t j) const {
  const Extent& a = left_extent_[at(rules_.left_row[at(rules_.left[r])]) * (n_ + 1) + i];
  const Extent& b = right_extent_[at(rules_.right_row[at(rules_.right[r])]) * (n_ + 1) + j];
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

template <class Semiring>
double Chart<Semiring>::rule_value(std::size_t r, std::size_t i, std::size_t j) const {
  if (!scores_.anchored()) return rule_[r];
  const std::size_t c = at(scores_.rule_class[r]);
  return Semiring::from_log(scores_.rule[r] + scores_.at_targets(scores_.begin, i, c) +
                            scores_.at_targets(scores_.end, j, c) + scores_.at_targets(scores_.length, j - i, c));
}

template <class Semiring>
const double* Chart<Semiring>::split_row(std::size_t r) const {
  if (!scores_.anchored()) return nullptr;
  const std::size_t c = at(scores_.rule_class[r]);
  double* const row = &split_[c * (n_ + 1)];
  if (!has_split_[c]) {
    has_split_[c] = 1;
    for (std::size_t k = 0; k <= n_; ++k) row[k] = Semiring::from_log(scores_.at_targets(scores_.split, k, c));
  }
  return row;
}

template <class Semiring>
double Chart<Semiring>::combine(std::size_t r, std::size_t i, std::size_t j) const {
  const Extent k = extent(r, i, j);
  if (k.low > k.high) return Semiring::zero;
  return product<Semiring>(left(at(rules_.left_row[at(rules_.left[r])]), i),
                           right(at(rules_.right_row[at(rules_.right[r])]), j), split_row(r), k.low, k.high);
}

// Tables as the semiring has them: exponentials for sums, which one factor per word keeps in range.
template <class Semiring>
void Chart<Semiring>::prepare(const Scores& scores) {
  scores_ = scores;
  n_ = scores.n;
  rule_.resize(scores.rule.size());
  for (std::size_t r = 0; r < rule_.size(); ++r) rule_[r] = scores.anchored() ? 0.0 : Semiring::from_log(scores.rule[r]);
  split_.resize(scores.anchored() ? scores.n_classes * (n_ + 1) : 0);
  has_split_.assign(scores.n_classes, 0);
  token_.assign(scores.token.begin(), scores.token.end());
  log_scale_ = 0.0;
  if constexpr (std::is_same_v<Semiring, SumSemiring>) {
    const std::size_t T = rules_.n_tags();
    for (std::size_t i = 0; i < n_; ++i) {
      double* row = &token_[i * T];
      double most = *std::max_element(row, row + T);
      if (most == -kInfinity) most = 0.0;
      for (std::size_t t = 0; t < T; ++t) row[t] = row[t] == -kInfinity ? 0.0 : std::exp(row[t] - most);
      log_scale_ += most;
    }
  }
  values_.assign(n_ * (n_ + 1) / 2 * rules_.n_symbols, Semiring::zero);
  left_.assign(rules_.n_left * (n_ + 1) * (n_ + 1), Semiring::zero);
  right_.assign(rules_.n_right * (n_ + 1) * (n_ + 1), Semiring::zero);
  left_extent_.assign(rules_.n_left * (n_ + 1), Extent{});
  right_extent_.assign(rules_.n_right * (n_ + 1), Extent{});
}

// Applies unary rules to a cell whose other rules are done, and shows its values to the rules of larger spans.
template <class Semiring>
void Chart<Semiring>::finish_cell(std::size_t i, std::size_t j, const Limits& limits) {
  double* const values = &values_[cell(i, j) * rules_.n_symbols];
  const std::size_t place = i * (n_ + 1) + j;
  for (std::size_t u = 0; u < rules_.n_unary(); ++u) {
    const double child = values[at(rules_.unary_child[u])];
    if (child == Semiring::zero) continue;
    const std::size_t parent = at(rules_.unary_parent[u]);
    if (!limits.allows(place, parent) || !limits.allows_unary(place, u)) continue;
    values[parent] = Semiring::plus(values[parent], Semiring::times(child, rule_value(rules_.n_binary() + u, i, j)));
  }
  for (std::size_t s = 0; s < rules_.n_symbols; ++s) {
    if (values[s] == Semiring::zero || limits.hides(place, s)) continue;
    const auto k = static_cast<std::int32_t>(j), l = static_cast<std::int32_t>(i);
    if (const std::int32_t row = rules_.left_row[s]; row >= 0) {
      left_[(at(row) * (n_ + 1) + i) * (n_ + 1) + j] = values[s];
      Extent& e = left_extent_[at(row) * (n_ + 1) + i];
      e = {std::min(e.low, k), std::max(e.high, k)};
    }
    if (const std::int32_t row = rules_.right_row[s]; row >= 0) {
      right_[(at(row) * (n_ + 1) + j) * (n_ + 1) + i] = values[s];
      Extent& e = right_extent_[at(row) * (n_ + 1) + j];
      e = {std::min(e.low, l), std::max(e.high, l)};
    }
  }
}

// Multiplies the values of every span so far by factor^words; the tokens with it, so that larger spans agree.
template <class Semiring>
void Chart<Semiring>::rescale(std::size_t width, double factor) {
  for (double& x : token_) x *= factor;
  log_scale_ -= static_cast<double>(n_) * std::log(factor);
  for (std::size_t w = 1; w <= width; ++w) {
    const double f = std::pow(factor, static_cast<double>(w));
    for (std::size_t i = 0; i + w <= n_; ++i) {
      const std::size_t j = i + w, first = cell(i, j) * rules_.n_symbols;
      for (std::size_t s = 0; s < rules_.n_symbols; ++s) values_[first + s] *= f;
      for (std::size_t row = 0; row < rules_.n_left; ++row) left_[(row * (n_ + 1) + i) * (n_ + 1) + j] *= f;
      for (std::size_t row = 0; row < rules_.n_right; ++row) right_[(row * (n_ + 1) + j) * (n_ + 1) + i] *= f;
    }
  }
}

template <class Semiring>
void Chart<Semiring>::fill_by_rules(std::size_t i, std::size_t j, const Limits& limits) {
  double* const values = &values_[cell(i, j) * rules_.n_symbols];
  const std::size_t place = i * (n_ + 1) + j;
  for (const std::int32_t parent : rules_.parents) {
    const std::size_t a = at(parent);
    if (!limits.allows(place, a)) continue;
    double total = Semiring::zero;
    for (std::int64_t r = rules_.binary_ptr[a]; r < rules_.binary_ptr[a + 1]; ++r) {
      const double x = combine(static_cast<std::size_t>(r), i, j);
      if (x != Semiring::zero)
        total = Semiring::plus(total, Semiring::times(x, rule_value(static_cast<std::size_t>(r), i, j)));
    }
    values[a] = total;
  }
}

// Where scores depend on rules alone, a pair of children is multiplied once for all rules that have it.
template <class Semiring>
void Chart<Semiring>::fill_by_pairs(std::size_t i, std::size_t j) {
  double* const values = &values_[cell(i, j) * rules_.n_symbols];
  const auto end = static_cast<std::int32_t>(j);
  for (std::size_t l = 0; l < rules_.n_left; ++l) {
    const Extent a = left_extent_[l * (n_ + 1) + i];
    if (a.low >= end) continue;
    for (std::int64_t q = rules_.left_pairs[l]; q < rules_.left_pairs[l + 1]; ++q) {
      const std::size_t pair = static_cast<std::size_t>(q), x = at(rules_.pair_right[pair]);
      const Extent b = right_extent_[x * (n_ + 1) + j];
      const std::int32_t low = std::max(a.low, b.low), high = std::min(a.high, b.high);
      if (low > high) continue;
      const double v = product<Semiring>(left(l, i), right(x, j), nullptr, low, high);
      if (v == Semiring::zero) continue;
      for (std::int64_t p = rules_.pair_ptr[pair]; p < rules_.pair_ptr[pair + 1]; ++p) {
        const std::size_t r = at(rules_.pair_rule[static_cast<std::size_t>(p)]), parent = at(rules_.rule_parent[r]);
        values[parent] = Semiring::plus(values[parent], Semiring::times(v, rule_[r]));
      }
    }
  }
}

template <class Semiring>
double Chart<Semiring>::fill(const Scores& scores, const Limits& limits) {
  prepare(scores);
  if (n_ == 0) return -kInfinity;
  const std::size_t S = rules_.n_symbols;
  for (std::size_t width = 1; width <= n_; ++width) {
    double most = 0.0;
    for (std::size_t i = 0; i + width <= n_; ++i) {
      const std::size_t j = i + width, place = i * (n_ + 1) + j;
      if (limits.blocks(place)) continue;
      double* const values = &values_[cell(i, j) * S];
      if (width == 1) {
        for (std::size_t t = 0; t < rules_.n_tags(); ++t) {
          const std::size_t s = at(rules_.tag_symbol[t]);
          if (limits.allows(place, s)) values[s] = Semiring::plus(values[s], token_value(i, t));
        }
      } else {
        if (scores.anchored() || !limits.mask.empty()) fill_by_rules(i, j, limits);
        else fill_by_pairs(i, j);
      }
      finish_cell(i, j, limits);
      if constexpr (std::is_same_v<Semiring, SumSemiring>) most = std::max(most, *std::max_element(values, values + S));
    }
    if constexpr (std::is_same_v<Semiring, SumSemiring>) {
      if (!std::isfinite(most)) return kInfinity;
      if (most > 0.0 && (most > kLarge || most < kSmall)) rescale(width, std::pow(most, -1.0 / static_cast<double>(width)));
    }
  }
  const double top = value(rules_.start, 0, n_);
  if constexpr (std::is_same_v<Semiring, SumSemiring>) return top > 0.0 ? std::log(top) + log_scale_ : -kInfinity;
  else return top;
}

template class Chart<SumSemiring>;
template class Chart<MaxSemiring>;

// ---- outside ---------------------------------------------------------------------------------------------------------
void Outside::note(PartCounts& counts, std::size_t r, std::size_t i, std::size_t j, double x) const {
  counts.rule[r] += x;
  if (!scores_.anchored()) return;
  const std::size_t c = at(scores_.rule_class[r]), m = scores_.n_targets();
  for (const std::size_t target : {scores_.n_labels + c, at(scores_.class_label[c])}) {
    counts.begin[i * m + target] += x;
    counts.end[j * m + target] += x;
    counts.length[(j - i) * m + target] += x;
  }
}

void Outside::down_by_rules(const double* values, std::size_t i, std::size_t j, PartCounts* counts) {
  const InsideChart& inside = *inside_;
  const std::size_t row_size = inside.n() + 1;
  const double share = 1.0 / total_;
  for (const std::int32_t parent : rules_.parents) {
    const std::size_t a = at(parent);
    if (values[a] == 0.0 || inside.value(a, i, j) == 0.0) continue;
    for (std::int64_t r64 = rules_.binary_ptr[a]; r64 < rules_.binary_ptr[a + 1]; ++r64) {
      const auto r = static_cast<std::size_t>(r64);
      const Extent e = inside.extent(r, i, j);
      if (e.low > e.high) continue;
      const double f = values[a] * inside.rule_value(r, i, j);
      const std::size_t lr = at(rules_.left_row[at(rules_.left[r])]), rr = at(rules_.right_row[at(rules_.right[r])]);
      const double* const l = inside.left(lr, i);
      const double* const x = inside.right(rr, j);
      const double* const s = inside.split_row(r);
      double* const ol = &left_[(lr * row_size + i) * row_size];
      double* const ox = &right_[(rr * row_size + j) * row_size];
      double* os = nullptr;
      if (counts && s) {
        const std::size_t c = at(scores_.rule_class[r]);
        os = &split_rows_[c * row_size];
        if (!touched_[c]) touched_[c] = 1, std::fill(os, os + row_size, 0.0);
      }
      double mass = 0.0;
      for (std::size_t k = at(e.low); k <= at(e.high); ++k) {
        const double g = s ? f * s[k] : f;
        const double gl = g * l[k], gx = g * x[k], both = gl * x[k];
        ol[k] += gx;
        ox[k] += gl;
        mass += both;
        if (os) os[k] += both * share;
      }
      if (counts && mass != 0.0) note(*counts, r, i, j, mass * share);
    }
  }
}

void Outside::down_by_pairs(const double* values, std::size_t i, std::size_t j, PartCounts* counts) {
  const InsideChart& inside = *inside_;
  const std::size_t row_size = inside.n() + 1;
  const double share = 1.0 / total_;
  for (std::size_t lr = 0; lr < rules_.n_left; ++lr) {
    for (std::int64_t q = rules_.left_pairs[lr]; q < rules_.left_pairs[lr + 1]; ++q) {
      const auto pair = static_cast<std::size_t>(q);
      const std::size_t first = static_cast<std::size_t>(rules_.pair_ptr[pair]);
      const std::size_t last = static_cast<std::size_t>(rules_.pair_ptr[pair + 1]);
      const Extent e = inside.extent(at(rules_.pair_rule[first]), i, j);
      if (e.low > e.high) continue;
      double f = 0.0;
      for (std::size_t p = first; p < last; ++p) {
        const std::size_t r = at(rules_.pair_rule[p]);
        f += values[at(rules_.rule_parent[r])] * inside.rule_value(r, i, j);
      }
      if (f == 0.0) continue;
      const std::size_t rr = at(rules_.pair_right[pair]);
      const double* const l = inside.left(lr, i);
      const double* const x = inside.right(rr, j);
      double* const ol = &left_[(lr * row_size + i) * row_size];
      double* const ox = &right_[(rr * row_size + j) * row_size];
      for (std::size_t k = at(e.low); k <= at(e.high); ++k) ol[k] += f * x[k];
      for (std::size_t k = at(e.low); k <= at(e.high); ++k) ox[k] += f * l[k];
      if (!counts) continue;
      const double v = product<SumSemiring>(l, x, nullptr, e.low, e.high) * share;
      for (std::size_t p = first; p < last; ++p) {
        const std::size_t r = at(rules_.pair_rule[p]);
        counts->rule[r] += values[at(rules_.rule_parent[r])] * inside.rule_value(r, i, j) * v;
      }
    }
  }
}

void Outside::fill(const InsideChart& inside, const Scores& scores, const Limits& limits, PartCounts* counts) {
  inside_ = &inside;
  scores_ = scores;
  const std::size_t n = inside.n(), S = rules_.n_symbols, B = rules_.n_binary(), T = rules_.n_tags();
  const std::size_t m = scores.n_targets(), row_size = n + 1;
  total_ = n ? inside.value(rules_.start, 0, n) : 0.0;
  values_.assign(n * (n + 1) / 2 * S, 0.0);
  left_.assign(rules_.n_left * row_size * row_size, 0.0);
  right_.assign(rules_.n_right * row_size * row_size, 0.0);
  if (counts) counts->reset(n, T, rules_.n_rules(), m);
  if (!(total_ > 0.0)) return;
  split_rows_.resize(scores.n_classes * row_size);
  touched_.assign(scores.n_classes, 0);
  const double share = 1.0 / total_;
  values_[inside.cell(0, n) * S + rules_.start] = 1.0;
  for (std::size_t width = n; width >= 1; --width)
    for (std::size_t i = 0; i + width <= n; ++i) {
      const std::size_t j = i + width, place = i * row_size + j;
      if (limits.blocks(place)) continue;
      double* const values = &values_[inside.cell(i, j) * S];
      for (std::size_t s = 0; s < S; ++s) {
        if (limits.hides(place, s)) continue;
        if (const std::int32_t row = rules_.left_row[s]; row >= 0) values[s] += left_[(at(row) * row_size + i) * row_size + j];
        if (const std::int32_t row = rules_.right_row[s]; row >= 0)
          values[s] += right_[(at(row) * row_size + j) * row_size + i];
      }
      for (std::size_t u = rules_.n_unary(); u-- > 0;) {
        const std::size_t parent = at(rules_.unary_parent[u]), child = at(rules_.unary_child[u]);
        if (values[parent] == 0.0 || !limits.allows(place, parent) || !limits.allows_unary(place, u)) continue;
        const double in_child = inside.value(child, i, j);
        if (in_child == 0.0) continue;
        const double out = values[parent] * inside.rule_value(B + u, i, j);
        values[child] += out;
        if (counts) note(*counts, B + u, i, j, out * in_child * share);
      }
      if (width > 1) {
        if (scores.anchored() || !limits.mask.empty()) down_by_rules(values, i, j, counts);
        else down_by_pairs(values, i, j, counts);
      } else if (counts) {
        for (std::size_t t = 0; t < T; ++t) {
          const std::size_t s = at(rules_.tag_symbol[t]);
          if (limits.allows(place, s)) counts->token[i * T + t] = values[s] * inside.token_value(i, t) * share;
        }
      }
    }
  if (!counts || !scores.anchored()) return;
  for (std::size_t c = 0; c < scores.n_classes; ++c) {
    if (!touched_[c]) continue;
    const std::size_t label = at(scores.class_label[c]);
    for (std::size_t k = 0; k <= n; ++k)
      if (const double x = split_rows_[c * row_size + k]; x != 0.0) {
        counts->split[k * m + scores.n_labels + c] += x;
        counts->split[k * m + label] += x;
      }
  }
}

}  // namespace loglinear::grammar
