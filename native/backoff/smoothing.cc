#include "backoff/smoothing.hh"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "simd/loops.hh"
#include "trie/cuts.hh"
#include "util/cancellation.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::backoff {

using namespace trie;
namespace {

class Sweep {
 public:
  Sweep(ThreadPool& pool, const TrieView& trie, std::span<const std::uint32_t> adjusted,
        std::span<const OrderSmoothing> orders, bool interpolate, std::span<double> p, std::span<double> backoff)
      : pool_(pool), trie_(trie), counts_{trie, adjusted, orders}, orders_(orders), interpolate_(interpolate), p_(p),
        backoff_(backoff), unseen_(interpolate ? 0 : trie.n_contexts()) {}

  void run() {
    unigrams();
    for (std::size_t n = 2; n <= trie_.order; ++n) {
      for_contexts(pool_, trie_, n - 1, [&](std::size_t begin, std::size_t end) {
        if (interpolate_) {
          for (std::size_t c = begin; c < end; ++c) interpolate(n, c);
        } else {
          with_parents(trie_, n - 1, begin, end, [&](std::size_t parent, std::size_t c) { back_off(n, parent, c); });
        }
      });
      take_log(p_, trie_.entry_start[n - 2], trie_.entry_start[n - 1]);  // no longer needed as a number
    }
    take_log(p_, trie_.entry_start[trie_.order - 1], trie_.entry_start[trie_.order]);
    take_log(backoff_, 1, static_cast<std::int64_t>(trie_.n_contexts()));
    backoff_[0] = 0.0;
  }

 private:
  double keep(const OrderSmoothing& order, std::size_t e) const { return counts_.keep(order, e); }

  void unigrams() {
    const auto m = counts_.mass(1, 0);
    for (std::size_t e = 0; e < trie_.n_words; ++e) p_[e] = counts_.unigram(m, e);
  }

  void interpolate(std::size_t n, std::size_t c) {
    const auto [scale, gamma] = counts_.factors(counts_.mass(n, c));
    backoff_[c] = gamma;
    for (std::size_t e = trie_.context_entry[c]; e < trie_.context_entry[c + 1]; ++e)
      p_[e] = keep(orders_[n - 1], e) * scale + gamma * p_[trie_.entry_parent[e]];
  }

  void back_off(std::size_t n, std::size_t parent, std::size_t c) {
    const auto m = counts_.mass(n, c);
    const std::size_t begin = trie_.context_entry[c], end = trie_.context_entry[c + 1];
    double seen_below = 0.0, kept = 0.0;
    std::size_t n_seen = 0;
    for (std::size_t e = begin; e < end; ++e)
      if (const double k = keep(orders_[n - 1], e); k > 0.0) {
        kept += k;
        seen_below += p_[trie_.entry_parent[e]];
        ++n_seen;
      }
    const bool full = n_seen == trie_.n_words;  // nothing to back off to: the discounts are given back
    const double total = full ? kept : m.total;
    unseen_[c] = full ? 0.0 : total > 0.0 ? m.unseen / total : 1.0;
    double below = 1.0 - seen_below;
    if (!full && below < kCancelledRest) below = unseen_below(n, parent, c);
    backoff_[c] = full ? 1.0 : unseen_[c] / below;
    for (std::size_t e = begin; e < end; ++e) {
      const double k = keep(orders_[n - 1], e);
      p_[e] = k > 0.0 ? k / total : backoff_[c] * p_[trie_.entry_parent[e]];
    }
  }

  // Sum of p(w | parent) over the words without a count of their own after c, from positive terms only.
  double unseen_below(std::size_t n, std::size_t parent, std::size_t c) const {
    double sum = unseen_[parent];
    std::size_t e = trie_.context_entry[c];
    const std::size_t end = trie_.context_entry[c + 1];
    for (std::size_t q = trie_.context_entry[parent]; q < trie_.context_entry[parent + 1]; ++q) {
      while (e < end && trie_.entry_parent[e] < q) ++e;
      const bool seen = e < end && trie_.entry_parent[e] == q && keep(orders_[n - 1], e) > 0.0;
      if (!seen && (n == 2 || keep(orders_[n - 2], q) > 0.0)) sum += p_[q];
    }
    return sum;
  }

  void take_log(std::span<double> x, std::int64_t begin, std::int64_t end) {
    parallel_for(pool_, static_cast<std::size_t>(end - begin), kVectorChunk, [&](std::size_t b, std::size_t e) {
      simd::loops().log(x.data() + begin + b, x.data() + begin + b, e - b);
    });
  }

  ThreadPool& pool_;
  const TrieView& trie_;
  CountedMass<TrieView, std::uint32_t> counts_;
  std::span<const OrderSmoothing> orders_;
  bool interpolate_;
  std::span<double> p_, backoff_;
  std::vector<double> unseen_;  // [n_contexts] when backing off: what the words seen after the context leave
};

}  // namespace

void check_for_smoothing(ThreadPool& pool, const TrieView& trie) {
  trie.check_layout("n-gram trie");
  require(trie.context_count.size() == trie.n_contexts(), "n-gram trie: one count per context is needed");
  require(trie.entry_parent.size() == trie.n_entries() && trie.entry_count.size() == trie.n_entries(),
          "n-gram trie: one parent and one count per entry are needed");
  for (std::size_t k = 1; k < trie.order; ++k)
    for_contexts(pool, trie, k, [&](std::size_t begin, std::size_t end) {
      with_parents(trie, k, begin, end, [&](std::size_t parent, std::size_t c) {
        const std::uint32_t first = trie.context_entry[parent], last = trie.context_entry[parent + 1];
        for (std::size_t e = trie.context_entry[c]; e < trie.context_entry[c + 1]; ++e)
          if (trie.entry_parent[e] < first || trie.entry_parent[e] >= last)
            throw InvalidInput("n-gram trie: the parent of entry " + std::to_string(e) +
                               " is not an entry of its context's parent");
      });
    });
}

void check_settings(std::span<const OrderSmoothing> orders, std::size_t order) {
  require(orders.size() == order, "smoothing: settings are needed for every order");
  for (const OrderSmoothing& own : orders) {
    for (int k = 0; k < 3; ++k)
      require(own.discount[k] >= 0.0 && own.discount[k] <= k + 1.0,
              "smoothing: a discount must lie between 0 and the count it is taken from");
    require(own.per_type >= 0.0 && own.constant >= 0.0 && std::isfinite(own.per_type + own.constant),
            "smoothing: what is added to counts must be finite and not negative");
  }
}

void smooth(ThreadPool& pool, const TrieView& trie, std::span<const std::uint32_t> adjusted,
            std::span<const OrderSmoothing> orders, bool interpolate, std::span<double> log_probability,
            std::span<double> log_backoff) {
  require(adjusted.empty() || adjusted.size() == static_cast<std::size_t>(trie.entry_start[trie.order - 1]),
          "smoothing: one adjusted count is needed for every entry below the highest order");
  require(log_probability.size() == trie.n_entries() && log_backoff.size() == trie.n_contexts(),
          "smoothing: the results need one number per entry and per context");
  check_settings(orders, trie.order);
  Sweep(pool, trie, adjusted, orders, interpolate, log_probability, log_backoff).run();
}

}  // namespace loglinear::backoff
