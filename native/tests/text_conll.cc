// Readers of CoNLL and CRFsuite data, without Python.
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "text/conll.hh"
#include "text/crfsuite.hh"
#include "util/errors.hh"

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
