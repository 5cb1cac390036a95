#include "text/corpus.hh"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "util/errors.hh"
#include "util/lines.hh"
#include "util/utf8.hh"

namespace loglinear::text {

namespace {

constexpr std::string_view kVisibleBlank = "\xE2\x96\x81";  // U+2581
constexpr std::uint32_t kDirect = 0x800;                    // units below this are found without hashing

constexpr std::array<bool, 256> kBlank = [] {
  std::array<bool, 256> blank{};
  for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) blank[c] = true;
  return blank;
}();
bool is_blank(char c) { return kBlank[static_cast<unsigned char>(c)]; }

bool is_boundary(std::string_view word) { return word[0] == '<' && (word == "<s>" || word == "</s>"); }

std::string byte_name(unsigned char byte) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  if (byte > 0x20 && byte < 0x7F) return std::string(1, static_cast<char>(byte));
  return std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + '>';
}

struct Segment {
  std::size_t text = 0, begin = 0, end = 0;  // bytes [begin, end) of one of the texts
  std::int64_t n_lines = 0;
};

struct Chunk {
  std::vector<Segment> segments;
  std::vector<std::uint32_t> tokens;         // numbers of this chunk
  std::vector<std::int64_t> sentence_ends;   // tokens of this chunk up to the end of each sentence
  Interner units;
  std::vector<std::int64_t> counts;         // [n_units of this chunk]
  std::vector<std::uint32_t> first_segment;  // [n_units of this chunk], where each is first, and
  std::vector<std::int64_t> first_line;      // [n_units of this chunk] the line there, from 1
  std::optional<ParseError> error;           // in the last segment that was read, with a line counted from its start
  std::vector<std::uint32_t> number;             // [n_units of this chunk], to the numbers of all
};

class ChunkReader {
 public:
  ChunkReader(Chunk& chunk, const CorpusOptions& options) : chunk_(chunk), options_(options) {
    if (options.unit != Unit::words) direct_.assign(kDirect, HashSlots::kNone);
  }

  void read(std::span<const std::span<const char>> texts) {
    std::size_t size = 0;
    for (const Segment& segment : chunk_.segments) size += segment.end - segment.begin;
    chunk_.tokens.reserve(size / (options_.unit == Unit::words ? 5 : 1));
    for (; segment_ < chunk_.segments.size() && !chunk_.error; ++segment_) {
      const Segment& segment = chunk_.segments[segment_];
      origin_ = texts[segment.text].data();
      read_segment(origin_ + segment.begin, origin_ + segment.end);
    }
  }

 private:
  void read_segment(const char* p, const char* end) {
    try {
      while (p < end) {
        const char* const line_end = find_byte(p, end, '\n');
        ++n_lines();
        const std::size_t before = chunk_.tokens.size();
        read_line(p, line_end);
        if (options_.keep_empty || chunk_.tokens.size() > before)
          chunk_.sentence_ends.push_back(static_cast<std::int64_t>(chunk_.tokens.size()));
        p = line_end < end ? line_end + 1 : end;
      }
    } catch (const ParseError& error) {  // kept, not thrown: the first fault of all texts must win
      chunk_.error.emplace(error);
    }
  }

  std::int64_t& n_lines() const { return chunk_.segments[segment_].n_lines; }

  [[noreturn]] void fail(const std::string& message, const char* where) const {
    throw ParseError(message, n_lines(), where - origin_);
  }
  [[noreturn]] void fail_nul(const char* where) const {
    fail("a NUL byte, which no text has; remove it, or name the right encoding with --encoding", where);
  }

  void read_line(const char* p, const char* end) {
    switch (options_.unit) {
      case Unit::words: return read_words(p, end);
      case Unit::characters: return read_characters(p, end);
      case Unit::bytes: return read_bytes(p, end);
    }
  }

  void read_words(const char* p, const char* end) {
    for (;;) {
      while (p < end && is_blank(*p)) ++p;
      if (p == end) return;
      const char* const begin = p;
      while (p < end && !is_blank(*p)) ++p;
      const std::string_view word(begin, static_cast<std::size_t>(p - begin));
      if (options_.skip_boundaries && is_boundary(word)) continue;
      const auto id = static_cast<std::size_t>(chunk_.units.intern(word));
      if (id == chunk_.counts.size()) {  // what holds for one occurrence holds for all
        check_word(word);
        add_unit();
      }
      add_token(id);
    }
  }

  void check_word(std::string_view word) const {
    const char* const end = word.data() + word.size();
    if (const char* const nul = find_byte(word.data(), end, '\0'); nul != end) fail_nul(nul);
    if (!is_utf8(word))
      fail("the word " + quoted(word) + " is not valid utf-8; name the right encoding with --encoding, or take bytes "
           "as units",
           word.data());
  }

  void read_characters(const char* p, const char* end) {
    if (p < end && end[-1] == '\r') --end;
    const auto* const stop = reinterpret_cast<const unsigned char*>(end);
    while (p < end) {
      const CodePoint c = decode_utf8(reinterpret_cast<const unsigned char*>(p), stop);
      if (c.value == 0) fail_nul(p);
      if (c.value == kMalformed || (c.value >= 0xD800 && c.value <= 0xDFFF))
        fail("the byte " + quoted({p, 1}) + " is not valid utf-8; name the right encoding with --encoding, or take "
             "bytes as units",
             p);
      const std::string_view unit(p, c.length);
      if (c.value < kDirect)
        add_direct(c.value, [&] { return std::string(is_blank(*p) ? kVisibleBlank : unit); });
      else
        add_string(unit);
      p += c.length;
    }
  }

  void read_bytes(const char* p, const char* end) {
    for (; p < end; ++p) {
      const auto byte = static_cast<unsigned char>(*p);
      add_direct(byte, [&] { return byte_name(byte); });
    }
  }

  template <class Name>
  void add_direct(std::uint32_t value, Name name) {
    if (direct_[value] != HashSlots::kNone) return add_token(static_cast<std::size_t>(direct_[value]));
    add_string(name());
    direct_[value] = static_cast<std::int32_t>(chunk_.tokens.back());
  }

  void add_string(std::string_view unit) {
    const auto id = static_cast<std::size_t>(chunk_.units.intern(unit));
    if (id == chunk_.counts.size()) add_unit();
    add_token(id);
  }

  void add_unit() {
    chunk_.counts.push_back(0);
    chunk_.first_segment.push_back(static_cast<std::uint32_t>(segment_));
    chunk_.first_line.push_back(n_lines());
  }

  void add_token(std::size_t id) {
    ++chunk_.counts[id];
    chunk_.tokens.push_back(static_cast<std::uint32_t>(id));
  }

  Chunk& chunk_;
  const CorpusOptions& options_;
  std::size_t segment_ = 0;
  const char* origin_ = nullptr;  // start of the text of the segment
  std::vector<std::int32_t> direct_;  // [kDirect], number of a character or byte
};

// Larger chunks mean less to join; a few for each thread, since they take different times.
std::size_t choose_chunk_size(std::span<const std::span<const char>> texts, int n_threads) {
  std::size_t total = 0;
  for (const auto text : texts) total += text.size();
  return std::clamp<std::size_t>(total / (4 * static_cast<std::size_t>(n_threads)), 1 << 16, 1 << 24);
}

std::vector<Chunk> cut_texts(std::span<const std::span<const char>> texts, std::size_t chunk_size) {
  std::vector<Chunk> chunks;
  std::size_t size = chunk_size;  // of the last chunk
  for (std::size_t t = 0; t < texts.size(); ++t) {
    const std::vector<std::size_t> cuts = cut_lines(texts[t], chunk_size);
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      const std::size_t own = cuts[c + 1] - cuts[c];
      if (size + own > chunk_size) {
        chunks.emplace_back();
        size = 0;
      }
      chunks.back().segments.push_back({t, cuts[c], cuts[c + 1]});
      size += own;
    }
  }
  return chunks;
}

void throw_first_error(std::span<const std::span<const char>> texts, std::span<const Chunk> chunks) {
  std::vector<std::int64_t> n_lines(texts.size()), first_byte(texts.size());
  for (std::size_t t = 0; t + 1 < texts.size(); ++t)
    first_byte[t + 1] = first_byte[t] + static_cast<std::int64_t>(texts[t].size());
  for (const Chunk& chunk : chunks) {
    std::size_t last = 0;  // the segment with the error, after which no lines were read
    for (std::size_t s = 0; s < chunk.segments.size() && chunk.error; ++s)
      if (chunk.segments[s].n_lines) last = s;
    for (std::size_t s = 0; s < chunk.segments.size(); ++s) {
      const Segment& segment = chunk.segments[s];
      if (const auto& error = chunk.error; error && s == last)
        throw ParseError(error->what(), n_lines[segment.text] + error->line, first_byte[segment.text] + error->offset);
      n_lines[segment.text] += segment.n_lines;
    }
  }
}

// Numbers of all units, their counts and first places.
void join_units(std::span<Chunk> chunks, TokenisedCorpus& corpus) {
  Interner all;
  std::vector<std::int64_t> before;  // lines of the text of each segment of a chunk, before it
  for (Chunk& chunk : chunks) {
    before.clear();
    for (const Segment& segment : chunk.segments) {
      before.push_back(corpus.n_lines[segment.text]);
      corpus.n_lines[segment.text] += segment.n_lines;
    }
    const PackedStrings& units = chunk.units.strings();
    chunk.number.reserve(units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
      const auto id = static_cast<std::size_t>(all.intern(units[i]));
      if (id == corpus.counts.size()) {
        corpus.counts.push_back(0);
        const std::size_t s = chunk.first_segment[i];
        corpus.first_text.push_back(static_cast<std::int32_t>(chunk.segments[s].text));
        corpus.first_line.push_back(before[s] + chunk.first_line[i]);
      }
      corpus.counts[id] += chunk.counts[i];
      chunk.number.push_back(static_cast<std::uint32_t>(id));
    }
    chunk.units = Interner();
  }
  corpus.units = std::move(all).take();
}

void join_tokens(ThreadPool& pool, std::span<Chunk> chunks, TokenisedCorpus& corpus) {
  std::vector<std::size_t> first_token, first_sentence;
  std::size_t n_tokens = 0, n_sentences = 0;
  for (const Chunk& chunk : chunks) {
    first_token.push_back(n_tokens);
    first_sentence.push_back(n_sentences);
    n_tokens += chunk.tokens.size();
    n_sentences += chunk.sentence_ends.size();
  }
  corpus.tokens.resize(n_tokens);
  corpus.sentence_ptr.resize(n_sentences + 1);
  pool.run(chunks.size(), [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    std::uint32_t* const tokens = corpus.tokens.data() + first_token[c];
    for (std::size_t i = 0; i < chunk.tokens.size(); ++i) tokens[i] = chunk.number[chunk.tokens[i]];
    std::int64_t* const ends = corpus.sentence_ptr.data() + first_sentence[c] + 1;
    for (std::size_t i = 0; i < chunk.sentence_ends.size(); ++i)
      ends[i] = static_cast<std::int64_t>(first_token[c]) + chunk.sentence_ends[i];
    chunk = Chunk();
  });
}

}  // namespace

TokenisedCorpus tokenise_corpus(ThreadPool& pool, std::span<const std::span<const char>> texts,
                                const CorpusOptions& options) {
  const std::size_t size = options.chunk_size ? options.chunk_size : choose_chunk_size(texts, pool.size());
  std::vector<Chunk> chunks = cut_texts(texts, size);
  pool.run(chunks.size(), [&](std::size_t c) {
    ChunkReader(chunks[c], options).read(texts);
  });
  throw_first_error(texts, chunks);
  TokenisedCorpus corpus;
  corpus.n_lines.resize(texts.size());
  join_units(chunks, corpus);
  join_tokens(pool, chunks, corpus);
  return corpus;
}

void renumber_tokens(ThreadPool& pool, std::span<std::uint32_t> tokens, std::span<const std::uint32_t> numbers) {
  parallel_for(pool, tokens.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    const auto piece = tokens.subspan(begin, end - begin);
    if (!piece.empty() && *std::max_element(piece.begin(), piece.end()) >= numbers.size())
      throw InvalidInput("renumber_tokens: a token is not below " + std::to_string(numbers.size()) +
                         ", how many numbers are given");
  });
  parallel_for(pool, tokens.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) tokens[i] = numbers[tokens[i]];
  });
}

}  // namespace loglinear::text
