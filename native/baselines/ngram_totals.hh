// Baseline: expectations of an n-gram model by the number of active entries, which improved iterative scaling needs.
//
// In an event (history x, word w) the active entries are those of w in x and its suffixes: as many as the order of the
// longest. With P, r and B as in ngram/hierarchical_normalisation.hh,
//
//   D(e) = P(e) (B(h) - sum_{children e' = (k, w) of e} B(k) / r(k))
//
// is the expected number of events whose longest entry is e; sums over the descendants of an entry, order by order,
// are its expectations by total.
#pragma once
#include <span>

#include "baselines/ngram_histories.hh"
#include "util/thread_pool.hh"

namespace loglinear::baselines {

// out[m - 1][e] [order][n_entries] = expected number of events in which entry e is active, one of m; log_p [n_entries]
// and log_r [n_contexts] as NgramMaxent::log_probabilities gives them.
void expectations_by_total(ThreadPool& pool, const NgramHistories& h, std::span<const double> log_p,
                           std::span<const double> log_r, std::span<double> out);

}  // namespace loglinear::baselines
