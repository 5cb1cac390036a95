#include "ime/lexicon.hh"

#include <algorithm>
#include <string>

#include "util/blanks.hh"
#include "util/errors.hh"
#include "util/utf8.hh"

namespace loglinear::ime {

namespace {

void demand(bool condition, const std::string& what) {
  if (!condition) throw InvalidInput("lexicon: " + what);
}

bool has_blank(std::string_view s) { return std::any_of(s.begin(), s.end(), is_blank); }

}  // namespace

SplitTokens split_tokens(Strings tokens) {
  tokens.check();
  Interner surfaces, readings;
  SplitTokens result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    const std::size_t bar = token.find('|', 1);
    if (bar == std::string_view::npos || bar + 1 == token.size()) {
      result.malformed = static_cast<std::int64_t>(i);
      result.surface.clear(), result.reading.clear();
      return result;
    }
    result.surface.push_back(surfaces.intern(token.substr(0, bar)));
    result.reading.push_back(readings.intern(token.substr(bar + 1)));
  }
  result.surfaces = std::move(surfaces).take();
  result.readings = std::move(readings).take();
  return result;
}

void LexiconArrays::check(std::size_t n_words) const {
  surfaces.check();
  readings.check();
  const std::size_t n_readings = readings.size(), n_surfaces = surfaces.size();
  demand(reading_ptr.size() == n_readings + 1, "reading_ptr needs one number more than there are readings");
  demand(log_channel.size() == surface.size(), "every lexeme needs a surface and a weight");
  demand(word.size() == n_surfaces, "every surface needs a word of the language model");
  demand(surface.size() < kNoReading - 2 && n_surfaces < (1u << 31), "more than 2^31 words");
  demand(reading_ptr.front() == 0 && reading_ptr.back() == static_cast<std::int64_t>(surface.size()),
         "reading_ptr must start at 0 and end at the number of lexemes");
  for (std::size_t r = 0; r < n_readings; ++r) {
    const std::string at = "reading " + std::to_string(r);
    demand(reading_ptr[r] < reading_ptr[r + 1] && reading_ptr[r + 1] <= reading_ptr.back(), at + " has no words");
    demand(!readings[r].empty() && is_utf8(readings[r]) && !has_blank(readings[r]),
           at + " is empty, is not UTF-8 or has a blank");
    demand(r == 0 || readings[r - 1] < readings[r], at + " is not greater than the one before");
    for (auto i = static_cast<std::size_t>(reading_ptr[r]); i < static_cast<std::size_t>(reading_ptr[r + 1]); ++i) {
      demand(surface[i] < n_surfaces, at + " has a word that does not exist");
      demand(i == static_cast<std::size_t>(reading_ptr[r]) || surface[i - 1] < surface[i],
             "the words of " + at + " do not ascend");
      demand(log_channel[i] <= 0.0f, at + " has a weight above 0 or NaN");
    }
  }
  for (std::size_t s = 0; s < n_surfaces; ++s) {
    demand(word[s] < n_words || word[s] == kNoWord, "a word is not in the language model");
    demand(!surfaces[s].empty() && is_utf8(surfaces[s]) && !has_blank(surfaces[s]),
           "surface " + std::to_string(s) + " is empty, is not UTF-8 or has a blank");
  }
}

ReadingTrie::ReadingTrie(Strings readings) {
  for (std::size_t r = 0; r < readings.size(); ++r) {
    const std::string_view s = readings[r];
    const auto* p = reinterpret_cast<const unsigned char*>(s.data());
    const auto* const end = p + s.size();
    std::uint32_t node = 0;
    while (p < end) {
      const CodePoint c = decode_utf8(p, end);
      node = add(node, c.value);
      p += c.length;
    }
    reading_[node] = static_cast<std::uint32_t>(r);
  }
}

std::uint32_t ReadingTrie::add(std::uint32_t node, std::uint32_t character) {
  if (const std::uint32_t found = child(node, character); found != kNone) return found;
  if ((reading_.size() + 1) * 2 > arcs_.size()) grow();
  const std::uint64_t key = std::uint64_t{node} << 21 | character;
  std::size_t at = mix_bits(key) & mask_;
  while (arcs_[at].node != kNone) at = (at + 1) & mask_;
  const auto made = static_cast<std::uint32_t>(reading_.size());
  arcs_[at] = {key, made};
  reading_.push_back(kNoReading);
  return made;
}

void ReadingTrie::grow() {
  std::vector<Arc> old(arcs_.size() * 2);
  old.swap(arcs_);
  mask_ = arcs_.size() - 1;
  for (const Arc& arc : old) {
    if (arc.node == kNone) continue;
    std::size_t at = mix_bits(arc.key) & mask_;
    while (arcs_[at].node != kNone) at = (at + 1) & mask_;
    arcs_[at] = arc;
  }
}

}  // namespace loglinear::ime
