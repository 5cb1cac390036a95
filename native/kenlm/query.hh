// Scores of sentences, the next word and samples by a binary file of KenLM; natural logarithms, as in backoff/query.hh.
#pragma once
#include "backoff/query.hh"
#include "kenlm/model.hh"

namespace loglinear::kenlm {

using backoff::Boundaries;
using backoff::SampledSentences;
using backoff::SentenceScores;

SentenceScores score_texts(ThreadPool& pool, const Model& model, std::span<const std::string_view> texts,
                           Boundaries boundaries);
SentenceScores score_lines(ThreadPool& pool, const Model& model, std::span<const char> text,
                           std::size_t chunk_size = 1 << 16);
// Sentence i is words[ptr[i], ptr[i + 1]), numbers of the file; see backoff::score_sentences.
SentenceScores score_sentences(ThreadPool& pool, const Model& model, std::span<const std::uint32_t> words,
                               std::span<const std::int64_t> sentence_ptr, std::span<double> tokens,
                               std::span<std::uint8_t> lengths);

struct TokenScore {
  Score score;
  bool unknown;
};
// Token by token, from a state, which moves on.
std::vector<TokenScore> score_tokens(const Model& model, std::string_view text, State& state, bool end);

// out[i] = p(words[i] | state).
void next_distribution(ThreadPool& pool, const Model& model, const State& state, std::span<const std::uint32_t> words,
                       std::span<double> out);

// As backoff::sample_sentences, in places of `words`, whose first is </s>; `excluded` is a place.
SampledSentences sample_sentences(ThreadPool& pool, const Model& model, const State& state,
                                  std::span<const std::uint32_t> words, std::size_t n, std::size_t max_length,
                                  double temperature, std::uint32_t excluded, std::uint64_t seed);

}  // namespace loglinear::kenlm
