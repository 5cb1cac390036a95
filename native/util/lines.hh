// Helpers of parsers of lines: finding the end of a line, cutting the input into chunks of whole lines, and quoting a
// token in a message.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loglinear {

inline const char* find_byte(const char* begin, const char* end, char c) {  // end where there is none
  if (begin == end) return end;
  const void* at = std::memchr(begin, c, static_cast<std::size_t>(end - begin));
  return at ? static_cast<const char*>(at) : end;
}

// Places that cut the text into chunks of about `size` bytes, each of whole lines: 0, ..., text.size().
inline std::vector<std::size_t> cut_lines(std::span<const char> text, std::size_t size) {
  if (size == 0) size = 1;
  std::vector<std::size_t> cuts{0};
  while (cuts.back() < text.size()) {
    const std::size_t target = text.size() - cuts.back() > size ? cuts.back() + size : text.size();
    const char* const end = text.data() + text.size();
    const char* const line_end = find_byte(text.data() + target - 1, end, '\n');
    cuts.push_back(line_end == end ? text.size() : static_cast<std::size_t>(line_end - text.data()) + 1);
  }
  return cuts;
}

// A token as it can be shown: cut where it is long, bytes that are not plain ASCII in hexadecimal.
inline std::string quoted(std::string_view token) {
  constexpr std::size_t kMost = 40;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string s = "'";
  for (char c : token.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      s += c;
    } else {
      s += "\\x";
      s += kHex[byte >> 4];
      s += kHex[byte & 15];
    }
  }
  return s + (token.size() > kMost ? "...'" : "'");
}

}  // namespace loglinear
