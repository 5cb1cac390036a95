// The averaged perceptron on n-best lists (Collins 2002; Roark et al. 2004): where the model prefers a candidate with
// more errors than the reference, the difference of their features is added to the weights. Base scores stay fixed.
//
// Updates follow one another, so one thread makes them. The average over all moments is kept by the sum of time *
// update: the mean weights after T lists are  w - sum / T.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lists/held_out.hh"

namespace loglinear::lists {

class ListPerceptron {
 public:
  explicit ListPerceptron(const ListArrays& lists);

  std::size_t n_features() const { return weights_.size(); }

  // One pass over the lists in this order. Returns the number of updates.
  std::int64_t pass(std::span<const std::int64_t> order);

  // The average of the weights over all lists met.
  void average(std::span<double> out) const;

 private:
  ListArrays lists_;
  std::vector<double> weights_, timed_;
  std::int64_t time_ = 0;
};

}  // namespace loglinear::lists
