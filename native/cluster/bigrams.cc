#include "cluster/bigrams.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "util/errors.hh"
#include "util/radix_sort.hh"

namespace loglinear::cluster {
namespace {

// Successors of every word as they come in the text, grouped by word.
struct Occurrences {
  std::vector<std::int64_t> start;   // [n_words + 1]
  std::vector<std::uint32_t> next;   // [n_tokens]
};

template <class Visit>
void each_bigram(const trie::SentencesView& sentences, Visit visit) {
  for (std::size_t s = 0; s < sentences.n_sentences(); ++s) {
    std::uint32_t previous = 0;
    for (std::int64_t p = sentences.sentence_ptr[s]; p < sentences.sentence_ptr[s + 1]; ++p) {
      visit(previous, sentences.words[p]);
      previous = sentences.words[p];
    }
    visit(previous, std::uint32_t{0});
  }
}

void check(const trie::SentencesView& sentences) {
  sentences.check();
  if (sentences.n_predicted() > kMaxTokens) throw InvalidInput("word classes: the text has more than 2^31 tokens");
  for (const std::uint32_t word : sentences.words)
    if (word == 0 || word >= sentences.n_words)
      throw InvalidInput("word classes: the word number " + std::to_string(word) + " is outside [1, " +
                         std::to_string(sentences.n_words) + ")");
}

Occurrences occurrences(const trie::SentencesView& sentences) {
  Occurrences out;
  out.start.assign(sentences.n_words + 1, 0);
  out.next.resize(sentences.n_predicted());
  each_bigram(sentences, [&](std::uint32_t a, std::uint32_t) { ++out.start[a + 1]; });
  std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
  std::vector<std::int64_t> place(out.start.begin(), out.start.end() - 1);
  each_bigram(sentences, [&](std::uint32_t a, std::uint32_t b) { out.next[place[a]++] = b; });
  return out;
}

// Sorted successors with their counts.
Neighbours counted(ThreadPool& pool, Occurrences& occurrences) {
  const std::size_t n_words = occurrences.start.size() - 1;
  const unsigned bits = std::bit_width(n_words);
  Neighbours out;
  out.start.assign(n_words + 1, 0);
  parallel_for(pool, n_words, 256, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> spare;
    for (std::size_t w = begin; w < end; ++w) {
      const std::span<std::uint32_t> next(occurrences.next.data() + occurrences.start[w],
                                          occurrences.next.data() + occurrences.start[w + 1]);
      sort_by_key(next, bits, spare, [](std::uint32_t word) { return std::uint64_t{word}; });
      for (std::size_t i = 0; i < next.size(); ++i) out.start[w + 1] += i == 0 || next[i] != next[i - 1];
    }
  });
  std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
  out.entries.resize(out.start.back());
  parallel_for(pool, n_words, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      std::int64_t place = out.start[w] - 1;
      for (std::int64_t p = occurrences.start[w]; p < occurrences.start[w + 1]; ++p) {
        if (p == occurrences.start[w] || occurrences.next[p] != occurrences.next[p - 1])
          out.entries[++place] = {occurrences.next[p], 0};
        ++out.entries[place].count;
      }
    }
  });
  return out;
}

Neighbours transposed(const Neighbours& from) {
  const std::size_t n_words = from.start.size() - 1;
  Neighbours out;
  out.start.assign(n_words + 1, 0);
  out.entries.resize(from.entries.size());
  for (const Neighbour& entry : from.entries) ++out.start[entry.word + 1];
  std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
  std::vector<std::int64_t> place(out.start.begin(), out.start.end() - 1);
  for (std::size_t w = 0; w < n_words; ++w)
    for (const Neighbour& entry : from.of(w))
      out.entries[place[entry.word]++] = {static_cast<std::uint32_t>(w), entry.count};
  return out;
}

}  // namespace

std::vector<std::uint32_t> Bigrams::by_count() const {
  std::vector<std::uint32_t> words;
  for (std::size_t w = 1; w < n_words; ++w)
    if (count[w] > 0) words.push_back(static_cast<std::uint32_t>(w));
  std::stable_sort(words.begin(), words.end(), [&](std::uint32_t a, std::uint32_t b) { return count[a] > count[b]; });
  return words;
}

double Bigrams::word_term() const {
  double sum = 0.0;
  for (const std::int32_t n : count)
    if (n > 0) sum += n * std::log(n);
  return sum;
}

Bigrams count_bigrams(ThreadPool& pool, const trie::SentencesView& sentences) {
  check(sentences);
  Bigrams out;
  out.n_words = sentences.n_words;
  Occurrences found = occurrences(sentences);
  out.count.resize(out.n_words);
  for (std::size_t w = 0; w < out.n_words; ++w)
    out.count[w] = static_cast<std::int32_t>(found.start[w + 1] - found.start[w]);
  out.after = counted(pool, found);
  out.before = transposed(out.after);
  return out;
}

void check_labels(const Bigrams& bigrams, std::size_t n_classes, std::vector<std::uint32_t>& labels) {
  if (n_classes == 0) throw InvalidInput("word classes: there must be at least one class");
  if (labels.size() != bigrams.n_words) throw InvalidInput("word classes: there must be one class for each word");
  for (std::size_t w = 1; w < labels.size(); ++w)
    if (labels[w] >= n_classes)
      throw InvalidInput("word classes: word " + std::to_string(w) + " has class " + std::to_string(labels[w]) +
                         " of " + std::to_string(n_classes));
  if (!labels.empty()) labels[0] = static_cast<std::uint32_t>(n_classes);
}

}  // namespace loglinear::cluster
