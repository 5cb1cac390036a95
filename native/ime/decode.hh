// From readings to words: exact k-best conversion with a lexicon and a back-off language model.
//
// A* search over the lattice (ime/lattice.hh). Its best scores to the end are the estimates, and they are exact: only
// hypotheses that begin one of the k best strings are expanded. A hypothesis is a string of words and a place in the
// sorted list of what can come next in its state: the words with an entry, and as one arc all others, which are in the
// list of the empty context. Lists are sorted lazily, as far as they are read.
//
//     score(words) = sum of log p(word | words before) + log p(reading | word), the end of the sentence included
//
// Word strings come by falling score, equal ones in the order of their words' numbers (an unknown word is numbered
// behind all others, by its place), each once: a string that fits a reading in several ways counts by the best.
#pragma once
#include <cstdint>
#include <vector>

#include "ime/index.hh"
#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::ime {

struct ConversionOptions {
  std::size_t k = 1;
  bool pieces_are_words = false;  // of readings: every word is what stands between two blanks
  bool distinct_texts = false;    // strings that differ only in where words end count as one: the best
};

struct Conversions {
  PackedStrings texts;                        // of all candidates, words separated by blanks
  std::vector<double> score;                  // [n_candidates]
  std::vector<std::int64_t> sentence_ptr{0};  // [n_sentences + 1]
  std::vector<std::int64_t> n_unknown;        // [n_sentences] words of the best that are written as they are read
};

Conversions convert_readings(ThreadPool& pool, const ConversionIndex& index, Strings readings,
                             const ConversionOptions& options);

}  // namespace loglinear::ime
