#include "kernels/templates.hh"

#include <algorithm>
#include <string>

#include "util/errors.hh"

namespace loglinear {
namespace {

constexpr std::size_t kBlock = 256;  // tokens whose codes and hashes fit in the first caches
constexpr std::int64_t kMaxAttributes = std::numeric_limits<std::int32_t>::max();

std::int32_t before_code(std::int64_t k) { return static_cast<std::int32_t>(-2 * k); }
std::int32_t after_code(std::int64_t k) { return static_cast<std::int32_t>(-2 * k - 1); }

std::uint64_t hash_seed(std::size_t t) { return mix_bits(0x5851F42D4C957F2Du + t); }
std::uint64_t hash_step(std::uint64_t h, std::uint64_t code) {
  h = (h ^ code) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}
std::uint64_t hash_end(std::uint64_t h) { return mix_bits(h) | 1; }  // never 0, which marks an unknown value

std::uint64_t boundary_code(std::int32_t code, std::uint64_t) {
  return mix_bits(static_cast<std::uint64_t>(static_cast<std::int64_t>(code)));
}
std::int32_t boundary_code(std::int32_t code, std::int32_t) { return code; }
std::uint64_t hash_bits_of(std::int32_t code) { return static_cast<std::uint32_t>(code); }
std::uint64_t hash_bits_of(std::uint64_t code) { return code; }
bool is_unknown(std::int32_t code) { return code == kUnknownCode; }
bool is_unknown(std::uint64_t) { return false; }

// Codes and hashes of up to kBlock tokens.
template <class Code>
class Block {
 public:
  Block(const TemplateSet& set, const ViewedTokens<Code>& tokens)
      : set_(set), tokens_(tokens), codes_(set.places().size() * kBlock), hashes_(set.size() * kBlock) {}

  // Tokens [begin, end), at most kBlock of them.
  void load(std::size_t begin, std::size_t end) {
    begin_ = begin;
    size_ = end - begin;
    find_sequences();
    for (std::size_t p = 0; p < set_.places().size(); ++p) look(set_.places()[p], codes_.data() + p * kBlock);
    for (std::size_t t = 0; t < set_.size(); ++t) hash(t);
  }

  std::size_t size() const { return size_ * set_.size(); }  // hashes: token by token, each in the order of templates
  std::uint64_t hash_at(std::size_t q) const { return hashes_[q]; }
  Code code(std::size_t t, std::size_t m, std::size_t i) const { return codes_[set_.place(t, m) * kBlock + i]; }

 private:
  void find_sequences() {
    const auto ptr = tokens_.sequence_ptr;
    auto sequence = static_cast<std::size_t>(
        std::upper_bound(ptr.begin(), ptr.end(), static_cast<std::int64_t>(begin_)) - ptr.begin() - 1);
    for (std::size_t i = 0; i < size_; ++i) {
      while (ptr[sequence + 1] <= static_cast<std::int64_t>(begin_ + i)) ++sequence;
      first_[i] = ptr[sequence];
      last_[i] = ptr[sequence + 1];
    }
  }

  void look(const Macro& macro, Code* out) {
    const auto view = static_cast<std::size_t>(macro.view);
    const std::int32_t* const ids = tokens_.ids[view].data();
    const std::span<const Code> map = tokens_.maps[view];
    for (std::size_t i = 0; i < size_; ++i) {
      const std::int64_t at = !macro.absolute ? static_cast<std::int64_t>(begin_ + i) + macro.row
                              : macro.row > 0 ? first_[i] + macro.row - 1
                                              : last_[i] + macro.row;
      if (at < first_[i]) {
        out[i] = boundary_code(before_code(first_[i] - at), Code());
      } else if (at >= last_[i]) {
        out[i] = boundary_code(after_code(at - last_[i] + 1), Code());
      } else {
        const std::int32_t id = ids[at];
        if (static_cast<std::uint32_t>(id) >= map.size())
          throw InvalidInput("templates: value number " + std::to_string(id) + " is outside [0, " +
                             std::to_string(map.size()) + ")");
        out[i] = map[static_cast<std::size_t>(id)];
      }
    }
  }

  void hash(std::size_t t) {
    const std::uint64_t seed = hash_seed(t);
    for (std::size_t i = 0; i < size_; ++i) scratch_[i] = seed;
    for (std::size_t i = 0; i < size_; ++i) unknown_[i] = false;
    for (std::size_t m = 0; m < set_.n_macros(t); ++m) {
      const Code* const codes = codes_.data() + set_.place(t, m) * kBlock;
      for (std::size_t i = 0; i < size_; ++i) {
        scratch_[i] = hash_step(scratch_[i], hash_bits_of(codes[i]));
        unknown_[i] = unknown_[i] | is_unknown(codes[i]);
      }
    }
    for (std::size_t i = 0; i < size_; ++i)
      hashes_[i * set_.size() + t] = unknown_[i] ? 0 : hash_end(scratch_[i]);
  }

  const TemplateSet& set_;
  const ViewedTokens<Code>& tokens_;
  std::size_t begin_ = 0, size_ = 0;
  std::vector<Code> codes_;            // [n_places][kBlock]
  std::vector<std::uint64_t> hashes_;  // [kBlock][n_templates], 0 where a value is unknown
  std::int64_t first_[kBlock], last_[kBlock];
  std::uint64_t scratch_[kBlock];
  bool unknown_[kBlock];
};

std::uint64_t hash_key(const TemplateSet& set, std::size_t t, const std::int32_t* codes) {
  std::uint64_t h = hash_seed(t);
  for (std::size_t m = 0; m < set.n_macros(t); ++m) h = hash_step(h, hash_bits_of(codes[m]));
  return hash_end(h);
}

// Whether attribute `id` is the one that template t makes of token i of the block.
struct SameAttribute {
  const TemplateSet& set;
  const std::int32_t* templates;
  const std::int32_t* codes;
  const Block<std::int32_t>& block;
  std::size_t t, i;

  bool operator()(std::int32_t id) const {
    const auto a = static_cast<std::size_t>(id);
    if (static_cast<std::size_t>(templates[a]) != t) return false;
    const std::int32_t* const key = codes + a * set.max_macros();
    for (std::size_t m = 0; m < set.n_macros(t); ++m)
      if (key[m] != block.code(t, m, i)) return false;
    return true;
  }
};

void check_shape(const TemplateSet& set, AttributesView attributes) {
  if (attributes.codes.size() != attributes.templates.size() * set.max_macros())
    throw InvalidInput("attributes: " + std::to_string(attributes.codes.size()) + " codes for " +
                       std::to_string(attributes.templates.size()) + " attributes of " +
                       std::to_string(set.max_macros()) + " macros");
  for (const std::int32_t t : attributes.templates)
    if (t < 0 || static_cast<std::size_t>(t) >= set.size())
      throw InvalidInput("attributes: there is no template " + std::to_string(t));
}

void check_codes(const TemplateSet& set, AttributesView attributes, std::span<const std::int64_t> n_values) {
  if (n_values.size() != set.n_views()) throw InvalidInput("attributes: the views differ in number");
  for (std::size_t a = 0; a < attributes.templates.size(); ++a) {
    const auto t = static_cast<std::size_t>(attributes.templates[a]);
    for (std::size_t m = 0; m < set.max_macros(); ++m) {
      const std::int32_t code = attributes.codes[a * set.max_macros() + m];
      const bool used = m < set.n_macros(t);
      const bool good = !used      ? code == kNoMacro
                        : code < 0 ? code <= -2 && code >= after_code(kMaxRow)
                                   : code < n_values[static_cast<std::size_t>(set.places()[set.place(t, m)].view)];
      if (!good)
        throw InvalidInput("attributes: attribute " + std::to_string(a) + " has a code, " + std::to_string(code) +
                           ", that its template cannot give");
    }
  }
}

// Rows laid one after another from chunks that each wrote at the start of their own room; keeps the order.
void close_gaps(AttributeRows& rows, std::size_t room, std::size_t chunk_tokens) {
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

// One slice of the hash space while attributes are collected.
struct Shard {
  HashSlots slots;
  std::vector<std::int32_t> templates, codes;
  std::vector<std::uint32_t> counts;
  std::vector<std::int32_t> numbers;  // of all attributes, -1 where there is none yet

  std::int32_t add(std::uint64_t hash, const SameAttribute& same) {
    const auto next = static_cast<std::int32_t>(templates.size());
    const std::int32_t entry = slots.find_or_add(hash, next, same);
    if (entry == next) {
      templates.push_back(static_cast<std::int32_t>(same.t));
      for (std::size_t m = 0; m < same.set.max_macros(); ++m)
        codes.push_back(m < same.set.n_macros(same.t) ? same.block.code(same.t, m, same.i) : kNoMacro);
      counts.push_back(0);
      numbers.push_back(-1);
    }
    if (auto& count = counts[static_cast<std::size_t>(entry)]; count != 0xFFFFFFFF) ++count;
    return entry;
  }
};

std::size_t shard_of(std::uint64_t hash, std::uint64_t n_shards) {
  return static_cast<std::size_t>(((hash & 0xFFFFFFFF) * n_shards) >> 32);
}

// Puts the known attributes into the shards that own them.
void add_known(const TemplateSet& set, AttributesView known, std::vector<Shard>& shards) {
  const std::size_t width = set.max_macros();
  for (std::size_t a = 0; a < known.templates.size(); ++a) {
    const auto t = static_cast<std::size_t>(known.templates[a]);
    const std::int32_t* const key = known.codes.data() + a * width;
    const std::uint64_t hash = hash_key(set, t, key);
    Shard& shard = shards[shard_of(hash, shards.size())];
    const auto next = static_cast<std::int32_t>(shard.templates.size());
    const std::int32_t entry = shard.slots.find_or_add(hash, next, [&](std::int32_t id) {
      const auto e = static_cast<std::size_t>(id);
      return shard.templates[e] == known.templates[a] && std::equal(key, key + width, shard.codes.data() + e * width);
    });
    if (entry != next) throw InvalidInput("attributes: attribute " + std::to_string(a) + " is there twice");
    shard.templates.push_back(known.templates[a]);
    shard.codes.insert(shard.codes.end(), key, key + width);
    shard.counts.push_back(0);
    shard.numbers.push_back(static_cast<std::int32_t>(a));
  }
}

// Fills places[token * n_templates + template] with entry * n_shards + shard for what this shard owns.
void collect(Shard& shard, std::size_t number, std::size_t n_shards, const TemplateSet& set,
             const ViewedTokens<std::int32_t>& tokens, std::vector<std::int32_t>& places) {
  constexpr std::size_t kAhead = 16;
  Block<std::int32_t> block(set, tokens);
  std::vector<std::uint32_t> own;
  const std::int64_t most = kMaxAttributes / static_cast<std::int64_t>(n_shards) - 1;
  for (std::size_t begin = 0; begin < tokens.n_tokens(); begin += kBlock) {
    block.load(begin, std::min(begin + kBlock, tokens.n_tokens()));
    own.clear();
    for (std::size_t q = 0; q < block.size(); ++q)
      if (const std::uint64_t h = block.hash_at(q); h && shard_of(h, n_shards) == number)
        own.push_back(static_cast<std::uint32_t>(q));
    for (std::size_t j = 0; j < own.size(); ++j) {
      if (j + kAhead < own.size()) shard.slots.prefetch(block.hash_at(own[j + kAhead]));
      const std::size_t q = own[j];
      const SameAttribute same{set,           shard.templates.data(), shard.codes.data(), block,
                               q % set.size(), q / set.size()};
      const std::int32_t entry = shard.add(block.hash_at(q), same);
      if (entry > most) throw InvalidInput("too many distinct attributes; use fewer templates or hash_bits");
      places[begin * set.size() + q] =
          static_cast<std::int32_t>(entry * static_cast<std::int64_t>(n_shards) + static_cast<std::int64_t>(number));
    }
  }
}

}  // namespace

TemplateSet::TemplateSet(std::span<const std::int64_t> ptr, std::span<const Macro> macros, std::size_t n_views)
    : n_views_(n_views) {
  if (ptr.empty() || ptr.front() != 0 || ptr.back() != static_cast<std::int64_t>(macros.size()))
    throw InvalidInput("templates: pointers must start at 0 and end at the number of macros");
  for (const Macro& macro : macros) {
    if (macro.view < 0 || static_cast<std::size_t>(macro.view) >= n_views)
      throw InvalidInput("templates: there is no view " + std::to_string(macro.view));
    if (macro.row < -kMaxRow || macro.row > kMaxRow || (macro.absolute && macro.row == 0))
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
  }
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
}

AttributeRows AttributeIndex::find(ThreadPool& pool, const ViewedTokens<std::int32_t>& tokens) const {
  constexpr std::size_t kAhead = 24, kNear = 12, kChunk = 16 * kBlock;
  tokens.check(set_.n_views());
  const std::size_t n_tokens = tokens.n_tokens(), room = set_.size(), width = set_.max_macros();
  AttributeRows rows;
  rows.indptr.resize(n_tokens + 1);
  rows.indices.resize(n_tokens * room);
  parallel_for(pool, n_tokens, kChunk, [&](std::size_t chunk_begin, std::size_t chunk_end) {
    Block<std::int32_t> block(set_, tokens);
    std::int32_t* out = rows.indices.data() + chunk_begin * room;
    for (std::size_t begin = chunk_begin; begin < chunk_end; begin += kBlock) {
      block.load(begin, std::min(begin + kBlock, chunk_end));
      const std::size_t n = block.size();
      for (std::size_t q = 0; q < std::min(n, kAhead); ++q) slots_.prefetch(block.hash_at(q));
      for (std::size_t q = 0, i = 0, t = 0; q < n; ++q) {
        if (q + kAhead < n) slots_.prefetch(block.hash_at(q + kAhead));
        if (q + kNear < n)
          if (const std::int32_t likely = slots_.first_candidate(block.hash_at(q + kNear)); likely >= 0) {
            __builtin_prefetch(&attributes_.templates[static_cast<std::size_t>(likely)]);
            __builtin_prefetch(attributes_.codes.data() + static_cast<std::size_t>(likely) * width);
          }
        if (const std::uint64_t hash = block.hash_at(q)) {
          const SameAttribute same{set_, attributes_.templates.data(), attributes_.codes.data(), block, t, i};
          if (const std::int32_t id = slots_.find(hash, same); id >= 0) {
            *out++ = id;
            ++rows.indptr[begin + i + 1];
          }
        }
        if (++t == room) {
          t = 0;
          ++i;
        }
      }
    }
  });
  close_gaps(rows, room, kChunk);
  return rows;
}

FittedAttributes fit_attributes(ThreadPool& pool, const TemplateSet& set, const ViewedTokens<std::int32_t>& tokens,
                                AttributesView known, std::int64_t min_count) {
  tokens.check(set.n_views());
  check_shape(set, known);
  const auto n_shards = static_cast<std::size_t>(pool.size());
  const std::size_t room = set.size(), width = set.max_macros();
  std::vector<Shard> shards(n_shards);
  add_known(set, known, shards);
  FittedAttributes result;
  AttributeRows& rows = result.rows;
  rows.indices.assign(tokens.n_tokens() * room, -1);
  pool.run(n_shards, [&](std::size_t s) {
    collect(shards[s], s, n_shards, set, tokens, rows.indices);
    shards[s].slots = HashSlots();
  });

  // Numbers by first occurrence: a walk over all places in order.
  Attributes& all = result.attributes;
  all.templates.assign(known.templates.begin(), known.templates.end());
  all.codes.assign(known.codes.begin(), known.codes.end());
  rows.indptr.assign(1, 0);
  rows.indptr.reserve(tokens.n_tokens() + 1);
  std::size_t to = 0;
  for (std::size_t i = 0; i < tokens.n_tokens(); ++i) {
    for (std::size_t q = i * room; q < (i + 1) * room; ++q) {
      const std::int32_t place = rows.indices[q];
      if (place < 0) continue;
      Shard& shard = shards[static_cast<std::size_t>(place) % n_shards];
      const std::size_t entry = static_cast<std::size_t>(place) / n_shards;
      std::int32_t& number = shard.numbers[entry];
      if (number < 0) {
        if (shard.counts[entry] < min_count) continue;
        if (all.templates.size() >= static_cast<std::size_t>(kMaxAttributes))
          throw InvalidInput("too many distinct attributes; use fewer templates or hash_bits");
        number = static_cast<std::int32_t>(all.templates.size());
        all.templates.push_back(shard.templates[entry]);
        const auto key = shard.codes.begin() + static_cast<std::ptrdiff_t>(entry * width);
        all.codes.insert(all.codes.end(), key, key + static_cast<std::ptrdiff_t>(width));
      }
      rows.indices[to++] = number;
    }
    rows.indptr.push_back(static_cast<std::int64_t>(to));
  }
  rows.indices.resize(to);
  if (rows.indices.size() * 4 < rows.indices.capacity() * 3) rows.indices.shrink_to_fit();
  return result;
}

AttributeRows hash_attributes(ThreadPool& pool, const TemplateSet& set, const ViewedTokens<std::uint64_t>& tokens,
                              std::span<const std::int32_t> first, int bits) {
  tokens.check(set.n_views());
  if (bits < 1 || bits > 30 || first.size() != set.size()) throw InvalidInput("hashing: bad number of bits or templates");
  for (const std::int32_t f : first)
    if (f < 0 || f > kMaxAttributes - (std::int64_t{1} << bits)) throw InvalidInput("hashing: numbers are too large");
  const std::size_t n_tokens = tokens.n_tokens(), room = set.size();
  AttributeRows rows;
  rows.indptr.resize(n_tokens + 1);
  for (std::size_t i = 0; i <= n_tokens; ++i) rows.indptr[i] = static_cast<std::int64_t>(i * room);
  rows.indices.resize(n_tokens * room);
  parallel_for(pool, n_tokens, 16 * kBlock, [&](std::size_t chunk_begin, std::size_t chunk_end) {
    Block<std::uint64_t> block(set, tokens);
    for (std::size_t begin = chunk_begin; begin < chunk_end; begin += kBlock) {
      block.load(begin, std::min(begin + kBlock, chunk_end));
      for (std::size_t q = 0; q < block.size(); ++q)
        rows.indices[begin * room + q] =
            first[q % room] + static_cast<std::int32_t>(block.hash_at(q) >> (64 - bits));
    }
  });
  return rows;
}

template struct ViewedTokens<std::int32_t>;
template struct ViewedTokens<std::uint64_t>;

}  // namespace loglinear
