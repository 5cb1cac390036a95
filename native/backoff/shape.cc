#include "backoff/shape.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "util/errors.hh"

namespace loglinear::backoff {

using util::InvalidInput;
using util::ThreadPool;
using util::kVectorChunk;
using util::parallel_for;

namespace {

void demand(bool condition, const char* what) {
  if (!condition) throw InvalidInput(std::string("n-gram arrays: ") + what);
}

// That `starts` begin at 0 and `first`, do not fall and end at n.
void check_starts(std::span<const std::int64_t> starts, std::size_t order, std::size_t first, std::size_t n,
                  const char* what) {
  demand(starts.size() == order + 1 && starts[0] == 0 && starts[1] == static_cast<std::int64_t>(first) &&
             starts[order] == static_cast<std::int64_t>(n) && std::is_sorted(starts.begin(), starts.end()),
         what);
}

std::uint32_t find(std::span<const std::uint32_t> words, std::uint32_t begin, std::uint32_t end, std::uint32_t word) {
  const auto at = std::lower_bound(words.begin() + begin, words.begin() + end, word);
  return at != words.begin() + end && *at == word ? static_cast<std::uint32_t>(at - words.begin()) : kNowhere;
}

}  // namespace

void NgramShape::check(ThreadPool& pool) const {
  demand(order >= 1 && order <= kHighestOrder, "the order must be between 1 and 255");
  demand(n_words >= 1 && n_words < kNowhere, "there must be between 1 and 2^32 - 2 words");
  demand(n_contexts() < kNowhere && n_entries() < kNowhere, "more than 2^32 - 2 contexts or entries");
  check_starts(context_start, order, 1, n_contexts(), "context_start does not fit the contexts");
  check_starts(entry_start, order, n_words, n_entries(), "entry_start does not fit the entries");
  demand(context_child.size() == n_contexts() + 1 && context_entry.size() == n_contexts() + 1,
         "context_child and context_entry need one number more than there are contexts");
  demand(context_child.back() == n_contexts() && context_entry.back() == n_entries(),
         "context_child or context_entry does not end where its array does");
  for (std::size_t k = 0; k < order; ++k) {
    const auto first = static_cast<std::size_t>(context_start[k]);
    demand(context_child[first] == static_cast<std::size_t>(context_start[k + 1]) &&
               context_entry[first] == static_cast<std::size_t>(entry_start[k]),
           "children or entries of one length do not begin where their level does");
  }
  parallel_for(pool, n_contexts(), 1 << 15, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      demand(context_child[c] <= context_child[c + 1] && context_child[c + 1] <= n_contexts(), "context_child falls");
      demand(context_entry[c] <= context_entry[c + 1] && context_entry[c + 1] <= n_entries(), "context_entry falls");
    }
  });
  parallel_for(pool, n_contexts(), 1 << 12, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      for (std::uint32_t d = context_child[c]; d < context_child[c + 1]; ++d) {
        demand(context_word[d] <= n_words, "a context has a word outside the vocabulary");
        demand(d == context_child[c] || context_word[d - 1] < context_word[d], "children of a context do not ascend");
      }
      for (std::uint32_t e = context_entry[c]; e < context_entry[c + 1]; ++e) {
        demand(entry_word[e] < n_words, "an entry has a word outside the vocabulary");
        demand(e == context_entry[c] || entry_word[e - 1] < entry_word[e], "entries of a context do not ascend");
      }
      demand(c == 0 || context_word[c] != n_words || context_child[c] == context_child[c + 1],
             "a context has a word before <s>");
    }
  });
}

std::uint32_t NgramShape::child(std::uint32_t context, std::uint32_t word) const {
  return find(context_word, context_child[context], context_child[context + 1], word);
}

std::uint32_t NgramShape::entry(std::uint32_t context, std::uint32_t word) const {
  if (context == 0) return word < n_words ? word : kNowhere;
  return find(entry_word, context_entry[context], context_entry[context + 1], word);
}

std::uint32_t NgramShape::entry_after(std::uint32_t& from, std::uint32_t context, std::uint32_t word) const {
  if (context == 0) return word < n_words ? word : kNowhere;
  const std::size_t end = context_entry[context + 1];
  std::size_t at = from, step = 1;  // doubled until past the word: near words are found in a few steps
  while (at + step < end && entry_word[at + step] < word) at += step, step *= 2;
  const std::uint32_t* const words = entry_word.data();
  from = static_cast<std::uint32_t>(std::lower_bound(words + at, words + std::min(at + step + 1, end), word) - words);
  return from < end && words[from] == word ? from : kNowhere;
}

std::vector<std::uint32_t> NgramShape::parents() const {
  std::vector<std::uint32_t> result(n_contexts(), kNowhere);
  for (std::size_t c = 0; c < n_contexts(); ++c)
    for (std::uint32_t d = context_child[c]; d < context_child[c + 1]; ++d) result[d] = static_cast<std::uint32_t>(c);
  return result;
}

void BackoffArrays::check_values(ThreadPool& pool) const {
  demand(log_backoff.size() == shape.n_contexts(), "there must be one log_backoff for each context");
  demand(log_probability.size() == shape.n_entries(), "there must be one log_probability for each entry");
  const auto usable = [](double x) { return x < std::numeric_limits<double>::infinity(); };
  for (const auto values : {log_backoff, log_probability})
    parallel_for(pool, values.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (!usable(values[i]))
          throw InvalidInput("back-off model: value " + std::to_string(i) + " of " +
                             (values.data() == log_backoff.data() ? "log_backoff" : "log_probability") +
                             " is NaN or infinity");
    });
}

double BackoffArrays::log_p(std::uint32_t context, std::uint32_t word, std::span<const std::uint32_t> parents) const {
  double total = 0.0;
  for (;;) {
    const std::uint32_t e = shape.entry(context, word);
    if (e != kNowhere) return total + log_probability[e];
    if (context == 0) return -std::numeric_limits<double>::infinity();  // <s>
    total += log_backoff[context];
    context = parents[context];
  }
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

OwnedShape unite(const NgramShape& a, const NgramShape& b) {
  demand(a.n_words == b.n_words, "shapes of different vocabularies cannot be united");
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
    demand(out.context_word.size() < kNowhere && out.entry_word.size() < kNowhere, "more than 2^32 - 2 n-grams");
    out.entry_start.push_back(static_cast<std::int64_t>(out.entry_word.size()));
    level.swap(next);
  }
  out.context_child.push_back(static_cast<std::uint32_t>(out.context_word.size()));
  out.context_entry.push_back(static_cast<std::uint32_t>(out.entry_word.size()));
  return out;
}

std::vector<std::uint32_t> nearest_contexts(ThreadPool& pool, const NgramShape& model, const NgramShape& shape) {
  std::vector<std::uint32_t> nearest(shape.n_contexts(), 0);
  for (std::size_t k = 0; k + 1 < shape.order; ++k)
    for_contexts(pool, shape, k, [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t c = begin; c < end; ++c) {
        const std::uint32_t at = nearest[c];
        const bool whole = k < model.order && at >= model.context_start[k];
        for (std::uint32_t d = shape.context_child[c]; d < shape.context_child[c + 1]; ++d) {
          const std::uint32_t found = whole ? model.child(at, shape.context_word[d]) : kNowhere;
          nearest[d] = found == kNowhere ? at : found;
        }
      }
    });
  return nearest;
}

}  // namespace loglinear::backoff
