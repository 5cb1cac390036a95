#include "text/json_lines.hh"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "util/errors.hh"
#include "util/lines.hh"
#include "util/utf8.hh"

namespace loglinear::text {

namespace {

constexpr int kMostNested = 512;       // arrays and objects inside each other
constexpr std::size_t kMostNamed = 8;  // keys in a message

// Bytes that end a run of plain characters of a string: its end, an escape, and what JSON forbids there.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (int c = 0; c < 0x20; ++c) special[static_cast<std::size_t>(c)] = true;
  special['"'] = special['\\'] = true;
  return special;
}();

struct Chunk {
  std::vector<char> text;
  std::vector<std::int64_t> places;  // lines from 1 in the chunk
  std::int64_t n_lines = 0;
  std::optional<ParseError> error;  // with a line counted from the start of the chunk
};

// One line at a time; p_ is in [line begin, end_], and no byte past end_ is read.
class LineParser {
 public:
  LineParser(Chunk& chunk, std::string_view key, const char* origin) : chunk_(chunk), key_(key), origin_(origin) {}

  void parse(const char* begin, const char* end) {
    p_ = begin;
    end_ = end;
    blanks();
    if (p_ == end_) return;
    if (*p_ != '{') fail("expected a JSON object, one per line");
    ++p_;
    bool found = false;
    blanks();
    if (peek() == '}') {
      ++p_;
    } else {
      do {
        const bool wanted = member_key();
        if (wanted && found) fail("the key " + quoted(key_) + " occurs twice in one object");
        found |= wanted;
        if (wanted) {
          take();
        } else {
          skip(0);
        }
        blanks();
      } while (separator('}'));
    }
    blanks();
    if (p_ != end_) fail("bad JSON: more after the object");
    if (found) return;
    if (!naming_) {  // once more, for the names of the keys
      naming_ = true;
      parse(begin, end);
    }
    fail("the object has no key " + quoted(key_) + named() + "; name the one of the text with text_column");
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ParseError(message, chunk_.n_lines, p_ - origin_);
  }
  [[noreturn]] void fail_json(const char* what) const { fail(std::string("bad JSON: ") + what); }

  char peek() const { return p_ < end_ ? *p_ : '\0'; }
  void blanks() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r')) ++p_;
  }
  // After a member: true before another one, false at the end of the object or array.
  bool separator(char closing) {
    const char c = peek();
    if (c != ',' && c != closing) fail_json("expected a comma or the end of an object or array");
    ++p_;
    if (c == ',') blanks();
    return c == ',';
  }

  // Reads a key and its colon; returns whether it is the one looked for.
  bool member_key() {
    if (peek() != '"') fail_json("expected a key in double quotes");
    scratch_.clear();
    string(&scratch_);
    blanks();
    if (peek() != ':') fail_json("expected a colon after a key");
    ++p_;
    blanks();
    const std::string_view name(scratch_.data(), scratch_.size());
    if (name == key_) return true;
    if (naming_ && keys_.size() < kMostNamed) keys_.emplace_back(name);
    return false;
  }

  std::string named() const {
    std::string all;
    for (const std::string& name : keys_) all += (all.empty() ? ", and has " : ", ") + quoted(name);
    return all;
  }

  // Appends the value, which must be a string, to the text.
  void take() {
    if (peek() != '"') {
      const char c = peek();
      const char* what = c == 'n' ? "null" : c == '{' ? "an object" : c == '[' ? "an array"
                         : c == 't' || c == 'f' ? "a boolean" : "a number";
      fail("the value of " + quoted(key_) + " must be a string, not " + what + "; leave such lines out");
    }
    const std::size_t before = chunk_.text.size();
    string(&chunk_.text);
    chunk_.text.push_back('\n');
    const auto n = std::count(chunk_.text.begin() + static_cast<std::ptrdiff_t>(before), chunk_.text.end(), '\n');
    chunk_.places.insert(chunk_.places.end(), static_cast<std::size_t>(n), chunk_.n_lines);
  }

  // Reads a string from its opening quote to behind its closing one; decodes it to out, unless that is null.
  void string(std::vector<char>* out) {
    ++p_;
    for (;;) {
      const char* const begin = p_;
      while (p_ < end_ && !kSpecial[static_cast<unsigned char>(*p_)]) ++p_;
      if (out) out->insert(out->end(), begin, p_);
      if (p_ == end_) fail_json("a string without its end");
      if (*p_ == '"') break;
      if (*p_ != '\\') fail_json("a control character in a string; write it as an escape");
      escape(out);
    }
    ++p_;
  }

  void escape(std::vector<char>* out) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    ++p_;
    const char c = peek();
    if (c != 'u') {
      const std::size_t which = p_ < end_ ? kLetters.find(c) : std::string_view::npos;
      if (which == std::string_view::npos) fail_json("an unknown escape in a string");
      ++p_;
      if (out) out->push_back(kMeanings[which]);
      return;
    }
    std::uint32_t code = hexadecimal();
    if (code >= 0xD800 && code < 0xDC00 && end_ - p_ >= 2 && p_[0] == '\\' && p_[1] == 'u') {
      ++p_;
      const std::uint32_t low = hexadecimal();
      if (low < 0xDC00 || low > 0xDFFF) fail("half of a surrogate pair, no character; repair or remove it");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code >= 0xD800 && code <= 0xDFFF && out) fail("half of a surrogate pair, no character; repair or remove it");
    if (out) append_utf8(*out, code);
  }

  // Reads the u and the four digits after it.
  std::uint32_t hexadecimal() {
    ++p_;
    if (end_ - p_ < 4) fail_json("an escape that is cut off");
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++p_) {
      const char c = *p_;
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) fail_json("an escape without four hexadecimal digits");
      code = code << 4 | static_cast<std::uint32_t>(digit);
    }
    return code;
  }

  // Reads any value.
  void skip(int depth) {
    if (depth > kMostNested) fail_json("nested too deeply");
    switch (peek()) {
      case '"': return string(nullptr);
      case '{': return members('}', depth);
      case '[': return members(']', depth);
      case 't': return literal("true");
      case 'f': return literal("false");
      case 'n': return literal("null");
      default: return number();
    }
  }

  void members(char closing, int depth) {
    ++p_;
    blanks();
    if (peek() == closing) {
      ++p_;
      return;
    }
    do {
      if (closing == '}') {
        if (peek() != '"') fail_json("expected a key in double quotes");
        string(nullptr);
        blanks();
        if (peek() != ':') fail_json("expected a colon after a key");
        ++p_;
        blanks();
      }
      skip(depth + 1);
      blanks();
    } while (separator(closing));
  }

  void literal(std::string_view word) {
    if (static_cast<std::size_t>(end_ - p_) < word.size() || std::string_view(p_, word.size()) != word)
      fail_json("expected a value");
    p_ += word.size();
  }

  bool digits() {
    const char* const begin = p_;
    while (p_ < end_ && *p_ >= '0' && *p_ <= '9') ++p_;
    return p_ > begin;
  }
  void number() {
    if (peek() == '-') ++p_;
    if (peek() == '0') {
      ++p_;
    } else if (!digits()) {
      fail_json("expected a value");
    }
    if (peek() == '.') {
      ++p_;
      if (!digits()) fail_json("a number without digits after its point");
    }
    if (peek() == 'e' || peek() == 'E') {
      ++p_;
      if (peek() == '+' || peek() == '-') ++p_;
      if (!digits()) fail_json("a number without digits in its exponent");
    }
  }

  Chunk& chunk_;
  const std::string_view key_;
  const char* const origin_;
  const char *p_ = nullptr, *end_ = nullptr;
  std::vector<char> scratch_;
  bool naming_ = false;            // whether keys are collected for a message
  std::vector<std::string> keys_;  // those of the object that are not looked for
};

void read(Chunk& chunk, std::string_view key, const char* origin, const char* p, const char* end) {
  chunk.text.reserve(static_cast<std::size_t>(end - p));
  LineParser parser(chunk, key, origin);
  try {
    while (p < end) {
      const char* const line_end = find_byte(p, end, '\n');
      ++chunk.n_lines;
      parser.parse(p, line_end);
      p = line_end < end ? line_end + 1 : end;
    }
  } catch (const ParseError& error) {  // kept, not thrown: the first fault of all chunks must win
    chunk.error.emplace(error);
  }
}

}  // namespace

JsonTexts json_texts(ThreadPool& pool, std::span<const char> input, std::string_view key, std::size_t chunk_size) {
  const auto n_threads = static_cast<std::size_t>(pool.size());
  if (chunk_size == 0) chunk_size = std::max<std::size_t>(input.size() / (4 * n_threads), 1 << 16);
  const std::vector<std::size_t> cuts = cut_lines(input, chunk_size);
  std::vector<Chunk> chunks(cuts.size() - 1);
  pool.run(chunks.size(), [&](std::size_t i) {
    read(chunks[i], key, input.data(), input.data() + cuts[i], input.data() + cuts[i + 1]);
  });
  JsonTexts all;
  std::size_t n_bytes = 0, n_texts = 0;
  for (const Chunk& chunk : chunks) {
    n_bytes += chunk.text.size();
    n_texts += chunk.places.size();
  }
  all.text.reserve(n_bytes);
  all.places.reserve(n_texts);
  for (Chunk& chunk : chunks) {
    if (chunk.error) throw ParseError(chunk.error->what(), all.n_lines + chunk.error->line, chunk.error->offset);
    all.text.insert(all.text.end(), chunk.text.begin(), chunk.text.end());
    for (const std::int64_t place : chunk.places) all.places.push_back(all.n_lines + place);
    all.n_lines += chunk.n_lines;
    chunk = {};
  }
  return all;
}

}  // namespace loglinear::text
