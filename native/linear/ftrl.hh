// One pass of FTRL-Proximal (McMahan et al. 2013) over rows, for learning from a stream.
//
// State per weight: z (corrected gradient sum) and n (squared gradient sum). The weight is read off lazily:
//   w_j = argmin_w  z_j w + (beta + sqrt n_j) / (2 alpha) w^2 + a_j |w| + b_j w^2 / 2   (and w >= 0 where asked)
// so the penalty is counted once for the whole stream: the same objective as batch training.
#pragma once
#include <cstdint>
#include <span>

#include "linear/separable.hh"
#include "util/views.hh"

namespace loglinear::linear {

struct OnlineSettings {
  double alpha = 0.1, beta = 1.0;
};

// weights, z, n: [n_features * K (+ K intercepts)]. `touched` weights are written back to `weights`.
double online_pass(const SparseMatrix<std::int32_t>& rows, std::span<const std::int32_t> labels,
                   std::span<const double> sample_weight, std::size_t K, bool intercept, const Separable& penalty,
                   const OnlineSettings& settings, std::span<double> z, std::span<double> n, std::span<double> weights);

}  // namespace loglinear::linear
