// Character n-grams of UTF-8 text and their names: the characters between quotation marks, which no word has.
//
// Runs of blanks (those of Python's str.split) count as one space. Within words, a run without blanks gets a space on
// either side and n-grams stay inside it; a run shorter than n is one n-gram, of the least such order only. Across
// words, n-grams are those of the whole text. These are the analysers "char_wb" and "char" of scikit-learn, but that its
// "char" keeps a blank that stands alone as it is.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/utf8.hh"

namespace loglinear::text {

inline bool is_space(std::uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

class CharNgrams {
 public:
  CharNgrams(std::span<const std::int32_t> orders, bool across_words) : orders_(orders), across_(across_words) {}

  // emit(name) for every n-gram of the text, in order of place and then of length; the name is overwritten by the next.
  template <class Emit>
  void for_each(std::string_view text, Emit emit) {
    const auto* p = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = p + text.size();
    clear();
    while (p < end) {
      const CodePoint c = decode_utf8(p, end);
      if (is_space(c.value)) {
        if (across_) separate();
        else finish(emit);
      } else {
        if (!across_ && starts_.empty()) separate();
        append({reinterpret_cast<const char*>(p), c.length});
      }
      p += c.length;
    }
    finish(emit);
  }

 private:
  void clear() { run_.clear(), starts_.clear(); }
  void append(std::string_view character) {
    starts_.push_back(run_.size());
    run_.append(character);
  }
  void separate() {
    if (run_.empty() || run_.back() != ' ') append(" ");
  }

  template <class Emit>
  void finish(Emit& emit) {
    if (starts_.empty()) return;
    if (!across_) append(" ");
    const std::size_t n = starts_.size();
    starts_.push_back(run_.size());
    for (std::size_t at = 0; at < n; ++at) {
      for (const std::int32_t order : orders_) {
        const auto length = static_cast<std::size_t>(order);
        const bool whole = !across_ && at == 0 && length >= n;  // a run no longer than the order: once
        if (at + length > n && !whole) break;
        name_.assign(1, '"');
        name_.append(run_, starts_[at], starts_[whole ? n : at + length] - starts_[at]);
        name_.push_back('"');
        emit(std::string_view(name_));
        if (whole) break;
      }
    }
    clear();
  }

  std::span<const std::int32_t> orders_;
  bool across_;
  std::string run_, name_;
  std::vector<std::size_t> starts_;  // of the characters of run_
};

}  // namespace loglinear::text
