#include "backoff/kneser_ney.hh"

#include <algorithm>

#include "trie/cuts.hh"
#include "util/views.hh"

namespace loglinear::backoff {

using namespace trie;
namespace {

template <class Trie, class Count>
void adjust_context(const Trie& trie, bool collapsed, std::size_t c, std::span<Count> adjusted) {
  const std::size_t begin = trie.context_entry[c], end = trie.context_entry[c + 1];
  const bool leaf = collapsed && trie.context_child[c] == trie.context_child[c + 1];
  if (leaf || trie.context_word[c] == trie.n_words) {  // nothing comes before <s>
    std::copy(trie.entry_count.begin() + begin, trie.entry_count.begin() + end, adjusted.begin() + begin);
    return;
  }
  std::fill(adjusted.begin() + begin, adjusted.begin() + end, Count{0});
  const std::size_t first = trie.context_entry[trie.context_child[c]];
  const std::size_t last = trie.context_entry[trie.context_child[c + 1]];
  for (std::size_t e = first; e < last; ++e) adjusted[trie.entry_parent[e]] += trie.entry_count[e] > 0;
  for (std::size_t e = begin; e < end; ++e)  // something came before, even if its n-gram was cut off
    if (adjusted[e] == 0 && trie.entry_count[e] > 0) adjusted[e] = 1;
}

}  // namespace

template <class Trie, class Count>
void adjusted_counts(ThreadPool& pool, const Trie& trie, bool collapsed, std::span<Count> adjusted) {
  require(adjusted.size() == static_cast<std::size_t>(trie.entry_start[trie.order - 1]),
          "adjusted counts: one number is needed for every entry below the highest order");
  for (std::size_t k = 0; k + 1 < trie.order; ++k)
    for_contexts_by_children(pool, trie, k, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) adjust_context(trie, collapsed, c, adjusted);
    });
}

template <class Trie, class Count>
std::vector<std::array<std::uint64_t, 4>> counts_of_counts(ThreadPool& pool, const Trie& trie,
                                                           std::span<const Count> adjusted) {
  require(adjusted.size() == static_cast<std::size_t>(trie.entry_start[trie.order - 1]),
          "counts of counts: one adjusted count is needed for every entry below the highest order");
  std::vector<std::array<std::uint64_t, 4>> totals(trie.order);
  for (std::size_t n = 1; n <= trie.order; ++n) {
    const std::size_t first = trie.entry_start[n - 1], size = trie.entry_start[n] - trie.entry_start[n - 1];
    const auto counts = n < trie.order ? adjusted : trie.entry_count;
    std::vector<std::array<std::uint64_t, 4>> parts(chunk_count(size, kTrieChunk));
    parallel_for(pool, size, kTrieChunk, [&](std::size_t begin, std::size_t end) {
      std::array<std::uint64_t, 6> histogram{};
      for (std::size_t e = first + begin; e < first + end; ++e) ++histogram[std::min<Count>(counts[e], 5)];
      std::copy(histogram.begin() + 1, histogram.begin() + 5, parts[begin / kTrieChunk].begin());
    });
    for (const auto& part : parts)
      for (std::size_t i = 0; i < 4; ++i) totals[n - 1][i] += part[i];
  }
  return totals;
}

#define LOGLINEAR_COUNTS(Trie, Count)                                                                       \
  template void adjusted_counts(ThreadPool&, const Trie&, bool, std::span<Count>);                          \
  template std::vector<std::array<std::uint64_t, 4>> counts_of_counts(ThreadPool&, const Trie&, std::span<const Count>);
LOGLINEAR_COUNTS(TrieView, std::uint32_t)
LOGLINEAR_COUNTS(WideTrieView<std::uint16_t>, std::uint16_t)
LOGLINEAR_COUNTS(WideTrieView<std::uint32_t>, std::uint32_t)
LOGLINEAR_COUNTS(WideTrieView<std::uint64_t>, std::uint64_t)
#undef LOGLINEAR_COUNTS

}  // namespace loglinear::backoff
