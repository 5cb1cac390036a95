#include "text/templates.hh"

#include <algorithm>
#include <string>
#include <utility>

#include "text/template_block.hh"
#include "text/template_gaps.hh"
#include "util/errors.hh"

namespace loglinear::text {

namespace {

void check_codes(const TemplateSet& set, AttributesView attributes, std::span<const std::int64_t> n_values) {
  if (n_values.size() != set.n_views()) throw InvalidInput("attributes: the views differ in number");
  for (std::size_t a = 0; a < attributes.templates.size(); ++a) {
    const auto t = static_cast<std::size_t>(attributes.templates[a]);
    for (std::size_t m = 0; m < set.max_macros(); ++m) {
      const std::int32_t code = attributes.codes[a * set.max_macros() + m];
      const bool used = m < set.n_macros(t);
      const bool good = !used      ? code == kNoMacro
                        : code < 0 ? code <= -2 && code >= kLeastCode && !set.macro(t, m).is_gap()
                                   : code < n_values[static_cast<std::size_t>(set.macro(t, m).view)];
      if (!good)
        throw InvalidInput("attributes: attribute " + std::to_string(a) + " has a code, " + std::to_string(code) +
                           ", that its template cannot give");
    }
  }
}

// Rows laid one after another from chunks that each wrote at the start of their own room; keeps the order.
void close_up(AttributeRows& rows, std::size_t room, std::size_t chunk_tokens) {
  const std::size_t n_tokens = rows.indptr.size() - 1;
  for (std::size_t i = 0; i < n_tokens; ++i) rows.indptr[i + 1] += rows.indptr[i];
  for (std::size_t begin = chunk_tokens; begin < n_tokens; begin += chunk_tokens) {
    const std::size_t end = std::min(begin + chunk_tokens, n_tokens);
    const auto from = rows.indices.begin() + static_cast<std::ptrdiff_t>(begin * room);
    std::copy(from, from + (rows.indptr[end] - rows.indptr[begin]), rows.indices.begin() + rows.indptr[begin]);
  }
  rows.indices.resize(static_cast<std::size_t>(rows.indptr.back()));
  if (rows.indices.size() * 4 < rows.indices.capacity() * 3) rows.indices.shrink_to_fit();
}

}  // namespace

TemplateSet::TemplateSet(std::span<const std::int64_t> ptr, std::span<const Macro> macros, std::size_t n_views,
                         std::size_t n_borders)
    : n_views_(n_views), n_borders_(n_borders) {
  if (ptr.empty() || ptr.front() != 0 || ptr.back() != static_cast<std::int64_t>(macros.size()))
    throw InvalidInput("templates: pointers must start at 0 and end at the number of macros");
  for (const Macro& macro : macros) {
    if (macro.view < 0 || static_cast<std::size_t>(macro.view) >= n_views)
      throw InvalidInput("templates: there is no view " + std::to_string(macro.view));
    const bool far = macro.is_gap() ? macro.absolute : macro.row < -kMaxRow || macro.row > kMaxRow;
    if (far || (macro.absolute && macro.row == 0))
      throw InvalidInput("templates: row " + std::to_string(macro.row) + " is too far, or 0 where rows start at 1");
    const auto same = [&](const Macro& p) {
      return p.row == macro.row && p.view == macro.view && p.absolute == macro.absolute;
    };
    const auto at = std::find_if(places_.begin(), places_.end(), same);
    place_.push_back(static_cast<std::size_t>(at - places_.begin()));
    if (at == places_.end()) places_.push_back(macro);
  }
  ptr_.push_back(0);
  for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
    if (ptr[t + 1] < ptr[t] || ptr[t + 1] > ptr.back()) throw InvalidInput("templates: pointers decrease");
    ptr_.push_back(static_cast<std::size_t>(ptr[t + 1]));
    max_macros_ = std::max(max_macros_, n_macros(t));
    gaps_.push_back(gap_of(t));
    has_gaps_ = has_gaps_ || gaps_.back();
  }
}

Gap TemplateSet::gap_of(std::size_t t) const {
  Gap gap;
  for (std::size_t m = 0; m < n_macros(t); ++m) {
    if (!macro(t, m).is_gap()) continue;
    if (gap && gap.row != macro(t, m).row)
      throw InvalidInput("templates: one template looks at any row before and at any row after; split it");
    gap.row = macro(t, m).row;
  }
  for (std::size_t m = 0; m < n_macros(t); ++m) {
    const Macro& other = macro(t, m);
    if (gap && !other.is_gap() && !other.absolute)
      gap.reach = gap.row == kAnyBefore ? std::min(gap.reach, other.row) : std::max(gap.reach, other.row);
  }
  return gap;
}

template <class Code>
void ViewedTokens<Code>::check(std::size_t n_views) const {
  if (sequence_ptr.empty() || sequence_ptr.front() != 0) throw InvalidInput("templates: sequence_ptr must begin at 0");
  for (std::size_t s = 0; s + 1 < sequence_ptr.size(); ++s)
    if (sequence_ptr[s + 1] < sequence_ptr[s]) throw InvalidInput("templates: sequence_ptr decreases");
  if (ids.size() != n_views || maps.size() != n_views) throw InvalidInput("templates: the views differ in number");
  for (const auto& column : ids)
    if (column.size() != n_tokens()) throw InvalidInput("templates: a view differs in length from the tokens");
}

AttributeIndex::AttributeIndex(const TemplateSet& set, AttributesView attributes,
                               std::span<const std::int64_t> n_values)
    : set_(set), attributes_(attributes) {
  check_shape(set, attributes);
  check_codes(set, attributes, n_values);
  if (attributes.templates.size() > HashSlots::kMaxIds) throw InvalidInput("more than 2147483647 attributes");
  slots_.reserve(attributes.templates.size());
  const std::size_t width = set.max_macros();
  const std::int32_t* const codes = attributes.codes.data();
  for (std::size_t a = 0; a < attributes.templates.size(); ++a) {
    const std::int32_t* const key = codes + a * width;
    const auto id = static_cast<std::int32_t>(a);
    const std::uint64_t hash = hash_key(set, static_cast<std::size_t>(attributes.templates[a]), key);
    const std::int32_t first = slots_.find_or_add(hash, id, [&](std::int32_t other) {
      const auto b = static_cast<std::size_t>(other);
      return attributes.templates[b] == attributes.templates[a] && std::equal(key, key + width, codes + b * width);
    });
    if (first != id)
      throw InvalidInput("attributes: " + std::to_string(first) + " and " + std::to_string(a) + " are the same");
  }
  make_tables(n_values);
}

void AttributeIndex::make_tables(std::span<const std::int64_t> n_values) {
  std::vector<std::int64_t> count(set_.size());
  for (const std::int32_t t : attributes_.templates) ++count[static_cast<std::size_t>(t)];
  tables_.resize(set_.size());
  for (std::size_t t = 0; t < set_.size(); ++t) {
    if (set_.n_macros(t) != 1 || set_.gap(t)) continue;
    const std::int64_t size = n_values[static_cast<std::size_t>(set_.macro(t, 0).view)] - kLeastCode;
    if (size <= 4 * count[t] + (1 << 14)) tables_[t].assign(static_cast<std::size_t>(size), -1);
  }
  for (std::size_t a = 0; a < attributes_.templates.size(); ++a) {
    std::vector<std::int32_t>& table = tables_[static_cast<std::size_t>(attributes_.templates[a])];
    if (table.empty()) continue;
    const std::int32_t code = attributes_.codes[a * set_.max_macros()];
    table[static_cast<std::size_t>(code - kLeastCode)] = static_cast<std::int32_t>(a);
  }
}

void AttributeIndex::look_up(Block<std::int32_t>& block, std::size_t t, std::int32_t* out) const {
  constexpr std::size_t kAhead = 24, kNear = 12;
  const std::size_t n = block.size(), room = set_.size(), width = set_.max_macros();
  const std::int32_t* const* const macros = block.macros(t);
  if (const std::vector<std::int32_t>& table = tables_[t]; !table.empty()) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(macros[0][i] - kLeastCode);
      out[i * room] = at < table.size() ? table[at] : -1;
    }
    return;
  }
  const std::int32_t* const templates = attributes_.templates.data();
  const std::int32_t* const codes = attributes_.codes.data();
  const std::uint64_t* const hashes = block.hash(t);
  for (std::size_t i = 0; i < std::min(n, kAhead); ++i) slots_.prefetch(hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) slots_.prefetch(hashes[i + kAhead]);
    if (i + kNear < n)
      if (const std::int32_t likely = slots_.first_candidate(hashes[i + kNear]); likely >= 0) {
        __builtin_prefetch(templates + likely);
        __builtin_prefetch(codes + static_cast<std::size_t>(likely) * width);
      }
    const SameAttribute same{templates, codes, width, t, set_.n_macros(t), macros, i};
    out[i * room] = hashes[i] ? slots_.find(hashes[i], same) : -1;
  }
}

AttributeRows AttributeIndex::find(ThreadPool& pool, const ViewedTokens<std::int32_t>& tokens) const {
  constexpr std::size_t kChunk = 16 * kBlock;
  tokens.check(set_.n_views());
  const std::size_t n_tokens = tokens.n_tokens(), room = set_.size();
  AttributeRows rows;
  rows.indptr.resize(n_tokens + 1);
  rows.indices.resize(n_tokens * room);
  parallel_for(pool, n_tokens, kChunk, [&](std::size_t chunk_begin, std::size_t chunk_end) {
    Block<std::int32_t> block(set_, tokens);
    std::vector<std::int32_t> found(kBlock * room);
    std::int32_t* out = rows.indices.data() + chunk_begin * room;
    for (std::size_t begin = chunk_begin; begin < chunk_end; begin += kBlock) {
      block.load(begin, std::min(begin + kBlock, chunk_end));
      for (std::size_t t = 0; t < room; ++t) {
        if (!set_.gap(t)) look_up(block, t, found.data() + t);
        else for (std::size_t i = 0; i < block.size(); ++i) found[i * room + t] = -1;
      }
      for (std::size_t i = 0; i < block.size(); ++i) {
        std::int32_t* const row = out;
        for (std::size_t t = 0; t < room; ++t) {
          *out = found[i * room + t];
          out += found[i * room + t] >= 0;
        }
        rows.indptr[begin + i + 1] = out - row;
      }
    }
  });
  close_up(rows, room, kChunk);
  if (!set_.has_gaps()) return rows;
  return with_gaps(pool, std::move(rows), set_, tokens,
                   [&](std::size_t t, const std::int32_t* key, std::uint64_t hash) {
                     const KeyOfGap same{attributes_.templates.data(), attributes_.codes.data(), set_.max_macros(), t,
                                         set_.n_macros(t), key};
                     return slots_.find(hash, same);
                   });
}

AttributeRows hash_attributes(ThreadPool& pool, const TemplateSet& set, const ViewedTokens<std::uint64_t>& tokens,
                              std::span<const std::int32_t> first, int bits) {
  tokens.check(set.n_views());
  if (bits < 1 || bits > 30 || first.size() != set.size())
    throw InvalidInput("hashing: bad number of bits or templates");
  for (const std::int32_t f : first)
    if (f < 0 || f > kMaxAttributes - (std::int64_t{1} << bits)) throw InvalidInput("hashing: numbers are too large");
  const std::size_t n_tokens = tokens.n_tokens();
  const auto number = [&](std::size_t t, std::uint64_t hash) {
    return first[t] + static_cast<std::int32_t>(hash >> (64 - bits));
  };
  std::vector<std::size_t> plain;  // templates without gaps
  for (std::size_t t = 0; t < set.size(); ++t)
    if (!set.gap(t)) plain.push_back(t);
  const std::size_t room = plain.size();
  AttributeRows rows;
  rows.indptr.resize(n_tokens + 1);
  for (std::size_t i = 0; i <= n_tokens; ++i) rows.indptr[i] = static_cast<std::int64_t>(i * room);
  rows.indices.resize(n_tokens * room);
  parallel_for(pool, n_tokens, 16 * kBlock, [&](std::size_t chunk_begin, std::size_t chunk_end) {
    Block<std::uint64_t> block(set, tokens);
    for (std::size_t begin = chunk_begin; begin < chunk_end; begin += kBlock) {
      block.load(begin, std::min(begin + kBlock, chunk_end));
      for (std::size_t k = 0; k < room; ++k) {
        const std::uint64_t* const hashes = block.hash(plain[k]);
        for (std::size_t i = 0; i < block.size(); ++i)
          rows.indices[(begin + i) * room + k] = number(plain[k], hashes[i]);
      }
    }
  });
  if (!set.has_gaps()) return rows;
  return with_gaps(pool, std::move(rows), set, tokens,
                   [&](std::size_t t, const std::uint64_t*, std::uint64_t hash) { return number(t, hash); });
}

template struct ViewedTokens<std::int32_t>;
template struct ViewedTokens<std::uint64_t>;

}  // namespace loglinear::text
