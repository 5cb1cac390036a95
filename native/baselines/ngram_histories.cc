#include "baselines/ngram_histories.hh"

#include "ngram/hierarchical_normalisation.hh"
#include "util/views.hh"

namespace loglinear::baselines {

using namespace trie;
NgramHistories::NgramHistories(const TrieView& view) : trie(view) {
  trie.check_closed();
  parent.assign(trie.n_contexts(), kNowhere);
  own.assign(trie.context_count.begin(), trie.context_count.end());
  for (std::uint32_t c = 0; c < trie.n_contexts(); ++c)
    for (std::uint32_t d = trie.context_child[c]; d < trie.context_child[c + 1]; ++d) {
      parent[d] = c;
      require(trie.context_count[d] <= own[c], "n-gram trie: the children of a context occur more often than it does");
      own[c] -= trie.context_count[d];
    }
  for (std::uint32_t c = 0; c < trie.n_contexts(); ++c)
    if (own[c] > 0) histories.push_back(c);
}

std::vector<std::uint32_t> NgramHistories::histories_below() const {
  std::vector<std::uint32_t> below(trie.n_contexts(), 0);
  for (std::size_t c = trie.n_contexts(); c-- > 0;) {
    below[c] += own[c] > 0;
    if (c > 0) below[parent[c]] += below[c];
  }
  return below;
}

TermCounts NgramHistories::terms() const {
  TermCounts count;
  count.histories = histories.size();
  count.naive = count.histories * trie.n_words;
  count.hierarchical = trie.n_entries();
  if (trie.order > 1) {
    const auto below = histories_below();
    for (std::int64_t b = trie.context_start[1]; b < trie.context_start[2]; ++b)
      count.unigram_caching +=
          static_cast<std::uint64_t>(below[b]) * (trie.context_entry[b + 1] - trie.context_entry[b]);
  }
  return count;
}

NgramHistories::Units NgramHistories::cut(std::uint64_t work, bool split, const Cost& cost) const {
  Units out{{}, {0}};
  if (trie.order < 2) return out;
  const auto below = histories_below();
  std::uint64_t sum = 0;
  const auto close = [&] {
    if (out.cuts.back() != out.units.size()) out.cuts.push_back(out.units.size());
    sum = 0;
  };
  for (auto b = static_cast<std::uint32_t>(trie.context_start[1]); b < trie.context_start[2]; ++b) {
    const std::uint64_t each = cost(b);
    const std::uint32_t last = trie.context_child[b + 1];
    std::uint32_t first = trie.context_child[b];
    bool self = true;
    if (split && each * below[b] > work) {
      close();
      for (std::uint32_t d = first; d < last; ++d) {
        sum += each * below[d];
        if (sum < work) continue;
        out.units.push_back({b, first, d + 1, self, self && d + 1 == last});
        close(), first = d + 1, self = false;
      }
      if (first == last && !self) continue;
    }
    sum += each * below[b] + 1;
    out.units.push_back({b, first, last, self, self});
    if (sum >= work) close();
  }
  close();
  return out;
}

}  // namespace loglinear::baselines
