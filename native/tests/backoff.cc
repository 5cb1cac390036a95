// N-gram models in back-off form without Python: smoothing and pruning; ARPA files, round trips and any bytes at all.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "check.hh"
#include "arpa/text.hh"
#include "backoff/automaton.hh"
#include "backoff/counted.hh"
#include "backoff/kneser_ney.hh"
#include "backoff/mix.hh"
#include "backoff/pruning.hh"
#include "backoff/smoothing.hh"
#include "texts.hh"
#include "trie/merge.hh"
#include "util/errors.hh"
#include "util/log10_text.hh"

namespace loglinear::tests::backoff_smoothing {

using namespace loglinear::arpa;
using namespace loglinear::backoff;
using namespace loglinear::trie;
using namespace loglinear;

namespace {

// The bigrams of "a b", "a a" and "b": </s> = 0, a = 1, b = 2, <s> = 3.
struct Bigrams {
  std::vector<std::int64_t> context_start{0, 1, 4}, entry_start{0, 3, 9};
  std::vector<std::uint32_t> context_word{kNowhere, 1, 2, 3}, context_child{1, 4, 4, 4, 4};
  std::vector<std::uint32_t> context_entry{0, 3, 6, 7, 9}, context_count{8, 3, 2, 3};
  std::vector<std::uint32_t> entry_word{0, 1, 2, 0, 1, 2, 0, 1, 2};
  std::vector<std::uint32_t> entry_parent{kNowhere, kNowhere, kNowhere, 0, 1, 2, 0, 1, 2};
  std::vector<std::uint32_t> entry_count{3, 3, 2, 1, 1, 1, 2, 2, 1};
  TrieView view() const {
    return {2,           3,          context_start, entry_start,  context_word, context_child, context_entry,
            context_count, entry_word, entry_parent,  entry_count};
  }
};

struct Model {
  std::vector<double> p = std::vector<double>(9), backoff = std::vector<double>(4);
  BackoffArrays view(const Bigrams& b) const {
    return {b.view(), backoff, p};
  }
};

Model smoothed(const Bigrams& b, bool interpolate, int n_threads = 2) {
  ThreadPool pool(n_threads);
  std::vector<std::uint32_t> adjusted(3);
  adjusted_counts(pool, b.view(), false, std::span(adjusted));
  Model m;
  const std::vector<OrderSmoothing> orders(2, {{0.5, 0.75, 1.0}, 0.0, 0.0, 0});
  smooth(pool, b.view(), adjusted, orders, interpolate, m.p, m.backoff);
  return m;
}

double sum(const BackoffArrays& m, std::size_t c) {
  double total = 0.0;
  for (std::uint32_t w = 0; w < m.shape.n_words; ++w) {
    double p = std::exp(m.log_backoff[c] + m.log_probability[w]);
    for (std::size_t e = m.shape.context_entry[c]; e < m.shape.context_entry[c + 1]; ++e)
      if (m.shape.entry_word[e] == w) p = std::exp(m.log_probability[e]);
    total += p;
  }
  return total;
}

}  // namespace

TEST(adjusted_counts_count_words_before) {
  const Bigrams b;
  ThreadPool pool(2);
  check_for_smoothing(pool, b.view());
  std::vector<std::uint32_t> adjusted(3);
  adjusted_counts(pool, b.view(), false, std::span(adjusted));
  CHECK((adjusted == std::vector<std::uint32_t>{2, 2, 2}));
  const auto counts = counts_of_counts(pool, b.view(), std::span<const std::uint32_t>(adjusted));
  CHECK((counts[0] == std::array<std::uint64_t, 4>{0, 3, 0, 0}));
  CHECK((counts[1] == std::array<std::uint64_t, 4>{4, 2, 0, 0}));
  CHECK_THROWS(adjusted_counts(pool, b.view(), false, std::span(adjusted).first(2)), InvalidInput);
}

TEST(smoothed_bigrams_sum_to_one) {
  const Bigrams b;
  for (const bool interpolate : {true, false}) {
    const Model m = smoothed(b, interpolate);
    for (std::size_t c = 0; c < 4; ++c) CHECK(std::abs(sum(m.view(b), c) - 1.0) < 1e-14);
    CHECK(smoothed(b, interpolate, 1).p == m.p);
  }
  const Model m = smoothed(b, true);  // unigrams are equal, so p(</s> | b) = (2 - 0.75) / 2 + 0.75 / 2 / 3
  CHECK(std::abs(std::exp(m.p[6]) - 0.75) < 1e-14);
}

Text without_ends(Text text) {  // </s> is no word of a text
  for (std::uint32_t& word : text.words) word = std::max(word, 1u);
  return text;
}

// The automaton that counted tries give in mapped files, with numbers of any width, is that of the same model in memory.
template <class Narrow, class Wide>
void check_counted(const Text& text, std::size_t order, std::uint32_t cut, bool kneser_ney) {
  ThreadPool pool(2);
  const TrieArrays counted = build_trie(pool, text, order);
  const TrieView trie = view_of(counted, text.n_words);
  std::vector<std::uint32_t> adjusted(kneser_ney ? static_cast<std::size_t>(trie.entry_start[order - 1]) : 0);
  std::vector<OrderSmoothing> orders(order, {{0.5, 0.75, 1.0}, kneser_ney ? 0.0 : 1.0, 0.0, cut});
  orders[0].cut = 0;
  if (kneser_ney) adjusted_counts(pool, trie, false, std::span(adjusted));
  std::vector<double> p(trie.n_entries()), backoff(trie.n_contexts());
  smooth(pool, trie, adjusted, orders, true, p, backoff);
  std::vector<std::uint8_t> keep(trie.n_entries(), 1), contexts(trie.n_contexts());
  for (std::size_t e = text.n_words; e < keep.size(); ++e) keep[e] = trie.entry_count[e] > cut;
  const SelectedModel s = select_entries({trie, backoff, p}, keep, contexts);
  const BackoffArrays small{{order, text.n_words, s.context_start, s.entry_start, s.context_word, s.context_child,
                             s.context_entry, {}, s.entry_word, {}, {}},
                            s.log_backoff, s.log_probability};
  const OwnedAutomaton expected = build_automaton(pool, small);

  const std::string folder = std::filesystem::temp_directory_path().string();
  TrieRuns runs(folder, text.n_words, order);
  runs.add(pool, text, 500);
  auto merged = merge_runs<Narrow, Wide>(pool, runs, {});
  std::visit([&]<class Position>(MappedTrie<Position>& mapped) {
    disk::MappedArray<Position> counts(folder, adjusted.size());
    if (kneser_ney) {
      adjusted_counts(pool, mapped.view(), false, std::span<Position>(counts));
      CHECK(counts_of_counts(pool, mapped.view(), std::span<const Position>(counts)) ==
            counts_of_counts(pool, trie, std::span<const std::uint32_t>(adjusted)));
    }
    const MappedAutomaton found = build_counted(pool, mapped, counts, orders, {folder, true, nullptr});
    CHECK(found.begin == expected.begin && found.context_start == expected.context_start);
    CHECK(found.contexts.size() == expected.contexts.size() && found.entries.size() == expected.entries.size());
    CHECK(std::memcmp(found.contexts.data(), expected.contexts.data(), expected.contexts.size() * 16) == 0);
    CHECK(std::memcmp(found.entries.data(), expected.entries.data(), expected.entries.size() * 12) == 0);
    CHECK((found.n_ngrams.back() == s.entry_start.back() - s.entry_start[order - 1]));
    static_cast<BackoffAutomaton>(found).check(pool);
  }, merged);
}

TEST(counted_models_are_the_same_in_files) {
  std::mt19937 random(7);
  for (const std::size_t n_words : {2, 40, 3000})
    for (const std::size_t order : {1, 2, 3, 5})
      for (const std::uint32_t cut : {0, 1, 2})
        for (const bool kneser_ney : {true, false}) {
          const Text text = without_ends(random_text(random, n_words, 300, 12));
          check_counted<std::uint32_t, std::uint64_t>(text, order, cut, kneser_ney);
          check_counted<std::uint16_t, std::uint64_t>(text, order, cut, kneser_ney);
        }
  const Text large = without_ends(random_text(random, 60, 9000, 16));  // more n-grams and tokens than 16 bits can number
  check_counted<std::uint16_t, std::uint32_t>(large, 4, 0, true);
  check_counted<std::uint16_t, std::uint64_t>(large, 4, 1, true);
  check_counted<std::uint16_t, std::uint64_t>(Text{5, {}, {0}}, 3, 0, true);
  CHECK_THROWS((check_counted<std::uint16_t, std::uint64_t>(Text{5, {0, 1}, {0, 2}}, 3, 0, true)), InvalidInput);
}

TEST(pruned_bigrams_sum_to_one) {
  const Bigrams b;
  ThreadPool pool(2);
  Model m = smoothed(b, true);
  check_prunable(pool, m.view(b));
  std::vector<double> unseen(4);
  unseen_mass(pool, m.view(b), unseen);
  std::vector<std::uint8_t> keep(9), contexts(4);
  entropy_cut(pool, m.view(b), unseen, 10.0, keep);
  CHECK((keep == std::vector<std::uint8_t>{1, 1, 1, 0, 0, 0, 0, 0, 0}));
  keep = {1, 1, 1, 0, 0, 0, 1, 1, 0};
  add_cut_mass(pool, m.view(b), keep, unseen);
  SelectedModel s = select_entries(m.view(b), keep, contexts);
  CHECK((contexts == std::vector<std::uint8_t>{1, 0, 1, 1}));
  const BackoffArrays small{{2, 3, s.context_start, s.entry_start, s.context_word, s.context_child, s.context_entry, {},
                             s.entry_word, {}, {}},
                            s.log_backoff, s.log_probability};
  check_prunable(pool, small);
  backoff_of_unseen(pool, small, std::vector<double>{unseen[0], unseen[2], unseen[3]}, s.log_backoff);
  for (std::size_t c = 0; c < 3; ++c) CHECK(std::abs(sum(small, c) - 1.0) < 1e-14);
}

TEST(damaged_tries_are_refused) {
  ThreadPool pool(2);
  Bigrams b;
  b.entry_parent[8] = 3;
  CHECK_THROWS(check_for_smoothing(pool, b.view()), InvalidInput);
  b = {};
  b.context_entry[2] = 8;
  CHECK_THROWS(check_for_smoothing(pool, b.view()), InvalidInput);
  b = {};
  const Model m = smoothed(b, true);
  b.entry_word[4] = 3;
  CHECK_THROWS(check_prunable(pool, m.view(b)), InvalidInput);
}

}  // namespace loglinear::tests::backoff_smoothing

namespace loglinear::tests::backoff_arpa {

using namespace loglinear::arpa;
using namespace loglinear::backoff;
using namespace loglinear;

namespace {

const std::string kSmall =
    "\\data\\\nngram 1=5\nngram 2=3\nngram 3=2\n\n\\1-grams:\n-1 <unk>\n-99 <s> -0.5\n-0.7 </s>\n-0.3 a -0.25\n"
    "-0.9 b -0.125\n\n\\2-grams:\n-0.2 <s> a -0.1\n-0.4 a b\n-0.6 b </s>\n\n\\3-grams:\n-0.1 <s> a b\n-0.2 b a b\n\n"
    "\\end\\\n";

ArpaModel read(const std::string& text, int n_threads = 1, std::size_t chunk_size = 1 << 18) {
  ThreadPool pool(n_threads);
  ArpaModel result = parse_arpa(pool, text, chunk_size);
  const BackoffArrays model = result.model;
  model.shape.check_backoff(pool);
  model.check_values(pool);
  return result;
}

std::string write(const ArpaModel& read, int n_threads, int digits) {
  ThreadPool pool(n_threads);
  const ArpaText text(pool, read.model, read.words);
  std::string out = "\\data\\\n";
  for (std::size_t n = 1; n <= text.order(); ++n)
    out += "ngram " + std::to_string(n) + "=" + std::to_string(text.n_lines(n)) + "\n";
  for (std::size_t n = 1; n <= text.order(); ++n) {
    const std::vector<char> lines = text.lines(pool, n, 0, text.n_lines(n), digits);
    out += "\n\\" + std::to_string(n) + "-grams:\n" + std::string(lines.begin(), lines.end());
  }
  return out + "\n\\end\\\n";
}

std::string mutated(std::mt19937& random) {
  static const std::vector<std::string> tokens{"\n", "\t", " ", "\\", "-inf", "nan", "1e9", "\\end\\\n", "<s>",
                                               std::string(1, '\0'), "\xff", "0", "ngram 4=1\n", "\r"};
  std::string text = kSmall;
  for (std::size_t n = 1 + random() % 3; n; --n) {
    const std::size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0: text.resize(at); break;
      case 1: text.insert(at, tokens[random() % tokens.size()]); break;
      case 2: text.erase(at, random() % 9); break;
      default: text.insert(at, text.substr(random() % (text.size() + 1), random() % 30));
    }
  }
  return text;
}

}  // namespace

TEST(log10_text_reads_back) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  char text[kMostLog10Text];
  for (int i = 0; i < 20000; ++i) {
    const double x = -std::pow(10.0, 20 * unit(random) - 15) * unit(random);
    double y = 0;
    const char* const end = write_log10(x, 17, text);
    CHECK(end - text <= static_cast<std::ptrdiff_t>(kMostLog10Text));
    CHECK(read_log10(text, end, y) == end && y == x);
    const char* const short_end = write_log10(x, 7, text);
    CHECK(read_log10(text, short_end, y) == short_end && std::fabs(y - x) <= 6e-7 * std::fabs(x));
  }
}

TEST(arpa_round_trip) {
  const ArpaModel first = read(kSmall);
  CHECK(first.words.size() == 4);
  CHECK(std::fabs(first.model.log_probability[2] + 0.3 * std::log(10.0)) < 1e-15);
  for (const int threads : {1, 3}) {
    const std::string text = write(first, threads, 17);
    const ArpaModel again = read(text, threads, 7);
    ThreadPool pool(threads);
    std::vector<double> values(again.model.log_probability.size());
    log_probabilities_of(pool, first.model, again.model.shape, values);
    CHECK(values == again.model.log_probability);
    CHECK(write(again, 1, 17) == text);
  }
}

TEST(arpa_any_bytes_any_chunks) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutated(random);
    std::string outcome[2];
    for (int k = 0; k < 2; ++k) {
      try {
        outcome[k] = write(k ? read(text, 2, 5) : read(text), 1, 9);
      } catch (const ParseError& error) {
        outcome[k] = std::to_string(error.line) + error.what();
      }
    }
    CHECK(outcome[0] == outcome[1]);
  }
}

}  // namespace loglinear::tests::backoff_arpa
