// The regular expressions of Wapiti's templates.
//
//   .    any character                \d digit   \l lower case  \a letter         (in upper case: the complement)
//   x    itself; \x where x is        \w letter or digit   \u upper case   \s space   \p punctuation
//        no class: x itself
//   x*   as few x as will do          ^  at the start: only there     both elsewhere: themselves
//   x?   one x if that will do        $  at the end: only there
//
// A search gives the leftmost match, chosen by these preferences from left to right. (Lavergne, Cappé and Yvon,
// "Practical very large scale CRFs", ACL 2010; the syntax is in the manual of Wapiti.) Wapiti looks at bytes; here a
// character is a code point, and the classes of those past ASCII are the caller's.
//
// Wapiti backtracks, which takes exponential time on some expressions. Here a table says for each item and position
// whether the rest of the expression matches the rest of the text: items × characters steps, and no recursion.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "util/interner.hh"

namespace loglinear::text {

// Classes of characters as bits.
inline constexpr std::uint8_t kDigit = 1, kLower = 2, kUpper = 4, kLetter = 8, kSpace = 16, kPunctuation = 32;

// What is known of characters past ASCII; those not listed are in no class.
struct CharacterClasses {
  std::span<const std::uint32_t> characters;  // ascending
  std::span<const std::uint8_t> classes;      // [characters.size()]

  void check() const;  // throws InvalidInput
  std::uint8_t operator()(std::uint32_t character) const;
};

class WapitiRegex {
 public:
  static constexpr std::size_t kMaxItems = 256;

  explicit WapitiRegex(std::string_view pattern);  // throws InvalidInput, with the reason

  struct Match {
    bool found = false;
    std::size_t begin = 0, end = 0;  // bytes of the text
  };
  // Scratch space of a search, kept from one to the next.
  struct Scratch {
    std::vector<std::uint32_t> characters;
    std::vector<std::size_t> offsets;
    std::vector<std::uint8_t> classes;
    std::vector<bool> rest;
  };
  Match search(std::string_view text, const CharacterClasses& classes, Scratch& scratch) const;

 private:
  enum class Repeat : std::uint8_t { once, star, optional };
  struct Item {
    bool any = false, negated = false;
    std::uint8_t classes = 0;     // 0: the character itself
    std::uint32_t character = 0;
    Repeat repeat = Repeat::once;
  };
  static bool accepts(const Item& item, std::uint32_t character, std::uint8_t classes);

  std::vector<Item> items_;
  bool at_start_ = false, at_end_ = false;
};

// For each string: 1 if the expression matches somewhere.
std::vector<std::uint8_t> regex_test(const WapitiRegex& regex, Strings strings, const CharacterClasses& classes);
// For each string: what the expression matches, or nothing.
PackedStrings regex_extract(const WapitiRegex& regex, Strings strings, const CharacterClasses& classes);

}  // namespace loglinear::text
