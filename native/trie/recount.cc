#include "trie/recount.hh"

#include <algorithm>

#include "util/errors.hh"

namespace loglinear::trie {

namespace {

// Where `word` is in the ascending range [begin, end) of `words`; end where it is not.
std::uint32_t locate(std::span<const std::uint32_t> words, std::uint32_t begin, std::uint32_t end, std::uint32_t word) {
  const auto* const first = words.data() + begin;
  const auto* const last = words.data() + end;
  const auto* const at = std::lower_bound(first, last, word);
  return at != last && *at == word ? static_cast<std::uint32_t>(at - words.data()) : end;
}

}  // namespace

void recount(const TrieView& trie, std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
             std::span<std::uint32_t> context_count, std::span<std::uint32_t> entry_count) {
  if (context_count.size() != trie.n_contexts() || entry_count.size() != trie.n_entries())
    throw InvalidInput("recount: one count per context and per n-gram");
  if (sentence_ptr.empty() || sentence_ptr.front() != 0 ||
      sentence_ptr.back() != static_cast<std::int64_t>(words.size()) ||
      !std::is_sorted(sentence_ptr.begin(), sentence_ptr.end()))
    throw InvalidInput("recount: sentence_ptr does not cut the words into sentences");
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t w) { return w >= trie.n_words; }))
    throw InvalidInput("recount: a word is not of the trie's vocabulary");
  std::fill(context_count.begin(), context_count.end(), 0u);
  std::fill(entry_count.begin(), entry_count.end(), 0u);
  const auto begin_symbol = static_cast<std::uint32_t>(trie.n_words);
  for (std::size_t s = 0; s + 1 < sentence_ptr.size(); ++s) {
    const std::int64_t begin = sentence_ptr[s], end = sentence_ptr[s + 1];
    for (std::int64_t i = begin; i <= end; ++i) {
      const std::uint32_t word = i < end ? words[static_cast<std::size_t>(i)] : 0;
      std::uint32_t c = 0;
      bool listed = true;  // an entry's parent is an entry, so the first miss is the last look
      for (std::int64_t k = 1;; ++k) {
        ++context_count[c];
        if (listed) {
          const std::uint32_t stop = trie.context_entry[c + 1];
          const std::uint32_t e = locate(trie.entry_word, trie.context_entry[c], stop, word);
          listed = e != stop;
          if (listed) ++entry_count[e];
        }
        if (i - k < begin - 1) break;
        const std::uint32_t older = i - k < begin ? begin_symbol : words[static_cast<std::size_t>(i - k)];
        const std::uint32_t stop = trie.context_child[c + 1];
        const std::uint32_t child = locate(trie.context_word, trie.context_child[c], stop, older);
        if (child == stop) break;
        c = child;
      }
    }
  }
}

}  // namespace loglinear::trie
