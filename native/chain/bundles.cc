#include "chain/bundles.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "util/interner.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kChunk = 1 << 14;  // tokens
constexpr std::size_t kMost = 64;        // attributes of a token that may be companions
constexpr std::uint32_t kLeastUses = 16; // of a bundle: the rows of rare ones would crowd the cache

using List = std::vector<std::int32_t>;

std::string_view bytes_of(const List& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(std::int32_t)};
}

struct Finder {
  const Sequences& sequences;
  double row_cost;
  std::vector<double> cost;          // [n_attributes]: work of one use
  std::vector<std::uint32_t> uses;   // [n_attributes]
  std::vector<std::int64_t> first;   // [n_attributes]: where the attributes of the first token with it begin
  std::vector<std::uint64_t> with;   // [n_attributes]: which of them all tokens with it have
  std::vector<double> gain;          // [n_attributes]: work that a use of its companions as a bundle saves

  Finder(ThreadPool& pool, const WeightRows& weights, const Sequences& s, double cost_of_row)
      : sequences(s), row_cost(cost_of_row), cost(s.n_attributes), uses(s.n_attributes), first(s.n_attributes, -1),
        with(s.n_attributes), gain(s.n_attributes) {
    for (std::size_t a = 0; a < weights.rows.size(); ++a)  // numbers come after them, and are no entries of tokens
      cost[a] = weights.rows[a].count == WeightRows::kExpanded ? row_cost : weights.rows[a].count;
    for (const std::int32_t a : s.indices) ++uses[static_cast<std::size_t>(a)];
    for (std::size_t t = 0; t < s.n_tokens(); ++t) start(t);
    find_companions(pool);
    for (std::size_t a = 0; a < cost.size(); ++a) {
      double all = 0.0;
      each_companion(a, [&](std::int32_t b) { all += cost[static_cast<std::size_t>(b)]; });
      gain[a] = saved(all, uses[a]);
    }
  }

  std::span<const std::int32_t> attributes(std::size_t t) const {
    return sequences.indices.subspan(static_cast<std::size_t>(sequences.indptr[t]),
                                     static_cast<std::size_t>(sequences.indptr[t + 1] - sequences.indptr[t]));
  }

  // Work that each of n uses saves where a bundle stands for attributes of this work.
  double saved(double work, std::uint32_t n) const {
    return n < kLeastUses ? 0.0 : work - row_cost - (work + row_cost) / n;
  }

  template <class F>
  void each_companion(std::size_t a, F f) const {
    for (std::uint64_t rest = with[a]; rest; rest &= rest - 1) f(sequences.indices[first[a] + std::countr_zero(rest)]);
  }

  // The attributes that this token is the first to have: all of its attributes may be companions.
  void start(std::size_t t) {
    const auto here = attributes(t);
    std::uint64_t all = 0;
    bool known = false;
    for (const std::int32_t a : here) {
      std::int64_t& at = first[static_cast<std::size_t>(a)];
      if (at >= 0) continue;
      if (!known) {
        known = true;
        for (std::size_t k = 0; k < std::min(here.size(), kMost); ++k)  // each once, if it has weights
          if (cost[static_cast<std::size_t>(here[k])] > 0.0 && std::find(&here[0], &here[k], here[k]) == &here[k])
            all |= std::uint64_t{1} << k;
      }
      at = sequences.indptr[t];
      with[static_cast<std::size_t>(a)] = uses[static_cast<std::size_t>(a)] < kLeastUses ? 0 : all;
    }
  }

  // Takes those away that a token lacks.
  void find_companions(ThreadPool& pool) {
    const std::size_t n = sequences.n_tokens(), parts = static_cast<std::size_t>(pool.size());
    std::vector<std::vector<std::uint64_t>> found(parts);
    pool.run(parts, [&](std::size_t part) {
      std::vector<std::uint64_t>& mine = found[part] = with;
      std::vector<std::uint32_t> last(sequences.n_attributes, 0);  // one more than the last token that had it
      for (std::size_t t = n * part / parts; t < n * (part + 1) / parts; ++t) {
        const auto stamp = static_cast<std::uint32_t>(t + 1);
        for (const std::int32_t a : attributes(t)) last[static_cast<std::size_t>(a)] = stamp;
        for (const std::int32_t a : attributes(t)) {
          std::uint64_t& those = mine[static_cast<std::size_t>(a)];
          const std::int32_t* names = sequences.indices.data() + first[static_cast<std::size_t>(a)];
          for (std::uint64_t rest = those; rest; rest &= rest - 1)
            if (last[static_cast<std::size_t>(names[std::countr_zero(rest)])] != stamp)
              those &= ~(rest & (~rest + 1));
        }
      }
    });
    for (const auto& mine : found)
      for (std::size_t a = 0; a < with.size(); ++a) with[a] &= mine[a];
  }

  // The bundles that a token would take, each sorted; `place` has -1 for every attribute, before and after.
  template <class Take>
  void bundles_of(std::size_t t, std::vector<std::int32_t>& anchors, List& list, std::vector<std::int32_t>& place,
                  Take take) const {
    const auto here = attributes(t);
    anchors.clear();
    for (const std::int32_t a : here) {
      place[static_cast<std::size_t>(a)] = 1;
      if (gain[static_cast<std::size_t>(a)] > 0.0) anchors.push_back(a);
    }
    std::sort(anchors.begin(), anchors.end(), [&](std::int32_t a, std::int32_t b) {
      const double x = gain[static_cast<std::size_t>(a)], y = gain[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    for (const std::int32_t a : anchors) {
      double work = 0.0;
      list.clear();
      each_companion(static_cast<std::size_t>(a), [&](std::int32_t b) {
        if (place[static_cast<std::size_t>(b)] > 0)
          list.push_back(b), work += cost[static_cast<std::size_t>(b)];
      });
      if (list.size() < 2 || saved(work, uses[static_cast<std::size_t>(a)]) <= 0.0) continue;
      std::sort(list.begin(), list.end());
      for (const std::int32_t b : list) place[static_cast<std::size_t>(b)] = 0;
      take(list);
    }
    for (const std::int32_t a : here) place[static_cast<std::size_t>(a)] = -1;
  }
};

}  // namespace

Bundles::Bundles(ThreadPool& pool, const WeightRows& weights, const Sequences& sequences, double row_cost) {
  const std::size_t n = sequences.n_tokens(), A = sequences.n_attributes;
  if (std::isinf(row_cost) || !sequences.values.empty() || A > 0x3FFFFFFF || n > 0x3FFFFFFF) {
    ptr.assign(sequences.indptr.begin(), sequences.indptr.end());
    entries.assign(sequences.indices.begin(), sequences.indices.end());
    return;
  }
  const Finder finder(pool, weights, sequences, row_cost);

  // What tokens would take, numbered chunk by chunk, then as a whole.
  struct Chunk {
    Interner lists;
    std::vector<std::uint32_t> taken, ptr{0};  // numbers of lists by token
    std::vector<std::uint32_t> number;         // of lists as a whole
  };
  std::vector<Chunk> chunks(chunk_count(n, kChunk));
  pool.run(chunks.size(), [&](std::size_t c) {
    std::vector<std::int32_t> anchors, place(A, -1);
    List list;
    const Range r = chunk_range(n, kChunk, c);
    for (std::size_t t = r.begin; t < r.end; ++t) {
      finder.bundles_of(t, anchors, list, place, [&](const List& found) {
        chunks[c].taken.push_back(static_cast<std::uint32_t>(chunks[c].lists.intern(bytes_of(found))));
      });
      chunks[c].ptr.push_back(static_cast<std::uint32_t>(chunks[c].taken.size()));
    }
  });
  Interner lists;
  std::vector<std::uint32_t> uses;
  for (Chunk& chunk : chunks) {
    const PackedStrings& found = chunk.lists.strings();
    for (std::size_t k = 0; k < found.size(); ++k)
      chunk.number.push_back(static_cast<std::uint32_t>(lists.intern(found[k])));
    uses.resize(lists.strings().size());
    for (const std::uint32_t k : chunk.taken) ++uses[chunk.number[k]];
  }
  const auto members = [&](std::size_t k) {
    const std::string_view bytes = lists.strings()[k];
    List list(bytes.size() / sizeof(std::int32_t));
    std::memcpy(list.data(), bytes.data(), bytes.size());
    return list;
  };
  std::vector<std::uint32_t> kept;
  for (std::uint32_t k = 0; k < uses.size(); ++k) {
    double work = 0.0;
    for (const std::int32_t a : members(k)) work += finder.cost[static_cast<std::size_t>(a)];
    if (finder.saved(work, uses[k]) > 0.0) kept.push_back(k);
  }
  std::stable_sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) { return uses[a] > uses[b]; });
  size = kept.size();
  std::vector<std::int32_t> number(uses.size(), -1);
  for (std::size_t b = 0; b < size; ++b) number[kept[b]] = static_cast<std::int32_t>(b);

  ptr.assign(1, 0);
  ptr.reserve(n + size + 1);
  std::vector<std::int32_t> bundled(A, 0);
  for (std::size_t t = 0; t < n; ++t) {
    const Chunk& chunk = chunks[t / kChunk];
    const std::uint32_t *first = chunk.taken.data() + chunk.ptr[t % kChunk],
                        *last = chunk.taken.data() + chunk.ptr[t % kChunk + 1];
    for (const std::uint32_t* k = first; k < last; ++k) {
      const std::uint32_t list = chunk.number[*k];
      if (number[list] < 0) continue;
      entries.push_back(static_cast<std::int32_t>(A) + number[list]);
      for (const std::int32_t a : members(list)) bundled[static_cast<std::size_t>(a)] = 1;
    }
    for (const std::int32_t a : finder.attributes(t)) {  // an attribute that is there twice is in a bundle once
      std::int32_t& in = bundled[static_cast<std::size_t>(a)];
      if (in == 0) entries.push_back(a);
      in = 0;
    }
    ptr.push_back(static_cast<std::int64_t>(entries.size()));
  }
  for (const std::uint32_t k : kept) {
    const auto list = members(k);
    entries.insert(entries.end(), list.begin(), list.end());
    ptr.push_back(static_cast<std::int64_t>(entries.size()));
  }
}

}  // namespace loglinear::chain
