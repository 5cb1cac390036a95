// Running text: JSON lines, words and characters, n-grams of texts, regular expressions, templates; numbers and strings.
#include <cmath>

#include "fuzz/target.hh"
#include "ime/lexicon.hh"
#include "text/corpus.hh"
#include "text/json_lines.hh"
#include "text/templates.hh"
#include "text/text_ngrams.hh"
#include "text/wapiti_regex.hh"
#include "util/parse_double.hh"
#include "util/words.hh"

namespace loglinear::fuzz::texts {
namespace {

using namespace text;

void use_json(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t chunk_size = input.chunk_size();
  const std::vector<char> file = input.text();
  const JsonTexts texts = json_texts(pool, file, "text", chunk_size);
  std::size_t n = 0;
  for (const char c : texts.text) n += c == '\n';
  expect(n == texts.places.size(), "JSON lines: lines without a place");
}

std::vector<Bytes> json_seeds() {
  std::vector<Bytes> seeds;
  for (const char* file : {"{\"text\": \"a \\u00e9 b\", \"n\": [1, -2.5e3, true, null]}\n\n{\"x\": {\"text\": 1}, \"text\": \"\"}",
                           "{\"text\":\"\\ud83d\\ude00\\n\\\"\\\\/\"}\r\n{\"text\": \"c\", \"y\": {}}\n"})
    seeds.push_back(Seed().byte(0).byte(3).text(file));
  return seeds;
}

void use_corpus(Input& input) {
  ThreadPool& pool = input.pool();
  CorpusOptions options;
  options.chunk_size = input.chunk_size();
  const std::size_t settings = input.byte(), cut = input.byte();
  options.unit = static_cast<Unit>(settings % 3);
  options.keep_empty = settings & 4, options.skip_boundaries = settings & 8;
  const std::vector<char> all = input.text();
  const std::span<const char> text(all);
  const std::size_t middle = std::min(cut, all.size());
  const std::vector<std::span<const char>> files{text.first(middle), text.subspan(middle)};
  const TokenisedCorpus corpus = tokenise_corpus(pool, files, options);
  for (const std::uint32_t t : corpus.tokens) expect(t < corpus.units.size(), "corpus: a token is no unit");
  expect(corpus.sentence_ptr.back() == static_cast<std::int64_t>(corpus.tokens.size()), "corpus: tokens are lost");
}

void use_ngrams(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t settings = input.byte(), min_count = input.below(4);
  const std::size_t n_texts = 1 + input.below(4);
  PackedStrings texts, stop, names;
  stop.push_back("the");
  for (std::size_t i = 0; i < n_texts; ++i) texts.push_back(input.short_text());
  for (const char* name : {"A", "B"}) names.push_back(name);
  const StringIndex stop_words(stop);
  NgramKinds kinds;
  if (settings & 1) kinds.orders = {1, 2, 4};
  else if (settings & 2) kinds.orders = {2};
  if (settings & 4 || kinds.orders.empty()) kinds.char_orders = {1, 3};
  kinds.across_words = settings & 8;
  if (settings & 16) kinds.stop_words = &stop_words;
  const TextNgrams fitted = fit_text_ngrams(pool, texts, kinds, static_cast<std::int64_t>(min_count));
  const StringIndex vocabulary(fitted.names);
  const CountRows again = count_text_ngrams(pool, texts, kinds, vocabulary);
  expect(again.indices == fitted.rows.indices && again.values == fitted.rows.values, "n-grams: not counted again");
  for (const std::int32_t i : hash_text_ngrams(pool, texts, kinds, 7, {}).indices) expect(i < 7, "n-grams: no bucket");
  const std::vector<std::int32_t> labels{0};
  replace_words(pool, texts, stop_words, labels, names, "_");
}

std::vector<Bytes> corpus_seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {0, 1, 2, 12})
    seeds.push_back(Seed().byte(0).byte(3).byte(settings).byte(9).text("the dog\t<s> b \r\n\n\xc3\xa9 a\nc d </s>"));
  return seeds;
}

std::vector<Bytes> ngram_seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {1, 2, 5, 12, 31})
    seeds.push_back(Seed().byte(0).byte(settings).byte(1).byte(1).short_text("the dog's dog, the cat").short_text(
        "\xe3\x81\x82\xe3\x81\x84 a a\xe2\x80\x99""b"));
  return seeds;
}

void use_regex(Input& input) {
  const std::vector<std::uint32_t> characters{0xE9, 0x3042};
  const std::vector<std::uint8_t> classes{kLower | kLetter, kLetter};
  const CharacterClasses known{characters, classes};
  const WapitiRegex regex(input.short_text());
  PackedStrings strings;
  strings.push_back(input.short_text());
  const std::vector<char> rest = input.text();
  strings.push_back({rest.data(), rest.size()});
  const std::vector<std::uint8_t> found = regex_test(regex, strings, known);
  const PackedStrings extracted = regex_extract(regex, strings, known);
  WapitiRegex::Scratch scratch;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const WapitiRegex::Match match = regex.search(strings[i], known, scratch);
    expect(match.found == (found[i] != 0) && (!match.found || match.end <= strings[i].size()), "regex: no such match");
  }
}

std::vector<Bytes> regex_seeds() {
  std::vector<Bytes> seeds;
  for (const char* pattern : {"^\\u\\l*$", "..?$", "\\d*\\.", "a*b?.\\S", "\\a\\p\\w*x$"})
    seeds.push_back(Seed().short_text(pattern).short_text("Abc1.").text("x-y \xc3\xa9\xe3\x81\x82"));
  return seeds;
}

// Sequences of tokens with two views, templates over them, known attributes.
struct TemplateInput {
  std::vector<std::int64_t> sequence_ptr, ptr;
  std::vector<Macro> macros;
  std::vector<std::int32_t> ids[2], maps[2];

  explicit TemplateInput(Input& input) {
    sequence_ptr = input.array<std::int64_t>();
    for (auto& v : ids) v = input.array<std::int32_t>();
    for (auto& v : maps) v = input.array<std::int32_t>();
    ptr = input.array<std::int64_t>();
    for (std::size_t n = input.byte(); n > 0; --n) {
      const auto row = input.byte(), view = input.byte();
      const std::int32_t rows[] = {kAnyBefore, kAnyAfter, 1000, -1000, 1001};
      macros.push_back({row < 240 ? row % 16 - 8 : rows[row % 5], view % 4, (view & 8) != 0});
    }
  }
};

void use_templates(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t settings = input.byte(), n_borders = input.below(3);
  const TemplateInput t(input);
  AttributesView known;
  const std::vector<std::int32_t> templates = input.array<std::int32_t>(), codes = input.array<std::int32_t>();
  if (settings & 1) known = {templates, codes};
  const TemplateSet set(t.ptr, t.macros, 2, n_borders);
  const ViewedTokens<std::int32_t> tokens{t.sequence_ptr, {t.ids[0], t.ids[1]}, {t.maps[0], t.maps[1]}};
  const FittedAttributes fitted = fit_attributes(pool, set, tokens, known, static_cast<std::int64_t>(settings / 2 % 4));
  std::vector<std::int64_t> n_values;
  for (const auto& map : t.maps) {
    std::int64_t n = 0;
    for (const std::int32_t code : map) n = std::max<std::int64_t>(n, std::int64_t{code} + 1);
    n_values.push_back(n);
  }
  const AttributeIndex index(set, {fitted.attributes.templates, fitted.attributes.codes}, n_values);
  const AttributeRows again = index.find(pool, tokens);
  expect(again.indptr == fitted.rows.indptr && again.indices == fitted.rows.indices, "templates: other attributes");
  std::vector<std::uint64_t> hashes[2];
  for (std::size_t v = 0; v < 2; ++v)
    for (const std::int32_t code : t.maps[v]) hashes[v].push_back(mix_bits(static_cast<std::uint64_t>(code)));
  std::vector<std::int32_t> first;
  for (std::size_t i = 0; i < set.size(); ++i) first.push_back(static_cast<std::int32_t>(16 * i));
  hash_attributes(pool, set, {t.sequence_ptr, {t.ids[0], t.ids[1]}, {hashes[0], hashes[1]}}, first, 4);
}

std::vector<Bytes> template_seeds() {
  using Longs = std::vector<std::int64_t>;
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {0, 2}) {
    Seed seed;
    seed.byte(0).byte(settings).byte(0).array(Longs{0, 3, 5});
    for (int v = 0; v < 2; ++v) seed.array(Longs{0, 1, 2, 1, 0});
    for (int v = 0; v < 2; ++v) seed.array(Longs{0, 1, 2});
    seed.array(Longs{0, 1, 3, 5}).byte(5);
    for (const std::size_t macro : {8, 7, 9, 240, 8}) seed.byte(macro).byte(macro & 1);
    seeds.push_back(seed.array(Longs{}).array(Longs{}));
  }
  return seeds;
}

void use_strings(Input& input) {
  const PackedStrings a = input.strings(), queries = input.strings();
  const std::vector<std::int64_t> chosen = input.array<std::int64_t>();
  const std::vector<char> rest = input.text();
  const auto* const begin = reinterpret_cast<const unsigned char*>(rest.data());
  for (std::size_t at = 0; at < rest.size();) {
    const CodePoint c = decode_utf8(begin + at, begin + rest.size());
    expect(c.length > 0 && c.length <= rest.size() - at, "UTF-8: a character ends behind the text");
    at += c.length;
  }
  std::size_t words = 0;
  for_each_word({rest.data(), rest.size()}, [&](std::string_view word) { words += word.size(); });
  expect(words <= rest.size(), "words are longer than the text");
  double value = 0.0;
  if (const char* end = parse_double(rest.data(), rest.data() + rest.size(), value))
    expect(end <= rest.data() + rest.size() && !std::isnan(value), "a number that is none");
  Interner interner;
  for_each_word({rest.data(), rest.size()}, [&](std::string_view word) { interner.intern(word); });
  const StringIndex own(interner.strings());
  for (std::size_t i = 0; i < own.size(); ++i)
    expect(own.find(interner.strings()[i]) == static_cast<std::int32_t>(i), "a string is not found");
  a.offsets.empty() ? void() : Strings(a).check();
  const ime::SplitTokens split = ime::split_tokens(a);
  expect(split.malformed >= 0 || split.surface.size() == a.size(), "tokens are lost");
  const PackedStrings picked = gather(a, chosen);
  const StringIndex index(a);
  std::vector<std::int32_t> out(queries.offsets.empty() ? 0 : queries.size());
  index.find_all(queries, out);
}

std::vector<Bytes> string_seeds() {
  PackedStrings a;
  for (const char* s : {"A|a", "B|b", "|||", "\xe7\x8a\xac|x"}) a.push_back(s);
  const std::vector<std::int64_t> chosen{0, 2};
  std::vector<Bytes> seeds;
  for (const char* rest : {"it's \xc3\xa9 \xf0\x9f\x98\x80 b b", "-12.5e-3x", "99999999999999999999.1e+300", ".5"})
    seeds.push_back(Seed().strings(a).strings(a).array(chosen).text(rest));
  return seeds;
}

[[maybe_unused]] const bool added =
    add_target({"json", use_json, json_seeds, {"\"text\": ", "\\u", "\\ud83d", "{", "}", "[", "]", ",", "1e9", "null", "\\n"}}) &&
    add_target({"corpus", use_corpus, corpus_seeds, {"<s>", "</s>", "\n", "\r\n", " ", "\xe3\x80\x80", "\xff"}}) &&
    add_target({"ngrams", use_ngrams, ngram_seeds, {"the ", "'", "\xc3\xa9", "\xff", " a"}}) &&
    add_target({"regex", use_regex, regex_seeds, {"*", "?", "\\", "^", "$", "\\d", "\\W", "."}}) &&
    add_target({"templates", use_templates, template_seeds, {}}) &&
    add_target({"strings", use_strings, string_seeds, {"|", "e+", "e-", "\xff", "00000000000000000000"}});

}  // namespace
}  // namespace loglinear::fuzz::texts
