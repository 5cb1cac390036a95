#include "lists/perceptron.hh"

#include <algorithm>

namespace loglinear::lists {

ListPerceptron::ListPerceptron(const ListArrays& lists) : lists_(lists) {
  const HeldOutLists checked(lists);  // refuses arrays that do not fit together
  weights_.assign(checked.n_features(), 0.0);
  timed_ = weights_;
}

std::int64_t ListPerceptron::pass(std::span<const std::int64_t> order) {
  const auto& rows = *lists_.rows;
  const auto n_lists = static_cast<std::int64_t>(lists_.list_ptr.size()) - 1;
  std::int64_t updates = 0;
  for (const std::int64_t i : order) {
    require(i >= 0 && i < n_lists, "the order of the pass names no list");
    double best = 0.0;
    std::int32_t place = lists_.reference[i];
    std::int64_t chosen = -1;
    for (std::int64_t p = lists_.list_ptr[i]; p < lists_.list_ptr[i + 1]; ++p) {
      double margin = lists_.base[p];
      for (std::int64_t e = rows.indptr[p]; e < rows.indptr[p + 1]; ++e)
        margin += rows.values[e] * weights_[rows.indices[e]];
      if (margin < best || (margin == best && lists_.place[p] < place))
        best = margin, place = lists_.place[p], chosen = p;
    }
    if (chosen >= 0 && lists_.errors[chosen] > 0.0) {
      ++updates;
      for (std::int64_t e = rows.indptr[chosen]; e < rows.indptr[chosen + 1]; ++e) {
        weights_[rows.indices[e]] += rows.values[e];
        timed_[rows.indices[e]] += static_cast<double>(time_) * rows.values[e];
      }
    }
    ++time_;
  }
  return updates;
}

void ListPerceptron::average(std::span<double> out) const {
  require(out.size() == weights_.size(), "weights do not have one entry per feature");
  const auto time = static_cast<double>(std::max<std::int64_t>(time_, 1));
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = weights_[k] - timed_[k] / time;
}

}  // namespace loglinear::lists
