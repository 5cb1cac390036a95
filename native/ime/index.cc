#include "ime/index.hh"

#include <algorithm>
#include <cmath>

#include "util/errors.hh"
#include "util/utf8.hh"

namespace loglinear::ime {

using backoff::AutomatonContext;
using backoff::AutomatonEntry;
using backoff::BackoffAutomaton;
using backoff::kBlank;
namespace {

constexpr std::size_t kContextsInChunk = 1 << 12;
constexpr double kGrid = 268435456.0;  // 2^28

}  // namespace

float ConversionIndex::weight(double logarithm) {
  logarithm = std::clamp(logarithm, kImpossible, -kImpossible);
  // A float of 2^-4 and more is a multiple of 2^-28; a smaller multiple of it fits a float.
  return static_cast<float>(std::nearbyint(static_cast<double>(static_cast<float>(logarithm)) * kGrid) / kGrid);
}

ConversionIndex::ConversionIndex(ThreadPool& pool, const BackoffAutomaton& automaton, const LexiconArrays& lexicon,
                                 std::uint32_t unknown)
    : automaton_(automaton), lexicon_(lexicon) {
  if (automaton_.blocks) automaton_.check(pool);  // all of it is read below
  automaton_.blocks = nullptr;
  lexicon_.check(automaton_.n_words);
  if (unknown != kBlank && unknown >= automaton_.n_words) throw InvalidInput("lexicon: <unk> is not a word");
  trie_ = ReadingTrie(lexicon_.readings);
  number_lexemes(unknown);
  const std::size_t n = automaton_.contexts.size();
  std::vector<std::uint64_t> sizes(n);
  follows_.assign(n, 0);
  parallel_for(pool, n, kContextsInChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = std::max<std::size_t>(begin, 1); c < end; ++c) {
      const AutomatonContext& own = automaton_.contexts[c];
      for (const AutomatonEntry& e : automaton_.entries.subspan(own.first, own.size)) {
        if (e.word == kBlank) continue;
        sizes[c] += word_ptr_[e.word + 1] - word_ptr_[e.word];
        for (std::uint32_t i = word_ptr_[e.word]; i < word_ptr_[e.word + 1]; ++i)
          follows_[c] |= lexeme_bit_[word_lexemes_[i]];
      }
    }
  });
  first_.assign(n + 1, 0);
  for (std::size_t c = 0; c < n; ++c) first_[c + 1] = first_[c] + sizes[c];
  entries_.resize(first_[n]);
  for (Lexeme& l : lexemes_) l.backoff = weight(automaton_.contexts[l.next].log_backoff), l.follows = follows_[l.next];
  parallel_for(pool, n, kContextsInChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = std::max<std::size_t>(begin, 1); c < end; ++c) fill_context(static_cast<std::uint32_t>(c));
  });
}

void ConversionIndex::number_lexemes(std::uint32_t unknown) {
  const std::size_t n = lexicon_.n_lexemes();
  const auto without_context = [&](std::uint32_t surface, std::uint32_t word, float channel) {
    if (word == kBlank) return Lexeme{surface, word, weight(kImpossible), channel, 0, 0.0f, 0};
    const AutomatonEntry& e = automaton_.entries[word];
    return Lexeme{surface, word, weight(e.log_probability), channel, e.next, 0.0f, 0};
  };
  lexemes_.reserve(n + 2), lexeme_bit_.reserve(n + 2);
  for (std::size_t r = 0; r < lexicon_.readings.size(); ++r) {
    const std::string_view reading = lexicon_.readings[r];
    const auto* p = reinterpret_cast<const unsigned char*>(reading.data());
    const std::uint64_t bit = character_bit(decode_utf8(p, p + reading.size()).value);
    for (std::int64_t i = lexicon_.reading_ptr[r]; i < lexicon_.reading_ptr[r + 1]; ++i) {
      const std::uint32_t surface = lexicon_.surface[i];
      lexemes_.push_back(without_context(surface, lexicon_.word[surface], weight(lexicon_.log_channel[i])));
      lexeme_bit_.push_back(bit);
    }
  }
  lexemes_.push_back(without_context(kBlank, unknown, 0.0f));
  lexeme_bit_.push_back(~(kOtherParent | kEndBit));  // it may stand for any character
  lexemes_.push_back(without_context(kBlank, 0, 0.0f));
  lexemes_.back().next = 0;  // nothing comes after it
  lexeme_bit_.push_back(kEndBit);

  word_ptr_.assign(automaton_.n_words + 1, 0);
  for (const Lexeme& l : lexemes_)
    if (l.word != kBlank) ++word_ptr_[l.word + 1];
  for (std::size_t w = 0; w < automaton_.n_words; ++w) word_ptr_[w + 1] += word_ptr_[w];
  word_lexemes_.resize(word_ptr_.back());
  std::vector<std::uint32_t> at(word_ptr_.begin(), word_ptr_.end() - 1);
  for (std::uint32_t l = 0; l < lexemes_.size(); ++l)
    if (lexemes_[l].word != kBlank) word_lexemes_[at[lexemes_[l].word]++] = l;
}

void ConversionIndex::fill_context(std::uint32_t context) {
  const AutomatonContext& own = automaton_.contexts[context];
  IndexEntry* out = entries_.data() + first_[context];
  IndexEntry* const begin = out;
  for (const AutomatonEntry& e : automaton_.entries.subspan(own.first, own.size)) {
    if (e.word == kBlank) continue;
    for (std::uint32_t i = word_ptr_[e.word]; i < word_ptr_[e.word + 1]; ++i) {
      const std::uint32_t l = word_lexemes_[i];
      const std::uint32_t next = l == end_lexeme() ? 0 : e.next;
      const AutomatonContext& after = automaton_.contexts[next];
      const bool other = next != 0 && next != lexemes_[l].next && after.parent != lexemes_[l].next;
      *out++ = {l, weight(e.log_probability), next, weight(after.log_backoff),
                follows_[next] | (other ? kOtherParent : 0)};
    }
  }
  std::sort(begin, out, [](const IndexEntry& a, const IndexEntry& b) { return a.lexeme < b.lexeme; });
}

std::size_t ConversionIndex::n_bytes() const {
  return entries_.size() * sizeof(IndexEntry) + lexemes_.size() * (sizeof(Lexeme) + 8) + first_.size() * 16 +
         word_lexemes_.size() * 4 + word_ptr_.size() * 4;
}

}  // namespace loglinear::ime
