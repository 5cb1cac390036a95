// Back-off models: ARPA files, KenLM's binary files, automata and tries of model files, input methods.
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "arpa/lines.hh"
#include "arpa/text.hh"
#include "backoff/query.hh"
#include "disk/open_file.hh"
#include "disk/scratch.hh"
#include "fuzz/target.hh"
#include "ime/decode.hh"
#include "kenlm/query.hh"
#include "kenlm/write.hh"

namespace loglinear::fuzz::language_models {
namespace {

using namespace backoff;

constexpr const char* kModel =
    "\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.5\n-0.75\t</s>\n-0.25\ta\t-0.25\n"
    "-1\tb\t-0.125\n\n\\2-grams:\n-0.25\t<s> a\t-0.125\n-0.5\ta b\n-0.5\tb </s>\n\n\\3-grams:\n-0.125\t<s> a b\n\n\\end\\\n";
constexpr const char* kOther =
    "\\data\\\r\nngram 1=3\r\nngram 2=2\r\n\r\n\\1-grams:\r\n0 <s> -0.5\r\n-1 </s>\r\n-1 \xc3\xa9 0\r\n\\2-grams:\r\n-1 <s> "
    "\xc3\xa9\r\n-1 \xc3\xa9 \xc3\xa9\r\n\\end\\\r\n";

arpa::ArpaModel model_of(const char* text) {
  ThreadPool pool(1);
  return arpa::parse_arpa(pool, std::string_view(text));
}

// ---- ARPA files ------------------------------------------------------------------------------------------------------
std::vector<char> text_of(ThreadPool& pool, const arpa::ArpaModel& read) {
  const arpa::ArpaText text(pool, read.model, read.words);
  std::string all = "\\data\\\n";
  const auto orders = text.order();
  for (std::size_t n = 1; n <= orders; ++n)
    all += "ngram " + std::to_string(n) + "=" + std::to_string(text.n_lines(n)) + "\n";
  for (std::size_t n = 1; n <= orders; ++n) {
    const std::vector<char> lines = text.lines(pool, n, 0, text.n_lines(n), 9);
    all += "\n\\" + std::to_string(n) + "-grams:\n" + std::string(lines.begin(), lines.end());
  }
  all += "\n\\end\\\n";
  return {all.begin(), all.end()};
}

void use_arpa(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t chunk_size = input.chunk_size();
  const bool any_bytes = input.flag();
  const std::vector<char> file = input.text();
  const arpa::ArpaModel read = arpa::parse_arpa(pool, file, chunk_size, any_bytes);
  const BackoffArrays model = read.model;
  model.shape.check_backoff(pool);
  model.check_values(pool);
  const OwnedAutomaton automaton = build_automaton(pool, model);
  BackoffAutomaton(automaton).check(pool);
  const StringIndex words(read.words);
  score_text({automaton, words, 0}, "a b\ta x </s>", {});
  const std::vector<char> written = text_of(pool, read);
  try {
    const arpa::ArpaModel again = arpa::parse_arpa(pool, written, chunk_size + 3, any_bytes);
    expect(again.words.size() == read.words.size(), "ARPA: words are lost");
  } catch (const ParseError& error) {
    throw Broken(std::string("ARPA: what is written is not read back: ") + error.what());
  }
}

std::vector<Bytes> arpa_seeds() {
  std::vector<Bytes> seeds;
  for (const char* file : {kModel, kOther})
    for (const std::size_t any_bytes : {0, 1}) seeds.push_back(Seed().byte(0).byte(4).byte(any_bytes).text(file));
  return seeds;
}

void use_lines(Input& input) {
  ThreadPool& pool = input.pool();
  const auto n_words = input.number<std::size_t>() % 8;
  std::vector<arpa::NgramLines> lines(input.below(5));
  for (arpa::NgramLines& l : lines) l.words = input.array<std::uint32_t>(), l.kind = input.array<std::uint8_t>();
  const arpa::PlacedLines placed = arpa::place_lines(pool, n_words, lines);
  if (!placed.duplicate) trie::TrieView(placed.shape).check_backoff(pool);
}

std::vector<Bytes> lines_seeds() {
  using Numbers = std::vector<std::uint32_t>;
  return {Seed().byte(0).number(3).byte(2).array(Numbers{0, 1, 2}).array(Numbers{1, 3, 1}).array(Numbers{3, 1, 1, 2}).array(
      Numbers{1, 1})};
}

// ---- binary files of KenLM -------------------------------------------------------------------------------------------
void use_kenlm(Input& input) {
  ThreadPool& pool = input.pool();
  const std::string_view text = input.short_text();
  const std::vector<char> bytes = input.text();
  const std::span<const std::uint8_t> file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const kenlm::Model model(file);
  kenlm::State state = model.begin_state();
  try {
    kenlm::score_tokens(model, text, state, true);
    const std::string_view texts[] = {text, "a b"};
    kenlm::score_texts(pool, model, texts, {});
  } catch (const InvalidInput&) {  // a value that is no number, seen by this text: go on with the others
  }
  try {
    const std::vector<std::string_view> words = kenlm::words_of(model);
    for (std::size_t i = 0; i < words.size() && i < 8; ++i) model.number_of(words[i]);
  } catch (const InvalidInput&) {
  }
  if (!model.layout().is_probing()) kenlm::list_ngrams(model);
}

std::vector<Bytes> kenlm_seeds() {
  std::vector<Bytes> seeds;
  ThreadPool pool(1);
  for (const char* file : {kModel, kOther}) {
    const arpa::ArpaModel read = model_of(file);
    const arpa::ArpaText text(pool, read.model, read.words);
    for (const kenlm::TrieSettings settings : {kenlm::TrieSettings{0, 0, 0}, {8, 8, 0}, {0, 0, 4}, {4, 5, 22}}) {
      const Bytes binary = kenlm::write_trie(pool, text, settings);
      Seed seed;
      seed.byte(0).short_text("a b a x");
      seeds.push_back(seed.text({reinterpret_cast<const char*>(binary.data()), binary.size()}));
    }
  }
  return seeds;
}

// ---- automata ----------------------------------------------------------------------------------------------------------
struct AutomatonInput {
  std::size_t n_words;
  std::uint32_t begin;
  std::vector<std::int64_t> context_start;
  std::vector<AutomatonContext> contexts;
  std::vector<AutomatonEntry> entries;

  explicit AutomatonInput(Input& input)
      : n_words(input.number<std::size_t>()), begin(input.number<std::uint32_t>()),
        context_start(input.array<std::int64_t>()) {
    contexts.resize(input.byte());
    for (AutomatonContext& c : contexts) {
      c.first = input.number<std::uint32_t>(), c.size = input.number<std::uint32_t>();
      c.parent = input.number<std::uint32_t>(), c.log_backoff = input.number<float>();
    }
    entries.resize(input.byte());
    for (AutomatonEntry& e : entries)
      e = {input.number<std::uint32_t>(), input.number<float>(), input.number<std::uint32_t>()};
  }
  BackoffAutomaton view() const { return {n_words, begin, context_start, contexts, entries, nullptr}; }
};

void add_automaton(Seed& seed, const OwnedAutomaton& a) {
  seed.number(a.n_words).number(a.begin).array(a.context_start).byte(a.contexts.size());
  for (const AutomatonContext& c : a.contexts) seed.number(c.first).number(c.size).number(c.parent).number(c.log_backoff);
  seed.byte(a.entries.size());
  for (const AutomatonEntry& e : a.entries) seed.number(e.word).number(e.log_probability).number(e.next);
}

OwnedAutomaton automaton_of(const char* text) {
  ThreadPool pool(1);
  const arpa::ArpaModel read = model_of(text);
  return build_automaton(pool, read.model);
}

// One context with so many words that they are a table.
OwnedAutomaton wide_automaton() {
  ThreadPool pool(1);
  trie::OwnedShape shape;
  std::vector<double> log_backoff{0.0, -0.5}, log_probability;
  shape.order = 2, shape.n_words = 24;
  shape.context_start = {0, 1, 2}, shape.context_word = {trie::kNowhere, 1}, shape.context_child = {1, 2, 2};
  for (std::uint32_t w = 0; w < 24; ++w) shape.entry_word.push_back(w);
  for (std::uint32_t w = 0; w < 24; w += 2) shape.entry_word.push_back(w);
  shape.entry_start = {0, 24, 36}, shape.context_entry = {0, 24, 36};
  for (std::size_t e = 0; e < 36; ++e) log_probability.push_back(-1.0);
  return build_automaton(pool, {shape, log_backoff, log_probability});
}

void ask(ThreadPool& pool, const BackoffAutomaton& automaton, std::span<const std::uint32_t> words, std::size_t n_states) {
  const std::int64_t n = static_cast<std::int64_t>(words.size());
  const std::vector<std::int64_t> sentence_ptr{0, n / 2, n};
  score_sentences(pool, automaton, kBlank, words, sentence_ptr);
  std::vector<double> p(automaton.n_words);
  for (std::uint32_t state = 0; state < n_states && state < 4; ++state) next_distribution(automaton, state, p);
  most_probable(p, 3);
  sample_sentences(pool, automaton, automaton.begin, 2, 5, 1.0, kBlank, 7);
}

std::vector<std::uint32_t> known_words(Input& input, std::size_t n_words) {
  std::vector<std::uint32_t> words = input.array<std::uint32_t>();
  for (std::uint32_t& word : words) word = n_words == 0 ? 0 : static_cast<std::uint32_t>(word % n_words);
  return words;
}

void use_automaton(Input& input) {
  ThreadPool& pool = input.pool();
  const AutomatonInput a(input);
  const BackoffAutomaton automaton = a.view();
  automaton.check(pool);
  ask(pool, automaton, known_words(input, a.n_words), a.contexts.size());
}

// The same arrays in a file, read and checked block by block.
void use_blocks(Input& input) {
  ThreadPool& pool = input.pool();
  const AutomatonInput a(input);
  const std::vector<std::uint32_t> words = known_words(input, a.n_words);
  static std::FILE* const file = std::tmpfile();
  const std::size_t contexts_size = a.contexts.size() * sizeof(AutomatonContext);
  const std::size_t entries_size = a.entries.size() * sizeof(AutomatonEntry);
  const int fd = fileno(file);
  const auto write = [&](const void* from, std::size_t n, std::size_t at) {
    if (pwrite(fd, from, n, static_cast<off_t>(at)) != static_cast<ssize_t>(n)) throw disk::IoError(errno, "temporary file");
  };
  if (ftruncate(fd, static_cast<off_t>(contexts_size + entries_size)) != 0) throw disk::IoError(errno, "temporary file");
  write(a.contexts.data(), contexts_size, 0);
  write(a.entries.data(), entries_size, contexts_size);
  const disk::OpenFile open(fd, "model");
  std::vector<AutomatonContext> contexts(a.contexts.size());
  std::vector<AutomatonEntry> entries(a.entries.size());
  BackoffAutomaton automaton{a.n_words, a.begin, a.context_start, contexts, entries, nullptr};
  const StoredAutomaton stored{&open, 0, contexts_size, contexts.data(), entries.data()};
  const CheckedBlocks blocks(automaton, &stored);
  automaton.blocks = &blocks;
  automaton.check_frame();
  ask(pool, automaton, words, contexts.size());
}

std::vector<Bytes> automaton_seeds() {
  std::vector<Bytes> seeds;
  for (const OwnedAutomaton& a : {automaton_of(kModel), automaton_of(kOther), wide_automaton()}) {
    Seed seed;
    seed.byte(0);
    add_automaton(seed, a);
    seeds.push_back(seed.array(std::vector<std::uint32_t>{1, 2, 3, 1, 0, 2}));
  }
  return seeds;
}

// ---- input methods -----------------------------------------------------------------------------------------------------
void use_conversion(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t settings = input.byte();
  const AutomatonInput a(input);
  const PackedStrings surfaces = input.strings(), readings = input.strings();
  const std::vector<std::int64_t> reading_ptr = input.array<std::int64_t>();
  const std::vector<std::uint32_t> surface = input.array<std::uint32_t>();
  const std::vector<float> log_channel = input.array<float>();
  const std::vector<std::uint32_t> word = input.array<std::uint32_t>();
  PackedStrings asked;
  asked.push_back(input.short_text());
  asked.push_back(input.short_text());
  const BackoffAutomaton automaton = a.view();
  automaton.check(pool);
  const ime::LexiconArrays lexicon{surfaces, readings, reading_ptr, surface, log_channel, word};
  const ime::ConversionIndex index(pool, automaton, lexicon, a.n_words > 1 ? 1 : kBlank);
  const ime::ConversionOptions options{1 + settings % 4, (settings & 8) != 0, (settings & 16) != 0};
  const ime::Conversions found = convert_readings(pool, index, asked, options);
  expect(found.sentence_ptr.size() == 3 && found.score.size() == found.texts.size(), "conversions: scores are lost");
}

std::vector<Bytes> conversion_seeds() {
  PackedStrings surfaces, readings;
  for (const char* s : {"A", "B", "C"}) surfaces.push_back(s);
  for (const char* r : {"x", "xy", "y"}) readings.push_back(r);
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {0, 3, 26}) {
    Seed seed;
    seed.byte(0).byte(settings);
    add_automaton(seed, automaton_of(kModel));
    seed.strings(surfaces).strings(readings).array(std::vector<std::int64_t>{0, 2, 3, 4});
    seed.array(std::vector<std::uint32_t>{0, 1, 1, 2}).array(std::vector<float>{0.0f, -0.5f, 0.0f, -0.25f});
    seed.array(std::vector<std::uint32_t>{2, 3, ime::kNoWord});
    seeds.push_back(seed.short_text("xyx y").short_text("xyz\xc3\xa9x"));
  }
  return seeds;
}

const std::vector<std::string> kArpaWords{"\\data\\\n", "\\end\\\n", "ngram 2=1\n", "\\2-grams:\n", "<s>", "</s>", "<unk>",
                                          "-1\t", "-inf", "1e999", "-1 a b\n", "\n", "\r\n", "\t"};

[[maybe_unused]] const bool added =
    add_target({"arpa", use_arpa, arpa_seeds, kArpaWords}) &&
    add_target({"lines", use_lines, lines_seeds, {}}) &&
    add_target({"kenlm", use_kenlm, kenlm_seeds, {"\xff\xff\xff\xff", std::string(8, '\0'), "a", "b", "<s>"}}) &&
    add_target({"automaton", use_automaton, automaton_seeds, {}}) &&
    add_target({"blocks", use_blocks, automaton_seeds, {}}) &&
    add_target({"conversion", use_conversion, conversion_seeds, {"x", "y", " ", "\xe3\x81\x82"}});

}  // namespace
}  // namespace loglinear::fuzz::language_models
