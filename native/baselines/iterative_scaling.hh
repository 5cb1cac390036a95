// Baseline: the step of generalised and improved iterative scaling under a ridge, one equation per weight:
//
//   sum_m E_m exp(m delta)  =  count - b (w + delta),
//
// E_m the expected number of events in which the feature is active among m features in all. GIS has the one m = C, the
// largest there is; IIS has them all (Darroch and Ratcliff 1972; Della Pietra, Della Pietra and Lafferty 1997; with a
// Gaussian prior, Chen and Rosenfeld 1999). Both minimise a bound on the objective that separates the weights, so the
// objective never rises.
#pragma once
#include <span>

#include "util/thread_pool.hh"

namespace loglinear::baselines {

// step[j] solves the equation of weight j; expectations [n_totals][n] belong to the totals m = multiplicity[i] > 0.
// Steps are kept within +-limit: a feature that never occurs has its optimum at minus infinity where b = 0.
void scaling_step(ThreadPool& pool, std::span<const double> expectations, std::span<const double> multiplicity,
                  std::span<const double> counts, std::span<const double> b, std::span<const double> w, double limit,
                  std::span<double> step);

}  // namespace loglinear::baselines
