#include <algorithm>
#include <string>

#include "text/template_block.hh"
#include "text/template_gaps.hh"
#include "text/templates.hh"
#include "util/errors.hh"

namespace loglinear::text {

namespace {

// One slice of the hash space while attributes are collected.
struct Shard {
  HashSlots slots;
  std::vector<std::int32_t> templates, codes;
  std::vector<std::uint32_t> counts;
  std::vector<std::int32_t> numbers;  // of all attributes, -1 where there is none yet

  template <class Same>
  std::int32_t add(std::uint64_t hash, const Same& same) {
    const auto next = static_cast<std::int32_t>(templates.size());
    const std::int32_t entry = slots.find_or_add(hash, next, same);
    if (entry == next) {
      templates.push_back(static_cast<std::int32_t>(same.t));
      for (std::size_t m = 0; m < same.width; ++m)
        codes.push_back(m < same.n_macros ? same.code(m) : kNoMacro);
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

// Entry `entry` of shard `number` as one number.
std::int32_t place_of(std::int64_t entry, std::size_t number, std::size_t n_shards) {
  const auto n = static_cast<std::int64_t>(n_shards);
  if (entry > kMaxAttributes / n - 1)
    throw InvalidInput("too many distinct attributes; use fewer templates or hash_bits");
  return static_cast<std::int32_t>(entry * n + static_cast<std::int64_t>(number));
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
  std::uint32_t own[kBlock];
  for (std::size_t begin = 0; begin < tokens.n_tokens(); begin += kBlock) {
    block.load(begin, std::min(begin + kBlock, tokens.n_tokens()));
    for (std::size_t t = 0; t < set.size(); ++t) {
      if (set.gap(t)) continue;
      const std::uint64_t* const hashes = block.hash(t);
      std::size_t n_own = 0;
      for (std::size_t i = 0; i < block.size(); ++i) {
        own[n_own] = static_cast<std::uint32_t>(i);
        n_own += hashes[i] && shard_of(hashes[i], n_shards) == number;
      }
      for (std::size_t j = 0; j < n_own; ++j) {
        if (j + kAhead < n_own) shard.slots.prefetch(hashes[own[j + kAhead]]);
        const std::size_t i = own[j];
        const SameAttribute same{shard.templates.data(), shard.codes.data(), set.max_macros(), t, set.n_macros(t),
                                 block.macros(t),        i};
        places[(begin + i) * set.size() + t] = place_of(shard.add(hashes[i], same), number, n_shards);
      }
    }
  }
}

// The same for templates with gaps: places[site], the sites in order of tokens, templates and rows.
void collect_gaps(Shard& shard, std::size_t number, std::size_t n_shards, const TemplateSet& set,
                  const ViewedTokens<std::int32_t>& tokens, std::vector<std::int32_t>& places) {
  std::size_t site = 0;
  for_gap_sites(set, tokens, 0, tokens.n_tokens(),
                [&](std::size_t, std::size_t t, const std::int32_t* key, std::uint64_t hash) {
                  const std::size_t at = site++;
                  if (!hash || shard_of(hash, n_shards) != number) return;
                  const KeyOfGap same{shard.templates.data(), shard.codes.data(), set.max_macros(), t, set.n_macros(t),
                                      key};
                  places[at] = place_of(shard.add(hash, same), number, n_shards);
                });
}

// Numbers attributes by first occurrence, in a walk over their places in order: those of token i are
// [begin(i), begin(i + 1)). Leaves the rows of the attributes that are kept.
template <class Begin>
void number_places(std::vector<Shard>& shards, std::size_t n_tokens, const Begin& begin, std::size_t width,
                   std::int64_t min_count, AttributeRows& rows, Attributes& all) {
  rows.indptr.assign(1, 0);
  rows.indptr.reserve(n_tokens + 1);
  std::size_t to = 0;
  for (std::size_t i = 0; i < n_tokens; ++i) {
    for (std::size_t q = begin(i); q < begin(i + 1); ++q) {
      const std::int32_t place = rows.indices[q];
      if (place < 0) continue;
      Shard& shard = shards[static_cast<std::size_t>(place) % shards.size()];
      const std::size_t entry = static_cast<std::size_t>(place) / shards.size();
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
}

}  // namespace

FittedAttributes fit_attributes(ThreadPool& pool, const TemplateSet& set, const ViewedTokens<std::int32_t>& tokens,
                                AttributesView known, std::int64_t min_count) {
  tokens.check(set.n_views());
  check_shape(set, known);
  const auto n_shards = static_cast<std::size_t>(pool.size());
  const std::size_t room = set.size(), width = set.max_macros(), n_tokens = tokens.n_tokens();
  std::vector<Shard> shards(n_shards);
  add_known(set, known, shards);
  const std::vector<std::int64_t> gap_ptr = gap_sites(set, tokens);
  FittedAttributes result;
  AttributeRows& rows = result.rows;
  AttributeRows gaps;
  rows.indices.assign(n_tokens * room, -1);
  gaps.indices.assign(set.has_gaps() ? static_cast<std::size_t>(gap_ptr.back()) : 0, -1);
  pool.run(n_shards, [&](std::size_t s) {
    collect(shards[s], s, n_shards, set, tokens, rows.indices);
    if (set.has_gaps()) collect_gaps(shards[s], s, n_shards, set, tokens, gaps.indices);
    shards[s].slots = HashSlots();
  });

  Attributes& all = result.attributes;
  all.templates.assign(known.templates.begin(), known.templates.end());
  all.codes.assign(known.codes.begin(), known.codes.end());
  number_places(shards, n_tokens, [&](std::size_t i) { return i * room; }, width, min_count, rows, all);
  if (set.has_gaps()) {
    const auto begin = [&](std::size_t i) { return static_cast<std::size_t>(gap_ptr[i]); };
    number_places(shards, n_tokens, begin, width, min_count, gaps, all);
    rows = merged(rows, gaps);
  }
  return result;
}

}  // namespace loglinear::text
