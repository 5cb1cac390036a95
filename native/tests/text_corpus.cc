// Text to numbers, and the strings of JSON lines, without Python.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "text/corpus.hh"
#include "text/json_lines.hh"
#include "util/errors.hh"

namespace loglinear::tests::text_corpus {

using namespace loglinear::text;
using namespace loglinear;

namespace {

TokenisedCorpus tokenise(const std::vector<std::string>& texts, const CorpusOptions& options = {}, int n_threads = 1) {
  ThreadPool pool(n_threads);
  std::vector<std::span<const char>> views(texts.begin(), texts.end());
  return tokenise_corpus(pool, views, options);
}

bool same(const TokenisedCorpus& a, const TokenisedCorpus& b) {
  return a.tokens == b.tokens && a.sentence_ptr == b.sentence_ptr && a.n_lines == b.n_lines &&
         a.units.blob == b.units.blob && a.units.offsets == b.units.offsets && a.counts == b.counts &&
         a.first_text == b.first_text && a.first_line == b.first_line;
}

struct Fault {
  std::int64_t line = 0, offset = 0;
  bool operator==(const Fault&) const = default;
};

Fault fault(const std::vector<std::string>& texts, const CorpusOptions& options = {}) {
  try {
    tokenise(texts, options);
  } catch (const ParseError& error) {
    return {error.line, error.offset};
  }
  return {};
}

// Units and sentences of one text the slow way, for valid words.
bool agrees_with_plain_words(const std::string& text, const TokenisedCorpus& corpus) {
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> tokens;
  std::vector<std::int64_t> sentence_ptr{0};
  std::string word;
  for (const char c : text + "\n") {
    if (std::string(" \t\r\v\f\n").find(c) == std::string::npos) {
      word += c;
      continue;
    }
    if (!word.empty())
      tokens.push_back(numbers.try_emplace(word, static_cast<std::uint32_t>(numbers.size())).first->second);
    word.clear();
    if (c == '\n' && static_cast<std::int64_t>(tokens.size()) > sentence_ptr.back())
      sentence_ptr.push_back(static_cast<std::int64_t>(tokens.size()));
  }
  return tokens == corpus.tokens && sentence_ptr == corpus.sentence_ptr && numbers.size() == corpus.units.size();
}

}  // namespace

TEST(corpus_words_and_sentences) {
  const TokenisedCorpus corpus = tokenise({"\n b a\tb \r\n\n a\vc\fa", "c d\n"});
  CHECK((corpus.tokens == std::vector<std::uint32_t>{0, 1, 0, 1, 2, 1, 2, 3}));
  CHECK((corpus.sentence_ptr == std::vector<std::int64_t>{0, 3, 6, 8}));
  CHECK((corpus.n_lines == std::vector<std::int64_t>{4, 1}));
  CHECK((corpus.counts == std::vector<std::int64_t>{2, 3, 2, 1}));
  CHECK((corpus.first_text == std::vector<std::int32_t>{0, 0, 0, 1}));
  CHECK((corpus.first_line == std::vector<std::int64_t>{2, 2, 4, 1}));
  CHECK(corpus.units[3] == "d");
  CHECK(tokenise({}).sentence_ptr.size() == 1);
  CHECK(tokenise({"", " \n\n"}).sentence_ptr.size() == 1);
}

TEST(corpus_empty_lines_and_boundaries) {
  const CorpusOptions options{Unit::words, true, true};
  const TokenisedCorpus corpus = tokenise({"<s> a </s>\n\n</s>\n<s>x"}, options);
  CHECK((corpus.sentence_ptr == std::vector<std::int64_t>{0, 1, 1, 1, 2}));
  CHECK(corpus.units[1] == "<s>x");
}

TEST(corpus_characters_and_bytes) {
  const TokenisedCorpus characters = tokenise({"a \xc3\xa9\r\n\xe2\x82\xac\ta\r\r\n\n"}, {Unit::characters});
  CHECK((characters.tokens == std::vector<std::uint32_t>{0, 1, 2, 3, 1, 0, 1}));
  CHECK((characters.sentence_ptr == std::vector<std::int64_t>{0, 3, 7}));
  CHECK(characters.units[1] == "\xE2\x96\x81");
  CHECK(characters.units[3] == "\xe2\x82\xac");
  const TokenisedCorpus bytes = tokenise({std::string("a \xff\0\n~a", 7)}, {Unit::bytes});
  CHECK((bytes.tokens == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 0}));
  CHECK(bytes.units[1] == "<0x20>");
  CHECK(bytes.units[2] == "<0xFF>");
  CHECK(bytes.units[3] == "<0x00>");
  CHECK(bytes.units[4] == "~");
}

TEST(corpus_faults_have_places) {
  const std::string nul("a\nb\0c\n", 6), latin("a\n\xe9\n");
  CHECK((fault({nul}) == Fault{2, 3}));
  CHECK((fault({"x\ny\n", nul}) == Fault{2, 7}));
  CHECK((fault({latin}) == Fault{2, 2}));
  CHECK((fault({latin, nul}, {Unit::characters}) == Fault{2, 2}));
  CHECK((fault({nul}, {Unit::characters}) == Fault{2, 3}));
  CHECK((fault({"\xed\xa0\x80"}, {Unit::characters}) == Fault{1, 0}));  // a surrogate
  CHECK((fault({nul, latin}, {Unit::bytes}) == Fault{}));
}

TEST(corpus_any_bytes_any_chunks) {
  std::mt19937 random(1);
  static const char alphabet[] = "ab<s>/  \t\n\n\r\xc3\xa9\xc3\xa9";
  for (int i = 0; i < 600; ++i) {
    std::vector<std::string> texts(1 + random() % 3);
    for (std::string& text : texts)
      for (std::size_t n = random() % 120; n; --n) text += alphabet[random() % (sizeof alphabet - 1)];
    CorpusOptions options{static_cast<Unit>(random() % 3), random() % 2 == 0, random() % 2 == 0};
    std::string outcome[2];
    TokenisedCorpus corpus[2];
    for (int k = 0; k < 2; ++k) {
      try {
        options.chunk_size = k ? 1 + random() % 20 : 0;
        corpus[k] = tokenise(texts, options, k ? 3 : 1);
      } catch (const ParseError& error) {
        outcome[k] = std::to_string(error.line) + ":" + std::to_string(error.offset) + error.what();
      }
    }
    CHECK(outcome[0] == outcome[1]);
    CHECK(same(corpus[0], corpus[1]));
    if (texts.size() == 1 && options.unit == Unit::words && !options.keep_empty && !options.skip_boundaries &&
        outcome[0].empty())
      CHECK(agrees_with_plain_words(texts[0], corpus[0]));
  }
}

TEST(corpus_renumbers) {
  ThreadPool pool(2);
  std::vector<std::uint32_t> tokens(100000, 2);
  tokens[5] = 0;
  const std::vector<std::uint32_t> numbers{7, 8, 9};
  renumber_tokens(pool, tokens, numbers);
  CHECK(tokens[5] == 7 && tokens[0] == 9 && tokens.back() == 9);
  CHECK_THROWS(renumber_tokens(pool, tokens, numbers), InvalidInput);
  CHECK(tokens[5] == 7);
}

}  // namespace loglinear::tests::text_corpus

// ---- strings of JSON lines: any bytes, in exact-size buffers, so that sanitizers see a read past the end -------------
namespace loglinear::tests::text_json_lines {

using namespace loglinear::text;
using namespace loglinear;

namespace {

struct Outcome {
  std::vector<char> text;
  std::vector<std::int64_t> places;
  std::int64_t n_lines = 0, fault = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome read(const std::string& input, int n_threads = 1, std::size_t chunk_size = 0) {
  const auto exact = std::make_unique<char[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  ThreadPool pool(n_threads);
  try {
    JsonTexts found = json_texts(pool, {exact.get(), input.size()}, "text", chunk_size);
    return {found.text, found.places, found.n_lines, 0};
  } catch (const ParseError& error) {
    return {{}, {}, 0, error.line};
  }
}

std::string text_of(const std::string& input) {
  const Outcome found = read(input);
  return {found.text.begin(), found.text.end()};
}

}  // namespace

TEST(json_lines_decode_strings) {
  CHECK(text_of(R"({"text": "a\u00e9\ud83d\ude00\t\/"})") == "a\xC3\xA9\xF0\x9F\x98\x80\t/\n");
  CHECK(text_of("{\"x\": [1, {\"text\": null}], \"text\": \"b\"}\r\n\n {\"t\\u0065xt\": \"\"}") == "b\n\n");
  const Outcome found = read("{\"text\": \"a\\nb\"}\n\n{\"text\": \"c\"}\n");
  CHECK(found.places == (std::vector<std::int64_t>{1, 1, 3}) && found.n_lines == 3);
}

TEST(json_lines_name_the_line_of_a_fault) {
  for (const char* bad : {"{", "x", "{\"text\": 1}", "{\"text\": \"", "{\"text\": \"\\u12", "{\"text\": \"\\", "{} {}"})
    CHECK(read("{\"text\": \"a\"}\n\n" + std::string(bad)).fault == 3);
}

TEST(json_lines_do_not_depend_on_chunks) {
  const std::vector<std::string> pieces{"{",  "}", "\"text\"", ":", ",",   "\"", "\\", "\\u", "d83d", "[",
                                        "]",  "1", "-",        ".", "e",   "nu", "ll", " ",   "\n",   "a",
                                        "{\"text\": \"b c\"}\n", "{\"text\":\"\\ud83d\\ude00\"}\n"};
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string input;
    for (std::size_t n = random() % 12; n > 0; --n) input += pieces[random() % pieces.size()];
    CHECK(read(input) == read(input, 3, 1 + random() % 20));
  }
}

}  // namespace loglinear::tests::text_json_lines
