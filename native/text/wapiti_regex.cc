#include "text/wapiti_regex.hh"

#include <algorithm>
#include <string>

#include "util/errors.hh"
#include "util/utf8.hh"

namespace loglinear::text {

namespace {

std::uint8_t ascii_classes(std::uint32_t c) {
  if (c >= '0' && c <= '9') return kDigit;
  if (c >= 'a' && c <= 'z') return kLower | kLetter;
  if (c >= 'A' && c <= 'Z') return kUpper | kLetter;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kSpace;
  return c > ' ' && c < 0x7F ? kPunctuation : 0;
}

// The class that \c stands for; 0 where it is an escaped character.
std::uint8_t class_of_escape(std::uint32_t c) {
  switch (c) {
    case 'd': return kDigit;
    case 'l': return kLower;
    case 'u': return kUpper;
    case 'a': return kLetter;
    case 'w': return kLetter | kDigit;
    case 's': return kSpace;
    case 'p': return kPunctuation;
    default: return 0;
  }
}

CodePoint decode_at(std::string_view text, std::size_t at) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  return decode_utf8(p + at, p + text.size());
}

}  // namespace

void CharacterClasses::check() const {
  if (characters.size() != classes.size()) throw InvalidInput("character classes: one is needed for each character");
  for (std::size_t i = 1; i < characters.size(); ++i)
    if (characters[i] <= characters[i - 1]) throw InvalidInput("character classes: characters must ascend");
}

std::uint8_t CharacterClasses::operator()(std::uint32_t character) const {
  if (character < 0x80) return ascii_classes(character);
  const auto at = std::lower_bound(characters.begin(), characters.end(), character);
  return at != characters.end() && *at == character ? classes[static_cast<std::size_t>(at - characters.begin())] : 0;
}

WapitiRegex::WapitiRegex(std::string_view pattern) {
  std::size_t at = 0;
  if (!pattern.empty() && pattern[0] == '^') {
    at_start_ = true;
    ++at;
  }
  while (at < pattern.size()) {
    if (pattern[at] == '$' && at + 1 == pattern.size()) {
      at_end_ = true;
      break;
    }
    if (pattern[at] == '*' || pattern[at] == '?')
      throw InvalidInput(std::string("'") + pattern[at] + "' follows nothing that can be repeated; write \\" +
                         pattern[at] + " for the character itself");
    Item item;
    const bool escaped = pattern[at] == '\\';
    item.any = pattern[at] == '.';
    if (escaped && ++at == pattern.size())
      throw InvalidInput("the expression ends in a backslash; write \\\\ for the character itself");
    const CodePoint c = decode_at(pattern, at);
    item.character = c.value;
    if (escaped && c.value < 0x80) {
      item.negated = c.value >= 'A' && c.value <= 'Z';
      item.classes = class_of_escape(item.negated ? c.value - 'A' + 'a' : c.value);
      item.negated = item.negated && item.classes;
    }
    at += c.length;
    if (at < pattern.size() && (pattern[at] == '*' || pattern[at] == '?'))
      item.repeat = pattern[at++] == '*' ? Repeat::star : Repeat::optional;
    items_.push_back(item);
    if (items_.size() > kMaxItems)
      throw InvalidInput("the expression has more than " + std::to_string(kMaxItems) + " characters; shorten it");
  }
}

bool WapitiRegex::accepts(const Item& item, std::uint32_t character, std::uint8_t classes) {
  if (item.any) return true;
  if (item.classes) return ((item.classes & classes) != 0) != item.negated;
  return item.character == character;
}

WapitiRegex::Match WapitiRegex::search(std::string_view text, const CharacterClasses& classes,
                                       Scratch& scratch) const {
  scratch.characters.clear();
  scratch.offsets.clear();
  scratch.classes.clear();
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    scratch.characters.push_back(c.value);
    scratch.offsets.push_back(at);
    scratch.classes.push_back(classes(c.value));
    at += c.length;
  }
  scratch.offsets.push_back(text.size());
  const std::size_t length = scratch.characters.size(), width = length + 1, n = items_.size();
  const auto takes = [&](std::size_t i, std::size_t p) {
    return p < length && accepts(items_[i], scratch.characters[p], scratch.classes[p]);
  };

  // rest[i * width + p]: items i ... match at character p.
  std::vector<bool>& rest = scratch.rest;
  rest.assign((n + 1) * width, false);
  for (std::size_t p = 0; p < width; ++p) rest[n * width + p] = !at_end_ || p == length;
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t p = width; p-- > 0;) {
      const bool taken = takes(i, p);
      bool matches = taken && rest[(i + 1) * width + p + 1];
      if (items_[i].repeat != Repeat::once) matches = matches || rest[(i + 1) * width + p];
      if (items_[i].repeat == Repeat::star) matches = matches || (taken && rest[i * width + p + 1]);
      rest[i * width + p] = matches;
    }

  std::size_t p = 0;
  while (p < width && !rest[p]) {
    if (at_start_) return {};
    ++p;
  }
  if (p == width) return {};
  Match match{true, scratch.offsets[p], 0};
  for (std::size_t i = 0; i < n;) {
    switch (items_[i].repeat) {
      case Repeat::once:
        ++p;
        ++i;
        break;
      case Repeat::star:  // as few as will do
        if (rest[(i + 1) * width + p]) ++i;
        else ++p;
        break;
      case Repeat::optional:  // one if that will do
        if (takes(i, p) && rest[(i + 1) * width + p + 1]) ++p;
        ++i;
        break;
    }
  }
  match.end = scratch.offsets[p];
  return match;
}

std::vector<std::uint8_t> regex_test(const WapitiRegex& regex, Strings strings, const CharacterClasses& classes) {
  strings.check();
  classes.check();
  WapitiRegex::Scratch scratch;
  std::vector<std::uint8_t> result(strings.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = regex.search(strings[i], classes, scratch).found;
  return result;
}

PackedStrings regex_extract(const WapitiRegex& regex, Strings strings, const CharacterClasses& classes) {
  strings.check();
  classes.check();
  WapitiRegex::Scratch scratch;
  PackedStrings result;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const WapitiRegex::Match match = regex.search(strings[i], classes, scratch);
    result.push_back(match.found ? strings[i].substr(match.begin, match.end - match.begin) : std::string_view());
  }
  return result;
}

}  // namespace loglinear::text
