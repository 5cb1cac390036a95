// Multinomial and binary log-loss over margins [n][K]; K = 1 is binary (one weight vector, sigmoid).
//
//   L = sum_r s_r ( log sum_k exp M[r][k] - M[r][y_r] )          residual R = s (p - e_y) = dL/dM
//   Hessian over margins: (H_r V)[k] = s_r ( p_k V_k - p_k sum_l p_l V_l );  binary: s p (1 - p) V
#pragma once
#include <cstdint>
#include <span>

#include "util/thread_pool.hh"

namespace loglinear::linear {

void check_labels(std::span<const std::int32_t> labels, std::size_t K);

// margins -> residuals in place; returns the loss. sample_weight may be empty. Labels must have been checked.
double log_loss(ThreadPool& pool, std::span<double> margins, std::span<const std::int32_t> labels,
                std::span<const double> sample_weight, std::size_t K);

// margins -> probabilities (or log-probabilities) in place.
void probabilities(ThreadPool& pool, std::span<double> margins, std::size_t K, bool logarithm);

// vectors V [n][K] -> H V in place, at probabilities P.
void log_loss_hessian(ThreadPool& pool, std::span<const double> P, std::span<const double> sample_weight,
                      std::size_t K, std::span<double> vectors);

// P -> s p (1 - p) into out: the diagonal of the Hessian over margins.
void log_loss_curvature(ThreadPool& pool, std::span<const double> P, std::span<const double> sample_weight,
                        std::size_t K, std::span<double> out);

}  // namespace loglinear::linear
