#include "text/conll.hh"

#include <algorithm>
#include <optional>
#include <string>

#include "util/errors.hh"
#include "util/lines.hh"
#include "util/utf8.hh"

namespace loglinear::text {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The line at `p` without its end, and p moved past it.
std::string_view next_line(const char*& p, const char* end) {
  const char* const begin = p;
  const char* line_end = find_byte(p, end, '\n');
  p = line_end < end ? line_end + 1 : end;
  if (line_end > begin && line_end[-1] == '\r') --line_end;
  return {begin, static_cast<std::size_t>(line_end - begin)};
}

bool is_empty(std::string_view line) { return std::all_of(line.begin(), line.end(), is_blank); }

// field(view) for each column of a line that is not blank.
template <class Field>
void split(std::string_view line, bool by_tab, Field field) {
  const char* p = line.data();
  const char* const end = p + line.size();
  if (by_tab) {
    for (;;) {
      const char* const stop = find_byte(p, end, '\t');
      field(std::string_view(p, static_cast<std::size_t>(stop - p)));
      if (stop == end) return;
      p = stop + 1;
    }
  }
  for (;;) {
    while (p < end && is_blank(*p)) ++p;
    if (p == end) return;
    const char* const begin = p;
    while (p < end && !is_blank(*p)) ++p;
    field(std::string_view(begin, static_cast<std::size_t>(p - begin)));
  }
}

struct Layout {
  std::size_t n_columns = 0;
  bool by_tab = false, comments = false;
};

// How the columns are written, by the first line that holds a token.
Layout find_layout(std::span<const char> text, Separator separator, bool comments) {
  Layout layout{0, separator == Separator::tab, comments};
  const char* p = text.data();
  const char* const end = p + text.size();
  for (std::int64_t number = 1; p < end; ++number) {
    const std::string_view line = next_line(p, end);
    if (is_empty(line) || (comments && line[0] == '#')) continue;
    if (separator == Separator::detect) layout.by_tab = line.find('\t') != std::string_view::npos;
    split(line, layout.by_tab, [&](std::string_view) { ++layout.n_columns; });
    if (layout.n_columns > kMaxColumns)
      throw ParseError(std::to_string(layout.n_columns) + " columns, and at most " + std::to_string(kMaxColumns) +
                           " are allowed; a file of this format has one token a line",
                       number, line.data() - text.data());
    return layout;
  }
  return layout;
}

struct Chunk {
  std::vector<std::int32_t> ids;  // [n_tokens][n_columns], numbers of this chunk
  std::vector<Interner> values;   // [n_columns]
  struct Start {
    std::int64_t token, line;
  };
  std::vector<Start> starts;  // the first token, and those after a blank line
  bool fresh = false;         // a blank line comes before the first token
  bool closed = false;        // a blank line comes after the last token
  std::int64_t n_tokens = 0, n_lines = 0;
  std::optional<ParseError> error;                // with a line counted from the start of the chunk
  std::vector<std::vector<std::int32_t>> number;  // [n_columns], to the numbers of all
};

class ChunkParser {
 public:
  ChunkParser(Chunk& chunk, const Layout& layout, const char* origin)
      : chunk_(chunk), layout_(layout), origin_(origin) {
    chunk_.values.resize(layout.n_columns);
  }

  void parse(const char* p, const char* end) {
    chunk_.ids.reserve(static_cast<std::size_t>(std::count(p, end, '\n') + 1) * layout_.n_columns);
    try {
      while (p < end) {
        const std::string_view line = next_line(p, end);
        ++chunk_.n_lines;
        if (layout_.comments && !line.empty() && line[0] == '#') continue;
        if (is_empty(line)) {
          chunk_.closed = true;
          chunk_.fresh = chunk_.fresh || chunk_.n_tokens == 0;
        } else {
          token(line);
        }
      }
    } catch (const ParseError& error) {  // kept, not thrown: the first fault of the file must win
      chunk_.error.emplace(error);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::string_view where) const {
    throw ParseError(message, chunk_.n_lines, where.data() - origin_);
  }

  void token(std::string_view line) {
    if (find_byte(line.data(), line.data() + line.size(), '\r') != line.data() + line.size())
      fail("a carriage return inside the line; lines end in \\n or \\r\\n, so convert the line ends", line);
    std::size_t column = 0;
    split(line, layout_.by_tab, [&](std::string_view value) {
      if (column < layout_.n_columns) {
        Interner& values = chunk_.values[column];
        const std::size_t known = values.strings().size();
        const std::int32_t id = values.intern(value);
        if (static_cast<std::size_t>(id) == known && !is_utf8(value))
          fail("column " + std::to_string(column) + ", " + quoted(value) +
                   ", is not valid utf-8; name the right encoding with --encoding",
               value);
        chunk_.ids.push_back(id);
      }
      ++column;
    });
    if (column != layout_.n_columns)
      fail("found " + std::to_string(column) + (column == 1 ? " column" : " columns") +
               " where the first token has " + std::to_string(layout_.n_columns) +
               "; give every token the same columns" +
               (layout_.by_tab ? ", separated by single tabs" : ", or separate them by tabs if values hold blanks"),
           line);
    if (chunk_.n_tokens == 0 || chunk_.closed) chunk_.starts.push_back({chunk_.n_tokens, chunk_.n_lines});
    chunk_.closed = false;
    ++chunk_.n_tokens;
  }

  Chunk& chunk_;
  const Layout& layout_;
  const char* origin_;
};

// Pointers and first lines of all sequences; the offset of each chunk's first token goes to `first_token`.
void join_sequences(const std::vector<Chunk>& chunks, ConllData& data, std::vector<std::int64_t>& first_token) {
  std::int64_t n_tokens = 0, n_lines = 0;
  bool closed = true;
  for (const Chunk& chunk : chunks) {
    first_token.push_back(n_tokens);
    for (const Chunk::Start& start : chunk.starts) {
      if (start.token == 0 && !closed && !chunk.fresh) continue;  // goes on from the chunk before
      if (n_tokens + start.token > 0) data.sequence_ptr.push_back(n_tokens + start.token);
      data.first_lines.push_back(n_lines + start.line);
    }
    n_tokens += chunk.n_tokens;
    n_lines += chunk.n_lines;
    closed = chunk.closed || (closed && chunk.n_tokens == 0);
  }
  if (n_tokens > 0) data.sequence_ptr.push_back(n_tokens);
}

void join_values(ThreadPool& pool, std::vector<Chunk>& chunks, ConllData& data) {
  for (Chunk& chunk : chunks) chunk.number.resize(data.columns.size());
  pool.run(data.columns.size(), [&](std::size_t c) {
    Interner all;
    for (Chunk& chunk : chunks) {
      const PackedStrings& values = chunk.values[c].strings();
      chunk.number[c].reserve(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) chunk.number[c].push_back(all.intern(values[i]));
      chunk.values[c] = Interner();
    }
    data.columns[c].values = std::move(all).take();
  });
}

bool has(std::string_view value, char c) { return value.find(c) != std::string_view::npos; }

// Whether each value has a byte that is not blank; InvalidInput for one that would not read back.
std::vector<bool> check_values(const ConllView& column, char separator) {
  column.values.check();
  std::vector<bool> visible(column.values.size());
  for (std::size_t i = 0; i < visible.size(); ++i) {
    const std::string_view value = column.values[i];
    visible[i] = !is_empty(value);
    const bool bad = has(value, '\n') || has(value, '\r') || has(value, '\t') ||
                     (separator == ' ' && (value.empty() || has(value, ' ')));
    if (bad)
      throw InvalidInput("cannot write the value " + quoted(value) + ": " +
                         (separator == ' ' ? "it is empty or holds a blank or a line end; separate columns by tabs, or "
                                             "replace it"
                                           : "it holds a tab or a line end; replace it"));
  }
  return visible;
}

}  // namespace

ConllData parse_conll(ThreadPool& pool, std::span<const char> text, Separator separator, bool comments,
                      std::size_t chunk_size) {
  const Layout layout = find_layout(text, separator, comments);
  const std::vector<std::size_t> cuts = cut_lines(text, chunk_size);
  std::vector<Chunk> chunks(cuts.size() - 1);
  pool.run(chunks.size(), [&](std::size_t c) {
    ChunkParser(chunks[c], layout, text.data()).parse(text.data() + cuts[c], text.data() + cuts[c + 1]);
  });
  std::int64_t lines = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.error) throw ParseError(chunk.error->what(), lines + chunk.error->line, chunk.error->offset);
    lines += chunk.n_lines;
  }

  ConllData data;
  std::vector<std::int64_t> first_token;
  join_sequences(chunks, data, first_token);
  const std::size_t n_columns = layout.n_columns;
  data.columns.resize(n_columns);
  join_values(pool, chunks, data);
  for (ConllColumn& column : data.columns) column.ids.resize(static_cast<std::size_t>(data.sequence_ptr.back()));
  pool.run(chunks.size(), [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    for (std::size_t k = 0; k < n_columns; ++k) {
      std::int32_t* const out = data.columns[k].ids.data() + first_token[c];
      const std::int32_t* const number = chunk.number[k].data();
      for (std::size_t t = 0; t < static_cast<std::size_t>(chunk.n_tokens); ++t)
        out[t] = number[static_cast<std::size_t>(chunk.ids[t * n_columns + k])];
    }
    chunk = Chunk();
  });
  return data;
}

std::vector<char> format_conll(std::span<const std::int64_t> sequence_ptr, std::span<const ConllView> columns,
                               char separator) {
  if (sequence_ptr.empty() || sequence_ptr.front() != 0) throw InvalidInput("conll: sequence_ptr must begin at 0");
  if (columns.empty()) throw InvalidInput("conll: there are no columns to write");
  const std::int64_t n_tokens = sequence_ptr.back();
  std::vector<std::vector<bool>> visible;
  for (const ConllView& column : columns) {
    if (static_cast<std::int64_t>(column.ids.size()) != n_tokens)
      throw InvalidInput("conll: a column of " + std::to_string(column.ids.size()) + " values for " +
                         std::to_string(n_tokens) + " tokens");
    visible.push_back(check_values(column, separator));
    for (const std::int32_t id : column.ids)
      if (id < 0 || static_cast<std::size_t>(id) >= column.values.size())
        throw InvalidInput("conll: value number " + std::to_string(id) + " is outside [0, " +
                           std::to_string(column.values.size()) + ")");
  }
  std::vector<char> out;
  for (std::size_t s = 0; s + 1 < sequence_ptr.size(); ++s) {
    if (sequence_ptr[s + 1] < sequence_ptr[s] || sequence_ptr[s + 1] > n_tokens)
      throw InvalidInput("conll: sequence_ptr decreases at sequence " + std::to_string(s));
    for (std::int64_t t = sequence_ptr[s]; t < sequence_ptr[s + 1]; ++t) {
      bool seen = false;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto id = static_cast<std::size_t>(columns[c].ids[static_cast<std::size_t>(t)]);
        const std::string_view value = columns[c].values[id];
        if (c) out.push_back(separator);
        out.insert(out.end(), value.begin(), value.end());
        seen = seen || visible[c][id];
      }
      if (!seen) throw InvalidInput("cannot write token " + std::to_string(t) + ": all of its values are blank");
      out.push_back('\n');
    }
    out.push_back('\n');
  }
  return out;
}

}  // namespace loglinear::text
