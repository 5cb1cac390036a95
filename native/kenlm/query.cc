#include "kenlm/query.hh"

#include <algorithm>
#include <array>
#include <cmath>

#include "util/blanks.hh"
#include "util/errors.hh"
#include "util/lines.hh"
#include "util/random.hh"

namespace loglinear::kenlm {
namespace {

constexpr double kLn10 = 2.302585092994046;
using Hits = std::array<std::int64_t, kMostOrder>;

// Sums of one sentence as its words come.
class Sentence {
 public:
  Sentence(const Model& model, bool begin, Hits& hits) : model_(model), hits_(hits) {
    if (begin) state_ = model.begin_state();
  }
  Score add(std::uint32_t word, bool is_word) {
    const Score s = model_.score(state_, word, state_);
    sum_ += s.log10;
    ++hits_[s.length - 1];
    if (is_word) {
      ++n_words_;
      if (word == 0) ++n_unknown_, unknown_ += s.log10;
    }
    return s;
  }
  void store(SentenceScores& out, std::size_t i) const {
    out.log_probability[i] = kLn10 * sum_;
    out.unknown_log_probability[i] = kLn10 * unknown_;
    out.n_words[i] = n_words_;
    out.n_unknown[i] = n_unknown_;
  }

 private:
  const Model& model_;
  Hits& hits_;
  State state_;
  double sum_ = 0.0, unknown_ = 0.0;
  std::int64_t n_words_ = 0, n_unknown_ = 0;
};

SentenceScores empty_scores(std::size_t n, std::size_t order) {
  return {std::vector<double>(n), std::vector<double>(n), std::vector<std::int64_t>(n), std::vector<std::int64_t>(n),
          std::vector<std::int64_t>(order)};
}

void add_hits(const std::vector<Hits>& parts, SentenceScores& scores) {
  for (const Hits& part : parts)
    for (std::size_t k = 0; k < scores.hits.size(); ++k) scores.hits[k] += part[k];
}

void score_one(const Model& model, std::string_view text, Boundaries boundaries, Hits& hits, SentenceScores& out,
               std::size_t i) {
  Sentence sentence(model, boundaries.begin, hits);
  for_each_blank_separated(text, [&](std::string_view w) { sentence.add(model.number_of(w), true); });
  if (boundaries.end) sentence.add(model.end(), false);
  sentence.store(out, i);
}

}  // namespace

SentenceScores score_texts(ThreadPool& pool, const Model& model, std::span<const std::string_view> texts,
                           Boundaries boundaries) {
  constexpr std::size_t kTexts = 64;
  SentenceScores scores = empty_scores(texts.size(), model.layout().order);
  std::vector<Hits> hits(chunk_count(texts.size(), kTexts), Hits{});
  pool.run(hits.size(), [&](std::size_t chunk) {
    const Range r = chunk_range(texts.size(), kTexts, chunk);
    for (std::size_t i = r.begin; i < r.end; ++i) score_one(model, texts[i], boundaries, hits[chunk], scores, i);
  });
  add_hits(hits, scores);
  return scores;
}

SentenceScores score_lines(ThreadPool& pool, const Model& model, std::span<const char> text, std::size_t chunk_size) {
  const std::vector<std::size_t> cuts = cut_lines(text, chunk_size);
  std::vector<std::size_t> first(cuts.size(), 0);  // the number of each chunk's first line
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    const char *const begin = text.data() + cuts[c], *const end = text.data() + cuts[c + 1];
    first[c + 1] = first[c] + static_cast<std::size_t>(std::count(begin, end, '\n')) + (end[-1] != '\n');
  }
  SentenceScores scores = empty_scores(first.back(), model.layout().order);
  std::vector<Hits> hits(cuts.size() - 1, Hits{});
  pool.run(hits.size(), [&](std::size_t chunk) {
    const char* const end = text.data() + cuts[chunk + 1];
    std::size_t i = first[chunk];
    for (const char* p = text.data() + cuts[chunk]; p < end; ++i) {
      const char* const line_end = find_byte(p, end, '\n');
      score_one(model, {p, static_cast<std::size_t>(line_end - p)}, {}, hits[chunk], scores, i);
      p = line_end + 1;
    }
  });
  add_hits(hits, scores);
  return scores;
}

SentenceScores score_sentences(ThreadPool& pool, const Model& model, std::span<const std::uint32_t> words,
                               std::span<const std::int64_t> ptr, std::span<double> tokens,
                               std::span<std::uint8_t> lengths) {
  constexpr std::size_t kSentences = 64;
  if (ptr.empty() || ptr.front() != 0 || ptr.back() != static_cast<std::int64_t>(words.size()) ||
      !std::is_sorted(ptr.begin(), ptr.end()))
    throw InvalidInput("sentences: sentence_ptr must rise from 0 to the number of words");
  const std::size_t n = ptr.size() - 1;
  if ((!tokens.empty() && tokens.size() != words.size() + n) ||
      (!lengths.empty() && lengths.size() != words.size() + n))
    throw InvalidInput("sentences: there must be room for one number per word and sentence");
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t w) { return w >= model.layout().n_words; }))
    throw InvalidInput("sentences: a word has a number outside the model's vocabulary; encode them with it");
  SentenceScores scores = empty_scores(n, model.layout().order);
  std::vector<Hits> hits(chunk_count(n, kSentences), Hits{});
  pool.run(hits.size(), [&](std::size_t chunk) {
    const Range r = chunk_range(n, kSentences, chunk);
    for (std::size_t i = r.begin; i < r.end; ++i) {
      Sentence sentence(model, true, hits[chunk]);
      std::size_t place = static_cast<std::size_t>(ptr[i]) + i;
      const auto add = [&](std::uint32_t word, bool is_word) {
        const Score s = sentence.add(word, is_word);
        if (!tokens.empty()) tokens[place] = kLn10 * s.log10;
        if (!lengths.empty()) lengths[place] = static_cast<std::uint8_t>(s.length);
        ++place;
      };
      for (auto w = static_cast<std::size_t>(ptr[i]); w < static_cast<std::size_t>(ptr[i + 1]); ++w) add(words[w], true);
      add(model.end(), false);
      sentence.store(scores, i);
    }
  });
  add_hits(hits, scores);
  return scores;
}

std::vector<TokenScore> score_tokens(const Model& model, std::string_view text, State& state, bool end) {
  std::vector<TokenScore> scores;
  const auto add = [&](std::uint32_t word, bool unknown) {
    scores.push_back({model.score(state, word, state), unknown});
  };
  for_each_blank_separated(text, [&](std::string_view w) {
    const std::uint32_t word = model.number_of(w);
    add(word, word == 0);
  });
  if (end) add(model.end(), false);
  return scores;
}

void next_distribution(ThreadPool& pool, const Model& model, const State& state, std::span<const std::uint32_t> words,
                       std::span<double> out) {
  if (out.size() != words.size()) throw InvalidInput("next_distribution: out needs one number for each word");
  parallel_for(pool, words.size(), 1 << 12, [&](std::size_t begin, std::size_t end) {
    State after;
    for (std::size_t i = begin; i < end; ++i) out[i] = std::pow(10.0, model.score(state, words[i], after).log10);
  });
}

SampledSentences sample_sentences(ThreadPool& pool, const Model& model, const State& state,
                                  std::span<const std::uint32_t> words, std::size_t n, std::size_t max_length,
                                  double temperature, std::uint32_t excluded, std::uint64_t seed) {
  if (!(temperature > 0.0) || !std::isfinite(temperature))
    throw InvalidInput("sample: the temperature must be positive and finite");
  SampledSentences result{{}, {0}};
  std::vector<double> sums(words.size());
  for (std::size_t i = 0; i < n; ++i) {
    Random random(seed, i);
    State at = state;
    for (std::size_t length = 0; length < max_length; ++length) {
      next_distribution(pool, model, at, words, sums);
      double total = 0.0;
      for (std::size_t w = 0; w < sums.size(); ++w)
        sums[w] = total += w == excluded ? 0.0 : std::pow(sums[w], 1.0 / temperature);
      if (!(total > 0.0) || !std::isfinite(total))
        throw InvalidInput("sample: the probabilities of the next word do not sum to a positive number; choose a higher "
                           "temperature");
      const auto found = std::upper_bound(sums.begin(), sums.end(), random.uniform() * total) - sums.begin();
      const auto word = static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(found, sums.end() - sums.begin() - 1));
      if (word == 0) break;
      result.words.push_back(word);
      model.score(at, words[word], at);
    }
    result.sentence_ptr.push_back(static_cast<std::int64_t>(result.words.size()));
  }
  return result;
}

}  // namespace loglinear::kenlm
