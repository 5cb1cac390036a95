// ARPA files of back-off models.
//
//     \data\                      the header begins
//     ngram 1=COUNT               one line for each order
//
//     \1-grams:                   a section for each order
//     LOG10_PROBABILITY <tab> WORDS [<tab> LOG10_BACKOFF]
//     ...
//     \end\                       nothing after it counts
//
// A line is an n-gram (h, w) with log10 p(w | h) and, where its words are themselves a context, the back-off of that
// context. Readers of such files want every beginning and every end of an n-gram to have a line; where the model has
// none, one is written with the probability that backing off gives, so that no probability changes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backoff/model.hh"
#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::arpa {

struct OwnedBackoff {
  trie::OwnedShape shape;
  std::vector<double> log_backoff, log_probability;

  operator backoff::BackoffArrays() const { return {shape, log_backoff, log_probability}; }
};

// The model with an entry for every beginning and every end of an n-gram, of the same probabilities.
OwnedBackoff closed(ThreadPool& pool, const backoff::BackoffArrays& model);

// The text of a model, block by block. The arrays given must outlive it.
class ArpaText {
 public:
  // Of a checked model; `words` are those of the n_words numbers. InvalidInput for a word that no line can hold.
  ArpaText(ThreadPool& pool, const backoff::BackoffArrays& model, Strings words);

  std::size_t order() const { return model_.shape.order; }
  std::size_t n_lines(std::size_t order) const;  // <s> is the last of the first order

  // Lines [begin, end) of an order, with `digits` significant digits.
  std::vector<char> lines(ThreadPool& pool, std::size_t order, std::size_t begin, std::size_t end,
                          int digits) const;

  // The model that is written, the parents of its contexts, and the context that has an entry's words, for entries
  // below the highest order; kNowhere for none.
  const backoff::BackoffArrays& model() const { return model_; }
  std::span<const std::uint32_t> parents() const { return parents_; }
  std::span<const std::uint32_t> context_of() const { return context_of_; }
  Strings words() const { return words_; }

 private:
  bool link(ThreadPool& pool);

  OwnedBackoff own_;     // the completed model, where the one given lacked a line
  backoff::BackoffArrays model_;  // that which is written
  Strings words_;
  std::vector<std::uint32_t> parents_;     // [n_contexts]
  std::vector<std::uint32_t> context_of_;  // [entries below the highest order] the context whose words the entry has
};

struct ArpaModel {
  OwnedBackoff model;
  PackedStrings words;  // </s>, <unk> if the file has it, the others as they come
};

// Reads any ARPA file: tabs or blanks, \n or \r\n, comments before \data\. Contexts that longer ones end in are made
// where the file lacks them; an n-gram with <s> inside, which no history has, is left out. Nothing in the text is
// trusted: the result is a model that passes every check, or a ParseError with the line at fault. Words are UTF-8 unless
// they may be any bytes.
ArpaModel parse_arpa(ThreadPool& pool, std::span<const char> text, std::size_t chunk_size = 1 << 18,
                     bool any_bytes = false);

}  // namespace loglinear::arpa
