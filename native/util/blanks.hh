// Text as words between blanks, or as characters without them.
#pragma once
#include <cstdint>
#include <string_view>

#include "util/utf8.hh"

namespace loglinear {

inline constexpr std::uint32_t kReplacement = 0xFFFD;  // what stands for a byte that is no UTF-8

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// emit(word) for every maximal run without blanks (ASCII spaces, tabs, line ends).
template <class Emit>
void for_each_blank_separated(std::string_view text, Emit emit) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    while (p < end && is_blank(*p)) ++p;
    const char* const begin = p;
    while (p < end && !is_blank(*p)) ++p;
    if (begin < p) emit(std::string_view(begin, static_cast<std::size_t>(p - begin)));
  }
}

// emit(code point as int32) for every character but blanks, the ideographic space among them.
template <class Emit>
void for_each_character(std::string_view text, Emit emit) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    if (is_blank(static_cast<char>(*p))) {
      ++p;
      continue;
    }
    const CodePoint c = decode_utf8(p, end);
    const std::uint32_t value = c.value == kMalformed ? kReplacement : c.value;
    if (value != 0x3000) emit(static_cast<std::int32_t>(value));
    p += c.length;
  }
}

}  // namespace loglinear
