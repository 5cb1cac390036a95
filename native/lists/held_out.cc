#include "lists/held_out.hh"

#include <algorithm>
#include <cmath>

namespace loglinear::lists {

namespace {

constexpr std::size_t kLists = 1 << 8;  // lists in a chunk of work

}  // namespace

HeldOutLists::HeldOutLists(ListArrays lists) : lists_(lists) {
  const std::size_t n_pairs = lists.rows->n_rows();
  require(lists.columns->n_rows() == lists.rows->n_columns && lists.columns->n_columns == n_pairs,
          "columns of held-out pairs are not those of the rows");
  require(lists.base.size() == n_pairs && lists.place.size() == n_pairs && lists.errors.size() == n_pairs,
          "held-out lists: arrays of pairs differ in length");
  require(!lists.list_ptr.empty() && lists.list_ptr.front() == 0 &&
              lists.list_ptr.back() == static_cast<std::int64_t>(n_pairs) &&
              std::is_sorted(lists.list_ptr.begin(), lists.list_ptr.end()),
          "held-out lists: list_ptr must ascend from 0 to the number of pairs");
  const std::size_t n_lists = lists.list_ptr.size() - 1;
  require(lists.reference.size() == n_lists && lists.reference_errors.size() == n_lists,
          "held-out lists: arrays of lists differ in length");
  list_of_.resize(n_pairs);
  for (std::size_t i = 0; i < n_lists; ++i)
    std::fill(list_of_.begin() + lists.list_ptr[i], list_of_.begin() + lists.list_ptr[i + 1],
              static_cast<std::int32_t>(i));
  margins_.resize(n_pairs);
  chosen_.resize(n_lists);
}

// Of the candidate with the highest score, the first of equal ones.
double HeldOutLists::chosen_errors(std::size_t list) const {
  double best = 0.0, errors = 0.0;
  std::int32_t place = lists_.reference[list];
  for (std::int64_t p = lists_.list_ptr[list]; p < lists_.list_ptr[list + 1]; ++p)
    if (margins_[p] < best || (margins_[p] == best && lists_.place[p] < place))
      best = margins_[p], place = lists_.place[p], errors = lists_.errors[p];
  return lists_.reference_errors[list] + errors;
}

void HeldOutLists::rebuild(ThreadPool& pool, std::span<const double> weights) {
  require(weights.size() == n_features(), "weights do not have one entry per feature");
  total_ = parallel_sum(pool, chosen_.size(), kLists, [&](std::size_t begin, std::size_t end) {
    for (std::int64_t p = lists_.list_ptr[begin]; p < lists_.list_ptr[end]; ++p) {
      double margin = lists_.base[p];
      for (std::int64_t e = lists_.rows->indptr[p]; e < lists_.rows->indptr[p + 1]; ++e)
        margin += lists_.rows->values[e] * weights[lists_.rows->indices[e]];
      margins_[p] = margin;
    }
    double total = 0.0;
    for (std::size_t i = begin; i < end; ++i) total += chosen_[i] = chosen_errors(i);
    return total;
  });
}

// Pairs of a column ascend, so those of a list are neighbours: each touched list is looked at once.
void HeldOutLists::move(std::size_t feature, double delta) {
  const auto& columns = *lists_.columns;
  const std::int64_t end = columns.indptr[feature + 1];
  for (std::int64_t e = columns.indptr[feature]; e < end;) {
    const std::int32_t list = list_of_[columns.indices[e]];
    for (; e < end && list_of_[columns.indices[e]] == list; ++e)
      margins_[columns.indices[e]] += delta * columns.values[e];
    const double errors = chosen_errors(static_cast<std::size_t>(list));
    total_ += errors - chosen_[list];
    chosen_[list] = errors;
  }
}

void follow(HeldOutLists& lists, ThreadPool& pool, std::span<const double> weights,
            std::span<const std::int32_t> features, std::span<const double> changes, std::span<double> out) {
  require(features.size() == changes.size() && out.size() == features.size() + 1, "arrays of a path differ in length");
  lists.rebuild(pool, weights);
  out[0] = lists.errors();
  for (std::size_t t = 0; t < features.size(); ++t) {
    require(features[t] >= 0 && static_cast<std::size_t>(features[t]) < lists.n_features(), "a step on no feature");
    lists.move(static_cast<std::size_t>(features[t]), changes[t]);
    out[t + 1] = lists.errors();
  }
}

}  // namespace loglinear::lists
