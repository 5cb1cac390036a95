// Baseline: two older methods for the normalisers and expectations of a maximum-entropy n-gram model, to compare the
// sweeps of ngram/hierarchical_normalisation.hh with.
//
//   naive             Z(x) = sum_{w in V} S(x, w)
//   unigram caching   Z(x) = sum_{w in V} S(w) + sum_{w in Y_x} (S(x, w) - S(w))
//
// S(x, w) = exp(sum of the weights of the entries of w along x and its suffixes); Y_x is the words with an entry of
// order two or more. (Wu, "Maximum entropy language modeling with non-local dependencies", 2002, chapter 3,
// equations 3.2 and 3.8; Wu and Khudanpur 2000.) Expectations cost as many terms again.
#pragma once
#include <cstdint>
#include <span>

#include "baselines/ngram_histories.hh"
#include "util/thread_pool.hh"

namespace loglinear::baselines {

// log_z[x] for the contexts listed (any contexts), by summing over every word, in logarithms: right for any finite
// weights. Where `expectations` [n_entries] is not empty, own[x] p(w | x) is added to every entry that is active.
// Returns the number of terms.
std::uint64_t naive_normalisers(ThreadPool& pool, const NgramHistories& h, std::span<const double> weights,
                                std::span<const std::uint32_t> contexts, std::span<double> log_z,
                                std::span<double> expectations);

// log_z[x] for all histories by unigram caching; `expectations` [n_entries] is overwritten, unless it is empty.
// Where the sum loses five digits to cancellation the history is done naively. Returns the number of terms.
// Terms are products of exp(weight) along the chain of entries, recomputed for each history as in equation 3.8;
// with `shared`, those of histories that end in the same word are made once, and only the sums are taken anew: already
// a step towards hierarchical training, and what is done where products would leave the range of double. Work is cut
// into pieces of about `work` terms.
std::uint64_t caching_normalisers(ThreadPool& pool, const NgramHistories& h, std::span<const double> weights,
                                  std::span<double> log_z, std::span<double> expectations, bool shared = false,
                                  std::uint64_t work = 1 << 22);

// sum over histories of own[x] log_z[x], less weights . counts: minus the log-likelihood of the corpus.
double ngram_log_loss(ThreadPool& pool, const NgramHistories& h, std::span<const double> weights,
                      std::span<const double> log_z);

}  // namespace loglinear::baselines
