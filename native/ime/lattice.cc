#include "ime/lattice.hh"

#include <algorithm>
#include <limits>
#include <string>

#include "util/blanks.hh"
#include "util/errors.hh"
#include "util/utf8.hh"

namespace loglinear::ime {

namespace {

constexpr std::ptrdiff_t kScanned = 16;  // entries that are scanned; among more, a run is found by bisection
constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace

// ---- the lattice -----------------------------------------------------------------------------------------------

void ConversionLattice::read(std::string_view reading) {
  reading_ = reading;
  characters_.clear(), byte_.clear(), piece_end_.clear(), bit_.clear();
  const auto* const begin = reinterpret_cast<const unsigned char*>(reading.data());
  const auto* const end = begin + reading.size();
  std::size_t piece = 0;  // its first character
  const auto end_piece = [&] {
    piece_end_.resize(characters_.size(), static_cast<std::uint32_t>(characters_.size()));
    piece = characters_.size();
  };
  for (const auto* p = begin; p < end;) {
    const CodePoint c = decode_utf8(p, end);
    if (c.value == kMalformed) throw InvalidInput("a reading is not valid UTF-8");
    if (c.length == 1 && is_blank(static_cast<char>(c.value))) {
      end_piece();
    } else {
      if (characters_.size() == kLongest)
        throw InvalidInput("a reading has more than " + std::to_string(kLongest) + " characters; split it");
      characters_.push_back(c.value);
      byte_.push_back(static_cast<std::uint32_t>(p - begin));
      bit_.push_back(character_bit(c.value));
    }
    p += c.length;
  }
  end_piece();
  byte_.push_back(static_cast<std::uint32_t>(reading.size()));
  bit_.push_back(kEndBit), bit_.push_back(0);
}

void ConversionLattice::add_run(std::uint32_t begin, std::uint32_t end, std::uint32_t to) {
  runs_.push_back({begin, end, to, static_cast<std::uint32_t>(after_.size())});
  after_.resize(after_.size() + (end - begin));
}

void ConversionLattice::add_runs(std::uint32_t node, bool pieces_are_words) {
  const std::uint32_t last = piece_end_[node];
  if (pieces_are_words && node > 0 && piece_end_[node - 1] == last) return;  // inside a word
  const std::uint32_t shortest = pieces_are_words ? last : node + 1;
  std::uint32_t at = 0;
  bool covered = false;
  for (std::uint32_t to = node + 1; to <= last; ++to) {
    at = index_.trie().child(at, characters_[to - 1]);
    if (at == ReadingTrie::kNone) break;
    const std::uint32_t reading = index_.trie().reading(at);
    if (reading == kNoReading || to < shortest) continue;
    covered = covered || to == shortest;
    const auto& ptr = index_.lexicon().reading_ptr;
    add_run(static_cast<std::uint32_t>(ptr[reading]), static_cast<std::uint32_t>(ptr[reading + 1]), to);
  }
  if (!covered) add_run(index_.unknown_lexeme(), index_.unknown_lexeme() + 1, shortest);
}

void ConversionLattice::build(std::string_view reading, bool pieces_are_words) {
  read(reading);
  runs_.clear(), run_ptr_.clear(), after_.clear(), best_.clear(), stack_.clear();
  const auto n = static_cast<std::uint32_t>(characters_.size());
  for (std::uint32_t node = 0; node < n; ++node) {
    run_ptr_.push_back(static_cast<std::uint32_t>(runs_.size()));
    add_runs(node, pieces_are_words);
  }
  run_ptr_.push_back(static_cast<std::uint32_t>(runs_.size()));
  add_run(index_.end_lexeme(), index_.end_lexeme() + 1, n + 1);
  run_ptr_.insert(run_ptr_.end(), 2, static_cast<std::uint32_t>(runs_.size()));
  root_.assign((n + 2) * kTop, Best{kNever, 0});
  root_[(n + 1) * kTop].score = 0.0;
  for (std::uint32_t node = n + 1; node-- > 0;) set_root(node);
}

std::string_view ConversionLattice::unknown_text(std::uint32_t node) const {
  const LexemeRun& run = runs_[run_ptr_[node + 1] - 1];  // the last of its node
  std::size_t end = byte_[run.to];
  while (end > byte_[node] && is_blank(reading_[end - 1])) --end;
  return reading_.substr(byte_[node], end - byte_[node]);
}

// ---- the best scores -------------------------------------------------------------------------------------------

void ConversionLattice::set_root(std::uint32_t node) {
  Best* const top = root_.data() + node * kTop;
  for (const LexemeRun& run : runs(node)) {
    const std::uint64_t bit = bit_[run.to];
    const double root = root_[run.to * kTop].score;
    for (std::uint32_t l = run.begin; l < run.end; ++l) {
      const Lexeme& lexeme = index_.lexeme(l);
      const double behind = lexeme.follows & bit ? best(run.to, lexeme.next) : double{lexeme.backoff} + root;
      after_[run.arc + (l - run.begin)] = behind;
      const double score = double{lexeme.weight} + lexeme.channel + behind;
      if (score <= top[kTop - 1].score) continue;
      std::size_t at = kTop - 1;
      for (; at > 0 && top[at - 1].score < score; --at) top[at] = top[at - 1];
      top[at] = {score, l};
    }
  }
}

// The best of the empty context by lexemes other than these, which ascend.
ConversionLattice::Best ConversionLattice::root_without(std::uint32_t node,
                                                        std::span<const std::uint32_t> lexemes) const {
  const auto allowed = [&](std::uint32_t l) { return !std::binary_search(lexemes.begin(), lexemes.end(), l); };
  for (const Best& b : std::span(root_).subspan(node * kTop, kTop)) {
    if (b.score == kNever) return b;  // there are no more
    if (allowed(b.lexeme)) return b;
  }
  Best found{kNever, 0};
  for (const LexemeRun& run : runs(node))
    for (std::uint32_t l = run.begin; l < run.end; ++l) {
      const double score = double{index_.lexeme(l).weight} + index_.lexeme(l).channel + after(run, l);
      if (score > found.score && allowed(l)) found = {score, l};
    }
  return found;
}

ConversionLattice::Cursor ConversionLattice::cursor(std::uint32_t node, std::uint32_t context) const {
  const std::span<const IndexEntry> entries = index_.entries(context);
  return {entries.data(), entries.data() + entries.size(), run_ptr_[node], run_ptr_[node + 1]};
}

// Moves to the first entry, from where the cursor is, that fits; false where there is none.
bool ConversionLattice::seek(Cursor& at) const {
  for (; at.run < at.run_end && at.entry < at.end; ++at.run) {
    const LexemeRun& run = runs_[at.run];
    if (at.end - at.entry > kScanned) {
      at.entry = std::lower_bound(at.entry, at.end, run.begin,
                                  [](const IndexEntry& e, std::uint32_t lexeme) { return e.lexeme < lexeme; });
    } else {
      while (at.entry < at.end && at.entry->lexeme < run.begin) ++at.entry;
    }
    if (at.entry < at.end && at.entry->lexeme < run.end) return true;
  }
  return false;
}

// The best from a state, unless that of a state with entries that fit (missing_) is needed first.
std::optional<ConversionLattice::Best> ConversionLattice::known(std::uint32_t node, std::uint32_t context) {
  double backoff = 0.0;
  while (context != 0 && !(index_.follows(context) & bit_[node])) {
    backoff += index_.backoff(context);
    context = index_.automaton().contexts[context].parent;
  }
  const Best* const found = context == 0 ? &root_[node * kTop] : best_.find(node, context);
  if (found) return Best{backoff + found->score, found->lexeme};
  missing_ = {node, context};
  return std::nullopt;
}

std::optional<double> ConversionLattice::known(const LexemeRun& run, const IndexEntry& entry) {
  const double of_word = after(run, entry.lexeme);
  if (entry.next == index_.lexeme(entry.lexeme).next) return of_word;
  if (!(entry.follows & (bit_[run.to] | kOtherParent)) && entry.next != 0) return double{entry.backoff} + of_word;
  const std::optional<Best> found = known(run.to, entry.next);
  return found ? std::optional<double>(found->score) : std::nullopt;
}

ConversionLattice::Best ConversionLattice::evaluated(std::uint32_t node, std::uint32_t context) {
  for (;;) {
    if (const std::optional<Best> found = known(node, context)) return *found;
    evaluate(missing_);
  }
}

double ConversionLattice::after(const LexemeRun& run, const IndexEntry& entry) {
  for (;;) {
    if (const std::optional<double> found = known(run, entry)) return *found;
    evaluate(missing_);
  }
}

// Everything behind the entries of the context and of its parents must be known.
ConversionLattice::Best ConversionLattice::one_by_one(std::uint32_t node, std::uint32_t context) {
  Best found{kNever, 0};
  const auto take = [&](double score, std::uint32_t lexeme) {
    if (score > found.score) found = {score, lexeme};
  };
  const double backoff = for_entries(node, context, entered_, [&](const IndexEntry& e, const LexemeRun& run, double b) {
    take(b + e.weight + index_.lexeme(e.lexeme).channel + *known(run, e), e.lexeme);
  });
  const Best root = root_without(node, entered_);
  take(backoff + root.score, root.lexeme);
  return found;
}

// Takes what is known into account; false where something is missing.
bool ConversionLattice::advance(Frame& frame) {
  if (!frame.begun) {
    const std::optional<Best> parent = known(frame.node, index_.automaton().contexts[frame.context].parent);
    if (!parent) return false;
    frame.backed_off = {index_.backoff(frame.context) + parent->score, parent->lexeme};
    frame.at = cursor(frame.node, frame.context);
    frame.begun = true;
  }
  for (; seek(frame.at); ++frame.at.entry) {
    const IndexEntry& entry = *frame.at.entry;
    const std::optional<double> behind = known(runs_[frame.at.run], entry);
    if (!behind) return false;
    frame.entered = frame.entered || entry.lexeme == frame.backed_off.lexeme;
    const double score = double{entry.weight} + index_.lexeme(entry.lexeme).channel + *behind;
    if (score > frame.best.score) frame.best = {score, entry.lexeme};
  }
  if (frame.backed_off.score > frame.best.score)
    frame.best = frame.entered ? one_by_one(frame.node, frame.context) : frame.backed_off;
  return true;
}

void ConversionLattice::evaluate(State state) {
  const auto frame = [](State s) { return Frame{s.node, s.context, false, false, {}, {kNever, 0}, {}}; };
  stack_.push_back(frame(state));
  while (!stack_.empty()) {
    if (advance(stack_.back())) {
      best_.add(stack_.back().node, stack_.back().context, stack_.back().best);
      stack_.pop_back();
    } else {
      stack_.push_back(frame(missing_));
    }
  }
}

}  // namespace loglinear::ime
