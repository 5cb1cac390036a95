// Texts to counts of word n-grams, as compressed sparse rows.
//
// Fitting never makes an n-gram's string until the end. Words become numbers (chunks of texts have their own tables,
// joined in order); an n-gram is the pair (number of its first n - 1 words, number of its last word), 64 bits that a
// bijective mix turns into their own exact hash. Each thread owns the n-grams of one slice of the hash space and reads
// every text, so there are no locks and nothing to join. Features are numbered order by order, and by first occurrence
// within an order: whatever the number of threads, the result is the same.
//
// With min_count m, an n-gram is kept if it occurs m times in all; then its parts do too, so rarer ones are never
// extended.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

struct CountRows {
  std::vector<std::int64_t> indptr;   // [n_texts + 1]
  std::vector<std::int32_t> indices;  // ascending in a row
  std::vector<double> values;
};

struct WordNgrams {
  CountRows rows;
  PackedStrings names;  // words joined by one space
};

// orders: ascending, each at least 1. Texts are UTF-8 (see util/words.hh for what a word is), already lowercased.
WordNgrams fit_word_ngrams(ThreadPool& pool, Strings texts, std::span<const std::int32_t> orders,
                           std::int64_t min_count);

// Counts of the n-grams that the vocabulary holds; others are ignored.
CountRows count_word_ngrams(ThreadPool& pool, Strings texts, std::span<const std::int32_t> orders,
                            const StringIndex& vocabulary);

// The texts with every word replaced by `mark` and the name of its class, one blank between them; words that `words`
// lacks have the last name. labels: the class of each of the words, a number of the names.
PackedStrings replace_words(ThreadPool& pool, Strings texts, const StringIndex& words,
                            std::span<const std::int32_t> labels, Strings names, std::string_view mark);

}  // namespace loglinear::text
