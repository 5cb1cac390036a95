#include "text/crfsuite.hh"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "util/errors.hh"
#include "util/lines.hh"
#include "util/parse_double.hh"
#include "util/utf8.hh"

namespace loglinear::text {

namespace {

struct Chunk {
  Interner attributes, labels;
  std::vector<std::int32_t> indices, label;
  std::vector<double> values;             // [indices.size()] once one differs from 1, otherwise empty
  std::vector<std::int64_t> row_ends;     // [n_tokens], into indices
  std::vector<std::int64_t> starts;       // the first token, and those after a blank line
  bool fresh = false, closed = false;     // a blank line before the first token; after the last
  std::int64_t n_lines = 0;
  std::optional<ParseError> error;        // with a line counted from the start of the chunk
  std::vector<std::int32_t> to_attribute, to_label;  // to the numbers of all
};

class ChunkParser {
 public:
  ChunkParser(Chunk& chunk, const char* origin) : chunk_(chunk), origin_(origin) {}

  void parse(const char* p, const char* end) {
    try {
      while (p < end) {
        const char* const line_end = find_byte(p, end, '\n');
        ++chunk_.n_lines;
        parse_line(p, line_end > p && line_end[-1] == '\r' ? line_end - 1 : line_end);
        p = line_end < end ? line_end + 1 : end;
      }
    } catch (const ParseError& error) {  // kept, not thrown: the first fault of the file must win
      chunk_.error.emplace(error);
    }
  }

 private:
  struct Field {
    std::string_view name, value;
    bool has_value = false;
  };

  [[noreturn]] void fail(const std::string& message, const char* where) const {
    throw ParseError(message, chunk_.n_lines, where - origin_);
  }

  // The field at p, which moves to the tab after it or to the end. The name is unescaped into scratch where needed.
  Field next(const char*& p, const char* end) {
    const char* const begin = p;
    bool escaped = false;
    while (p < end && *p != '\t' && *p != ':') {
      if (*p == '\\' && p + 1 < end) {
        escaped = true;
        ++p;
      }
      ++p;
    }
    Field field;
    field.name = {begin, static_cast<std::size_t>(p - begin)};
    if (p < end && *p == ':') {
      const char* const value = p + 1;
      p = find_byte(p, end, '\t');
      field.has_value = true;
      field.value = {value, static_cast<std::size_t>(p - value)};
    }
    if (escaped) {
      scratch_.clear();
      for (std::size_t i = 0; i < field.name.size(); ++i) {
        if (field.name[i] == '\\' && i + 1 < field.name.size()) ++i;
        scratch_ += field.name[i];
      }
      field.name = scratch_;
    }
    return field;
  }

  std::int32_t number(Interner& names, std::string_view name, const char* what, const char* where) {
    const std::size_t known = names.strings().size();
    const std::int32_t id = names.intern(name);
    if (static_cast<std::size_t>(id) == known && !is_utf8(name))
      fail(std::string("the ") + what + " " + quoted(name) + " is not valid utf-8", where);
    return id;
  }

  void parse_line(const char* p, const char* end) {
    if (std::all_of(p, end, [](char c) { return c == ' ' || c == '\t' || c == '\r'; })) {
      chunk_.closed = true;
      chunk_.fresh = chunk_.fresh || chunk_.label.empty();
      return;
    }
    const char* const begin = p;
    const Field label = next(p, end);
    if (label.has_value) fail("a colon in the label; write \\: for a colon that is part of a name", begin);
    if (label.name.empty()) fail("the line has no label; expected label TAB attribute TAB attribute ...", begin);
    const std::int32_t label_id = number(chunk_.labels, label.name, "label", begin);
    while (p < end) {
      const char* const where = ++p;  // past the tab
      const Field field = next(p, end);
      if (!field.name.empty() || field.has_value) attribute(field, where);
    }
    if (chunk_.label.empty() || chunk_.closed)
      chunk_.starts.push_back(static_cast<std::int64_t>(chunk_.label.size()));
    chunk_.closed = false;
    chunk_.label.push_back(label_id);
    chunk_.row_ends.push_back(static_cast<std::int64_t>(chunk_.indices.size()));
  }

  void attribute(const Field& field, const char* where) {
    double value = 1.0;
    if (field.name.empty()) fail("an attribute without a name, with the value " + quoted(field.value), where);
    if (field.has_value) {
      const char* const end = field.value.data() + field.value.size();
      if (parse_double(field.value.data(), end, value) != end || !std::isfinite(value))
        fail("the value " + quoted(field.value) + " of attribute " + quoted(field.name) +
                 " is not a finite number; write \\: for a colon that is part of a name",
             where);
    }
    if (value != 1.0 && !weighted_) {
      chunk_.values.assign(chunk_.indices.size(), 1.0);
      weighted_ = true;
    }
    if (weighted_) chunk_.values.push_back(value);
    chunk_.indices.push_back(number(chunk_.attributes, field.name, "attribute", where));
  }

  Chunk& chunk_;
  const char* origin_;
  std::string scratch_;
  bool weighted_ = false;  // a value other than 1 has been seen
};

std::vector<std::int32_t> join_names(Interner& all, Interner& part) {
  std::vector<std::int32_t> map;
  for (std::size_t i = 0; i < part.strings().size(); ++i) map.push_back(all.intern(part.strings()[i]));
  part = Interner();
  return map;
}

}  // namespace

CrfsuiteData parse_crfsuite(ThreadPool& pool, std::span<const char> text, std::size_t chunk_size) {
  const std::vector<std::size_t> cuts = cut_lines(text, chunk_size);
  std::vector<Chunk> chunks(cuts.size() - 1);
  pool.run(chunks.size(), [&](std::size_t c) {
    ChunkParser(chunks[c], text.data()).parse(text.data() + cuts[c], text.data() + cuts[c + 1]);
  });
  CrfsuiteData data;
  Interner attributes, labels;
  std::vector<std::size_t> first_token, first_index;
  std::size_t n_tokens = 0, n_indices = 0;
  std::int64_t lines = 0;
  bool closed = true, weighted = false;
  for (Chunk& chunk : chunks) {
    if (chunk.error) throw ParseError(chunk.error->what(), lines + chunk.error->line, chunk.error->offset);
    lines += chunk.n_lines;
    first_token.push_back(n_tokens);
    first_index.push_back(n_indices);
    for (const std::int64_t start : chunk.starts) {
      const std::int64_t token = static_cast<std::int64_t>(n_tokens) + start;
      if ((start > 0 || closed || chunk.fresh) && token > 0) data.sequence_ptr.push_back(token);
    }
    closed = chunk.closed || (closed && chunk.label.empty());
    n_tokens += chunk.label.size();
    n_indices += chunk.indices.size();
    weighted = weighted || !chunk.values.empty();
    chunk.to_attribute = join_names(attributes, chunk.attributes);
    chunk.to_label = join_names(labels, chunk.labels);
  }
  if (n_tokens > 0) data.sequence_ptr.push_back(static_cast<std::int64_t>(n_tokens));
  data.attributes = std::move(attributes).take();
  data.label_names = std::move(labels).take();
  data.indptr.resize(n_tokens + 1);
  data.labels.resize(n_tokens);
  data.indices.resize(n_indices);
  if (weighted) data.values.assign(n_indices, 1.0);
  pool.run(chunks.size(), [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    for (std::size_t t = 0; t < chunk.label.size(); ++t) {
      data.labels[first_token[c] + t] = chunk.to_label[static_cast<std::size_t>(chunk.label[t])];
      data.indptr[first_token[c] + t + 1] = static_cast<std::int64_t>(first_index[c]) + chunk.row_ends[t];
    }
    for (std::size_t i = 0; i < chunk.indices.size(); ++i)
      data.indices[first_index[c] + i] = chunk.to_attribute[static_cast<std::size_t>(chunk.indices[i])];
    std::copy(chunk.values.begin(), chunk.values.end(),
              data.values.begin() + static_cast<std::ptrdiff_t>(chunk.values.empty() ? 0 : first_index[c]));
    chunk = Chunk();
  });
  return data;
}

}  // namespace loglinear::text
