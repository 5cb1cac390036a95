// Expected feature counts of given observations under the posterior labellings of an HMM:
//
//   out[j] = sum_i sum_y q0(y | x_i) f_j(x_i, y)
//
// the base distribution q0(y | x) times the empirical one of x (Smith, Vail and Lafferty, "Computationally Efficient
// M-Estimation of Log-Linear Structure Models", equation 16), by forward and backward recursions over each sequence.
#pragma once
#include <cstdint>
#include <span>

#include "hmm/feature_counts.hh"
#include "hmm/state_chain.hh"
#include "util/thread_pool.hh"

namespace loglinear::hmm {

// data.labels are not read and may be unknown. scores [n_tokens][L] are log-emissions; a sequence of probability zero
// is an error. out has one entry per feature: node, pair, transition, trigram.
void posterior_counts(ThreadPool& pool, const StateChain& chain, const LabelledSequences& data,
                      std::span<const double> scores, const ChainFeatureLists& features, std::span<double> out);

}  // namespace loglinear::hmm
