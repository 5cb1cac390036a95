#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "arpa/lines.hh"
#include "arpa/text.hh"
#include "backoff/mix.hh"
#include "trie/cuts.hh"
#include "util/errors.hh"
#include "util/lines.hh"
#include "util/log10_text.hh"

namespace loglinear::arpa {

using namespace backoff;
using namespace trie;
namespace {

constexpr std::size_t kLinesInChunk = 1 << 14;

using Rows = std::vector<std::uint32_t>;  // n-grams of one order, one after another

bool present(const TrieView& shape, const std::uint32_t* words, std::size_t n) {
  std::uint32_t at = 0;
  for (std::size_t i = n - 1; i-- > 0 && at != kNowhere;) at = shape.child(at, words[i]);
  return at != kNowhere && shape.entry(at, words[n - 1]) != kNowhere;
}

// N-grams of order k >= 2 that must have entries and have none: contexts [begin, end) of length k, as n-grams, and the
// ends of their entries. Some are found more than once.
Rows missing_from(const TrieView& shape, std::span<const std::uint32_t> parents, std::size_t k, std::uint32_t begin,
                  std::uint32_t end) {
  Rows found, words(k + 1);
  for (std::uint32_t c = begin; c < end; ++c) {
    std::uint32_t at = c;
    for (std::size_t i = 0; i < k; ++i, at = parents[at]) words[i] = shape.context_word[at];
    if (!present(shape, words.data(), k)) found.insert(found.end(), words.begin(), words.end() - 1);
    std::uint32_t from = shape.context_entry[parents[c]];
    for (std::uint32_t e = shape.context_entry[c]; e < shape.context_entry[c + 1]; ++e) {
      words[k] = shape.entry_word[e];
      if (shape.entry_after(from, parents[c], words[k]) == kNowhere)
        found.insert(found.end(), words.begin() + 1, words.end());
    }
  }
  return found;
}

// The beginnings and ends, of order n, of n-grams of order n + 1 that have no entries.
Rows missing_below(const TrieView& shape, const Rows& longer, std::size_t n, std::size_t begin, std::size_t end) {
  Rows found;
  for (std::size_t r = begin; r < end; ++r)
    for (const std::uint32_t* words : {longer.data() + r * (n + 1), longer.data() + r * (n + 1) + 1})
      if (!present(shape, words, n)) found.insert(found.end(), words, words + n);
  return found;
}

// Rows of one order, each once.
class DistinctRows {
 public:
  explicit DistinctRows(std::size_t n) : n_(n) {}

  void add(const Rows& rows) {
    const std::size_t bytes = n_ * sizeof(std::uint32_t);
    for (std::size_t at = 0; at < rows.size(); at += n_) {
      const std::uint32_t* const row = rows.data() + at;
      const auto next = static_cast<std::int32_t>(lines.size());
      const auto same = [&](std::int32_t i) {
        return std::memcmp(lines.words.data() + static_cast<std::size_t>(i) * n_, row, bytes) == 0;
      };
      const std::uint64_t hash = hash_bytes({reinterpret_cast<const char*>(row), bytes});
      if (slots_.find_or_add(hash, next, same) != next) continue;
      lines.words.insert(lines.words.end(), row, row + n_);
      lines.kind.push_back(kEntry);
    }
  }

  NgramLines lines;

 private:
  std::size_t n_;
  HashSlots slots_;
};

// find(begin, end) of pieces of [0, n), their rows added in order.
template <class Find>
void add_in_parallel(ThreadPool& pool, std::size_t n, DistinctRows& rows, Find find) {
  std::vector<Rows> parts(chunk_count(n, 1 << 13));
  pool.run(parts.size(), [&](std::size_t chunk) {
    const Range r = chunk_range(n, 1 << 13, chunk);
    parts[chunk] = find(r.begin, r.end);
  });
  for (const Rows& part : parts) rows.add(part);
}

bool can_be_written(std::string_view word) {
  static constexpr std::string_view kSeparators("\0\t\n\r ", 5);
  return !word.empty() && word.find_first_of(kSeparators) == std::string_view::npos;
}

char* write_value(double value, int digits, char* out) {
  if (std::isfinite(value)) return write_log10(value, digits, out);
  std::memcpy(out, "-99", 3);  // what readers take for a probability of zero
  return out + 3;
}

}  // namespace

OwnedBackoff closed(ThreadPool& pool, const BackoffArrays& model) {
  const TrieView& shape = model.shape;
  const std::vector<std::uint32_t> parents = shape.parents();
  std::vector<NgramLines> missing(shape.order);
  for (std::size_t k = shape.order - 1; k >= 2; --k) {  // the longest first: they make shorter ones missing
    DistinctRows rows(k);
    const auto first = static_cast<std::size_t>(shape.context_start[k]);
    add_in_parallel(pool, static_cast<std::size_t>(shape.context_start[k + 1]) - first, rows,
                    [&](std::size_t begin, std::size_t end) {
                      return missing_from(shape, parents, k, static_cast<std::uint32_t>(first + begin),
                                          static_cast<std::uint32_t>(first + end));
                    });
    const NgramLines& longer = missing[k];
    add_in_parallel(pool, longer.size(), rows, [&](std::size_t begin, std::size_t end) {
      return missing_below(shape, longer.words, k, begin, end);
    });
    missing[k - 1] = std::move(rows.lines);
  }
  OwnedBackoff result;
  result.shape = unite(shape, place_lines(pool, shape.n_words, missing).shape);
  const TrieView larger = result.shape;
  result.log_probability.resize(larger.n_entries());
  log_probabilities_of(pool, model, larger, result.log_probability);
  const std::vector<std::uint32_t> nearest = nearest_contexts(pool, shape, larger);
  result.log_backoff.assign(larger.n_contexts(), 0.0);
  for (std::size_t k = 1; k < larger.order; ++k)
    for (std::int64_t c = larger.context_start[k]; c < larger.context_start[k + 1]; ++c)
      if (nearest[c] >= shape.context_start[k]) result.log_backoff[c] = model.log_backoff[nearest[c]];
  return result;
}

ArpaText::ArpaText(ThreadPool& pool, const BackoffArrays& model, Strings words) : model_(model), words_(words) {
  words.check();
  if (words.size() != model.shape.n_words) throw InvalidInput("ARPA: the words and their numbers differ in number");
  for (std::size_t w = 0; w < words.size(); ++w)
    if (!can_be_written(words[w]) || words[w] == "<s>")
      throw InvalidInput("cannot write the word " + quoted(words[w]) +
                         ": it is empty, reserved, or holds a blank or a line end; replace it");
  if (link(pool)) return;
  own_ = closed(pool, model);
  model_ = own_;
  if (!link(pool)) throw InvalidInput("ARPA: the model could not be completed");
}

// Finds the context of each entry's words; false where an entry or a context has no line to stand on.
bool ArpaText::link(ThreadPool& pool) {
  const TrieView& shape = model_.shape;
  parents_ = shape.parents();
  context_of_.assign(static_cast<std::size_t>(shape.entry_start[shape.order - 1]), kNowhere);
  if (shape.order == 1) return true;
  const std::uint32_t first = shape.context_child[0], last = shape.context_child[1];
  for (std::uint32_t c = first; c < last; ++c)
    if (shape.context_word[c] < shape.n_words) context_of_[shape.context_word[c]] = c;
  for (std::size_t k = 1; k < shape.order; ++k) {
    std::atomic<bool> complete{true};
    std::atomic<std::int64_t> n_found{0};
    for_contexts(pool, shape, k, [&](std::uint32_t begin, std::uint32_t end) {
      std::int64_t found = 0;
      for (std::uint32_t c = begin; c < end && complete; ++c) {
        const std::uint32_t parent = parents_[c];
        std::uint32_t from = shape.context_entry[parent];
        for (std::uint32_t e = shape.context_entry[c]; e < shape.context_entry[c + 1]; ++e) {
          const std::uint32_t shorter = shape.entry_after(from, parent, shape.entry_word[e]);
          if (shorter == kNowhere) complete = false;
          if (shorter == kNowhere || k + 1 == shape.order || context_of_[shorter] == kNowhere) continue;
          context_of_[e] = shape.child(context_of_[shorter], shape.context_word[c]);
          found += context_of_[e] != kNowhere;
        }
      }
      n_found += found;
    });
    const bool all = k + 1 == shape.order || n_found == shape.context_start[k + 2] - shape.context_start[k + 1];
    if (!complete || !all) return false;
  }
  return true;
}

std::size_t ArpaText::n_lines(std::size_t n) const {
  if (n < 1 || n > order()) throw InvalidInput("ARPA: there is no such order");
  const auto entries = static_cast<std::size_t>(model_.shape.entry_start[n] - model_.shape.entry_start[n - 1]);
  return entries + (n == 1 ? 1 : 0);
}

std::vector<char> ArpaText::lines(ThreadPool& pool, std::size_t n, std::size_t begin, std::size_t end,
                                  int digits) const {
  if (digits < 1 || digits > 17) throw InvalidInput("ARPA: digits must be between 1 and 17");
  if (begin > end || end > n_lines(n)) throw InvalidInput("ARPA: there are not that many lines");
  const TrieView& shape = model_.shape;
  const auto first = static_cast<std::size_t>(shape.entry_start[n - 1]);
  const auto contexts_begin = shape.context_entry.begin() + shape.context_start[n - 1];
  const auto contexts_end = shape.context_entry.begin() + shape.context_start[n];
  std::vector<std::string> parts(chunk_count(end - begin, kLinesInChunk));

  pool.run(parts.size(), [&](std::size_t chunk) {
    const Range r = chunk_range(end - begin, kLinesInChunk, chunk);
    std::string& text = parts[chunk];
    text.reserve((r.end - r.begin) * 48);
    char number[kMostLog10Text + 1];
    std::string history;
    std::uint32_t context = kNowhere;
    const auto line = [&](double log_probability, std::string_view word, std::uint32_t own_context) {
      char* p = write_value(log_probability, digits, number);
      *p++ = '\t';
      text.append(number, p).append(history).append(word);
      if (own_context != kNowhere && model_.log_backoff[own_context] != 0.0) {
        number[0] = '\t';
        text.append(number, write_value(model_.log_backoff[own_context], digits, number + 1));
      }
      text += '\n';
    };
    for (std::size_t i = begin + r.begin; i < begin + r.end; ++i) {
      const std::size_t e = first + i;
      if (n == 1 && i == shape.n_words) {
        const std::uint32_t start = order() > 1 ? shape.child(0, static_cast<std::uint32_t>(shape.n_words)) : kNowhere;
        line(-INFINITY, "<s>", start);
        continue;
      }
      if (context == kNowhere)
        context = static_cast<std::uint32_t>(std::upper_bound(contexts_begin, contexts_end, e) -
                                             shape.context_entry.begin() - 1),
        history.clear();
      const bool moved = e >= shape.context_entry[context + 1] || history.empty();
      while (e >= shape.context_entry[context + 1]) ++context;
      if (moved) {
        history.clear();
        for (std::uint32_t c = context; c != 0; c = parents_[c]) {
          const std::uint32_t w = shape.context_word[c];
          history.append(w == shape.n_words ? std::string_view("<s>") : words_[w]) += ' ';
        }
      }
      line(model_.log_probability[e], words_[shape.entry_word[e]], e < context_of_.size() ? context_of_[e] : kNowhere);
    }
  });
  std::size_t size = 0;
  for (const std::string& part : parts) size += part.size();
  std::vector<char> text;
  text.reserve(size);
  for (const std::string& part : parts) text.insert(text.end(), part.begin(), part.end());
  return text;
}

}  // namespace loglinear::arpa
