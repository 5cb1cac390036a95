// Smoothed probabilities of every n-gram of a trie, in one sweep from the unigrams up.
//
//   interpolated:  p(w | h) = (keep(hw) + B(h) p(w | h')) / (A(h) + E(h)),      backoff(h) = B(h) / (A(h) + E(h))
//   backing off:   p(w | h) =  keep(hw) / (A(h) + E(h)) where keep(hw) > 0,
//                  backoff(h) = B(h) / (A(h) + E(h)) / (sum of p(v | h') over the words v with keep(hv) = 0)
//
// h' is h without its oldest word; below the unigrams is the uniform distribution over the V words, with which they are
// always interpolated. keep(hw) is the count less its discount; A(h) the sum of counts; E(h) = per_type * (number of
// words seen after h) + constant; B(h) = A(h) - sum of keep(hw) + E(h). Counts of 0 are allowed. An entry whose token
// count is at most `cut` keeps nothing: it gets exactly what backing off gives it, and can be left out of the model.
// Chen and Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (1998), sections 2 and 4.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "trie/view.hh"
#include "util/thread_pool.hh"

namespace loglinear::backoff {

struct OrderSmoothing {
  std::array<double, 3> discount{};  // of counts 1, 2, and 3 or more; the k-th in [0, k]
  double per_type = 0.0, constant = 0.0;
  std::uint32_t cut = 0;
};

// Throws InvalidInput unless every range and parent of the trie lies where the layout says.
void check_for_smoothing(ThreadPool& pool, const trie::TrieView& trie);

// `adjusted` counts replace the token counts of orders below the highest (backoff/kneser_ney.hh); empty: token counts
// everywhere. Of tokens whose n-grams were cut off the trie, those whose histories keep token counts go to the lower
// order. `trie` must have been checked.
void smooth(ThreadPool& pool, const trie::TrieView& trie, std::span<const std::uint32_t> adjusted,
            std::span<const OrderSmoothing> orders, bool interpolate, std::span<double> log_probability,
            std::span<double> log_backoff);

}  // namespace loglinear::backoff
