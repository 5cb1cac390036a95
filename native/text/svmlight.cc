#include "text/svmlight.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "util/errors.hh"
#include "util/lines.hh"
#include "util/parse_double.hh"
#include "util/utf8.hh"

namespace loglinear::text {

namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int64_t>::max() - 1;  // so that n_features has 64 bits too

struct Limits {
  std::int64_t least, most;  // indices as written
};

// What one chunk of lines holds, with indices as written.
struct Chunk {
  std::vector<std::int64_t> row_ends, indices;
  std::vector<double> values;
  std::vector<std::int32_t> labels;
  Interner label_names;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = -1;
  std::int64_t n_lines = 0;
  std::optional<ParseError> error;  // with a line counted from the start of the chunk
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class LineParser {
 public:
  LineParser(Chunk& chunk, Limits limits, const char* origin) : chunk_(chunk), limits_(limits), origin_(origin) {}

  void parse(const char* begin, const char* end) {
    end = find_byte(begin, end, '#');
    const std::string_view label = next(begin, end);
    if (label.empty()) return;
    check_label(label);
    std::int64_t previous = -1;
    for (std::string_view token; !(token = next(begin, end)).empty();) {
      if (token.substr(0, 4) == "qid:") continue;
      parse_pair(token, previous);
    }
    chunk_.labels.push_back(chunk_.label_names.intern(label));
    chunk_.row_ends.push_back(static_cast<std::int64_t>(chunk_.indices.size()));
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::string_view token) const {
    throw ParseError(message, chunk_.n_lines + 1, token.data() - origin_);
  }

  static std::string_view next(const char*& p, const char* end) {
    while (p < end && is_blank(*p)) ++p;
    const char* begin = p;
    while (p < end && !is_blank(*p)) ++p;
    return {begin, static_cast<std::size_t>(p - begin)};
  }

  void check_label(std::string_view label) const {
    const std::size_t colon = label.find(':');
    if (colon != 0 && colon != std::string_view::npos && std::all_of(label.begin(), label.begin() + colon, is_digit)) {
      double ignored;
      const char* end = label.data() + label.size();
      if (parse_double(label.data() + colon + 1, end, ignored) == end)
        fail("the line has no label: it starts with the pair " + quoted(label), label);
    }
    if (!is_utf8(label)) fail("the label " + quoted(label) + " is not valid UTF-8", label);
  }

  void parse_pair(std::string_view token, std::int64_t& previous) {
    const char* p = token.data();
    const char* const end = p + token.size();
    if (*p == '-' && p + 1 < end && is_digit(p[1])) fail("negative index in " + quoted(token), token);
    const char* const digits = p;
    std::int64_t index = 0;
    for (; p < end && is_digit(*p); ++p) {
      const int digit = *p - '0';
      if (index > (kMaxIndex - digit) / 10) fail("the index in " + quoted(token) + " does not fit in 64 bits", token);
      index = index * 10 + digit;
    }
    if (p == digits || p == end || *p != ':') fail("expected index:value, found " + quoted(token), token);
    ++p;
    double value = 0.0;
    const char* const after = parse_double(p, end, value);
    if (after != end || !std::isfinite(value)) fail_value(token, {p, end}, after == end);
    if (index <= previous)
      fail("index " + std::to_string(index) + " follows " + std::to_string(previous) +
               "; indices must ascend and be written once",
           token);
    if (index < limits_.least)
      fail("index 0 in a file whose indices should start at 1 (is it zero-based?)", token);
    if (index > limits_.most)
      fail("index " + std::to_string(index) + " is past the largest one allowed, " + std::to_string(limits_.most),
           token);
    previous = index;
    chunk_.smallest = std::min(chunk_.smallest, index);
    chunk_.largest = std::max(chunk_.largest, index);
    chunk_.indices.push_back(index);
    chunk_.values.push_back(value);
  }

  [[noreturn]] void fail_value(std::string_view token, std::string_view value, bool overflow) const {
    if (!value.empty() && (value[0] == '-' || value[0] == '+')) value.remove_prefix(1);
    std::string lower(value.substr(0, 8));
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (overflow || lower == "nan" || lower == "inf" || lower == "infinity")
      fail("the value in " + quoted(token) + " is not a finite number", token);
    fail("expected index:value, found " + quoted(token), token);
  }

  Chunk& chunk_;
  Limits limits_;
  const char* origin_;
};

void parse_chunk(Chunk& chunk, const char* begin, const char* end, Limits limits, const char* origin) {
  LineParser parser(chunk, limits, origin);
  const auto n_pairs = static_cast<std::size_t>(std::count(begin, end, ':'));  // or a few more
  chunk.indices.reserve(n_pairs);
  chunk.values.reserve(n_pairs);
  try {
    while (begin < end) {
      const char* line_end = find_byte(begin, end, '\n');
      parser.parse(begin, line_end);
      ++chunk.n_lines;
      begin = line_end < end ? line_end + 1 : end;
    }
  } catch (const ParseError& error) {  // kept, not thrown: the first fault of the file must win, whoever finds it when
    chunk.error.emplace(error);
  }
}

std::vector<Chunk> parse_chunks(ThreadPool& pool, std::span<const char> text, Limits limits, std::size_t chunk_size) {
  const char* const origin = text.data();
  const std::vector<std::size_t> cuts = cut_lines(text, chunk_size);
  std::vector<Chunk> chunks(cuts.size() - 1);
  pool.run(chunks.size(), [&](std::size_t c) {
    parse_chunk(chunks[c], origin + cuts[c], origin + cuts[c + 1], limits, origin);
  });
  std::int64_t lines = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.error) throw ParseError(chunk.error->what(), lines + chunk.error->line, chunk.error->offset);
    lines += chunk.n_lines;
  }
  return chunks;
}

template <class Index>
void join(ThreadPool& pool, std::vector<Chunk>& chunks, const std::vector<std::size_t>& first_row,
          const std::vector<std::size_t>& first_value, std::int64_t base, SvmlightData& data,
          std::vector<Index>& indices) {
  indices.resize(data.values.size());
  pool.run(chunks.size(), [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    for (std::size_t r = 0; r < chunk.row_ends.size(); ++r)
      data.indptr[first_row[c] + r + 1] = static_cast<std::int64_t>(first_value[c]) + chunk.row_ends[r];
    for (std::size_t i = 0; i < chunk.indices.size(); ++i)
      indices[first_value[c] + i] = static_cast<Index>(chunk.indices[i] - base);
    std::copy(chunk.values.begin(), chunk.values.end(), data.values.data() + first_value[c]);
    chunk = Chunk();
  });
}

}  // namespace

SvmlightData parse_svmlight(ThreadPool& pool, std::span<const char> text, IndexBase base, std::int64_t n_features,
                            std::size_t chunk_size) {
  Limits limits{base == IndexBase::one ? 1 : 0, kMaxIndex};
  if (n_features >= 0 && base != IndexBase::detect)
    limits.most = base == IndexBase::one ? std::min(n_features, kMaxIndex) : n_features - 1;
  std::vector<Chunk> chunks = parse_chunks(pool, text, limits, chunk_size);

  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = -1;
  for (const Chunk& chunk : chunks) {
    smallest = std::min(smallest, chunk.smallest);
    largest = std::max(largest, chunk.largest);
  }
  if (base == IndexBase::detect) {
    base = smallest == 0 ? IndexBase::zero : IndexBase::one;
    const std::int64_t most = base == IndexBase::one ? n_features : n_features - 1;
    if (n_features >= 0 && largest > most)  // read again, for the line of the fault
      parse_chunks(pool, text, {limits.least, most}, chunk_size);
  }
  const std::int64_t shift = base == IndexBase::one ? 1 : 0;

  SvmlightData data;
  data.n_features = n_features >= 0 ? n_features : largest < 0 ? 0 : largest + 1 - shift;
  std::vector<std::size_t> first_row{0}, first_value{0};
  Interner names;
  for (const Chunk& chunk : chunks) {
    first_row.push_back(first_row.back() + chunk.row_ends.size());
    first_value.push_back(first_value.back() + chunk.indices.size());
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < chunk.label_names.strings().size(); ++i)
      ids.push_back(names.intern(chunk.label_names.strings()[i]));
    for (std::int32_t label : chunk.labels) data.labels.push_back(ids[static_cast<std::size_t>(label)]);
  }
  data.label_names = std::move(names).take();
  data.indptr.resize(first_row.back() + 1);
  data.values.resize(first_value.back());
  if (largest - shift > std::numeric_limits<std::int32_t>::max())
    join(pool, chunks, first_row, first_value, shift, data, data.wide);
  else
    join(pool, chunks, first_row, first_value, shift, data, data.indices);
  return data;
}

}  // namespace loglinear::text
