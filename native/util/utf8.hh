// UTF-8, decoded one code point at a time and never trusted: a malformed byte is one unit that is no code point.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace loglinear {

inline constexpr std::uint32_t kMalformed = 0xFFFFFFFF;

struct CodePoint {
  std::uint32_t value;  // kMalformed for a byte that starts no well-formed sequence
  std::size_t length;   // bytes; 1 when malformed
};

// The code point at p < end. Overlong forms and values past U+10FFFF are malformed; surrogates are decoded, because
// Python strings may hold them.
inline CodePoint decode_utf8(const unsigned char* p, const unsigned char* end) {
  const auto trail = [&](std::size_t i) { return p + i < end && (p[i] & 0xC0) == 0x80; };
  const std::uint32_t c = p[0];
  if (c < 0x80) return {c, 1};
  if (c >= 0xC2 && c < 0xE0 && trail(1)) return {(c & 0x1F) << 6 | (p[1] & 0x3Fu), 2};
  if (c >= 0xE0 && c < 0xF0 && trail(1) && trail(2)) {
    const std::uint32_t value = (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    if (value >= 0x800) return {value, 3};
  }
  if (c >= 0xF0 && c < 0xF5 && trail(1) && trail(2) && trail(3)) {
    const std::uint32_t value =
        (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    if (value >= 0x10000 && value <= 0x10FFFF) return {value, 4};
  }
  return {kMalformed, 1};
}

// Appends a code point, of which surrogates are written as decode_utf8 reads them.
template <class Bytes>
void append_utf8(Bytes& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

// Whether a strict decoder (one that also refuses surrogates) accepts the text.
inline bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  while (p < end) {
    const CodePoint c = decode_utf8(p, end);
    if (c.value == kMalformed || (c.value >= 0xD800 && c.value <= 0xDFFF)) return false;
    p += c.length;
  }
  return true;
}

}  // namespace loglinear
