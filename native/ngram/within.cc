#include "ngram/within.hh"

#include <algorithm>
#include <cmath>

#include "util/errors.hh"

namespace loglinear::ngram {

using namespace trie;
namespace {

constexpr double kLargest = 600.0;  // of a sum of weights along a chain: its exponential is a double

double sum(const double* begin, const double* end) {
  double lane[4] = {};
  for (; begin + 4 <= end; begin += 4)
    for (int i = 0; i < 4; ++i) lane[i] += begin[i];
  double total = (lane[0] + lane[1]) + (lane[2] + lane[3]);
  for (; begin < end; ++begin) total += *begin;
  return total;
}

}  // namespace

Within::Within(ThreadPool& pool, const TrieView& trie, std::span<const double> weight,
               std::span<const std::uint32_t> class_start, std::span<const std::uint32_t> rank)
    : trie_(trie), class_start_(class_start.begin(), class_start.end()), rank_(rank.begin(), rank.end()) {
  trie_.check_backoff(pool);
  const std::size_t V = trie.n_words;
  if (weight.size() != trie.n_entries()) throw InvalidInput("words within classes: one weight per n-gram");
  if (class_start.size() < 2 || class_start.front() != 0 || class_start.back() != V ||
      std::adjacent_find(class_start.begin(), class_start.end(), std::greater_equal<>()) != class_start.end())
    throw InvalidInput("words within classes: every class needs a word, and classes follow one another");
  std::vector<bool> seen(V, false);
  if (rank.size() != V) throw InvalidInput("words within classes: one number per word");
  for (const std::uint32_t r : rank) {
    if (r >= V || seen[r]) throw InvalidInput("words within classes: the numbers of words are no permutation");
    seen[r] = true;
  }
  std::vector<double> most(trie.order, 0.0);
  for (std::size_t k = 0; k < trie.order; ++k)
    for (std::int64_t e = trie.entry_start[k]; e < trie.entry_start[k + 1]; ++e) {
      const double size = std::abs(weight[static_cast<std::size_t>(e)]);
      if (!(size <= most[k])) most[k] = size;  // NaN wins
    }
  double largest = 0.0;
  for (const double m : most) largest += m;
  if (!(largest <= kLargest))
    throw InvalidInput("words within classes: weights along a chain add up to more than 600; use a stronger penalty");
  parent_ = trie.parents();
  gain_.resize(weight.size());
  parallel_for(pool, weight.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) gain_[e] = std::exp(weight[e]);
  });
  base_.resize(V);
  class_of_.resize(V);
  for (std::size_t k = 0; k + 1 < class_start_.size(); ++k) {
    const std::uint32_t begin = class_start_[k], end = class_start_[k + 1];
    const double top = *std::max_element(weight.begin() + begin, weight.begin() + end);
    for (std::uint32_t w = begin; w < end; ++w) {
      class_of_[w] = static_cast<std::uint32_t>(k);
      base_[w] = std::exp(weight[w] - top);
    }
  }
}

void Within::leaves(std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
                    std::span<std::uint32_t> out) const {
  if (sentence_ptr.empty() || sentence_ptr.front() != 0 ||
      sentence_ptr.back() != static_cast<std::int64_t>(words.size()) ||
      !std::is_sorted(sentence_ptr.begin(), sentence_ptr.end()) ||
      out.size() != words.size() + sentence_ptr.size() - 1)
    throw InvalidInput("sentence_ptr does not cut the words into sentences");
  const auto V = static_cast<std::uint32_t>(n_words());
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t w) { return w >= V; }))
    throw InvalidInput("a word is not of the model's vocabulary");
  std::size_t event = 0;
  for (std::size_t s = 0; s + 1 < sentence_ptr.size(); ++s)
    for (std::int64_t i = sentence_ptr[s]; i <= sentence_ptr[s + 1]; ++i) {
      std::uint32_t c = 0;
      for (std::int64_t back = i - 1; back >= sentence_ptr[s] - 1; --back) {
        const std::uint32_t older = back < sentence_ptr[s] ? V : rank_[words[static_cast<std::size_t>(back)]];
        const std::uint32_t next = trie_.child(c, older);
        if (next == kNowhere) break;
        c = next;
      }
      out[event++] = c;
    }
}

std::uint8_t Within::order_of(std::uint32_t context) const {
  std::size_t length = 1;
  while (static_cast<std::int64_t>(context) >= trie_.context_start[length + 1]) ++length;
  return static_cast<std::uint8_t>(length + 1);
}

void Within::check_leaves(std::span<const std::uint32_t> leaf) const {
  if (std::any_of(leaf.begin(), leaf.end(), [&](std::uint32_t c) { return c >= trie_.n_contexts(); }))
    throw InvalidInput("words within classes: a context that the model lacks");
}

void Within::log_probabilities(ThreadPool& pool, std::span<const std::uint32_t> leaf,
                               std::span<const std::uint32_t> words, std::span<double> out,
                               std::span<std::uint8_t> found) const {
  if (leaf.size() != words.size() || out.size() != words.size() || found.size() != words.size())
    throw InvalidInput("one context, one word and one result per event");
  check_leaves(leaf);
  parallel_for(pool, words.size(), 256, [&](std::size_t begin, std::size_t end) {
    std::vector<double> score;
    const std::uint32_t* const entry_words = trie_.entry_word.data();
    for (std::size_t t = begin; t < end; ++t) {
      if (words[t] >= n_words()) throw InvalidInput("words within classes: a word that the model lacks");
      const std::uint32_t w = rank_[words[t]], k = class_of_[w], first = class_start_[k], last = class_start_[k + 1];
      score.assign(base_.begin() + first, base_.begin() + last);
      found[t] = 1;
      for (std::uint32_t c = leaf[t]; c != 0; c = parent_[c]) {
        const std::uint32_t stop = trie_.context_entry[c + 1];
        auto e = static_cast<std::uint32_t>(
            std::lower_bound(entry_words + trie_.context_entry[c], entry_words + stop, first) - entry_words);
        for (; e < stop && entry_words[e] < last; ++e) {
          score[entry_words[e] - first] *= gain_[e];
          if (entry_words[e] == w && found[t] == 1) found[t] = order_of(c);
        }
      }
      out[t] = std::log(score[w - first] / sum(score.data(), score.data() + score.size()));
    }
  });
}

Within::Loaded::Loaded(const Within& model) : model_(model), score_(model.base_), scale_(model.n_classes()) {}

void Within::Loaded::load(std::uint32_t leaf, const double* class_log_p) {
  const auto& m = model_;
  for (std::uint32_t c = leaf; c != 0; c = m.parent_[c])
    for (std::uint32_t e = m.trie_.context_entry[c]; e < m.trie_.context_entry[c + 1]; ++e) {
      score_[m.trie_.entry_word[e]] *= m.gain_[e];
      touched_.push_back(m.trie_.entry_word[e]);
    }
  for (std::size_t k = 0; k < scale_.size(); ++k) {
    const double z = sum(score_.data() + m.class_start_[k], score_.data() + m.class_start_[k + 1]);
    scale_[k] = (class_log_p == nullptr ? 1.0 : std::exp(class_log_p[k])) / z;
  }
}

void Within::Loaded::unload() {
  for (const std::uint32_t w : touched_) score_[w] = model_.base_[w];
  touched_.clear();
}

}  // namespace loglinear::ngram
