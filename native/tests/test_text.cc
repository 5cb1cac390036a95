// Interning, number parsing, svmlight and word n-grams, without Python: what the sanitizers run.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "kernels/svmlight.hh"
#include "kernels/word_ngrams.hh"
#include "util/parse_double.hh"
#include "util/words.hh"

using namespace loglinear;

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for_each_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

PackedStrings pack(const std::vector<std::string>& strings) {
  PackedStrings packed;
  for (const auto& s : strings) packed.push_back(s);
  return packed;
}

double number(const std::string& text) {
  double value = -1;
  CHECK(parse_double(text.data(), text.data() + text.size(), value) == text.data() + text.size());
  return value;
}

SvmlightData parse(const std::string& text, int n_threads = 1, std::size_t chunk_size = 1 << 20) {
  ThreadPool pool(n_threads);
  return parse_svmlight(pool, text, IndexBase::detect, -1, chunk_size);
}

}  // namespace

TEST(interner_numbers_by_first_occurrence) {
  Interner interner;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < 5000; ++i) CHECK(interner.intern(std::to_string(i * 7919)) == i);
  CHECK(interner.intern("") == 5000);
  const StringIndex index(interner.strings());
  for (int i = 0; i < 5000; ++i) CHECK(index.find(std::to_string(i * 7919)) == i);
  CHECK(index.find("") == 5000);
  CHECK(index.find("x") == -1);
  CHECK_THROWS(StringIndex(pack({"a", "b", "a"})), InvalidInput);
}

TEST(strings_are_checked) {
  const std::string blob = "abc";
  const auto check = [&](std::vector<std::int64_t> offsets) { Strings{blob, offsets}.check(); };
  check({0, 1, 1, 3});
  CHECK_THROWS(check({}), InvalidInput);
  CHECK_THROWS(check({0, 4}), InvalidInput);
  CHECK_THROWS(check({0, 2, 1, 3}), InvalidInput);
  CHECK_THROWS(gather(pack({"a"}), std::vector<std::int64_t>{1}), InvalidInput);
}

TEST(numbers_are_rounded_correctly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, 8);
    if (!std::isfinite(value)) continue;
    char text[64];
    for (const char* format : {"%.17g", "%.6g", "%.25e"}) {
      std::snprintf(text, sizeof text, format, value);
      CHECK(number(text) == std::strtod(text, nullptr));
    }
  }
  CHECK(std::isinf(number("1e400")));
  CHECK(number("-1e-400") == 0.0);
  for (std::string bad : {"", "+", "-", ".", "e5", "nan", "inf", "--1", "+-1"}) {
    double value;
    CHECK(parse_double(bad.data(), bad.data() + bad.size(), value) == nullptr);
  }
}

TEST(words_of_malformed_text) {
  CHECK((words_of("don't 'a' b''c d'") == std::vector<std::string>{"don't", "a", "b", "c", "d"}));
  CHECK((words_of("a\xFFz \xC3") == std::vector<std::string>{"a", "z"}));
  CHECK((words_of("\xC3\xA9t\xC3\xA9\xE2\x80\xA6x\xF0\x9F\x98\x80") ==
         std::vector<std::string>{"\xC3\xA9t\xC3\xA9", "x\xF0\x9F\x98\x80"}));
  CHECK((words_of("a'\xFF") == std::vector<std::string>{"a"}));
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 30, ' ');
    for (char& c : text) c = static_cast<char>(random());
    for (const auto& word : words_of(text)) CHECK(!word.empty());
  }
}

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
