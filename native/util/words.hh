// Where words begin and end in UTF-8 text.
//
// A word is a maximal run of word characters: ASCII letters, digits and '_'; an apostrophe with a word character on
// either side; and every code point past ASCII but the spaces and punctuation listed below, surrogates and malformed
// bytes. Symbols and emoji are word characters; scripts written without spaces are not segmented.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "util/utf8.hh"

namespace loglinear {

namespace words_detail {

struct Span {
  std::uint32_t first, last;
};
inline constexpr Span kSeparators[] = {
    {0x0080, 0x00A9}, {0x00AB, 0x00B4}, {0x00B6, 0x00B9}, {0x00BB, 0x00BF},  // Latin-1 but for the letters ª µ º
    {0x00D7, 0x00D7}, {0x00F7, 0x00F7},                                      // × ÷
    {0x037E, 0x037E}, {0x0387, 0x0387},                                      // Greek
    {0x055A, 0x055F}, {0x0589, 0x058A},                                      // Armenian
    {0x05BE, 0x05BE}, {0x05C0, 0x05C0}, {0x05C3, 0x05C3},                    // Hebrew
    {0x060C, 0x060D}, {0x061B, 0x061B}, {0x061E, 0x061F}, {0x066A, 0x066D}, {0x06D4, 0x06D4},  // Arabic
    {0x0964, 0x0965},                                                        // Devanagari danda
    {0x1680, 0x1680},                                                        // Ogham space
    {0x2000, 0x206F},                                                        // general punctuation
    {0x2E00, 0x2E7F},                                                        // supplemental punctuation
    {0x3000, 0x3004}, {0x3008, 0x303F},                                      // CJK, but for the letters 々 〆 〇
    {0xD800, 0xDFFF},                                                        // surrogates
    {0xFE10, 0xFE1F}, {0xFE30, 0xFE6F},                                      // vertical, compatibility and small forms
    {0xFEFF, 0xFEFF},                                                        // byte order mark
    {0xFF00, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65},  // fullwidth forms
    {0xFFF0, 0xFFFF},                                                        // specials
};

// One bit for each code point of the basic plane: set for word characters past ASCII.
inline const std::array<std::uint64_t, 1024>& word_bits() {
  static const std::array<std::uint64_t, 1024> bits = [] {
    std::array<std::uint64_t, 1024> b;
    b.fill(~std::uint64_t{0});
    for (const Span& s : kSeparators)
      for (std::uint32_t c = s.first; c <= s.last; ++c) b[c >> 6] &= ~(std::uint64_t{1} << (c & 63));
    return b;
  }();
  return bits;
}

inline constexpr std::array<bool, 128> kAsciiWord = [] {
  std::array<bool, 128> a{};
  for (unsigned c = 0; c < 128; ++c)
    a[c] = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  return a;
}();

}  // namespace words_detail

inline bool is_word_character(std::uint32_t c) {
  if (c < 0x80) return words_detail::kAsciiWord[c];
  if (c < 0x10000) return words_detail::word_bits()[c >> 6] >> (c & 63) & 1;
  return c != kMalformed;
}

// emit(word) for every word of the text, in order.
template <class Emit>
void for_each_word(std::string_view text, Emit emit) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  const unsigned char* begin = nullptr;  // of the word that p is in
  const auto finish = [&] {
    if (begin) emit(std::string_view(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(p - begin)));
    begin = nullptr;
  };
  while (p < end) {
    if (*p < 0x80) {
      if (words_detail::kAsciiWord[*p]) {
        if (!begin) begin = p;
      } else if (!(*p == '\'' && begin && p + 1 < end && is_word_character(decode_utf8(p + 1, end).value))) {
        finish();
      }
      ++p;
      continue;
    }
    const CodePoint c = decode_utf8(p, end);
    if (!is_word_character(c.value)) finish();
    else if (!begin) begin = p;
    p += c.length;
  }
  finish();
}

}  // namespace loglinear
