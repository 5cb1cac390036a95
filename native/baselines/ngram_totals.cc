#include "baselines/ngram_totals.hh"

#include <algorithm>
#include <cmath>
#include <vector>

#include "util/views.hh"

namespace loglinear::baselines {

using trie::TrieView;
namespace {

constexpr std::size_t kContexts = 1 << 12;  // in a chunk

// sums[parent e'] += value(k, e') for the entries e' of the children k of contexts [begin, end): no other contexts
// touch these parents.
template <class Value>
void add_to_parents(const TrieView& t, std::size_t begin, std::size_t end, double* sums, const Value& value) {
  for (std::uint32_t k = t.context_child[begin]; k < t.context_child[end]; ++k)
    for (std::uint32_t e = t.context_entry[k]; e < t.context_entry[k + 1]; ++e) sums[t.entry_parent[e]] += value(k, e);
}

// B(h): the tokens below each context, weighted with Z(h) / Z(history); and B(h) / r(h), its share of the parent's.
struct Below {
  std::vector<double> B, share;

  Below(const NgramHistories& h, std::span<const double> log_r) : B(h.own.begin(), h.own.end()), share(B.size()) {
    for (std::size_t c = B.size(); c-- > 1;) {
      share[c] = B[c] * std::exp(-log_r[c]);
      B[h.parent[c]] += share[c];
    }
  }
};

}  // namespace

void expectations_by_total(ThreadPool& pool, const NgramHistories& h, std::span<const double> log_p,
                           std::span<const double> log_r, std::span<double> out) {
  const TrieView& t = h.trie;
  const std::size_t n = t.n_entries();
  require(log_p.size() == n && log_r.size() == t.n_contexts(), "n-gram model: probabilities do not match the trie");
  require(out.size() == t.order * n, "n-gram model: expectations by total need order x entries places");
  const Below below(h, log_r);
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t m = 0; m < t.order; ++m) {
    double* row = out.data() + m * n;
    const std::size_t first = t.context_start[m], count = t.context_start[m + 1] - first;
    parallel_for(pool, count, kContexts, [&](std::size_t begin, std::size_t end) {  // D of the entries of order m + 1
      add_to_parents(t, first + begin, first + end, row,
                     [&](std::uint32_t k, std::uint32_t) { return below.share[k]; });
      for (std::size_t c = first + begin; c < first + end; ++c)
        for (std::uint32_t e = t.context_entry[c]; e < t.context_entry[c + 1]; ++e) {
          const double rest = below.B[c] - row[e];
          row[e] = rest > 0.0 ? rest * std::exp(log_p[e]) : 0.0;
        }
    });
    for (std::size_t k = m; k-- > 0;) {  // up the chains of parents
      const std::size_t from = t.context_start[k], n_contexts = t.context_start[k + 1] - from;
      parallel_for(pool, n_contexts, kContexts, [&](std::size_t begin, std::size_t end) {
        add_to_parents(t, from + begin, from + end, row, [&](std::uint32_t, std::uint32_t e) { return row[e]; });
      });
    }
  }
}

}  // namespace loglinear::baselines
