// svmlight data and word n-grams.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "text/svmlight.hh"
#include "text/word_ngrams.hh"

namespace loglinear::tests::text {

using namespace loglinear::text;
using namespace loglinear;

namespace {

PackedStrings pack(const std::vector<std::string>& strings) {
  PackedStrings packed;
  for (const auto& s : strings) packed.push_back(s);
  return packed;
}

SvmlightData parse(const std::string& text, int n_threads = 1, std::size_t chunk_size = 1 << 20) {
  ThreadPool pool(n_threads);
  return parse_svmlight(pool, text, IndexBase::detect, -1, chunk_size);
}

}  // namespace

TEST(svmlight_survives_any_bytes) {
  std::mt19937 random(3);
  const std::string alphabet = "0123456789::  \n\n\t\r#.-+eqid\xFF";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (auto n = random() % 80; n > 0; --n) text += alphabet[random() % alphabet.size()];
    std::string first, second;
    try {
      parse(text);
    } catch (const ParseError& e) {
      first = std::to_string(e.line) + e.what();
    }
    try {
      parse(text, 3, 1 + random() % 20);
    } catch (const ParseError& e) {
      second = std::to_string(e.line) + e.what();
    }
    CHECK(first == second);
  }
}

TEST(svmlight_reads) {
  for (int n_threads : {1, 3}) {
    const SvmlightData data = parse("a 1:2 3:4 # c\n\nb qid:1 2:-1e-1\r\na\n", n_threads, 5);
    CHECK((data.indptr == std::vector<std::int64_t>{0, 2, 3, 3}));
    CHECK((data.indices == std::vector<std::int32_t>{0, 2, 1}));
    CHECK((data.values == std::vector<double>{2, 4, -0.1}));
    CHECK((data.labels == std::vector<std::int32_t>{0, 1, 0}));
    CHECK(data.n_features == 3);
  }
  CHECK(parse("a 3000000000:1").wide.size() == 1);
  try {
    parse("a 1:1\nb 2:1 1:1\n", 2, 3);
    CHECK(false);
  } catch (const ParseError& e) {
    CHECK(e.line == 2);
    CHECK(e.offset == 12);
  }
}

TEST(word_ngrams_do_not_depend_on_threads) {
  std::mt19937 random(4);
  std::vector<std::string> texts(3000);
  for (auto& text : texts)
    for (auto n = random() % 60; n > 0; --n) text += "w" + std::to_string(random() % (1 + random() % 500)) + " ";
  const PackedStrings packed = pack(texts);
  for (const std::vector<std::int32_t>& orders : {std::vector<std::int32_t>{1, 2}, {3}, {1, 4}})
    for (std::int64_t min_count : {1, 3}) {
      ThreadPool one(1), four(4);
      const WordNgrams a = fit_word_ngrams(one, packed, orders, min_count);
      const WordNgrams b = fit_word_ngrams(four, packed, orders, min_count);
      CHECK(a.names.blob == b.names.blob && a.names.offsets == b.names.offsets);
      CHECK(a.rows.indptr == b.rows.indptr && a.rows.indices == b.rows.indices && a.rows.values == b.rows.values);
      const CountRows c = count_word_ngrams(four, packed, orders, StringIndex(a.names));
      CHECK(a.rows.indptr == c.indptr && a.rows.indices == c.indices && a.rows.values == c.values);
    }
  ThreadPool pool(1);
  CHECK_THROWS(fit_word_ngrams(pool, packed, std::vector<std::int32_t>{}, 1), InvalidInput);
  CHECK_THROWS(fit_word_ngrams(pool, packed, std::vector<std::int32_t>{2, 1}, 1), InvalidInput);
}

}  // namespace loglinear::tests::text
