#include "ime/decode.hh"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "ime/lattice.hh"
#include "util/errors.hh"
#include "util/reused.hh"

namespace loglinear::ime {

namespace {

constexpr std::size_t kSentencesInChunk = 8;
constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNoSurface = 0xFFFFFFFFu;  // of the end of a sentence, and of the arc to all other words

struct Arc {
  double value;            // weight + best score from behind
  double weight;
  std::uint32_t surface;   // + 1 is compared, so that what adds no word comes first
  std::uint32_t lexeme;
  std::uint32_t to, next;  // node and state; the node of the list itself: the arc to all other words
};

// Equal ones in the order of their words.
bool before(const Arc& a, const Arc& b) {
  if (a.value != b.value) return a.value > b.value;
  return a.surface + 1 != b.surface + 1 ? a.surface + 1 < b.surface + 1 : a.to < b.to;
}

// What can come at a node in a context, sorted as far as it was asked for.
class ArcList {
 public:
  std::vector<std::uint32_t> entered;  // lexemes that are not among all other words
  std::uint32_t node = 0;
  void reset(std::uint32_t at) { node = at, arcs_.clear(), n_left_ = 0, entered.clear(); }
  void add(const Arc& arc) { arcs_.push_back(arc); }
  void finish() {
    n_left_ = arcs_.size();
    std::make_heap(arcs_.begin(), arcs_.end(), after);
  }
  std::size_t size() const { return arcs_.size(); }
  const Arc& at(std::size_t rank) {  // the sorted ones stand at the end, last first
    while (arcs_.size() - n_left_ <= rank) {
      std::pop_heap(arcs_.begin(), arcs_.begin() + static_cast<std::ptrdiff_t>(n_left_), after);
      --n_left_;
    }
    return arcs_[arcs_.size() - 1 - rank];
  }

 private:
  static bool after(const Arc& a, const Arc& b) { return before(b, a); }
  std::vector<Arc> arcs_;
  std::size_t n_left_ = 0;
};

// A string of words, as the last of them and the string before.
struct Prefix {
  std::uint32_t parent, length, surface;
  std::uint32_t text;  // number of what it spells
};

struct Hypothesis {
  double estimate;          // of the best string that begins so
  double score;             // of the prefix
  double backoff;           // where the list is that of the empty context
  std::uint32_t prefix;
  std::uint32_t list, rank;
  std::uint32_t state;      // list of the state, which may have entries of its own
  std::uint32_t surface;    // of the arc
};

class Decoder {
 public:
  Decoder(const ConversionIndex& index, const ConversionOptions& options)
      : index_(index), options_(options), lattice_(index) {}

  // Appends the best strings to the result.
  void decode(std::string_view reading, Conversions& out);

 private:
  void start();
  void enter(std::uint32_t prefix, double score, std::uint32_t node, std::uint32_t context);
  std::uint32_t list(std::uint32_t node, std::uint32_t context);
  void push(Hypothesis h);
  Hypothesis pop();
  bool later(const Hypothesis& a, const Hypothesis& b) const;
  std::uint32_t nth_word(const Hypothesis& h, std::uint32_t n) const;
  bool skips(const Hypothesis& h, const Arc& arc) const;
  std::uint32_t extend(std::uint32_t prefix, std::uint32_t surface);
  std::string_view text_of(std::uint32_t surface) const;
  bool seen(std::uint32_t prefix, const Arc& arc);
  void write(std::uint32_t prefix, double score, Conversions& out);

  const ConversionIndex& index_;
  const ConversionOptions options_;
  ConversionLattice lattice_;
  std::vector<ArcList> lists_;
  std::size_t n_lists_ = 0;
  PairTable<std::uint32_t> list_of_;    // (node, context)
  PairTable<std::uint32_t> children_;   // (prefix, surface)
  PairTable<std::uint32_t> spellings_;  // (text, byte)
  PairTable<std::uint32_t> ends_;       // (prefix or text, node): those that were reached
  PairTable<std::uint32_t> reached_;    // (which of ends_, state)
  std::vector<Prefix> prefixes_;
  std::vector<Hypothesis> heap_;
  std::vector<std::uint32_t> path_;
};

void Decoder::start() {
  n_lists_ = 0;
  list_of_.clear(), children_.clear(), spellings_.clear(), ends_.clear(), reached_.clear();
  prefixes_.assign(1, {0, 0, kNoSurface, 0});
  heap_.clear();
  enter(0, 0.0, 0, index_.automaton().begin);
}

// A string of words that ends at a node in a state.
void Decoder::enter(std::uint32_t prefix, double score, std::uint32_t node, std::uint32_t context) {
  const std::uint32_t from = list(node, context);
  push({0.0, score, 0.0, prefix, from, 0, from, 0});
}

std::uint32_t Decoder::list(std::uint32_t node, std::uint32_t context) {
  if (const std::uint32_t* found = list_of_.find(node, context)) return *found;
  const auto number = static_cast<std::uint32_t>(n_lists_++);
  list_of_.add(node, context, number);
  if (lists_.size() < n_lists_) lists_.emplace_back();
  ArcList& made = lists_[number];
  made.reset(node);
  const auto add = [&](std::uint32_t l, double weight, double behind, const LexemeRun& run, std::uint32_t next) {
    const Lexeme& lexeme = index_.lexeme(l);
    weight += lexeme.channel;
    std::uint32_t surface = lexeme.surface;
    if (l == index_.unknown_lexeme()) surface = static_cast<std::uint32_t>(index_.lexicon().surfaces.size()) + node;
    made.add({weight + behind, weight, surface, l, run.to, next});
  };
  if (context == 0) {
    for (const LexemeRun& run : lattice_.runs(node))
      for (std::uint32_t l = run.begin; l < run.end; ++l)
        add(l, index_.lexeme(l).weight, lattice_.after(run, l), run, index_.lexeme(l).next);
  } else {
    lattice_.best(node, context);  // so that all behind its entries is known
    const auto each = [&](const IndexEntry& entry, const LexemeRun& run, double backoff) {
      add(entry.lexeme, backoff + entry.weight, lattice_.after(run, entry), run, entry.next);
    };
    const double backoff = lattice_.for_entries(node, context, made.entered, each);
    const double others = lattice_.best_without(node, made.entered);
    if (others > kNever) made.add({backoff + others, backoff, kNoSurface, kNoSurface, node, 0});
  }
  made.finish();
  return number;
}

// The n-th word of a hypothesis, that of its arc included; 0 where it has fewer, else 1 + its number.
std::uint32_t Decoder::nth_word(const Hypothesis& h, std::uint32_t n) const {
  std::uint32_t at = h.prefix;
  if (n >= prefixes_[at].length) return n == prefixes_[at].length ? h.surface + 1 : 0;
  while (prefixes_[at].length > n + 1) at = prefixes_[at].parent;
  return prefixes_[at].surface + 1;
}

bool Decoder::later(const Hypothesis& a, const Hypothesis& b) const {
  if (a.estimate != b.estimate) return a.estimate < b.estimate;
  if (a.prefix == b.prefix) return a.surface + 1 > b.surface + 1;
  const std::uint32_t length_a = prefixes_[a.prefix].length, length_b = prefixes_[b.prefix].length;
  const std::uint32_t shorter = std::min(length_a, length_b);
  std::uint32_t x = a.prefix, y = b.prefix, word_x = nth_word(a, shorter), word_y = nth_word(b, shorter);
  while (prefixes_[x].length > shorter) x = prefixes_[x].parent;
  while (prefixes_[y].length > shorter) y = prefixes_[y].parent;
  for (; x != y; x = prefixes_[x].parent, y = prefixes_[y].parent)
    word_x = prefixes_[x].surface + 1, word_y = prefixes_[y].surface + 1;
  return word_x != word_y ? word_x > word_y : length_a > length_b;
}

void Decoder::push(Hypothesis h) {
  ArcList& from = lists_[h.list];
  while (h.rank < from.size() && skips(h, from.at(h.rank))) ++h.rank;
  if (h.rank >= from.size()) return;
  const Arc& arc = from.at(h.rank);
  h.estimate = h.score + h.backoff + arc.value;
  h.surface = arc.surface;
  heap_.push_back(h);
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return later(a, b); });
}

Hypothesis Decoder::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return later(a, b); });
  const Hypothesis h = heap_.back();
  heap_.pop_back();
  return h;
}

// A word that the state has an entry for is not reached by backing off.
bool Decoder::skips(const Hypothesis& h, const Arc& arc) const {
  const std::vector<std::uint32_t>& entered = lists_[h.state].entered;
  return h.list != h.state && std::binary_search(entered.begin(), entered.end(), arc.lexeme);
}

std::string_view Decoder::text_of(std::uint32_t surface) const {
  const std::size_t n = index_.lexicon().surfaces.size();
  return surface < n ? index_.lexicon().surfaces[surface]
                     : lattice_.unknown_text(surface - static_cast<std::uint32_t>(n));
}

std::uint32_t Decoder::extend(std::uint32_t prefix, std::uint32_t surface) {
  if (const std::uint32_t* found = children_.find(prefix, surface)) return *found;
  const auto made = static_cast<std::uint32_t>(prefixes_.size());
  std::uint32_t text = prefixes_[prefix].text;
  if (options_.distinct_texts)
    for (const char c : text_of(surface))
      text = spellings_.find_or_add(text, static_cast<unsigned char>(c),
                                    static_cast<std::uint32_t>(spellings_.size()) + 1);
  children_.add(prefix, surface, made);
  prefixes_.push_back({prefix, prefixes_[prefix].length + 1, surface, text});
  return made;
}

// Whether a better hypothesis has the same future: the same words (or the same text and state) up to the same place.
bool Decoder::seen(std::uint32_t prefix, const Arc& arc) {
  if (!options_.distinct_texts) return !ends_.add(prefix, arc.to, 0);
  const auto fresh = static_cast<std::uint32_t>(ends_.size());
  return !reached_.add(ends_.find_or_add(prefixes_[prefix].text, arc.to, fresh), arc.next, 0);
}

void Decoder::write(std::uint32_t prefix, double score, Conversions& out) {
  path_.clear();
  for (std::uint32_t p = prefix; p != 0; p = prefixes_[p].parent) path_.push_back(prefixes_[p].surface);
  std::string text;
  std::int64_t n_unknown = 0;
  for (std::size_t i = path_.size(); i-- > 0;) {
    if (!text.empty()) text += ' ';
    text += text_of(path_[i]);
    n_unknown += path_[i] >= index_.lexicon().surfaces.size();
  }
  out.texts.push_back(text);
  out.score.push_back(score);
  if (out.n_unknown.size() < out.sentence_ptr.size()) out.n_unknown.push_back(n_unknown);  // of the first
}

void Decoder::decode(std::string_view reading, Conversions& out) {
  lattice_.build(reading, options_.pieces_are_words);
  start();
  for (std::size_t n = 0; n < options_.k && !heap_.empty();) {
    const Hypothesis h = pop();
    const Arc arc = lists_[h.list].at(h.rank);
    push({0.0, h.score, h.backoff, h.prefix, h.list, h.rank + 1, h.state, 0});
    if (arc.to == lists_[h.list].node) {
      push({0.0, h.score, arc.weight, h.prefix, list(arc.to, 0), 0, h.state, 0});
      continue;
    }
    const double score = h.score + h.backoff + arc.weight;
    if (arc.to == lattice_.end_node()) {
      if (seen(h.prefix, arc)) continue;
      write(h.prefix, score, out);
      ++n;
      continue;
    }
    const std::uint32_t prefix = extend(h.prefix, arc.surface);
    if (!seen(prefix, arc)) enter(prefix, score, arc.to, arc.next);
  }
  out.sentence_ptr.push_back(static_cast<std::int64_t>(out.score.size()));
}

void append(Conversions& all, const Conversions& part) {
  const auto n = static_cast<std::int64_t>(all.score.size());
  for (std::size_t i = 0; i < part.texts.size(); ++i) all.texts.push_back(part.texts[i]);
  all.score.insert(all.score.end(), part.score.begin(), part.score.end());
  for (std::size_t i = 1; i < part.sentence_ptr.size(); ++i) all.sentence_ptr.push_back(n + part.sentence_ptr[i]);
  all.n_unknown.insert(all.n_unknown.end(), part.n_unknown.begin(), part.n_unknown.end());
}

}  // namespace

Conversions convert_readings(ThreadPool& pool, const ConversionIndex& index, Strings readings,
                             const ConversionOptions& options) {
  readings.check();
  if (options.k == 0) throw InvalidInput("convert: at least one candidate must be asked for");
  const std::size_t n = readings.size();
  std::vector<Conversions> parts(chunk_count(n, kSentencesInChunk));
  Reused<Decoder> decoders;
  parallel_for(pool, n, kSentencesInChunk, [&](std::size_t begin, std::size_t end) {
    std::unique_ptr<Decoder> decoder = decoders.take([&] { return std::make_unique<Decoder>(index, options); });
    Conversions& part = parts[begin / kSentencesInChunk];
    for (std::size_t i = begin; i < end; ++i) {
      try {
        decoder->decode(readings[i], part);
      } catch (const InvalidInput& error) {
        throw InvalidInput("reading " + std::to_string(i + 1) + ": " + error.what());
      }
    }
    decoders.give(std::move(decoder));
  });
  Conversions all;
  for (const Conversions& part : parts) append(all, part);
  return all;
}

}  // namespace loglinear::ime
