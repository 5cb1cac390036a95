// Conversion of readings without Python: what the sanitizers run.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.hh"
#include "ime/decode.hh"
#include "ime/lattice.hh"
#include "util/errors.hh"

namespace loglinear::tests::ime {

using namespace loglinear::backoff;
using namespace loglinear::ime;
using namespace loglinear::trie;
using namespace loglinear;

namespace {

// </s> <unk> A B C D E, and random probabilities of any order of size: back-off may be the better way, and is not
// taken.
struct RandomModel {
  OwnedShape shape;
  std::vector<double> log_backoff{0.0}, log_probability;
  explicit RandomModel(std::mt19937& random) {
    constexpr std::uint32_t kWords = 7;
    const auto logarithm = [&] { return -static_cast<double>(random() % 64) / 16 - 0.25; };  // many ties
    shape.order = 2, shape.n_words = kWords;
    shape.context_word = {kNowhere}, shape.context_entry = {0};
    for (std::uint32_t w = 0; w < kWords; ++w) shape.entry_word.push_back(w);
    shape.context_entry.push_back(kWords);
    for (std::uint32_t c = 1; c <= kWords; ++c) {
      if (random() % 3 == 0) continue;
      shape.context_word.push_back(c);
      log_backoff.push_back(logarithm() / 2);
      for (std::uint32_t w = 0; w < kWords; ++w)
        if (random() % 2) shape.entry_word.push_back(w);
      shape.context_entry.push_back(static_cast<std::uint32_t>(shape.entry_word.size()));
    }
    const auto n_contexts = static_cast<std::uint32_t>(shape.context_word.size());
    shape.context_start = {0, 1, n_contexts};
    shape.entry_start = {0, kWords, static_cast<std::int64_t>(shape.entry_word.size())};
    shape.context_child.assign(n_contexts + 1, n_contexts);
    shape.context_child[0] = 1;
    for (std::size_t e = 0; e < shape.entry_word.size(); ++e) log_probability.push_back(logarithm());
  }
};

struct SmallLexicon {
  PackedStrings surfaces, readings;
  std::vector<std::int64_t> reading_ptr{0};
  std::vector<std::uint32_t> surface;
  std::vector<float> log_channel;
  std::vector<std::uint32_t> word{2, 3, 4, 5, 6, 1};  // F is unknown to the model

  explicit SmallLexicon(std::mt19937& random) {
    for (const char* s : {"A", "B", "C", "D", "E", "F"}) surfaces.push_back(s);
    std::set<std::string> all{"x", "xy", "yx", "yyx", "y"};
    if (random() % 2) all.erase("y");
    for (const std::string& reading : all) {
      readings.push_back(reading);
      const std::size_t before = surface.size();
      for (std::uint32_t s = 0; s < 6; ++s)
        if (random() % 2 || (s == 5 && surface.size() == before)) {
          surface.push_back(s);
          log_channel.push_back(-static_cast<float>(random() % 3) / 2);
        }
      reading_ptr.push_back(static_cast<std::int64_t>(surface.size()));
    }
  }
  operator LexiconArrays() const { return {surfaces, readings, reading_ptr, surface, log_channel, word}; }
};

struct Found {
  double score;
  std::vector<std::uint32_t> words;  // surfaces; an unknown word at node i is 6 + i
  bool operator<(const Found& other) const { return score != other.score ? score > other.score : words < other.words; }
};

// All strings for a reading without blanks, each with its best score.
std::vector<Found> enumerate(const BackoffAutomaton& a, const LexiconArrays& lexicon, const std::string& reading) {
  struct Partial {
    std::size_t at;
    std::uint32_t state;
    Found found;
  };
  std::vector<Partial> open{{0, a.begin, {0.0, {}}}};
  std::map<std::vector<std::uint32_t>, double> best;
  while (!open.empty()) {
    const Partial p = open.back();
    open.pop_back();
    if (p.at == reading.size()) {
      const double score = p.found.score + a.step(p.state, 0).log_probability;
      const auto [at, added] = best.emplace(p.found.words, score);
      if (!added) at->second = std::max(at->second, score);
      continue;
    }
    bool covered = false;
    const auto take = [&](std::size_t length, std::uint32_t surface, std::uint32_t word, double channel) {
      const auto step = a.step(p.state, word);
      Partial next{p.at + length, step.next, p.found};
      next.found.score += step.log_probability + channel;
      next.found.words.push_back(surface);
      open.push_back(next);
    };
    for (std::size_t r = 0; r < lexicon.readings.size(); ++r) {
      const std::string_view candidate = lexicon.readings[r];
      if (reading.compare(p.at, candidate.size(), candidate) != 0) continue;
      covered = covered || candidate.size() == 1;
      for (std::int64_t i = lexicon.reading_ptr[r]; i < lexicon.reading_ptr[r + 1]; ++i)
        take(candidate.size(), lexicon.surface[i], lexicon.word[lexicon.surface[i]], lexicon.log_channel[i]);
    }
    if (!covered) take(1, 6 + static_cast<std::uint32_t>(p.at), 1, 0.0);
  }
  std::vector<Found> all;
  for (const auto& [words, score] : best) all.push_back({score, words});
  std::sort(all.begin(), all.end());
  return all;
}

std::string spelt(const Found& found, const std::string& reading, const char* between) {
  std::string text;
  for (const std::uint32_t w : found.words) {
    if (!text.empty()) text += between;
    text += w < 6 ? "ABCDEF"[w] : reading[w - 6];
  }
  return text;
}

PackedStrings packed(const std::vector<std::string>& strings) {
  PackedStrings result;
  for (const std::string& s : strings) result.push_back(s);
  return result;
}

}  // namespace

TEST(conversion_is_exact) {
  std::mt19937 random(5);
  bool right = true, texts_right = true;
  for (int round = 0; round < 40; ++round) {
    const RandomModel m(random);
    const SmallLexicon lexicon(random);
    ThreadPool pool(2);
    const OwnedAutomaton automaton = build_automaton(pool, {m.shape, m.log_backoff, m.log_probability});
    const ConversionIndex index(pool, automaton, lexicon, 1);
    for (const std::string reading : {"", "x", "yy", "xyxy", "zx", "yyxz"}) {
      const std::vector<Found> all = enumerate(automaton, lexicon, reading);
      ConversionLattice lattice(index);
      lattice.build(reading, false);
      right = right && lattice.best(0, automaton.begin) == all[0].score;  // so that A* never goes astray
      for (const std::size_t k : {std::size_t{1}, std::size_t{7}, all.size() + 3}) {
        const Conversions c = convert_readings(pool, index, packed({reading}), {k, false, false});
        right = right && c.score.size() == std::min(k, all.size());
        for (std::size_t i = 0; right && i < c.score.size(); ++i)
          right = c.score[i] == all[i].score && c.texts[i] == spelt(all[i], reading, " ");
      }
      std::vector<std::string> expected;
      for (const Found& f : all)
        if (const std::string t = spelt(f, reading, "");
            std::find(expected.begin(), expected.end(), t) == expected.end())
          expected.push_back(t);
      const Conversions c = convert_readings(pool, index, packed({reading}), {all.size() + 1, false, true});
      texts_right = texts_right && c.score.size() == expected.size();
      for (std::size_t i = 0; texts_right && i < expected.size(); ++i) {
        std::string t;
        for (const char x : c.texts[i])
          if (x != ' ') t += x;
        texts_right = t == expected[i];
      }
    }
  }
  CHECK(right);
  CHECK(texts_right);
}

TEST(conversion_in_pieces) {
  std::mt19937 random(1);
  const RandomModel m(random);
  const SmallLexicon lexicon(random);
  ThreadPool one(1), three(3);
  const OwnedAutomaton automaton = build_automaton(one, {m.shape, m.log_backoff, m.log_probability});
  const ConversionIndex index(one, automaton, lexicon, 1);
  const Conversions words = convert_readings(one, index, packed({"xy  yx ", "\tzzx x", "", "   "}), {1, true, false});
  CHECK(words.texts[0].size() == 3 && words.texts[0][1] == ' ');
  CHECK(words.texts[1].substr(0, 4) == "zzx ");
  CHECK(words.texts[2].empty() && words.texts[3].empty());
  CHECK((words.n_unknown == std::vector<std::int64_t>{0, 1, 0, 0}));
  const Conversions free = convert_readings(one, index, packed({"x y\xC3\xA9"}), {1, false, false});
  CHECK(free.texts[0].size() >= 2 && free.texts[0].substr(free.texts[0].size() - 2) == "\xC3\xA9");
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back(std::string(static_cast<std::size_t>(i), i % 2 ? 'x' : 'y') + "xyyx");
  const Conversions a = convert_readings(one, index, packed(many), {5, false, false});
  const Conversions b = convert_readings(three, index, packed(many), {5, false, false});
  CHECK(a.texts.blob == b.texts.blob && a.score == b.score && a.sentence_ptr == b.sentence_ptr);
}

TEST(conversion_refuses_damage) {
  std::mt19937 random(2);
  const RandomModel m(random);
  const SmallLexicon whole(random);
  ThreadPool pool(1);
  const OwnedAutomaton automaton = build_automaton(pool, {m.shape, m.log_backoff, m.log_probability});
  const auto damaged = [&](auto change) {
    SmallLexicon copy = whole;
    change(copy);
    ConversionIndex(pool, automaton, copy, 1);
  };
  CHECK_THROWS(damaged([](auto& l) { l.reading_ptr[1] = 1 << 20; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.reading_ptr[1] = 0; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.reading_ptr.pop_back(); }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.surface[0] = 6; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.word[0] = 7; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.log_channel[0] = std::nanf(""); }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.readings.blob[0] = '\xFF'; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.readings.blob[0] = 'z'; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& l) { l.surfaces.offsets[1] = 9; }), InvalidInput);
  const ConversionIndex index(pool, automaton, whole, 1);
  CHECK_THROWS(convert_readings(pool, index, packed({"x", "\xE3\x81"}), {}), InvalidInput);
  CHECK_THROWS(convert_readings(pool, index, packed({"x"}), {0, false, false}), InvalidInput);
  CHECK_THROWS(convert_readings(pool, index, packed({std::string(ConversionLattice::kLongest + 1, 'x')}), {}),
               InvalidInput);
}

TEST(tokens_are_split) {
  const SplitTokens t = split_tokens(packed({"A|x", "|||", "B|x|y", "A|y"}));
  CHECK(t.malformed == -1 && t.surfaces.size() == 3 && t.readings.size() == 4);
  CHECK(t.surfaces[1] == "|" && t.readings[1] == "|" && t.readings[2] == "x|y");
  CHECK((t.surface == std::vector<std::int32_t>{0, 1, 2, 0}));
  CHECK(split_tokens(packed({"A|x", "A"})).malformed == 1);
  CHECK(split_tokens(packed({"|x"})).malformed == 0);
  CHECK(split_tokens(packed({"x|"})).malformed == 0);
}

}  // namespace loglinear::tests::ime
