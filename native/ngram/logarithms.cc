// The two sweeps of ngram/hierarchical_normalisation.hh in logarithms: for weights whose products of exponentials leave
// the range of double.
//
// Down: log r(h) = logsumexp(log of what h lacks, log P(parent e) + theta_e), where what h lacks is
// sum of p(w | parent h) over the words without an entry in h: one minus the rest, or where that cancels, the sum of
// its terms. Up: as there; only what a context hands to a parent that must share it out one by one stays a logarithm.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ngram/hierarchical_normalisation.hh"
#include "simd/loops.hh"
#include "util/cancellation.hh"

namespace loglinear::ngram {

using trie::TrieView;

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
constexpr double kCertain = 1.0 - kCancelledRatio;  // mass above which one minus it has cancelled

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNothing ? a : a + std::log1p(std::exp(b - a));
}

class LogSweep {
 public:
  LogSweep(const TrieView& trie, std::span<const double> w, std::span<double> log_p, std::span<double> log_r)
      : t_(trie), w_(w), log_p_(log_p), log_r_(log_r), lacking_(trie.n_contexts(), kNothing) {}

  void down() {
    log_r_[0] = simd::loops().logsumexp(w_.data(), t_.n_words);
    for (std::size_t e = 0; e < t_.n_words; ++e) log_p_[e] = w_[e] - log_r_[0];
    for (std::uint32_t p = 0; p < t_.n_contexts(); ++p)
      for (std::uint32_t c = t_.context_child[p]; c < t_.context_child[p + 1]; ++c) normalise(c, p);
  }

  double value() const {
    double loss = 0.0;
    for (std::size_t c = 0; c < t_.n_contexts(); ++c) loss += t_.context_count[c] * log_r_[c];
    for (std::size_t e = 0; e < t_.n_entries(); ++e)
      if (t_.entry_count[e]) loss -= t_.entry_count[e] * w_[e];
    return loss;
  }

  void up(
      std::span<double> gradient) {  // which holds what the children of each entry add, until it is the entry's turn
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::vector<double> b(t_.context_count.begin(), t_.context_count.end()), m(t_.n_contexts(), kNothing);
    for (auto p = static_cast<std::uint32_t>(t_.n_contexts()); p-- > 0;)
      for (std::uint32_t c = t_.context_child[p + 1]; c-- > t_.context_child[p];) {
        const double count = t_.context_count[c];
        const double handed = log_add(std::log(std::max(b[c], 0.0)), m[c]) - log_r_[c];
        const bool amplified = handed > std::log(kAmplified * count);
        const double sum = amplified ? 0.0 : std::exp(handed);
        b[p] += sum - count;
        if (amplified) {
          m[p] = log_add(m[p], handed);
          for_each_lacking(c, p, [&](std::uint32_t e) { gradient[e] += std::exp(log_p_[e] + handed); });
        }
        for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e) {
          const std::uint32_t parent = t_.entry_parent[e];
          const double expected = std::exp(log_p_[e]) * b[c] + gradient[e];
          gradient[parent] += expected - (amplified ? 0.0 : std::exp(log_p_[parent]) * sum);
          gradient[e] = expected - t_.entry_count[e];
        }
      }
    for (std::size_t e = 0; e < t_.n_words; ++e) gradient[e] += std::exp(log_p_[e]) * b[0] - t_.entry_count[e];
  }

 private:
  void normalise(std::uint32_t c, std::uint32_t p) {
    double mass = 0.0, top = kNothing;
    for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e) {
      const double above = log_p_[t_.entry_parent[e]];
      mass += std::exp(above);
      log_p_[e] = above + w_[e];
      top = std::max(top, log_p_[e]);
    }
    if (mass < kCertain) {
      lacking_[c] = std::log1p(-mass);
    } else {
      double lacking = p == 0 ? kNothing : lacking_[p] - log_r_[p];
      for_each_lacking(c, p, [&](std::uint32_t e) { lacking = log_add(lacking, log_p_[e]); });
      lacking_[c] = lacking;
    }
    top = std::max(top, lacking_[c]);
    double sum = std::exp(lacking_[c] - top);
    for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e) sum += std::exp(log_p_[e] - top);
    log_r_[c] = top + std::log(sum);
    for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e) log_p_[e] -= log_r_[c];
  }

  // visit(e) for the entries e of p whose words have none in its child c.
  template <class Visit>
  void for_each_lacking(std::uint32_t c, std::uint32_t p, Visit visit) const {
    std::uint32_t own = t_.context_entry[c];
    for (std::uint32_t e = t_.context_entry[p]; e < t_.context_entry[p + 1]; ++e) {
      if (own < t_.context_entry[c + 1] && t_.entry_parent[own] == e) ++own;
      else visit(e);
    }
  }

  const TrieView& t_;
  std::span<const double> w_;
  std::span<double> log_p_, log_r_;
  std::vector<double> lacking_;  // [n_contexts] log of what a context lacks
};

}  // namespace

double log_value_and_gradient(const TrieView& trie, std::span<const double> w, std::span<double> gradient) {
  std::vector<double> log_p(trie.n_entries()), log_r(trie.n_contexts());
  LogSweep sweep(trie, w, log_p, log_r);
  sweep.down();
  sweep.up(gradient);
  return sweep.value();
}

void log_log_probabilities(const TrieView& trie, std::span<const double> w, std::span<double> log_p,
                           std::span<double> log_r) {
  LogSweep(trie, w, log_p, log_r).down();
}

}  // namespace loglinear::ngram
