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
#include <algorithm>
#include <array>
#include <cstddef>
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

// What the counts of a context keep and give away: shared by the sweep below and the one over mapped files
// (backoff/counted.hh), so that both compute the same bits. `Trie` is a TrieView or a WideTrieView,
// `Count` the type of its counts.
template <class Trie, class Count>
struct CountedMass {
  const Trie& trie;
  std::span<const Count> adjusted;  // [entries below the highest order], or empty
  std::span<const OrderSmoothing> orders;

  struct Mass {
    double total;   // A + E
    double unseen;  // B
  };

  Count count(std::size_t e) const { return e < adjusted.size() ? adjusted[e] : trie.entry_count[e]; }

  double keep(const OrderSmoothing& order, std::size_t e) const {
    const Count a = count(e);
    if (a == 0 || trie.entry_count[e] <= order.cut) return 0.0;
    return static_cast<double>(a) - order.discount[std::min<Count>(a, 3) - 1];
  }

  bool counts_tokens(std::size_t n, std::size_t c) const {
    return adjusted.empty() || n == trie.order || trie.context_word[c] == trie.n_words;
  }

  Mass mass(std::size_t n, std::size_t c) const {
    const OrderSmoothing& order = orders[n - 1];
    double taken = 0.0, total = 0.0;
    std::size_t types = 0;
    for (std::size_t e = trie.context_entry[c]; e < trie.context_entry[c + 1]; ++e) {
      const Count a = count(e);
      if (a == 0) continue;
      ++types;
      total += static_cast<double>(a);
      taken += trie.entry_count[e] <= order.cut ? static_cast<double>(a) : order.discount[std::min<Count>(a, 3) - 1];
    }
    const double cut_off =
        counts_tokens(n, c) ? std::max(0.0, static_cast<double>(trie.context_count[c]) - total) : 0.0;
    const double extra = order.per_type * static_cast<double>(types) + order.constant + cut_off;
    return {total + extra, taken + extra};
  }

  double unigram(const Mass& m, std::size_t w) const {
    const double uniform = 1.0 / static_cast<double>(trie.n_words);
    return m.total > 0.0 ? (keep(orders[0], w) + m.unseen * uniform) / m.total : uniform;
  }

  // Factors of interpolation: p(w | h) = keep(hw) scale + backoff p(w | h').
  struct Factors {
    double scale, backoff;
  };
  static Factors factors(const Mass& m) {
    const double scale = m.total > 0.0 ? 1.0 / m.total : 0.0;
    return {scale, m.total > 0.0 ? m.unseen * scale : 1.0};
  }
};

// Throws InvalidInput unless there are settings for every order, and usable ones.
void check_settings(std::span<const OrderSmoothing> orders, std::size_t order);

// Throws InvalidInput unless every range and parent of the trie lies where the layout says.
void check_for_smoothing(ThreadPool& pool, const trie::TrieView& trie);

// `adjusted` counts replace the token counts of orders below the highest (backoff/kneser_ney.hh); empty: token counts
// everywhere. Of tokens whose n-grams were cut off the trie, those whose histories keep token counts go to the lower
// order. `trie` must have been checked.
void smooth(ThreadPool& pool, const trie::TrieView& trie, std::span<const std::uint32_t> adjusted,
            std::span<const OrderSmoothing> orders, bool interpolate, std::span<double> log_probability,
            std::span<double> log_backoff);

}  // namespace loglinear::backoff
