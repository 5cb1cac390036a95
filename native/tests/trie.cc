// The trie of random corpora against a map of n-grams, in memory and in files, without Python.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "check.hh"
#include "texts.hh"
#include "trie/build.hh"
#include "trie/edit.hh"
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

// A folder that goes with the object.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "loglinear-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

Pages<std::uint32_t> read_numbers(const std::string& path) {
  Pages<std::uint32_t> numbers(std::filesystem::file_size(path) / sizeof(std::uint32_t));
  std::FILE* file = std::fopen(path.c_str(), "rb");
  CHECK(std::fread(numbers.data(), sizeof(std::uint32_t), numbers.size(), file) == numbers.size());
  std::fclose(file);
  return numbers;
}

TrieArrays build_in_files(ThreadPool& pool, const Text& text, std::size_t order, std::size_t piece_tokens,
                          std::size_t buffer_bytes) {
  const Folder folder;
  TrieRuns runs(folder.path, text.n_words, order);
  runs.add(pool, text, piece_tokens);
  const TrieRuns::Starts starts = runs.finish(buffer_bytes);
  const auto array = [&](const char* name) { return read_numbers(folder.path + "/" + name); };
  return {starts.context_start,   starts.entry_start,     array("context_word"), array("context_child"),
          array("context_entry"), array("context_count"), array("entry_word"),   array("entry_parent"),
          array("entry_count")};
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

TEST(trie_in_files_is_the_same) {
  std::mt19937 random(2);
  ThreadPool pool(2);
  for (const std::size_t n_words : {1, 3, 500})
    for (const std::size_t order : {1, 2, 4})
      for (const std::size_t piece : {1, 10, 1'000'000}) {
        const Text text = random_text(random, n_words, random() % 30, 12);
        CHECK(same(build_in_files(pool, text, order, piece, 1), build_trie(pool, text, order)));
      }
  const Text text = random_text(random, 50, 12'000, 12);  // columns longer than their buffers
  CHECK(same(build_in_files(pool, text, 4, 20'000, 1 << 16), build_trie(pool, text, 4)));
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
  CHECK_THROWS(TrieRuns("/no/such/folder", 3, 2), IoError);
}

}  // namespace loglinear::tests::trie
