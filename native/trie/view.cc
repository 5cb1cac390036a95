#include "trie/view.hh"

#include <algorithm>
#include <string>

#include "trie/cuts.hh"
#include "util/errors.hh"

namespace loglinear::trie {

namespace {

void demand(bool condition, const char* name, const char* what) {
  if (!condition) throw InvalidInput(std::string(name) + ": " + what);
}

// That `start` [order + 1] begins with 0 and `first`, does not fall and ends at `total`.
bool ascends(std::span<const std::int64_t> start, std::size_t first, std::size_t total) {
  return start[0] == 0 && start[1] == static_cast<std::int64_t>(first) &&
         start.back() == static_cast<std::int64_t>(total) && std::is_sorted(start.begin(), start.end());
}

// That `pointer` [n_contexts + 1] does not fall and ends at `last`.
bool ascends(std::span<const std::uint32_t> pointer, std::size_t n_contexts, std::size_t last) {
  return pointer.size() == n_contexts + 1 && pointer.back() == last && std::is_sorted(pointer.begin(), pointer.end());
}

std::uint32_t find(std::span<const std::uint32_t> words, std::uint32_t begin, std::uint32_t end, std::uint32_t word) {
  const auto at = std::lower_bound(words.begin() + begin, words.begin() + end, word);
  return at != words.begin() + end && *at == word ? static_cast<std::uint32_t>(at - words.begin()) : kNowhere;
}

}  // namespace

void TrieView::check_layout(const char* name) const {
  demand(order >= 1 && n_words >= 1 && n_words < kNowhere && n_contexts() < kNowhere && n_entries() < kNowhere, name,
         "the order and the numbers of words and n-grams must be between 1 and 4294967294");
  demand(context_start.size() == order + 1 && entry_start.size() == order + 1, name,
         "context_start and entry_start need order + 1 numbers");
  demand(ascends(context_start, 1, n_contexts()) && ascends(entry_start, n_words, n_entries()), name,
         "the numbers at which lengths start do not ascend from the empty context to the last one");
  demand(ascends(context_child, n_contexts(), n_contexts()) && ascends(context_entry, n_contexts(), n_entries()), name,
         "the children or entries of contexts do not ascend to the end of their array");
  for (std::size_t k = 0; k < order; ++k)
    demand(context_child[context_start[k]] == context_start[k + 1] && context_entry[context_start[k]] == entry_start[k],
           name, "the children or entries of contexts do not begin where their length begins");
}

void TrieView::check_backoff(ThreadPool& pool) const {
  constexpr const char* name = "n-gram arrays";
  demand(order <= kHighestOrder, name, "the order must be between 1 and 255");
  check_layout(name);
  parallel_for(pool, n_contexts(), 1 << 12, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      for (std::uint32_t d = context_child[c]; d < context_child[c + 1]; ++d) {
        demand(context_word[d] <= n_words, name, "a context has a word outside the vocabulary");
        demand(d == context_child[c] || context_word[d - 1] < context_word[d], name,
               "children of a context do not ascend");
      }
      for (std::uint32_t e = context_entry[c]; e < context_entry[c + 1]; ++e) {
        demand(entry_word[e] < n_words, name, "an entry has a word outside the vocabulary");
        demand(e == context_entry[c] || entry_word[e - 1] < entry_word[e], name, "entries of a context do not ascend");
      }
      demand(c == 0 || context_word[c] != n_words || context_child[c] == context_child[c + 1], name,
             "a context has a word before <s>");
    }
  });
}

void TrieView::check_closed() const {
  constexpr const char* name = "n-gram trie";
  demand(order <= kMaxLevels, name, "the order must be 1 to 4096");
  check_layout(name);
  demand(context_count.size() == n_contexts() && entry_parent.size() == n_entries() &&
             entry_count.size() == n_entries(),
         name, "counts and parents need one number per context or entry");
  for (std::size_t k = 0; k < order; ++k)
    check_entries(name, k, static_cast<std::size_t>(context_start[k]), static_cast<std::size_t>(context_start[k + 1]));
}

void TrieView::check_entries(const char* name, std::size_t k, std::size_t begin, std::size_t end) const {
  if (k == 0) {
    for (std::size_t w = 0; w < n_words; ++w) demand(entry_word[w] == w, name, "unigram w is not word w");
    return;
  }
  with_parents(*this, k, begin, end, [&](std::size_t parent, std::size_t c) {
    for (std::size_t e = context_entry[c]; e < context_entry[c + 1]; ++e) {
      const std::uint32_t up = entry_parent[e];
      demand(up >= context_entry[parent] && up < context_entry[parent + 1] && entry_word[up] == entry_word[e], name,
             "the parent of an entry is not in the parent context");
      demand(e == context_entry[c] || entry_word[e] > entry_word[e - 1], name, "words do not ascend");
    }
  });
}

std::uint32_t TrieView::child(std::uint32_t context, std::uint32_t word) const {
  return find(context_word, context_child[context], context_child[context + 1], word);
}

std::uint32_t TrieView::entry(std::uint32_t context, std::uint32_t word) const {
  if (context == 0) return word < n_words ? word : kNowhere;
  return find(entry_word, context_entry[context], context_entry[context + 1], word);
}

std::uint32_t TrieView::entry_after(std::uint32_t& from, std::uint32_t context, std::uint32_t word) const {
  if (context == 0) return word < n_words ? word : kNowhere;
  const std::size_t end = context_entry[context + 1];
  std::size_t at = from, step = 1;  // doubled until past the word: near words are found in a few steps
  while (at + step < end && entry_word[at + step] < word) at += step, step *= 2;
  const std::uint32_t* const words = entry_word.data();
  from = static_cast<std::uint32_t>(std::lower_bound(words + at, words + std::min(at + step + 1, end), word) - words);
  return from < end && words[from] == word ? from : kNowhere;
}

std::vector<std::uint32_t> TrieView::parents() const {
  std::vector<std::uint32_t> result(n_contexts(), kNowhere);
  for (std::size_t c = 0; c < n_contexts(); ++c)
    for (std::uint32_t d = context_child[c]; d < context_child[c + 1]; ++d) result[d] = static_cast<std::uint32_t>(c);
  return result;
}

namespace {

struct Pair {
  std::uint32_t a, b;  // numbers in either shape, kNowhere where it is not there
};

// both(word, i, j) over two ascending runs of words.
template <class Both>
void merge_words(const std::uint32_t* a, std::uint32_t i, std::uint32_t i_end, const std::uint32_t* b, std::uint32_t j,
                 std::uint32_t j_end, Both both) {
  while (i < i_end || j < j_end) {
    const std::uint32_t left = i < i_end ? a[i] : kNowhere, right = j < j_end ? b[j] : kNowhere;
    both(std::min(left, right), left <= right ? i : kNowhere, right <= left ? j : kNowhere);
    if (left <= right) ++i;
    if (right <= left) ++j;
  }
}

std::uint32_t bound(std::span<const std::uint32_t> starts, std::uint32_t context, std::uint32_t shift) {
  return context == kNowhere ? 0 : starts[context + shift];
}

}  // namespace

OwnedShape unite(const TrieView& a, const TrieView& b) {
  demand(a.n_words == b.n_words, "n-gram arrays", "tries of different vocabularies cannot be united");
  OwnedShape out;
  out.order = std::max(a.order, b.order), out.n_words = a.n_words;
  out.context_start = {0}, out.entry_start = {0};
  out.context_word = {kNowhere};
  out.context_word.reserve(std::max(a.n_contexts(), b.n_contexts()));
  out.entry_word.reserve(std::max(a.n_entries(), b.n_entries()));
  std::vector<Pair> level{{0, 0}}, next;
  for (std::size_t k = 0; k < out.order; ++k) {
    next.clear();
    out.context_start.push_back(static_cast<std::int64_t>(out.context_word.size()));
    for (const Pair& c : level) {
      out.context_child.push_back(static_cast<std::uint32_t>(out.context_word.size()));
      out.context_entry.push_back(static_cast<std::uint32_t>(out.entry_word.size()));
      merge_words(a.context_word.data(), bound(a.context_child, c.a, 0), bound(a.context_child, c.a, 1),
                  b.context_word.data(), bound(b.context_child, c.b, 0), bound(b.context_child, c.b, 1),
                  [&](std::uint32_t word, std::uint32_t i, std::uint32_t j) {
                    out.context_word.push_back(word);
                    next.push_back({i, j});
                  });
      merge_words(a.entry_word.data(), bound(a.context_entry, c.a, 0), bound(a.context_entry, c.a, 1),
                  b.entry_word.data(), bound(b.context_entry, c.b, 0), bound(b.context_entry, c.b, 1),
                  [&](std::uint32_t word, std::uint32_t, std::uint32_t) { out.entry_word.push_back(word); });
    }
    demand(out.context_word.size() < kNowhere && out.entry_word.size() < kNowhere, "n-gram arrays",
           "more than 2^32 - 2 n-grams");
    out.entry_start.push_back(static_cast<std::int64_t>(out.entry_word.size()));
    level.swap(next);
  }
  out.context_child.push_back(static_cast<std::uint32_t>(out.context_word.size()));
  out.context_entry.push_back(static_cast<std::uint32_t>(out.entry_word.size()));
  return out;
}

std::vector<std::uint32_t> nearest_contexts(ThreadPool& pool, const TrieView& model, const TrieView& trie) {
  std::vector<std::uint32_t> nearest(trie.n_contexts(), 0);
  for (std::size_t k = 0; k + 1 < trie.order; ++k)
    for_contexts(pool, trie, k, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        const std::uint32_t at = nearest[c];
        const bool whole = k < model.order && at >= model.context_start[k];
        for (std::uint32_t d = trie.context_child[c]; d < trie.context_child[c + 1]; ++d) {
          const std::uint32_t found = whole ? model.child(at, trie.context_word[d]) : kNowhere;
          nearest[d] = found == kNowhere ? at : found;
        }
      }
    });
  return nearest;
}

}  // namespace loglinear::trie
