#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "composite/clusters.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // (tuple of contexts of the other sources, history)
constexpr std::size_t kMostTogether = 16;
constexpr std::size_t kBlocks = 256;   // of contexts whose intersections one task takes
constexpr std::size_t kInRow = 6;     // a word has a row where it has entries in one of so many contexts
constexpr std::size_t kRow = 16;       // rows have a multiple of so many places

// Nanoseconds, down and up: they decide which contexts are spread.
constexpr double kStoredTerm = 3.0, kRowPlace = 0.12, kSpreadNode = 0.5;

// What one block of contexts of one depth has; nodes are numbered within the block.
struct Found {
  std::vector<std::uint32_t> context, parent, terms;
  std::vector<std::uint32_t> spread_context, spread_parent, spread_size, pairs;
  std::vector<Key> histories;  // (node, history)
  std::uint64_t spread_terms = 0;
};

// Appends the terms of the words that all contexts share. `rows`: those of words without a row of the second source.
std::uint32_t intersect(const Problem& problem, std::span<const Slots> slots, const Column& column,
                        std::span<const std::uint32_t> contexts, std::uint32_t node, bool rows,
                        std::vector<std::uint32_t>& out) {
  const std::span<const std::uint32_t> sources = column.sources;
  const std::size_t n = sources.size();
  std::array<std::uint32_t, kMostTogether> at{}, end{};
  std::size_t smallest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Source& s = problem.sources[sources[i]];
    at[i] = s.context_entry[contexts[i]], end[i] = s.context_entry[contexts[i] + 1];
    if (end[i] - at[i] < end[smallest] - at[smallest]) smallest = i;
  }
  const std::uint32_t* words = problem.sources[sources[smallest]].entry_word.data();
  std::uint32_t found = 0;
  for (std::uint32_t e = at[smallest]; e < end[smallest]; ++e) {
    const std::uint32_t word = words[e];
    bool all = true;
    for (std::size_t i = 0; i < n && all; ++i) {
      if (i == smallest) continue;
      const std::uint32_t* other = problem.sources[sources[i]].entry_word.data();
      at[i] = static_cast<std::uint32_t>(std::lower_bound(other + at[i], other + end[i], word) - other);
      if (at[i] == end[i]) return found;
      all = other[at[i]] == word;
    }
    if (!all) continue;
    at[smallest] = e;
    if (rows && slots[sources[1]].in_row(column.depths[0], word)) continue;
    out.push_back(node), out.push_back(at[0]);
    for (std::size_t i = 1; i < n; ++i) out.push_back(slots[sources[i]].of_entry[at[i]]);
    ++found;
  }
  return found;
}

// Numbers the tuples of contexts of the other sources; kNone where a history lacks one.
std::vector<std::uint32_t> number_others(const Problem& problem, const Column& column) {
  const std::size_t n = problem.n_histories();
  std::vector<std::uint32_t> id(n, 0);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (std::size_t k = 1; k < column.sources.size(); ++k) {
    const Source& s = problem.sources[column.sources[k]];
    const auto leaf = problem.leaf[column.sources[k]];
    const std::uint32_t depth = column.depths[k - 1];
    if (k == 1) {  // contexts are numbers already
      for (std::uint32_t x = 0; x < n; ++x) {
        const std::uint32_t c = s.ancestor(leaf[x], depth);
        id[x] = c == 0 ? kNone : c - s.depth_start[depth];
      }
      continue;
    }
    keys.clear();
    for (std::uint32_t x = 0; x < n; ++x) {
      const std::uint32_t c = id[x] == kNone ? 0 : s.ancestor(leaf[x], depth);
      if (c == 0) id[x] = kNone;
      else keys.push_back({static_cast<std::uint64_t>(id[x]) << 32 | c, x});
    }
    std::sort(keys.begin(), keys.end());
    std::uint32_t number = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      number += j > 0 && keys[j].first != keys[j - 1].first;
      id[keys[j].second] = number;
    }
  }
  return id;
}

class Builder {
 public:
  Builder(ThreadPool& pool, const Problem& problem, std::span<const Slots> slots, const Order& order, Column& column)
      : pool_(pool), problem_(problem), slots_(slots), order_(order), column_(column),
        owner_(problem.sources[column.sources[0]]), others_(number_others(problem, column)),
        may_spread_(column.sources[0] == 0 && column.sources.size() == 2) {
    column.stored = {0, 0}, column.spread = {0, 0}, column.spread_pair = {0};
    column.node.assign(problem.n_histories(), kNone);
    if (!may_spread_) return;
    column.together = other().row_size;
    const Source& source = problem.sources[column.sources[1]];
    const auto each = [&](auto see) {
      for (std::uint32_t c = 0; c < other().n_contexts; ++c) {
        const std::uint32_t at = other().first_context + c;
        for (std::uint32_t e = source.context_entry[at]; e < source.context_entry[at + 1]; ++e)
          see(c, e, source.entry_word[e]);
      }
    };
    by_word_.assign(problem.n_words + 1, 0);
    each([&](std::uint32_t, std::uint32_t, std::uint32_t word) { ++by_word_[word + 1]; });
    for (std::size_t word = 0; word < problem.n_words; ++word) by_word_[word + 1] += by_word_[word];
    listed_.resize(by_word_.back());
    std::vector<std::uint32_t> next(by_word_.begin(), by_word_.end() - 1);
    each([&](std::uint32_t c, std::uint32_t e, std::uint32_t word) { listed_[next[word]++] = {c, e}; });
  }

  void add_depth(std::uint32_t depth) {
    const std::uint32_t first = owner_.depth_start[depth], n = owner_.depth_start[depth + 1] - first;
    const std::size_t size = std::max<std::size_t>((n + kBlocks - 1) / kBlocks, 16);
    std::vector<Found> found(chunk_count(n, size));
    pool_.run(found.size(), [&](std::size_t block) {
      const Range r = chunk_range(n, size, block);
      std::vector<Key> keys;
      std::vector<std::uint32_t> places(may_spread_ ? other().n_contexts : 0, kNone);
      for (std::size_t c = r.begin; c < r.end; ++c)
        context(depth, first + static_cast<std::uint32_t>(c), keys, places, found[block]);
    });
    join(found);
  }

 private:
  const Slots::Depth& other() const { return slots_[column_.sources[1]].depths[column_.depths[0]]; }

  // Whether a node has this depth (and not a smaller one).
  bool reaches(std::uint32_t node, std::size_t depth) const {
    if (node == kNone) return false;
    if (node & kSpread) return (node & ~kSpread) / column_.together >= column_.spread[depth];
    return node >= column_.stored[depth];
  }

  void context(std::uint32_t depth, std::uint32_t c, std::vector<Key>& keys, std::vector<std::uint32_t>& places,
               Found& found) const {
    keys.clear();
    std::uint32_t begin = c, end = c + 1;
    for (std::size_t d = depth; d <= owner_.depth() && begin < end; ++d) {
      for (std::uint32_t k = order_.start[begin]; k < order_.start[end]; ++k) {
        const std::uint32_t x = order_.history[k];
        if (others_[x] == kNone || (depth > 1 && !reaches(column_.node[x], depth - 1))) continue;  // no words above
        keys.push_back({others_[x], x});
      }
      begin = order_.child[begin], end = order_.child[end];
    }
    if (keys.empty()) return;
    std::sort(keys.begin(), keys.end());
    const bool spread = may_spread_ && spreads(depth, c, keys, found);
    auto node = static_cast<std::uint32_t>(found.context.size());
    const std::uint32_t base =
        kSpread | ((static_cast<std::uint32_t>(found.spread_context.size()) - 1) * column_.together);
    const bool listed = may_spread_ && list_terms(c, keys, spread, spread ? base : node, found.terms, places);
    for (std::size_t j = 0; j < keys.size();) {
      const std::uint32_t other = keys[j].first, x = keys[j].second;
      if (spread) node = base + other;
      bool any = spread;
      if (!listed) any |= terms(c, x, node, spread, found.terms) > 0;
      else if (!spread) any = places[other] == node;
      const std::uint32_t above = depth == 1 ? kNone : column_.node[x];
      for (; j < keys.size() && keys[j].first == other; ++j)
        if (any) found.histories.push_back({node, keys[j].second});
      if (listed) places[other] = kNone;
      if (any && !spread) found.context.push_back(c), found.parent.push_back(above), ++node;
    }
  }

  // The terms of a context with one other source, entry by entry, where that takes fewer steps than intersections: the
  // nodes of a spread context are base + (context of the other source); else they are counted from `base` in the order
  // of `keys`, those without terms left out, and `places` tells which each one got.
  bool list_terms(std::uint32_t c, std::span<const Key> keys, bool spread, std::uint32_t base,
                  std::vector<std::uint32_t>& out, std::vector<std::uint32_t>& places) const {
    const auto& row = other().row;
    const Source& source = problem_.sources[column_.sources[1]];
    const std::uint32_t begin = owner_.context_entry[c], end = owner_.context_entry[c + 1];
    std::uint64_t listed = 0, searched = 0;
    for (std::uint32_t e = begin; e < end; ++e)
      if (const std::uint32_t word = owner_.entry_word[e]; !spread || row[word] == kNone)
        listed += by_word_[word + 1] - by_word_[word];
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (j > 0 && keys[j].first == keys[j - 1].first) continue;
      const std::uint32_t k = other().first_context + keys[j].first;
      searched += 8 * std::min(end - begin, source.context_entry[k + 1] - source.context_entry[k]);
    }
    if (listed > searched) return false;
    const std::size_t first = out.size();
    constexpr std::uint32_t kOccurs = kNone - 1, kFound = kNone - 2;
    for (const Key& key : keys) places[key.first] = kOccurs;
    const auto& slot = slots_[column_.sources[1]].of_entry;
    for (std::uint32_t e = begin; e < end; ++e) {
      const std::uint32_t word = owner_.entry_word[e];
      if (spread && row[word] != kNone) continue;
      for (std::uint32_t k = by_word_[word]; k < by_word_[word + 1]; ++k) {
        const auto [context, entry] = listed_[k];
        if (places[context] == kNone) continue;
        places[context] = kFound;
        out.push_back(context), out.push_back(e), out.push_back(slot[entry]);
      }
    }
    if (!spread)
      for (const Key& key : keys)
        if (places[key.first] == kFound) places[key.first] = base++;
    for (std::size_t t = first; t < out.size(); t += 3) out[t] = spread ? base + out[t] : places[out[t]];
    return true;
  }

  std::uint32_t terms(std::uint32_t c, std::uint32_t x, std::uint32_t node, bool spread,
                      std::vector<std::uint32_t>& out) const {
    std::array<std::uint32_t, kMostTogether> contexts;
    contexts[0] = c;
    for (std::size_t k = 1; k < column_.sources.size(); ++k) {
      const std::uint32_t i = column_.sources[k];
      contexts[k] = problem_.sources[i].ancestor(problem_.leaf[i][x], column_.depths[k - 1]);
    }
    return intersect(problem_, slots_, column_, {contexts.data(), column_.sources.size()}, node, spread, out);
  }

  // Spreads the context if that is cheaper than to store the terms of words with rows; its parent must be spread too.
  bool spreads(std::uint32_t depth, std::uint32_t c, std::span<const Key> keys, Found& found) const {
    std::uint32_t parent = kNone;
    if (depth > 1) {
      const std::uint32_t node = column_.node[keys[0].second];
      if (!(node & kSpread)) return false;
      parent = (node & ~kSpread) / column_.together;
    }
    std::size_t nodes = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) nodes += j == 0 || keys[j].first != keys[j - 1].first;
    const Slots::Depth& slots = other();
    std::uint64_t n_rows = 0, all = 0;
    for (std::uint32_t e = owner_.context_entry[c]; e < owner_.context_entry[c + 1]; ++e)
      if (slots.row[owner_.entry_word[e]] != kNone) ++n_rows, all += by_word_[owner_.entry_word[e] + 1] - by_word_[owner_.entry_word[e]];
    // The share of the other source's contexts that the context occurs with, times the terms it has with all of them.
    const double stored = static_cast<double>(all) * static_cast<double>(nodes) / slots.n_contexts;
    const double cost = column_.together * (kSpreadNode + kRowPlace * static_cast<double>(n_rows));
    if (kStoredTerm * stored <= cost) return false;
    found.spread_context.push_back(c), found.spread_parent.push_back(parent);
    for (std::uint32_t e = owner_.context_entry[c]; e < owner_.context_entry[c + 1]; ++e)
      if (const std::uint32_t row = slots.row[owner_.entry_word[e]]; row != kNone)
        found.pairs.push_back(e), found.pairs.push_back(row);
    found.spread_size.push_back(static_cast<std::uint32_t>(n_rows));
    found.spread_terms += all;
    return true;
  }

  // Puts the blocks of one depth one after the other.
  void join(std::span<const Found> found) {
    std::vector<std::size_t> nodes{column_.context.size()}, spread{column_.spread_context.size()};
    std::vector<std::size_t> at{column_.terms.size()}, pair{column_.pairs.size()};
    for (const Found& f : found) {
      nodes.push_back(nodes.back() + f.context.size()), spread.push_back(spread.back() + f.spread_context.size());
      at.push_back(at.back() + f.terms.size()), pair.push_back(pair.back() + f.pairs.size());
      column_.n_spread_terms += f.spread_terms;
    }
    if (nodes.back() >= kSpread || spread.back() * column_.together >= kSpread - 1)
      throw InvalidInput("the sources have more than 2^31 tuples of contexts");
    column_.context.resize(nodes.back()), column_.parent.resize(nodes.back());
    column_.spread_context.resize(spread.back()), column_.spread_parent.resize(spread.back());
    column_.spread_pair.resize(spread.back() + 1), column_.pairs.resize(pair.back()), column_.terms.resize(at.back());
    pool_.run(found.size(), [&](std::size_t block) {
      const Found& f = found[block];
      const auto first = static_cast<std::uint32_t>(nodes[block]);
      const auto first_spread = static_cast<std::uint32_t>(spread[block] * column_.together);
      const auto number = [&](std::uint32_t node) { return node + (node & kSpread ? first_spread : first); };
      std::copy(f.context.begin(), f.context.end(), column_.context.begin() + nodes[block]);
      std::copy(f.parent.begin(), f.parent.end(), column_.parent.begin() + nodes[block]);
      std::copy(f.pairs.begin(), f.pairs.end(), column_.pairs.begin() + pair[block]);
      std::copy(f.spread_context.begin(), f.spread_context.end(), column_.spread_context.begin() + spread[block]);
      std::copy(f.spread_parent.begin(), f.spread_parent.end(), column_.spread_parent.begin() + spread[block]);
      std::copy(f.terms.begin(), f.terms.end(), column_.terms.begin() + at[block]);
      for (std::size_t j = at[block]; j < at[block + 1]; j += column_.width())
        column_.terms[j] = number(column_.terms[j]);
      std::uint64_t pairs = pair[block] / 2;
      for (std::size_t j = 0; j < f.spread_size.size(); ++j)
        column_.spread_pair[spread[block] + j + 1] = pairs += f.spread_size[j];
      for (const Key& key : f.histories) column_.node[key.second] = number(key.first);
    });
    column_.stored.push_back(static_cast<std::uint32_t>(nodes.back()));
    column_.spread.push_back(static_cast<std::uint32_t>(spread.back()));
  }

  ThreadPool& pool_;
  const Problem& problem_;
  std::span<const Slots> slots_;
  const Order& order_;
  Column& column_;
  const Source& owner_;
  std::vector<std::uint32_t> others_;  // [n_histories]
  bool may_spread_;
  std::vector<std::uint32_t> by_word_;  // [n_words + 1] where the entries of a word of the other source are listed
  std::vector<Key> listed_;             // (context within its depth, entry)
};

}  // namespace

Slots::Slots(const Source& source, std::size_t n_words) : depths(1), of_entry(source.n_entries()) {
  for (std::size_t d = 1; d <= source.depth(); ++d) {
    Depth part;
    part.first_context = source.depth_start[d], part.n_contexts = source.depth_start[d + 1] - part.first_context;
    part.first = static_cast<std::uint32_t>(n_slots);
    part.row_size = static_cast<std::uint32_t>((part.n_contexts + kRow - 1) / kRow * kRow);
    part.row.assign(n_words, kNone);
    std::vector<std::uint32_t> n(n_words, 0);  // entries of each word, then where its next one goes
    const std::uint32_t begin = source.context_entry[part.first_context];
    const std::uint32_t end = source.context_entry[part.first_context + part.n_contexts];
    for (std::uint32_t e = begin; e < end; ++e) ++n[source.entry_word[e]];
    std::uint32_t n_rows = 0;
    for (std::size_t w = 0; w < n_words; ++w)
      if (n[w] > 1 && n[w] * kInRow >= part.row_size) part.row[w] = n_rows++;
    n_slots += std::size_t{n_rows} * part.row_size;
    for (std::size_t w = 0; w < n_words; ++w) {
      const std::uint32_t own = n[w];
      n[w] = static_cast<std::uint32_t>(n_slots);
      if (part.row[w] == kNone) n_slots += own;
    }
    if (n_slots >= kNone) throw InvalidInput("a source has too many features to share over intersections");
    for (std::uint32_t c = 0; c < part.n_contexts; ++c) {
      const std::uint32_t at = part.first_context + c;
      for (std::uint32_t e = source.context_entry[at]; e < source.context_entry[at + 1]; ++e) {
        const std::uint32_t w = source.entry_word[e];
        of_entry[e] = part.row[w] == kNone ? n[w]++ : part.first + part.row[w] * part.row_size + c;
      }
    }
    depths.push_back(std::move(part));
  }
}

Order::Order(const Problem& problem, std::size_t source)
    : history(problem.n_histories()), start(problem.sources[source].n_contexts() + 1, 0) {
  const auto leaf = problem.leaf[source];
  for (const std::uint32_t c : leaf) ++start[c + 1];
  for (std::size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
  std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
  for (std::uint32_t x = 0; x < leaf.size(); ++x) history[next[leaf[x]]++] = x;
  const Source& s = problem.sources[source];
  const auto n = static_cast<std::uint32_t>(s.n_contexts());
  child.assign(n + 1, n);
  std::uint32_t c = 0;
  for (std::uint32_t k = 1; k < n; ++k)
    for (; c <= s.context_parent[k]; ++c) child[c] = k;
}

std::size_t Column::bytes() const {
  return 4 * (context.size() + parent.size() + spread_context.size() + spread_parent.size() + pairs.size() +
              terms.size() + node.size()) + 8 * spread_pair.size();
}

std::vector<Column> build_columns(ThreadPool& pool, const Problem& problem, std::span<const Slots> slots,
                                  const Order& first, std::span<const std::uint32_t> apart, std::uint64_t max_bytes) {
  const std::size_t M = problem.sources.size();
  if (M > kMostTogether) throw InvalidInput("at most 16 sources can be shared over intersections");
  std::vector<Column> columns;
  std::vector<Order> orders(M);
  std::uint64_t bytes = 0;
  for (std::uint32_t set = 1; set < (1u << M); ++set) {
    if ((set & (set - 1)) == 0) continue;
    if (std::any_of(apart.begin(), apart.end(), [&](std::uint32_t a) { return (set & a) == a; })) continue;
    Column shape;
    for (std::uint32_t i = 0; i < M; ++i)
      if (set >> i & 1) shape.sources.push_back(i);
    if (std::any_of(shape.sources.begin(), shape.sources.end(),
                    [&](std::uint32_t i) { return problem.sources[i].depth() == 0; }))
      continue;
    const std::uint32_t owner = shape.sources[0];
    if (owner != 0 && orders[owner].history.empty()) orders[owner] = Order(problem, owner);
    shape.depths.assign(shape.sources.size() - 1, 1);
    for (bool more = true; more;) {
      Column column = shape;
      Builder builder(pool, problem, slots, owner == 0 ? first : orders[owner], column);
      for (std::uint32_t d = 1; d <= problem.sources[owner].depth(); ++d) builder.add_depth(d);
      if (column.n_nodes() > 0) {
        bytes += column.bytes();
        if (bytes > max_bytes)
          throw InvalidInput("the intersections of the sources take more than " + std::to_string(max_bytes >> 20) +
                             " MiB");
        columns.push_back(std::move(column));
      }
      more = false;  // the next depths of the other sources
      for (std::size_t k = 0; k < shape.depths.size() && !more; ++k) {
        more = shape.depths[k] < problem.sources[shape.sources[k + 1]].depth();
        shape.depths[k] = more ? shape.depths[k] + 1 : 1;
      }
    }
  }
  std::stable_partition(columns.begin(), columns.end(), [](const Column& c) { return c.sources[0] == 0; });
  return columns;
}

}  // namespace loglinear::composite
