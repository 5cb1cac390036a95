// svmlight data and word n-grams.
// Readers of CoNLL and CRFsuite data, without Python.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "text/conll.hh"
#include "text/crfsuite.hh"
#include "text/svmlight.hh"
#include "text/text_ngrams.hh"
#include "util/errors.hh"

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

TEST(text_ngrams_do_not_depend_on_threads) {
  std::mt19937 random(4);
  std::vector<std::string> texts(3000);
  for (auto& text : texts)
    for (auto n = random() % 60; n > 0; --n) text += "w" + std::to_string(random() % (1 + random() % 500)) + " ";
  const PackedStrings packed = pack(texts), stop = pack({"w1", "w2"});
  const StringIndex stop_words(stop);
  const std::vector<NgramKinds> all{{{1, 2}, {}, false, nullptr}, {{3}, {}, false, nullptr},
                                    {{1, 4}, {2, 3}, false, &stop_words}, {{}, {1, 5}, true, nullptr}};
  for (const NgramKinds& kinds : all)
    for (std::int64_t min_count : {1, 3}) {
      ThreadPool one(1), four(4);
      const TextNgrams a = fit_text_ngrams(one, packed, kinds, min_count);
      const TextNgrams b = fit_text_ngrams(four, packed, kinds, min_count);
      CHECK(a.names.blob == b.names.blob && a.names.offsets == b.names.offsets);
      CHECK(a.rows.indptr == b.rows.indptr && a.rows.indices == b.rows.indices && a.rows.values == b.rows.values);
      const CountRows c = count_text_ngrams(four, packed, kinds, StringIndex(a.names));
      CHECK(a.rows.indptr == c.indptr && a.rows.indices == c.indices && a.rows.values == c.values);
      const CountRows d = hash_text_ngrams(one, packed, kinds, 1000, {}), e = hash_text_ngrams(four, packed, kinds, 1000, {});
      CHECK(d.indptr == e.indptr && d.indices == e.indices && d.values == e.values);
    }
  ThreadPool pool(1);
  CHECK_THROWS(fit_text_ngrams(pool, packed, NgramKinds{}, 1), InvalidInput);
  CHECK_THROWS(fit_text_ngrams(pool, packed, NgramKinds{{2, 1}, {}}, 1), InvalidInput);
}

}  // namespace loglinear::tests::text

namespace loglinear::tests::text_conll {

using namespace loglinear::text;
using namespace loglinear;

namespace {

ConllData conll(const std::string& text, int n_threads = 1, std::size_t chunk_size = 1 << 18) {
  ThreadPool pool(n_threads);
  return parse_conll(pool, text, Separator::detect, false, chunk_size);
}

bool same(const ConllData& a, const ConllData& b) {
  if (a.sequence_ptr != b.sequence_ptr || a.first_lines != b.first_lines || a.columns.size() != b.columns.size())
    return false;
  for (std::size_t c = 0; c < a.columns.size(); ++c)
    if (a.columns[c].ids != b.columns[c].ids || a.columns[c].values.blob != b.columns[c].values.blob) return false;
  return true;
}

std::string garbage(std::mt19937& random, const char* alphabet, std::size_t n_letters) {
  std::string text;
  for (std::size_t n = random() % 200; n; --n) text += alphabet[random() % n_letters];
  return text;
}

}  // namespace

TEST(conll_sequences_and_columns) {
  const ConllData data = conll("\n\na b\r\n c  b \n\n\nd a");
  CHECK((data.sequence_ptr == std::vector<std::int64_t>{0, 2, 3}));
  CHECK((data.first_lines == std::vector<std::int64_t>{3, 7}));
  CHECK((data.columns[0].ids == std::vector<std::int32_t>{0, 1, 2}));
  CHECK((data.columns[1].ids == std::vector<std::int32_t>{0, 0, 1}));
  CHECK(conll("a\tb c\n\td\n").columns[1].values[0] == "b c");
  CHECK(conll("").columns.empty());
  CHECK_THROWS(conll("a b\nc\n"), ParseError);
  CHECK_THROWS(conll("a\rb\nc\n"), ParseError);
  CHECK_THROWS(conll("\xff\n"), ParseError);
}

TEST(conll_any_bytes_any_chunks) {
  std::mt19937 random(1);
  static const char alphabet[] = "ab# \t\n\n\r\0\xc3\xa9";
  for (int i = 0; i < 400; ++i) {
    const std::string text = garbage(random, alphabet, sizeof alphabet - 1);
    std::string outcome[2];
    ConllData data[2];
    for (int k = 0; k < 2; ++k) {
      try {
        data[k] = k ? conll(text, 2, 5) : conll(text);
      } catch (const ParseError& error) {
        outcome[k] = std::to_string(error.line) + error.what();
      }
    }
    CHECK(outcome[0] == outcome[1]);
    CHECK(same(data[0], data[1]));
  }
}

TEST(conll_writes_what_it_reads) {
  const std::string text = "a b\nc b\n\nd a\n\n";
  const ConllData data = conll(text);
  std::vector<ConllView> columns;
  for (const ConllColumn& column : data.columns) columns.push_back({column.ids, column.values});
  const std::vector<char> written = format_conll(data.sequence_ptr, columns, ' ');
  CHECK(std::string(written.begin(), written.end()) == text);
  const std::vector<std::int32_t> wild{0, 9, 0};
  columns[0].ids = wild;
  CHECK_THROWS(format_conll(data.sequence_ptr, columns, ' '), InvalidInput);
}

TEST(crfsuite_data) {
  ThreadPool pool(2);
  const std::string text = "A\tw=the\tn\\:x:2\tb\\\\\r\n\nB\nA\tn\\:x\t\n";
  for (const std::size_t chunk : {1, 7, 1000}) {
    const CrfsuiteData data = parse_crfsuite(pool, text, chunk);
    CHECK((data.sequence_ptr == std::vector<std::int64_t>{0, 1, 3}));
    CHECK((data.indptr == std::vector<std::int64_t>{0, 3, 3, 4}));
    CHECK((data.indices == std::vector<std::int32_t>{0, 1, 2, 1}));
    CHECK((data.values == std::vector<double>{1, 2, 1, 1}));
    CHECK((data.labels == std::vector<std::int32_t>{0, 1, 0}));
    CHECK(data.attributes[1] == "n:x");
    CHECK(data.attributes[2] == "b\\");
  }
  CHECK_THROWS(parse_crfsuite(pool, std::string("A\tx:y\n")), ParseError);
  CHECK_THROWS(parse_crfsuite(pool, std::string("\tx\n")), ParseError);
  CHECK_THROWS(parse_crfsuite(pool, std::string("A\t:1\n")), ParseError);
  std::mt19937 random(2);
  static const char alphabet[] = "AB:\\\t\t\n\n\r1.e\0\xff";
  for (int i = 0; i < 400; ++i) {
    const std::string wild = garbage(random, alphabet, sizeof alphabet - 1);
    try {
      const CrfsuiteData data = parse_crfsuite(pool, wild, 9);
      CHECK(data.indptr.back() == static_cast<std::int64_t>(data.indices.size()));
    } catch (const ParseError& error) {
      CHECK(error.line >= 1);
    }
  }
}

}  // namespace loglinear::tests::text_conll
