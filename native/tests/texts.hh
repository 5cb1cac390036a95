// Random texts of numbered words, and views of their tries.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "trie/build.hh"
#include "trie/view.hh"

namespace loglinear::tests {

struct Text {
  std::size_t n_words;
  std::vector<std::uint32_t> words;
  std::vector<std::int64_t> sentence_ptr{0};
  operator loglinear::trie::SentencesView() const { return {n_words, words, sentence_ptr}; }
};

// Sentences of fewer than `most` words, small numbers more often than large ones.
inline Text random_text(std::mt19937& random, std::size_t n_words, std::size_t n_sentences, std::size_t most) {
  Text text{n_words, {}, {0}};
  for (std::size_t s = 0; s < n_sentences; ++s) {
    for (std::size_t n = random() % most; n; --n)
      text.words.push_back(static_cast<std::uint32_t>(std::min(random() % n_words, random() % n_words)));
    text.sentence_ptr.push_back(static_cast<std::int64_t>(text.words.size()));
  }
  return text;
}

inline loglinear::trie::TrieView view_of(const loglinear::trie::TrieArrays& t, std::size_t n_words) {
  return {t.entry_start.size() - 1, n_words, t.context_start, t.entry_start, t.context_word, t.context_child,
          t.context_entry, t.context_count, t.entry_word, t.entry_parent, t.entry_count};
}

}  // namespace loglinear::tests
