#include "backoff/query.hh"

#include <algorithm>
#include <array>
#include <cmath>

#include "util/errors.hh"
#include "util/lines.hh"

namespace loglinear::backoff {

using trie::kHighestOrder;
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kWorkInChunk = 1 << 14;  // tokens

using Hits = std::array<std::int64_t, kHighestOrder>;

// Where the scores of a run of sentences go.
struct Target {
  double *log_probability, *unknown_log_probability;  // of the first sentence of the run
  std::int64_t* n_unknown;
  double* tokens;         // of the first token; null where they are not asked for
  std::uint8_t* lengths;  // likewise
};

struct Lane {
  const AutomatonEntry* slot;
  std::uint32_t word, context;
  double log_probability;  // of the token so far: what backing off cost
  const std::uint32_t *at, *end;
  bool finish;  // </s> is still to come
  double sum, unknown_sum;
  std::int64_t n_unknown;
  std::size_t sentence;
  double* token;
  std::uint8_t* length;
};

// A run of sentences: sentence i is words[ptr[i], ptr[i + 1]).
class Run {
 public:
  Run(const BackoffAutomaton& a, std::uint32_t unknown, const std::uint32_t* words, const std::int64_t* ptr,
      std::size_t n, Boundaries boundaries, Target target, Hits& hits)
      : a_(a), unknown_(unknown), words_(words), ptr_(ptr), n_(n), boundaries_(boundaries), target_(target),
        hits_(hits) {}

  void score() {
    while (n_active_ < kLanes && start(lanes_[n_active_])) ++n_active_;
    while (n_active_ > 0) {
      for (std::size_t l = 0; l < n_active_; ++l) look(lanes_[l]);
      for (std::size_t l = 0; l < n_active_;) {
        if (step(lanes_[l]) || start(lanes_[l])) ++l;
        else if (--n_active_ != l) lanes_[l] = lanes_[n_active_];  // its turn in this round is still to come
      }
    }
  }

 private:
  // The next sentence that has a token; false where there is none.
  bool start(Lane& lane) {
    while (next_ < n_) {
      const std::size_t i = next_++;
      lane = {};
      lane.sentence = i;
      lane.at = words_ + ptr_[i], lane.end = words_ + ptr_[i + 1];
      lane.finish = boundaries_.end;
      a_.enter(lane.context = boundaries_.begin ? a_.begin : 0);
      const std::ptrdiff_t place = (ptr_[i] - ptr_[0]) + static_cast<std::ptrdiff_t>(i);
      if (target_.tokens) lane.token = target_.tokens + place;
      if (target_.lengths) lane.length = target_.lengths + place;
      if (advance(lane)) return true;
    }
    return false;
  }

  bool advance(Lane& lane) {
    if (lane.at < lane.end) {
      lane.word = *lane.at++;
    } else if (lane.finish) {
      lane.word = 0, lane.finish = false;
    } else {
      target_.log_probability[lane.sentence] = lane.sum;
      target_.unknown_log_probability[lane.sentence] = lane.unknown_sum;
      target_.n_unknown[lane.sentence] = lane.n_unknown;
      return false;
    }
    lane.log_probability = 0.0;
    __builtin_prefetch(&a_.contexts[lane.context]);
    return true;
  }

  void look(Lane& lane) const {
    lane.slot = a_.seek(lane.context, lane.word);
    __builtin_prefetch(lane.slot);
    __builtin_prefetch(reinterpret_cast<const char*>(lane.slot) + 63);
  }

  // One entry found or one step back; false at the end of the sentence.
  bool step(Lane& lane) {
    const AutomatonEntry* const e = a_.find(lane.context, lane.word, lane.slot);
    if (!e) {
      const AutomatonContext& c = a_.contexts[lane.context];
      lane.log_probability += c.log_backoff;
      a_.enter(lane.context = c.parent);
      __builtin_prefetch(&a_.contexts[c.parent]);
      return true;
    }
    const double p = lane.log_probability + e->log_probability;
    lane.sum += p;
    if (lane.word == unknown_) lane.unknown_sum += p, ++lane.n_unknown;
    if (lane.token) *lane.token++ = p;
    if (lane.length) *lane.length++ = static_cast<std::uint8_t>(a_.length(lane.context) + 1);
    ++hits_[a_.length(lane.context)];
    a_.enter(lane.context = e->next);
    return advance(lane);
  }

  const BackoffAutomaton& a_;
  std::uint32_t unknown_;
  const std::uint32_t* words_;
  const std::int64_t* ptr_;
  std::size_t n_, next_ = 0;
  Boundaries boundaries_;
  Target target_;
  Hits& hits_;
  std::array<Lane, kLanes> lanes_;
  std::size_t n_active_ = 0;
};

SentenceScores empty_scores(std::size_t n, std::size_t order) {
  return {std::vector<double>(n), std::vector<double>(n), std::vector<std::int64_t>(n), std::vector<std::int64_t>(n),
          std::vector<std::int64_t>(order)};
}

Target target_of(SentenceScores& scores, std::size_t first, double* tokens = nullptr,
                 std::uint8_t* lengths = nullptr) {
  return {scores.log_probability.data() + first, scores.unknown_log_probability.data() + first,
          scores.n_unknown.data() + first, tokens, lengths};
}

void add_hits(const std::vector<Hits>& parts, SentenceScores& scores) {
  for (const Hits& part : parts)
    for (std::size_t k = 0; k < scores.hits.size(); ++k) scores.hits[k] += part[k];
}

// Places that cut n items into runs of about kWorkInChunk: 0, ..., n.
template <class Work>
std::vector<std::size_t> cut_by_work(std::size_t n, std::size_t limit, Work work) {
  std::vector<std::size_t> cuts{0};
  std::size_t total = 0;
  for (std::size_t i = 0; i < n; ++i)
    if ((total += work(i)) >= limit) cuts.push_back(i + 1), total = 0;
  if (cuts.back() != n) cuts.push_back(n);
  return cuts;
}

// ---- text ------------------------------------------------------------------------------------------------------

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// emit(word) for every run of bytes that are not blanks.
template <class Emit>
void split_words(const char* p, const char* end, Emit emit) {
  while (p < end) {
    while (p < end && is_blank(*p)) ++p;
    const char* const begin = p;
    while (p < end && !is_blank(*p)) ++p;
    if (p > begin) emit(std::string_view(begin, static_cast<std::size_t>(p - begin)));
  }
}

[[noreturn]] void refuse(std::string_view word, std::size_t place, const std::string& where) {
  throw InvalidInput(where + "word " + std::to_string(place + 1) + ", " + quoted(word) +
                     ", is not in the vocabulary of the model, which is closed: it has no <unk>; replace the word, or "
                     "train a model with an open vocabulary");
}

// Sentences as strings become numbers and then scores.
class TextRun {
 public:
  explicit TextRun(const QueryModel& model) : model_(model) { ptr_.push_back(0); }

  void add(std::string_view sentence) {
    split_words(sentence.data(), sentence.data() + sentence.size(), [&](std::string_view w) { words_.push_back(w); });
    ptr_.push_back(static_cast<std::int64_t>(words_.size()));
  }

  std::size_t size() const { return ptr_.size() - 1; }

  void score(Boundaries boundaries, SentenceScores& scores, std::size_t first, const char* what, Hits& hits) {
    numbers_.reserve(words_.size());
    model_.words.find_each(
        words_.size(), [&](std::size_t i) { return words_[i]; },
        [&](std::int32_t id) {
          if (id < 0 && model_.unknown == kBlank) complain(numbers_.size(), first, what);
          numbers_.push_back(id < 0 ? model_.unknown : static_cast<std::uint32_t>(id));
        });
    Run(model_.automaton, model_.unknown, numbers_.data(), ptr_.data(), size(), boundaries, target_of(scores, first),
        hits)
        .score();
    for (std::size_t i = 0; i < size(); ++i) scores.n_words[first + i] = ptr_[i + 1] - ptr_[i];
  }

 private:
  [[noreturn]] void complain(std::size_t word, std::size_t first, const char* what) const {
    const auto after = std::upper_bound(ptr_.begin(), ptr_.end(), static_cast<std::int64_t>(word));
    const auto i = static_cast<std::size_t>(after - ptr_.begin() - 1);
    refuse(words_[word], word - static_cast<std::size_t>(ptr_[i]), what + std::to_string(first + i + 1) + ", ");
  }

  const QueryModel& model_;
  std::vector<std::string_view> words_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::int64_t> ptr_;
};

}  // namespace

SentenceScores score_sentences(ThreadPool& pool, const BackoffAutomaton& automaton, std::uint32_t unknown,
                               std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
                               std::span<double> tokens, std::span<std::uint8_t> lengths) {
  if (sentence_ptr.empty() || sentence_ptr.front() != 0 ||
      sentence_ptr.back() != static_cast<std::int64_t>(words.size()) ||
      !std::is_sorted(sentence_ptr.begin(), sentence_ptr.end()))
    throw InvalidInput("sentences: sentence_ptr must rise from 0 to the number of words");
  const std::size_t n = sentence_ptr.size() - 1;
  if ((!tokens.empty() && tokens.size() != words.size() + n) ||
      (!lengths.empty() && lengths.size() != words.size() + n))
    throw InvalidInput("sentences: there must be room for one number per word and sentence");
  parallel_for(pool, words.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    if (std::any_of(words.begin() + begin, words.begin() + end, [&](auto w) { return w >= automaton.n_words; }))
      throw InvalidInput("sentences: a word has a number outside the model's vocabulary; encode them with it");
  });
  SentenceScores scores = empty_scores(n, automaton.order());
  const auto length = [&](std::size_t i) { return static_cast<std::size_t>(sentence_ptr[i + 1] - sentence_ptr[i]); };
  const auto cuts = cut_by_work(n, kWorkInChunk, [&](std::size_t i) { return length(i) + 1; });
  std::vector<Hits> hits(cuts.size() - 1, Hits{});
  pool.run(hits.size(), [&](std::size_t chunk) {
    const std::size_t first = cuts[chunk], last = cuts[chunk + 1];
    const std::size_t place = static_cast<std::size_t>(sentence_ptr[first]) + first;
    const Target target = target_of(scores, first, tokens.empty() ? nullptr : tokens.data() + place,
                                    lengths.empty() ? nullptr : lengths.data() + place);
    Run(automaton, unknown, words.data(), sentence_ptr.data() + first, last - first, {}, target, hits[chunk])
        .score();
    for (std::size_t i = first; i < last; ++i) scores.n_words[i] = static_cast<std::int64_t>(length(i));
  });
  add_hits(hits, scores);
  return scores;
}

SentenceScores score_texts(ThreadPool& pool, const QueryModel& model, std::span<const std::string_view> texts,
                           Boundaries boundaries) {
  SentenceScores scores = empty_scores(texts.size(), model.automaton.order());
  const auto cuts = cut_by_work(texts.size(), 4 * kWorkInChunk, [&](std::size_t i) { return texts[i].size() + 4; });
  std::vector<Hits> hits(cuts.size() - 1, Hits{});
  pool.run(hits.size(), [&](std::size_t chunk) {
    TextRun run(model);
    for (std::size_t i = cuts[chunk]; i < cuts[chunk + 1]; ++i) run.add(texts[i]);
    run.score(boundaries, scores, cuts[chunk], "sentence ", hits[chunk]);
  });
  add_hits(hits, scores);
  return scores;
}

SentenceScores score_lines(ThreadPool& pool, const QueryModel& model, std::span<const char> text,
                           std::size_t chunk_size) {
  const std::vector<std::size_t> cuts = cut_lines(text, chunk_size);
  std::vector<std::size_t> first(cuts.size(), 0);  // the number of each chunk's first line
  pool.run(cuts.size() - 1, [&](std::size_t chunk) {
    const char *const begin = text.data() + cuts[chunk], *const end = text.data() + cuts[chunk + 1];
    const auto n = static_cast<std::size_t>(std::count(begin, end, '\n'));
    first[chunk + 1] = n + (end[-1] != '\n');
  });
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  SentenceScores scores = empty_scores(first.back(), model.automaton.order());
  std::vector<Hits> hits(cuts.size() - 1, Hits{});
  pool.run(hits.size(), [&](std::size_t chunk) {
    TextRun run(model);
    const char* const end = text.data() + cuts[chunk + 1];
    for (const char* p = text.data() + cuts[chunk]; p < end;) {
      const char* const line_end = find_byte(p, end, '\n');
      run.add({p, static_cast<std::size_t>(line_end - p)});
      p = line_end + 1;
    }
    run.score({}, scores, first[chunk], "line ", hits[chunk]);
  });
  add_hits(hits, scores);
  return scores;
}

std::uint32_t number_of(const QueryModel& model, std::string_view word, std::size_t place) {
  const std::int32_t id = model.words.find(word);
  if (id < 0 && model.unknown == kBlank) refuse(word, place, "");
  return id < 0 ? model.unknown : static_cast<std::uint32_t>(id);
}

namespace {

// token(number) for every word of a text, and for </s>. All words are looked up before the first is scored, since those
// waits for memory overlap and those of the automaton do not.
template <class Token>
void for_each_token(const QueryModel& model, std::string_view text, bool end, Token token) {
  std::vector<std::string_view> words;
  words.reserve(text.size() / 4 + 1);
  split_words(text.data(), text.data() + text.size(), [&](std::string_view word) { words.push_back(word); });
  std::vector<std::uint32_t> numbers;
  numbers.reserve(words.size());
  model.words.find_each(
      words.size(), [&](std::size_t i) { return words[i]; },
      [&](std::int32_t id) {
        if (id < 0 && model.unknown == kBlank) refuse(words[numbers.size()], numbers.size(), "");
        numbers.push_back(id < 0 ? model.unknown : static_cast<std::uint32_t>(id));
        __builtin_prefetch(&model.automaton.entries[numbers.back()]);
      });
  for (const std::uint32_t number : numbers) token(number);
  if (end) token(0);
}

}  // namespace

std::vector<TokenScore> score_tokens(const QueryModel& model, std::string_view text, std::uint32_t& state, bool end) {
  std::vector<TokenScore> scores;
  for_each_token(model, text, end, [&](std::uint32_t word) {
    const BackoffAutomaton::Step s = model.automaton.step(state, word);
    const auto length = static_cast<std::uint32_t>(model.automaton.length(s.context) + 1);
    scores.push_back({s.log_probability, length, word == model.unknown});
    state = s.next;
  });
  return scores;
}

double score_text(const QueryModel& model, std::string_view text, Boundaries boundaries) {
  std::uint32_t state = boundaries.begin ? model.automaton.begin : 0;
  double sum = 0.0;
  for_each_token(model, text, boundaries.end, [&](std::uint32_t word) {
    const BackoffAutomaton::Step s = model.automaton.step(state, word);
    sum += s.log_probability;
    state = s.next;
  });
  return sum;
}

}  // namespace loglinear::backoff
