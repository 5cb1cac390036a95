// The trie of random corpora against a map of n-grams, without Python; and that built in temporary files, which is the
// same whatever the pieces, the ranges and the width of numbers.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "check.hh"
#include "disk/mapped.hh"
#include "disk/scratch.hh"
#include "disk/spool.hh"
#include "text/corpus.hh"
#include "texts.hh"
#include "trie/build.hh"
#include "trie/edit.hh"
#include "trie/merge.hh"
#include "trie/runs.hh"
#include "util/errors.hh"

namespace loglinear::tests::trie {

using namespace loglinear::trie;
using namespace loglinear;

namespace {

using Ngram = std::vector<std::uint32_t>;  // history, most recent word first

// Counts of (length of the history, history, word), in the order of the entries.
std::map<std::tuple<std::size_t, Ngram, std::uint32_t>, std::uint32_t> count(const Text& text, std::size_t order) {
  std::map<std::tuple<std::size_t, Ngram, std::uint32_t>, std::uint32_t> counts;
  for (std::uint32_t w = 0; w < text.n_words; ++w) counts[{0, {}, w}] = 0;
  for (std::size_t s = 0; s + 1 < text.sentence_ptr.size(); ++s) {
    Ngram history{static_cast<std::uint32_t>(text.n_words)};
    for (std::int64_t i = text.sentence_ptr[s]; i <= text.sentence_ptr[s + 1]; ++i) {
      const std::uint32_t word = i < text.sentence_ptr[s + 1] ? text.words[static_cast<std::size_t>(i)] : 0;
      for (std::size_t k = 0; k < order && k <= history.size(); ++k)
        ++counts[{k, Ngram(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(k)), word}];
      history.insert(history.begin(), word);
    }
  }
  return counts;
}

void check_against_counts(const TrieArrays& trie, const Text& text, std::size_t order) {
  const auto counts = count(text, order);
  CHECK(counts.size() == trie.entry_word.size());
  std::vector<Ngram> histories(trie.context_word.size());
  for (std::size_t c = 0; c < histories.size(); ++c)
    for (std::size_t d = trie.context_child[c]; d < trie.context_child[c + 1]; ++d) {
      histories[d] = histories[c];
      histories[d].push_back(trie.context_word[d]);
    }
  auto expected = counts.begin();
  for (std::size_t c = 0; c < histories.size(); ++c) {
    std::uint32_t total = 0;
    for (std::size_t e = trie.context_entry[c]; e < trie.context_entry[c + 1]; ++e, ++expected) {
      const auto& [length, history, word] = expected->first;
      CHECK(length == histories[c].size() && history == histories[c] && word == trie.entry_word[e]);
      CHECK(expected->second == trie.entry_count[e]);
      if (length > 0) CHECK(trie.entry_word[trie.entry_parent[e]] == word && trie.entry_parent[e] < e);
      total += trie.entry_count[e];
    }
    CHECK(total == trie.context_count[c]);
  }
}

bool same(const TrieArrays& a, const TrieArrays& b) {
  return a.context_start == b.context_start && a.entry_start == b.entry_start && a.context_word == b.context_word &&
         a.context_child == b.context_child && a.context_entry == b.context_entry &&
         a.context_count == b.context_count && a.entry_word == b.entry_word && a.entry_parent == b.entry_parent &&
         a.entry_count == b.entry_count;
}

}  // namespace

TEST(trie_equals_counts) {
  std::mt19937 random(1);
  ThreadPool pool(2), one(1);
  for (const std::size_t n_words : {1, 2, 7, 90, 70'000})
    for (const std::size_t order : {1, 2, 3, 5, 9}) {
      const Text text = random_text(random, n_words, random() % 60, 12);
      const TrieArrays trie = build_trie(pool, text, order);
      check_against_counts(trie, text, order);
      CHECK(same(trie, build_trie(one, text, order)));
    }
}

TEST(trie_cut_and_extended) {
  std::mt19937 random(3);
  ThreadPool pool(2);
  const Text text = random_text(random, 20, 200, 12), other = random_text(random, 20, 50, 12);
  const TrieArrays trie = build_trie(pool, text, 4), small = build_trie(pool, other, 3);
  const std::uint64_t limits[] = {1, 1, 2, 3}, falling[] = {1, 3, 2, 2}, nothing[] = {0, 0, 0, 0};
  const TrieArrays rare = cut_trie(view_of(trie, 20), limits);
  CHECK(rare.entry_word.size() < trie.entry_word.size());
  CHECK(same(cut_trie(view_of(trie, 20), nothing), trie));
  CHECK(same(extend_trie(view_of(trie, 20), view_of(trie, 20)), trie));
  CHECK(same(extend_trie(view_of(rare, 20), view_of(rare, 20)), rare));
  const TrieArrays both = extend_trie(view_of(trie, 20), view_of(small, 20));
  const TrieArrays twice = extend_trie(view_of(both, 20), view_of(small, 20));
  CHECK(same(both, twice));
  CHECK_THROWS(cut_trie(view_of(trie, 20), falling), InvalidInput);
  CHECK_THROWS(extend_trie(view_of(trie, 20), view_of(small, 21)), InvalidInput);
  TrieArrays wild = build_trie(pool, text, 4);
  wild.entry_parent.back() = 0;
  CHECK_THROWS(cut_trie(view_of(wild, 20), limits), InvalidInput);
  wild = build_trie(pool, text, 4);
  wild.context_child[3] = 0x7FFFFFFF;
  CHECK_THROWS(extend_trie(view_of(wild, 20), view_of(small, 20)), InvalidInput);
}

TEST(trie_refuses) {
  ThreadPool pool(2);
  Text text{3, {1, 2, 3}, {0, 3}};
  CHECK_THROWS(build_trie(pool, text, 2), InvalidInput);
  text.words[2] = 0;
  CHECK_THROWS(build_trie(pool, text, 0), InvalidInput);
  CHECK_THROWS(build_trie(pool, text, kMaxOrder + 1), InvalidInput);
  text.sentence_ptr = {0, 4};
  CHECK_THROWS(build_trie(pool, text, 2), InvalidInput);
  text.sentence_ptr = {};
  CHECK_THROWS(build_trie(pool, text, 2), InvalidInput);
}

}  // namespace loglinear::tests::trie

namespace loglinear::tests::trie_files {

using namespace loglinear::trie;
using namespace loglinear;
using namespace loglinear::disk;

namespace {

std::string folder() { return std::filesystem::temp_directory_path().string(); }

template <class A, class B>
bool equal(const A& a, const B& b) {  // kNowhere is the largest number of any type
  const auto none = [](auto x) { return x == static_cast<decltype(x)>(-1); };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (none(a[i]) != none(b[i]) || (!none(a[i]) && static_cast<std::uint64_t>(a[i]) != b[i])) return false;
  return true;
}

template <class Position>
bool same(const MappedTrie<Position>& a, const TrieArrays& b) {
  return a.context_start == b.context_start && a.entry_start == b.entry_start && equal(a.context_word, b.context_word) &&
         equal(a.context_child, b.context_child) && equal(a.context_entry, b.context_entry) &&
         equal(a.context_count, b.context_count) && equal(a.entry_word, b.entry_word) &&
         equal(a.entry_parent, b.entry_parent) && equal(a.entry_count, b.entry_count);
}

template <class Narrow, class Wide>
void check_merged(ThreadPool& pool, const Text& text, std::size_t order, std::size_t piece, std::uint64_t most_narrow,
                  const TrieArrays& expected) {
  TrieRuns runs(folder(), text.n_words, order);
  runs.add(pool, text, piece);
  MergeOptions options;
  options.buffer_bytes = 1;
  options.most_narrow = most_narrow;
  WorkMeter meter;
  options.meter = &meter;
  const auto trie = merge_runs<Narrow, Wide>(pool, runs, options);
  CHECK(std::visit([&](const auto& found) { return same(found, expected); }, trie));
  const std::size_t largest = std::max({expected.entry_word.size(), expected.context_word.size(),
                                        static_cast<std::size_t>(expected.context_count[0])});
  CHECK(trie.index() == (largest >= std::numeric_limits<Narrow>::max() ? 1 : 0));
  CHECK(meter.done == meter.total);
}

}  // namespace

TEST(trie_in_files_is_the_same) {
  std::mt19937 random(2);
  ThreadPool pool(2);
  for (const std::size_t n_words : {1, 3, 500})
    for (const std::size_t order : {1, 2, 4})
      for (const std::size_t piece : {1, 10, 1'000'000}) {
        const Text text = random_text(random, n_words, random() % 30, 12);
        const TrieArrays expected = build_trie(pool, text, order);
        check_merged<std::uint32_t, std::uint64_t>(pool, text, order, piece, 0xFFFFFFFE, expected);
        check_merged<std::uint32_t, std::uint64_t>(pool, text, order, piece, 0, expected);  // counts of 64 bits
        check_merged<std::uint16_t, std::uint32_t>(pool, text, order, piece, 0xFFFFFFFE, expected);
      }
}

TEST(numbers_of_a_trie_overflow) {  // columns longer than their blocks, more n-grams and tokens than 16 bits can number
  std::mt19937 random(3);
  ThreadPool pool(2), one(1);
  const Text text = random_text(random, 50, 12'000, 12);
  const TrieArrays expected = build_trie(pool, text, 4);
  CHECK(expected.entry_word.size() > 65536 && expected.context_count[0] > 65536);
  check_merged<std::uint16_t, std::uint32_t>(pool, text, 4, 20'000, 0xFFFFFFFE, expected);
  check_merged<std::uint16_t, std::uint32_t>(one, text, 4, 20'000, 1000, expected);
}

TEST(records_are_exchanged_by_context) {
  std::mt19937 random(4);
  ThreadPool pool(2);
  const Text text = random_text(random, 30, 400, 9);
  const TrieArrays expected = build_trie(pool, text, 3);
  const std::size_t half = text.sentence_ptr.size() / 2;
  TrieRuns parts[] = {TrieRuns(folder(), 30, 3), TrieRuns(folder(), 30, 3)};
  for (int p = 0; p < 2; ++p) {  // each counts some of the sentences
    const auto first = p == 0 ? 0 : half, last = p == 0 ? half : text.sentence_ptr.size() - 1;
    Text own{30, {}, {0}};
    for (std::size_t s = first; s < last; ++s) {
      own.words.insert(own.words.end(), text.words.begin() + text.sentence_ptr[s],
                       text.words.begin() + text.sentence_ptr[s + 1]);
      own.sentence_ptr.push_back(static_cast<std::int64_t>(own.words.size()));
    }
    parts[p].add(pool, own, 100);
  }
  TrieRuns whole(folder(), 30, 3);
  for (const TrieRuns& part : parts) {
    whole.add_words(part.word_counts());
    for (const Range words : {Range{0, 7}, Range{7, 8}, Range{8, 31}}) whole.add_records(part.records(words));
  }
  MergeOptions options;
  options.consume = false;
  CHECK(same(std::get<0>(merge_runs(pool, whole, options)), expected));
  options.words = {5, 12};  // a range of contexts
  const auto some = std::get<0>(merge_runs(pool, whole, options));
  CHECK(some.context_count[0] == expected.context_count[0] && equal(some.entry_count, expected.entry_count) == false);
  for (auto c = static_cast<std::size_t>(some.context_start[1]); c < static_cast<std::size_t>(some.context_start[2]); ++c)
    CHECK(some.context_word[c] >= 5 && some.context_word[c] < 12);
  options.words = {0, SIZE_MAX};
  CHECK(same(std::get<0>(merge_runs(pool, whole, options)), expected));  // the runs are still there
  const std::vector<std::uint32_t> unsorted{2, 1, 0, 1, 1, 1, 0, 1}, wild{1, 1, 30, 1}, before{30, 1, 0, 1};
  CHECK_THROWS(whole.add_records(unsorted), InvalidInput);
  CHECK_THROWS(whole.add_records(wild), InvalidInput);
  CHECK_THROWS(whole.add_records(before), InvalidInput);
  CHECK_THROWS(whole.add_records(std::vector<std::uint32_t>{1}), InvalidInput);
}

TEST(spooled_tokens_are_those_of_the_text) {
  ThreadPool pool(2);
  const std::string parts[] = {"b a b\n\na\n", "c a\nb c c c a\n"};
  disk::TokenSpool spool(folder());
  for (const std::string& part : parts) {
    const std::span<const char> texts[] = {{part.data(), part.size()}};
    text::TokenisedCorpus read = text::tokenise_corpus(pool, texts, {});
    spool.add(pool, read.tokens, read.sentence_ptr, {read.units, read.counts, read.first_text, read.first_line});
  }
  CHECK(spool.n_tokens() == 11 && spool.n_sentences() == 4 && spool.longest() == 5);
  CHECK(spool.units()[0] == "b" && spool.units()[2] == "c");
  CHECK((spool.counts() == std::vector<std::int64_t>{3, 4, 4}));
  const std::vector<std::uint32_t> numbers{1, 2, 3};
  const Text text{4, {1, 2, 1, 2, 3, 2, 1, 3, 3, 3, 2}, {0, 3, 4, 6, 11}};
  for (const std::size_t order : {1, 2, 3, 5})
    for (const std::size_t piece : {1, 2, 4, 100}) {
      TrieRuns runs(folder(), 4, order);
      runs.add(pool, spool, 0, 15, numbers, piece);
      CHECK(same(std::get<0>(merge_runs(pool, runs, {})), build_trie(pool, text, order)));
    }
  CHECK_THROWS(spool.piece(pool, 0, 16, numbers, 4, 2), InvalidInput);
  CHECK_THROWS(spool.piece(pool, 0, 15, numbers, 3, 2), InvalidInput);  // a number of V
  spool.forget_units();
  CHECK(spool.piece(pool, 0, 15, numbers, 4, 2).n_predicted() == 15);
}

TEST(temporary_files_refuse) {
  CHECK_THROWS(ScratchFile("/no/such/folder"), IoError);
  CHECK_THROWS(TrieRuns("/no/such/folder", 3, 2), IoError);
  ScratchFile file(folder());
  char byte;
  CHECK_THROWS(file.read(&byte, 1, 0), IoError);
  CHECK_THROWS(MappedArray<char>(folder(), std::size_t{1} << 50), IoError);  // more than any disk has
}

TEST(dropped_pages_come_back) {
  MappedArray<std::uint32_t> numbers(folder(), 1 << 20);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(i);
  drop_mapped_pages();
  const PageWatch watch(0);  // drops them again and again
  for (int pass = 0; pass < 20; ++pass)
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != i + static_cast<std::size_t>(pass)) CHECK(false);
      ++numbers[i];
    }
  MappedArray<std::uint32_t> moved(std::move(numbers));
  CHECK(moved[5] == 25 && numbers.size() == 0);
}

}  // namespace loglinear::tests::trie_files
