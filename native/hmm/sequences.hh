// Whole sequences under an HMM: samples, and the probability of observations summed over labels.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hmm/state_chain.hh"
#include "util/thread_pool.hh"

namespace loglinear::hmm {

struct SampledSequences {
  std::vector<std::int64_t> sequence_ptr;           // [n + 1]
  std::vector<std::int32_t> labels;                 // [n_tokens]
  std::vector<std::vector<std::int32_t>> columns;   // per column [n_tokens]
};

// n sequences from the chain with one value per column, drawn given the label from emissions[c] [n_labels][V_c]. What
// is missing from the sum of `enter` is the probability of an empty sequence. Sequence k depends on (seed, k) alone, so
// the sample is the same for any number of threads and longer samples begin with shorter ones. A sequence longer than
// max_length is an error: cutting it would falsify expectations.
SampledSequences sample_sequences(ThreadPool& pool, const StateChain& chain,
                                  const std::vector<std::span<const double>>& emissions, std::size_t n,
                                  std::uint64_t seed, std::size_t max_length);

// out[i] = log p(observations of sequence i), by the forward recursion, rescaled at every token. scores [n_tokens][L]
// are log-emissions; an impossible sequence has -infinity.
void input_log_probabilities(ThreadPool& pool, const StateChain& chain,
                             std::span<const std::int64_t> sequence_ptr, std::span<const double> scores,
                             std::span<double> out);

}  // namespace loglinear::hmm
