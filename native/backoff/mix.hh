// Probabilities of one back-off model at the n-grams of another: what mixtures and corrections are computed from.
//
// The functions walk two tries in lock step, level by level. A probability that a context does not list is its back-off
// plus the probability of the parent context, which the level before has computed.
#pragma once
#include <cstdint>
#include <span>

#include "backoff/model.hh"

namespace loglinear::backoff {

// out[e] = log p(w | h) under `model` for every entry (h, w) of a checked `shape` over the same words.
void log_probabilities_of(ThreadPool& pool, const BackoffArrays& model, const trie::TrieView& shape,
                          std::span<double> out);

// out[e] = log p(w | h) - log p(w | h without its oldest word) - log backoff(h): the weights of the maximum-entropy
// model that a back-off model is; log p(w) for unigrams. Zero where both probabilities are.
void loglinear_weights(ThreadPool& pool, const BackoffArrays& model, std::span<double> out);

// Back-off weights with which every context sums to one, given the probabilities of its entries:
//     backoff(h) = (1 - sum p(w | h)) / (1 - sum p(w | h without its oldest word)),   sums over the entries of h.
// Contexts that list every word, or leave nothing to back off to, have 1.
void normalising_backoffs(ThreadPool& pool, const trie::TrieView& shape, std::span<const double> log_probability,
                          std::span<double> log_backoff);

}  // namespace loglinear::backoff
