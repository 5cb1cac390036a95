// Running text to numbers: lines are sentences, and their units (words, characters or bytes) are numbered.
//
// The texts are cut at line ends into chunks, or several of them are one chunk, which are read in parallel. Each chunk
// numbers its units in a table of its own, and the tables are joined in order: units are numbered by first occurrence, whatever the number of threads or
// the cut. Nothing in the input is trusted: the result satisfies every invariant below, or is a ParseError with the
// line of the first fault in its text and the offset in all texts laid end to end.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

enum class Unit {
  words,       // what is between blanks: space, \t, \r, \v, \f
  characters,  // code points; a blank is U+2581, a \r that ends the line is no part of it
  bytes,       // printable ASCII stands for itself, every other byte, the space included, is <0xHH>; all are accepted
};

struct CorpusOptions {
  Unit unit = Unit::words;
  bool keep_empty = false;       // a sentence for every line, not only for those with units
  bool skip_boundaries = false;  // words <s> and </s> are left out
  std::size_t chunk_size = 0;    // bytes; 0: by the size of the texts and the number of threads
};

struct TokenisedCorpus {
  std::vector<std::uint32_t> tokens;          // [n_tokens], into units
  std::vector<std::int64_t> sentence_ptr{0};  // [n_sentences + 1]
  std::vector<std::int64_t> n_lines;          // [n_texts]
  PackedStrings units;                        // distinct, UTF-8, numbered by first occurrence
  std::vector<std::int64_t> counts;           // [n_units]
  std::vector<std::int32_t> first_text;       // [n_units], of the first occurrence
  std::vector<std::int64_t> first_line;       // [n_units], from 1 in that text
};

TokenisedCorpus tokenise_corpus(ThreadPool& pool, std::span<const std::span<const char>> texts,
                                const CorpusOptions& options);

// tokens[i] = numbers[tokens[i]]; InvalidInput, with nothing changed, for a token outside the numbers.
void renumber_tokens(ThreadPool& pool, std::span<std::uint32_t> tokens, std::span<const std::uint32_t> numbers);

}  // namespace loglinear::text
