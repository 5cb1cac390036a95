// Texts to counts of word and character n-grams, as compressed sparse rows.
//
// Fitting never makes a word n-gram's string until the end. Words become numbers (chunks of texts have their own tables,
// joined in order); an n-gram is the pair (number of its first n - 1 words, number of its last word), 64 bits that a
// bijective mix turns into their own exact hash. Each thread owns the n-grams of one slice of the hash space and reads
// every text, so there are no locks and nothing to join. Features are numbered order by order, and by first occurrence
// within an order; character n-grams (char_ngrams.hh) follow, by first occurrence. Whatever the number of threads, the
// result is the same.
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

// What is counted. Texts are UTF-8 (see util/words.hh for what a word is), already lowercased.
struct NgramKinds {
  std::vector<std::int32_t> orders;       // of words: ascending, each at least 1; may be empty where char_orders is not
  std::vector<std::int32_t> char_orders;  // of characters, likewise
  bool across_words = false;              // whether character n-grams reach from one word into the next
  const StringIndex* stop_words = nullptr;  // words that are left out before word n-grams are made

  void check() const;  // throws InvalidInput for orders that are not as said
};

struct TextNgrams {
  CountRows rows;
  PackedStrings names;  // words joined by one space; characters between quotation marks
};

TextNgrams fit_text_ngrams(ThreadPool& pool, Strings texts, const NgramKinds& kinds, std::int64_t min_count);

// Counts of the n-grams that the vocabulary holds; others are ignored.
CountRows count_text_ngrams(ThreadPool& pool, Strings texts, const NgramKinds& kinds, const StringIndex& vocabulary);

// Counts of n-grams by bucket: that of a name is floor(n_buckets * hash / 2^32), with the upper half of its hash. Model
// files rely on hash_bytes: another hash makes them another model.
// numbers: the feature of each bucket, -1 for none; empty: buckets are features.
CountRows hash_text_ngrams(ThreadPool& pool, Strings texts, const NgramKinds& kinds, std::int64_t n_buckets,
                           std::span<const std::int32_t> numbers);

// The texts with every word replaced by `mark` and the name of its class, one blank between them; words that `words`
// lacks have the last name. labels: the class of each of the words, a number of the names.
PackedStrings replace_words(ThreadPool& pool, Strings texts, const StringIndex& words,
                            std::span<const std::int32_t> labels, Strings names, std::string_view mark);

}  // namespace loglinear::text
