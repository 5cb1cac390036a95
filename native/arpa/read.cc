#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "arpa/lines.hh"
#include "arpa/text.hh"
#include "util/errors.hh"
#include "util/lines.hh"
#include "util/log10_text.hh"
#include "util/utf8.hh"

namespace loglinear::arpa {

using namespace backoff;
using namespace trie;
namespace {

constexpr double kLn10 = 2.302585092994046;
constexpr double kTolerated = 1e-4 * kLn10;  // writers round: log10 p may exceed 0 by four decimals

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (is_blank(line.back()) || line.back() == '\r')) line.remove_suffix(1);
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  return line;
}

// The line at `p` without its end and the blanks around it, and p moved past it.
std::string_view next_line(const char*& p, const char* end) {
  const char* const begin = p;
  const char* const line_end = find_byte(p, end, '\n');
  p = line_end < end ? line_end + 1 : end;
  return trimmed({begin, static_cast<std::size_t>(line_end - begin)});
}

std::string_view next_token(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && !is_blank(rest[size])) ++size;
  const std::string_view token = rest.substr(0, size);
  while (size < rest.size() && is_blank(rest[size])) ++size;
  rest.remove_prefix(size);
  return token;
}

struct Fault {  // kept, not thrown, while chunks are parsed: the first fault of the file must win
  std::string message;
  const char* at;
};

struct Section {
  std::span<const char> text;  // after the line that names it
  const char* title = nullptr;
  std::uint64_t promised = 0;           // lines, by the header
  std::vector<std::size_t> cuts;        // chunks of whole lines
  std::vector<std::size_t> first_line;  // [n_chunks + 1] lines before each chunk
};

struct Values {
  std::vector<double> log_probability, log_backoff;  // natural
};

class Reader {
 public:
  Reader(ThreadPool& pool, std::span<const char> text, std::size_t chunk_size, bool any_bytes)
      : pool_(pool), text_(text), chunk_size_(chunk_size), any_bytes_(any_bytes) {}

  ArpaModel read() {
    find_sections();
    for (std::size_t n = 1; n <= sections_.size(); ++n) count_lines(n);
    lines_.resize(sections_.size());
    values_.resize(sections_.size());
    read_words();
    for (std::size_t n = 2; n <= sections_.size(); ++n) read_section(n);
    return place();
  }

 private:
  [[noreturn]] void fail(const std::string& message, const char* at) const {
    throw ParseError(message, 1 + std::count(text_.data(), at, '\n'), at - text_.data());
  }

  // ---- the frame -------------------------------------------------------------------------------------------------
  void find_sections() {
    const std::vector<const char*> marks = find_marks();
    const char* const end = text_.data() + text_.size();
    const auto name = [&](std::size_t i) {
      const char* p = marks[i];
      return next_line(p, end);
    };
    std::size_t i = 0;
    while (i < marks.size() && name(i) != "\\data\\") ++i;
    if (i == marks.size()) fail("there is no line \\data\\; this is not an ARPA file", text_.data());
    read_header(marks[i], i + 1 < marks.size() ? marks[i + 1] : end);
    for (std::size_t n = 1; n <= sections_.size() + 1; ++n) {
      const std::string expected =
          n <= sections_.size() ? std::string("\\").append(std::to_string(n)).append("-grams:") : "\\end\\";
      if (++i == marks.size())
        fail("the file ends before its " + expected + "; it is truncated, so fetch or write it again",
             text_.empty() ? end : end - 1);
      if (name(i) != expected) fail("expected " + expected + " and found " + quoted(name(i)), marks[i]);
      if (n > sections_.size()) return;
      const char* p = marks[i];
      next_line(p, end);
      const char* const stop = i + 1 < marks.size() ? marks[i + 1] : end;
      sections_[n - 1].title = marks[i];
      sections_[n - 1].text = {p, static_cast<std::size_t>(stop - p)};
    }
  }

  // Lines that begin with a backslash: no line of an n-gram does.
  std::vector<const char*> find_marks() const {
    constexpr std::size_t kBytes = 1 << 20;
    std::vector<std::vector<const char*>> found(chunk_count(text_.size(), kBytes));
    pool_.run(found.size(), [&](std::size_t chunk) {
      const Range r = chunk_range(text_.size(), kBytes, chunk);
      const char* const end = text_.data() + r.end;
      for (const char* p = text_.data() + r.begin; (p = find_byte(p, end, '\\')) != end; ++p)
        if (p == text_.data() || p[-1] == '\n') found[chunk].push_back(p);
    });
    std::vector<const char*> marks;
    for (const auto& part : found) marks.insert(marks.end(), part.begin(), part.end());
    return marks;
  }

  void read_header(const char* p, const char* end) {
    next_line(p, end);
    while (p < end) {
      const char* const at = p;
      std::string_view line = next_line(p, end);
      if (line.empty()) continue;
      if (next_token(line) != "ngram") fail("expected 'ngram ORDER=COUNT' and found " + quoted(line), at);
      const auto order = number(line, at);
      line = trimmed(line);
      if (line.empty() || line[0] != '=') fail("expected 'ngram ORDER=COUNT': there is no '='", at);
      line = trimmed(line.substr(1));
      const auto count = number(line, at);
      if (!line.empty()) fail("expected 'ngram ORDER=COUNT' and found more: " + quoted(line), at);
      if (order != sections_.size() + 1)
        fail("orders must be listed as 1, 2, ...: expected " + std::to_string(sections_.size() + 1) + " and found " +
                 std::to_string(order),
             at);
      if (order > kHighestOrder) fail("the order is above " + std::to_string(kHighestOrder), at);
      sections_.emplace_back();
      sections_.back().promised = count;
    }
    if (sections_.empty())
      fail("the header lists no n-grams; expected lines 'ngram ORDER=COUNT' after \\data\\", end - 1);
  }

  std::uint64_t number(std::string_view& line, const char* at) const {
    std::uint64_t value = 0;
    std::size_t size = 0;
    for (; size < line.size() && line[size] >= '0' && line[size] <= '9'; ++size) {
      if (value > 1'000'000'000'000'000'000u) fail("a number in the header is too large", at);
      value = value * 10 + static_cast<std::uint64_t>(line[size] - '0');
    }
    if (size == 0) fail("expected 'ngram ORDER=COUNT': a number is missing", at);
    line.remove_prefix(size);
    return value;
  }

  void count_lines(std::size_t n) {
    Section& section = sections_[n - 1];
    section.cuts = cut_lines(section.text, chunk_size_);
    section.first_line.assign(section.cuts.size(), 0);
    pool_.run(section.cuts.size() - 1, [&](std::size_t chunk) {
      std::size_t count = 0;
      each_line(section, chunk, [&](std::string_view) { ++count; });
      section.first_line[chunk + 1] = count;
    });
    for (std::size_t c = 1; c < section.first_line.size(); ++c) section.first_line[c] += section.first_line[c - 1];
    const std::size_t found = section.first_line.back();
    if (found != section.promised)
      fail("the header says " + std::to_string(section.promised) + " n-grams of order " + std::to_string(n) +
               " and the section has " + std::to_string(found) + "; correct the header or fetch the file again",
           section.title);
    if (found >= kNowhere) fail("more than 2^32 - 2 n-grams of one order", section.title);
  }

  template <class Line>
  static void each_line(const Section& section, std::size_t chunk, Line line) {
    const char* p = section.text.data() + section.cuts[chunk];
    const char* const end = section.text.data() + section.cuts[chunk + 1];
    while (p < end) {
      const std::string_view found = next_line(p, end);
      if (!found.empty()) line(found);
    }
  }

  // ---- lines -----------------------------------------------------------------------------------------------------
  // chunk_body(chunk) in parallel; the first Fault thrown, in the order of the file, becomes the error.
  template <class Chunk>
  void parse_chunks(const Section& section, Chunk chunk_body) {
    std::vector<std::optional<Fault>> faults(section.cuts.size() - 1);
    pool_.run(faults.size(), [&](std::size_t chunk) {
      try {
        chunk_body(chunk);
      } catch (const Fault& fault) {
        faults[chunk] = fault;
      }
    });
    for (const auto& fault : faults)
      if (fault) fail(fault->message, fault->at);
  }

  static double value(std::string_view token) {
    const bool infinite = token.size() == 4 && token[0] == '-' && (token[1] | 32) == 'i' && (token[2] | 32) == 'n' &&
                          (token[3] | 32) == 'f';
    if (infinite) return -std::numeric_limits<double>::infinity();
    double result = 0.0;
    const char* const end = token.data() + token.size();
    if (read_log10(token.data(), end, result) != end || !std::isfinite(result))
      throw Fault{quoted(token) + " is not a number; expected 'LOG10_PROBABILITY WORDS [LOG10_BACKOFF]'", token.data()};
    return result;
  }

  // Probability, words and back-off of a line of order n.
  void split(std::string_view line, std::size_t n, std::size_t row, std::string_view* words) {
    std::string_view rest = line;
    values_[n - 1].log_probability[row] = value(next_token(rest));
    for (std::size_t i = 0; i < n; ++i) {
      if (rest.empty()) throw wrong_length(n, line);
      words[i] = next_token(rest);
    }
    const bool highest = n == sections_.size();
    if (rest.empty()) return;
    const std::string_view last = next_token(rest);
    if (!rest.empty()) throw wrong_length(n, line);
    const double backoff = value(last);
    if (highest && backoff != 0.0) throw Fault{"a back-off at the highest order, which can have none", line.data()};
    if (!highest) values_[n - 1].log_backoff[row] = backoff;
  }

  static Fault wrong_length(std::size_t n, std::string_view line) {
    std::size_t fields = 0;
    while (!line.empty()) next_token(line), ++fields;
    return {"a line of " + std::to_string(fields) + " fields among the n-grams of order " + std::to_string(n) +
                "; expected a probability, " + std::to_string(n) + (n == 1 ? " word" : " words") +
                " and at most one back-off",
            line.data() - 1};
  }

  // What a line becomes, once its words are numbered.
  void finish(std::size_t n, std::size_t row, std::string_view line) {
    const std::uint32_t* const words = lines_[n - 1].words.data() + row * n;
    if (std::find(words + 1, words + n, begin_) != words + n) return;
    double& p = values_[n - 1].log_probability[row];
    std::uint8_t kind = kIgnored;
    if (words[n - 1] != begin_) {
      if (p > kTolerated) throw Fault{"a probability above one: its logarithm is positive", line.data()};
      p = std::min(p, 0.0);
      kind |= kEntry;
    }
    if (n < sections_.size() && values_[n - 1].log_backoff[row] != 0.0) kind |= kContext;
    lines_[n - 1].kind[row] = kind;
  }

  void allocate(std::size_t n) {
    const std::size_t n_lines = sections_[n - 1].first_line.back();
    lines_[n - 1].words.resize(n_lines * n);
    lines_[n - 1].kind.assign(n_lines, kIgnored);
    values_[n - 1].log_probability.resize(n_lines);
    if (n < sections_.size()) values_[n - 1].log_backoff.assign(n_lines, 0.0);
  }

  // ---- the first order: words and their numbers ------------------------------------------------------------------
  void read_words() {
    allocate(1);
    const Section& section = sections_[0];
    std::vector<std::string_view> words(section.first_line.back());
    parse_chunks(section, [&](std::size_t chunk) {
      std::size_t row = section.first_line[chunk];
      each_line(section, chunk, [&](std::string_view line) {
        split(line, 1, row, &words[row]);
        check_word(words[row]);
        ++row;
      });
    });
    number_words(words);
    parse_chunks(section, [&](std::size_t chunk) {
      for (std::size_t row = section.first_line[chunk]; row < section.first_line[chunk + 1]; ++row)
        finish(1, row, words[row]);
    });
  }

  void check_word(std::string_view word) const {
    if (word.find('\r') != std::string_view::npos || word.find('\0') != std::string_view::npos)
      throw Fault{"a carriage return or NUL byte inside the line; lines end in \\n or \\r\\n", word.data()};
    if (!any_bytes_ && !is_utf8(word))
      throw Fault{"the word " + quoted(word) + " is not valid utf-8; name the encoding of the file, or convert it to utf-8", word.data()};
  }

  void number_words(const std::vector<std::string_view>& words) {
    Interner seen;
    for (std::size_t row = 0; row < words.size(); ++row)
      if (static_cast<std::size_t>(seen.intern(words[row])) != row)
        fail("the n-gram " + quoted(words[row]) + " is there twice; remove one of the lines", words[row].data());
    const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    if (!has("</s>"))
      fail("there is no </s> among the words; add the line '-99 </s>' (and count it in the header) where sentence ends "
           "are never predicted",
           sections_[0].title);
    // <unk> is also spelt <UNK>; a file that has both means an ordinary word by the second.
    const std::string_view unknown = has("<unk>") ? "<unk>" : has("<UNK>") ? "<UNK>" : "";
    words_.push_back("</s>");
    if (!unknown.empty()) words_.push_back(unknown);
    for (std::size_t row = 0; row < words.size(); ++row)
      if (words[row] != "</s>" && words[row] != "<s>" && words[row] != unknown) words_.push_back(words[row]);
    begin_ = static_cast<std::uint32_t>(words_.size());
    words_.push_back("<s>");
    index_.emplace(words_);
    index_->find_each(words.size(), [&](std::size_t row) { return words[row]; },
                      [&, row = std::size_t{0}](std::int32_t id) mutable {
                        lines_[0].words[row++] = static_cast<std::uint32_t>(id);
                      });
  }

  // ---- higher orders ---------------------------------------------------------------------------------------------
  void read_section(std::size_t n) {
    allocate(n);
    const Section& section = sections_[n - 1];
    parse_chunks(section, [&](std::size_t chunk) {
      std::array<std::string_view, kHighestOrder> words, last;
      std::array<std::uint32_t, kHighestOrder> numbers{};
      std::size_t row = section.first_line[chunk];
      each_line(section, chunk, [&](std::string_view line) {
        split(line, n, row, words.data());
        for (std::size_t i = 0; i < n; ++i) {  // files are sorted somehow: words often repeat those of the line before
          if (words[i] != last[i] || words[i].empty()) numbers[i] = number_of(words[i]);
          last[i] = words[i];
          lines_[n - 1].words[row * n + i] = numbers[i];
        }
        finish(n, row++, line);
      });
    });
  }

  std::uint32_t number_of(std::string_view word) const {
    const std::int32_t id = index_->find(word);
    if (id < 0)
      throw Fault{"the word " + quoted(word) + " is not among the unigrams; add it there or remove the n-gram",
                  word.data()};
    return static_cast<std::uint32_t>(id);
  }

  // ---- the model -------------------------------------------------------------------------------------------------
  ArpaModel place() {
    PlacedLines placed = place_lines(pool_, begin_, lines_);
    if (placed.duplicate) fail_duplicate(placed.duplicate->order, placed.duplicate->line);
    ArpaModel result;
    result.model.shape = std::move(placed.shape);
    result.model.log_probability.resize(result.model.shape.entry_word.size());
    result.model.log_backoff.assign(result.model.shape.context_word.size(), 0.0);
    for (std::size_t n = 1; n <= sections_.size(); ++n) {
      const PlacedLines::Numbers& numbers = placed.lines[n - 1];
      const auto scatter = [&](std::span<const std::uint32_t> to, std::span<const double> from, std::span<double> out) {
        parallel_for(pool_, to.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
          for (std::size_t r = begin; r < end; ++r)
            if (to[r] != kNowhere) out[to[r]] = from[r];
        });
      };
      scatter(numbers.entry, values_[n - 1].log_probability, result.model.log_probability);
      scatter(numbers.context, values_[n - 1].log_backoff, result.model.log_backoff);
    }
    for (std::size_t w = 0; w < begin_; ++w)
      result.words.push_back(w == 1 && words_[w] == "<UNK>" ? "<unk>" : words_[w]);
    return result;
  }

  [[noreturn]] void fail_duplicate(std::size_t n, std::size_t row) const {
    const Section& section = sections_[n - 1];
    const auto after = std::upper_bound(section.first_line.begin(), section.first_line.end(), row);
    const auto chunk = static_cast<std::size_t>(after - section.first_line.begin()) - 1;
    std::size_t at = section.first_line[chunk];
    std::string_view found;
    each_line(section, chunk, [&](std::string_view line) {
      if (at++ == row) found = line;
    });
    std::string words;
    std::string_view rest = found;
    next_token(rest);
    for (std::size_t i = 0; i < n; ++i) words.append(i ? " " : "").append(next_token(rest));
    fail("the n-gram " + quoted(words) + " is there twice; remove one of the lines", found.data());
  }

  ThreadPool& pool_;
  std::span<const char> text_;
  std::size_t chunk_size_;
  bool any_bytes_;                  // words need not be UTF-8
  std::vector<Section> sections_;   // [order]
  std::vector<NgramLines> lines_;   // [order]
  std::vector<Values> values_;      // [order]
  PackedStrings words_;             // by number, <s> last
  std::optional<StringIndex> index_;
  std::uint32_t begin_ = 0;         // the number of <s>
};

}  // namespace

ArpaModel parse_arpa(ThreadPool& pool, std::span<const char> text, std::size_t chunk_size, bool any_bytes) {
  return Reader(pool, text, chunk_size, any_bytes).read();
}

}  // namespace loglinear::arpa
