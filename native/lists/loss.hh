// Losses of n-best lists over margins of pairs (reference, candidate), grouped by list.
//
// Pair p of list i has the margin m_p = score of the reference - score of the candidate, and e_p >= 0 errors more than
// the reference. With d_p the derivative of a list's loss by m_p:
//
//   exponential      sum_p e_p exp(-m_p)                          Collins and Koo 2005; Gao, Suzuki and Yu 2006, eq. 6
//   log              log(1 + sum_p exp(e_p - m_p))                conditional log-likelihood; d_p = -q_p
//   expected_error   sum_p e_p q_p                                d_p = -q_p (e_p - sum_r e_r q_r); not convex
//
// where q_p = exp(e_p - m_p) / (1 + sum_r exp(e_r - m_r)) with the errors, and without them (e = 1 in the first loss, 0
// in the second) the plain ones. The last always has q of margins alone.
//
// Below a margin of -kSteepest the exponential goes on as its tangent: convex, and finite wherever a line search looks.
#pragma once
#include <cstdint>
#include <span>

#include "util/thread_pool.hh"
#include "util/views.hh"

namespace loglinear::lists {

enum class ListLoss { exponential, log, expected_error };

inline constexpr double kSteepest = 200.0;

// margins [n_pairs] -> d in place; returns the loss. errors may be empty, but not for expected_error.
double list_loss(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                 std::span<const double> errors, std::span<double> margins);

// margins -> q in place; for the exponential loss, its second derivatives.
void list_probabilities(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                        std::span<const double> errors, std::span<double> margins);

// vectors V [n_pairs] -> H V in place, at q; not for expected_error.
void list_loss_hessian(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                       std::span<const double> q, std::span<double> vectors);

// out[j] = the second derivative by weight j, at q; columns: pairs by feature, ascending. Not for expected_error.
void list_loss_curvature(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                         const SparseMatrix<std::int32_t>& columns, std::span<const double> q,
                         std::span<double> out);

// out[i] = place in list i of the candidate with the highest score, the first of equal ones; -1 for an empty list.
// places [n_pairs] and reference [n_lists]: where each stands in its list.
void choose_candidates(ThreadPool& pool, std::span<const std::int64_t> list_ptr, std::span<const double> margins,
                       std::span<const std::int32_t> places, std::span<const std::int32_t> reference,
                       std::span<std::int32_t> out);

}  // namespace loglinear::lists
