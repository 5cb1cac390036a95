// Scores of sentences, most likely next words and samples under a back-off automaton. All logarithms are natural.
//
// A step of the automaton waits for memory two or three times: for a context, for its entries, and again where it backs
// off. Scoring takes a step in each of kLanes sentences in turn, so that the waits overlap. The sum of a sentence has
// its own order, word after word, so results do not depend on the number of threads or on other sentences.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backoff/automaton.hh"
#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::backoff {

struct QueryModel {
  BackoffAutomaton automaton;
  const StringIndex& words;  // </s> is number 0
  std::uint32_t unknown;     // the number of <unk>; kBlank in a closed vocabulary
};

struct Boundaries {
  bool begin = true;  // a sentence starts after <s>, not with no context
  bool end = true;    // </s> is predicted after the last word
};

// Of n sentences.
struct SentenceScores {
  std::vector<double> log_probability, unknown_log_probability;  // [n] of all tokens; of the unknown words among them
  std::vector<std::int64_t> n_words, n_unknown;                  // [n] </s> is not counted
  std::vector<std::int64_t> hits;                                // [order] tokens found as an n-gram of each order
};

// Sentence i is words[sentence_ptr[i], sentence_ptr[i + 1]). Where `tokens` is not empty it gets the log-probability of
// every token, the ends of sentences included: [n_tokens + n_sentences]; `lengths` likewise that of the n-gram found.
SentenceScores score_sentences(ThreadPool& pool, const BackoffAutomaton& automaton, std::uint32_t unknown,
                               std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
                               std::span<double> tokens = {}, std::span<std::uint8_t> lengths = {});

// Texts to be split at ASCII blanks, each a sentence. Words that are not in the vocabulary count as <unk>; where there
// is none, InvalidInput names the word and its place.
SentenceScores score_texts(ThreadPool& pool, const QueryModel& model, std::span<const std::string_view> texts,
                           Boundaries boundaries);
// The same for each line of one text.
SentenceScores score_lines(ThreadPool& pool, const QueryModel& model, std::span<const char> text,
                           std::size_t chunk_size = 1 << 16);

// The number of a word, `place` words into its sentence; throws like score_texts.
std::uint32_t number_of(const QueryModel& model, std::string_view word, std::size_t place);

struct TokenScore {
  double log_probability;
  std::uint32_t length;  // of the n-gram found
  bool unknown;
};
// Token by token, from a state, which moves on.
std::vector<TokenScore> score_tokens(const QueryModel& model, std::string_view text, std::uint32_t& state, bool end);
double score_text(const QueryModel& model, std::string_view text, Boundaries boundaries);

// p(w | context) of every word: [n_words].
void next_distribution(const BackoffAutomaton& automaton, std::uint32_t context, std::span<double> out);

// The k most probable words, best first, equal ones by number.
std::vector<std::uint32_t> most_probable(std::span<const double> probabilities, std::size_t k);

struct SampledSentences {
  std::vector<std::uint32_t> words;
  std::vector<std::int64_t> sentence_ptr;
};
// n sentences drawn from p(w | context)^(1 / temperature), normalised, until </s> or `max_length` words; `excluded` is
// a word never drawn, kBlank for none. Sentence i depends on seed and i alone.
SampledSentences sample_sentences(ThreadPool& pool, const BackoffAutomaton& automaton, std::uint32_t context,
                                  std::size_t n, std::size_t max_length, double temperature, std::uint32_t excluded,
                                  std::uint64_t seed);

}  // namespace loglinear::backoff
