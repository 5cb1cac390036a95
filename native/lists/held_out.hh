// The errors that a model makes on held-out lists, updated while single weights move.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"
#include "util/views.hh"

namespace loglinear::lists {

// Encoded lists as data/candidates.py lays them out; all are kept by reference.
struct ListArrays {
  const SparseMatrix<std::int32_t>* rows;     // pairs x features
  const SparseMatrix<std::int32_t>* columns;  // features x pairs
  std::span<const double> base;               // [n_pairs] margins under the base scores alone
  std::span<const std::int64_t> list_ptr;     // [n_lists + 1]
  std::span<const std::int32_t> place;        // [n_pairs]
  std::span<const std::int32_t> reference;    // [n_lists]
  std::span<const double> errors;             // [n_pairs], beyond those of the reference
  std::span<const double> reference_errors;   // [n_lists]
};

class HeldOutLists {
 public:
  explicit HeldOutLists(ListArrays lists);

  std::size_t n_features() const { return lists_.columns->n_rows(); }
  double errors() const { return total_; }  // of the choices of all lists

  void rebuild(ThreadPool& pool, std::span<const double> weights);
  void move(std::size_t feature, double delta);

 private:
  double chosen_errors(std::size_t list) const;

  ListArrays lists_;
  std::vector<std::int32_t> list_of_;  // [n_pairs]
  std::vector<double> margins_;        // [n_pairs]
  std::vector<double> chosen_;         // [n_lists]
  double total_ = 0.0;
};

// out[t] = errors after the first t steps of a path from these weights: [n_steps + 1].
void follow(HeldOutLists& lists, ThreadPool& pool, std::span<const double> weights,
            std::span<const std::int32_t> features, std::span<const double> changes, std::span<double> out);

}  // namespace loglinear::lists
