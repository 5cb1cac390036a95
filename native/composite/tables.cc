#include "composite/tables.hh"

#include <algorithm>
#include <numeric>

#include "composite/problem.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

constexpr std::size_t kEvents = 1 << 14;  // events that one task takes
constexpr std::size_t kBlocks = 64;       // of buckets

using Columns = std::span<const std::span<const std::uint32_t>>;

// Rows by the number in one column: bucket b has items [start[b], start[b + 1]).
template <class Item, class Make>
std::vector<Item> bucketed(std::span<const std::uint32_t> column, std::vector<std::uint32_t>& start, Make make) {
  for (const std::uint32_t value : column) ++start[value + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
  std::vector<Item> items(column.size());
  for (std::uint32_t row = 0; row < column.size(); ++row) items[next[column[row]]++] = make(row);
  return items;
}

// Sorts each bucket and numbers its groups. `row_of` gives the row of an item, `same` whether two items are equal.
template <class Item, class Less, class RowOf, class Same>
Groups joined(ThreadPool& pool, std::vector<Item>& items, std::span<const std::uint32_t> start, Less less, RowOf row_of,
              Same same) {
  const std::size_t n = items.size(), n_buckets = start.size() - 1;
  std::vector<std::size_t> blocks{0};  // buckets
  for (std::size_t b = 0; b < n_buckets; ++b)
    if (start[b + 1] * kBlocks >= n * blocks.size()) blocks.push_back(b + 1);
  if (blocks.back() != n_buckets) blocks.push_back(n_buckets);
  std::vector<std::size_t> groups(blocks.size(), 0);
  pool.run(blocks.size() - 1, [&](std::size_t block) {
    std::size_t found = 0;
    for (std::size_t b = blocks[block]; b < blocks[block + 1]; ++b) {
      const auto from = items.begin() + start[b], to = items.begin() + start[b + 1];
      std::sort(from, to, less);
      for (auto i = from; i != to; ++i) found += i == from || !same(*i, *(i - 1));
    }
    groups[block + 1] = found;
  });
  std::partial_sum(groups.begin(), groups.end(), groups.begin());
  Groups out;
  out.example.resize(groups.back()), out.count.assign(groups.back(), 0), out.number.resize(n);
  pool.run(blocks.size() - 1, [&](std::size_t block) {
    std::size_t next = groups[block];
    for (std::size_t b = blocks[block]; b < blocks[block + 1]; ++b)
      for (std::size_t i = start[b]; i < start[b + 1]; ++i) {
        const std::uint32_t row = row_of(items[i]);
        if (i == start[b] || !same(items[i], items[i - 1])) out.example[next++] = row;
        ++out.count[next - 1];
        out.number[row] = static_cast<std::uint32_t>(next - 1);
      }
  });
  return out;
}

// First children of all contexts: [n_contexts + 1]. Parents do not decrease, as check() made sure.
std::vector<std::uint32_t> first_children(const Table& table) {
  const auto n = static_cast<std::uint32_t>(table.context_parent.size());
  std::vector<std::uint32_t> child(n + 1, n);
  std::uint32_t c = 0;
  for (std::uint32_t k = 1; k < n; ++k)
    for (; c <= table.context_parent[k]; ++c) child[c] = k;
  return child;
}

void check_events(const Table& table, std::span<const std::uint32_t> leaf, std::span<const std::uint32_t> words) {
  table.check();
  if (leaf.size() != words.size()) throw InvalidInput("events need a context and a word each");
  for (const std::uint32_t c : leaf)
    if (c >= table.context_parent.size()) throw InvalidInput("an event has a context that does not exist");
}

std::uint32_t find_entry(const Table& table, std::uint32_t context, std::uint32_t word) {
  const auto from = table.entry_word.begin() + table.context_entry[context];
  const auto to = table.entry_word.begin() + table.context_entry[context + 1];
  const auto at = std::lower_bound(from, to, word);
  return at != to && *at == word ? static_cast<std::uint32_t>(at - table.entry_word.begin()) : kNone;
}

}  // namespace

Groups group_rows(ThreadPool& pool, Columns columns) {
  if (columns.empty()) throw InvalidInput("rows without columns cannot be joined");
  const std::size_t n = columns[0].size();
  for (const auto column : columns)
    if (column.size() != n) throw InvalidInput("columns of unequal length");
  if (n >= kNone) throw InvalidInput("more than 2^32 rows");
  if (n == 0) return {};
  std::size_t first = 0;
  std::uint32_t most = 0;
  for (; first < columns.size(); ++first) {  // columns of zeros do not tell rows apart
    most = *std::max_element(columns[first].begin(), columns[first].end());
    if (most > 0 || first + 1 == columns.size()) break;
  }
  const auto key = columns[first];
  const Columns rest = columns.subspan(first + 1);
  if (most > 16 * n + (1 << 16)) {  // few rows with large numbers: one bucket
    std::vector<std::uint32_t> rows(n), start{0, static_cast<std::uint32_t>(n)};
    std::iota(rows.begin(), rows.end(), 0u);
    const auto compare = [&](std::uint32_t a, std::uint32_t b) {
      for (const auto column : columns.subspan(first))
        if (column[a] != column[b]) return column[a] < column[b] ? -1 : 1;
      return 0;
    };
    return joined(
        pool, rows, start,
        [&](std::uint32_t a, std::uint32_t b) {
          const int order = compare(a, b);
          return order != 0 ? order < 0 : a < b;
        },
        [](std::uint32_t row) { return row; }, [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) == 0; });
  }
  std::vector<std::uint32_t> start(std::size_t{most} + 2, 0);
  if (rest.size() <= 1) {  // the other number and the row in one word
    auto items = bucketed<std::uint64_t>(key, start, [&](std::uint32_t row) {
      return rest.empty() ? std::uint64_t{row} : static_cast<std::uint64_t>(rest[0][row]) << 32 | row;
    });
    return joined(pool, items, start, std::less<>(), [](std::uint64_t i) { return static_cast<std::uint32_t>(i); },
                  [](std::uint64_t a, std::uint64_t b) { return a >> 32 == b >> 32; });
  }
  auto rows = bucketed<std::uint32_t>(key, start, [](std::uint32_t row) { return row; });
  const auto compare = [&](std::uint32_t a, std::uint32_t b) {
    for (const auto column : rest)
      if (column[a] != column[b]) return column[a] < column[b] ? -1 : 1;
    return 0;
  };
  return joined(
      pool, rows, start,
      [&](std::uint32_t a, std::uint32_t b) {
        const int order = compare(a, b);
        return order != 0 ? order < 0 : a < b;
      },
      [](std::uint32_t row) { return row; }, [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) == 0; });
}

void Table::check() const {
  const std::size_t n = context_parent.size();
  if (n == 0 || context_symbol.size() != n || context_entry.size() != n + 1 || context_entry[0] != 0 ||
      context_entry[n] != entry_word.size())
    throw InvalidInput("the contexts of a source and their entries do not fit together");
  for (std::size_t c = 0; c < n; ++c)
    if (context_entry[c] > context_entry[c + 1] || (c > 0 && context_parent[c] >= c) ||
        (c > 1 && context_parent[c] < context_parent[c - 1]))
      throw InvalidInput("the contexts of a source are not sorted");
}

void find_leaves(ThreadPool& pool, const Table& table, std::span<const std::int32_t> symbols, std::size_t depth,
                 std::span<std::uint32_t> leaf) {
  table.check();
  if (depth == 0 ? !symbols.empty() : symbols.size() != leaf.size() * depth)
    throw InvalidInput("every event needs a chain of symbols");
  const auto child = first_children(table);
  // Contexts of depth 1 by their symbols, which are small numbers.
  std::uint32_t most = 0;
  for (std::uint32_t c = child[0]; c < child[1]; ++c) most = std::max(most, table.context_symbol[c]);
  std::vector<std::uint32_t> by_symbol;
  if (most <= 16 * table.context_symbol.size() + (1 << 16)) {
    by_symbol.assign(std::size_t{most} + 1, 0);
    for (std::uint32_t c = child[0]; c < child[1]; ++c) by_symbol[table.context_symbol[c]] = c;
  }
  const auto below = [&](std::uint32_t context, std::uint32_t symbol) -> std::uint32_t {
    if (context == 0 && !by_symbol.empty()) return symbol < by_symbol.size() ? by_symbol[symbol] : 0;
    const auto from = table.context_symbol.begin() + child[context];
    const auto to = table.context_symbol.begin() + child[context + 1];
    const auto at = std::lower_bound(from, to, symbol);
    return at != to && *at == symbol ? static_cast<std::uint32_t>(at - table.context_symbol.begin()) : 0;
  };
  parallel_for(pool, leaf.size(), kEvents, [&](std::size_t begin, std::size_t end) {
    for (std::size_t event = begin; event < end; ++event) {
      std::uint32_t found = 0;
      for (std::size_t d = 0; d < depth; ++d) {
        const std::int32_t symbol = symbols[event * depth + d];
        const std::uint32_t next = symbol < 0 ? 0 : below(found, static_cast<std::uint32_t>(symbol));
        if (next == 0) break;
        found = next;
      }
      leaf[event] = found;
    }
  });
}

void count_entries(ThreadPool& pool, const Table& table, std::span<const std::uint32_t> leaf,
                   std::span<const std::uint32_t> words, std::span<double> out) {
  check_events(table, leaf, words);
  if (out.size() != table.entry_word.size()) throw InvalidInput("one number per entry");
  std::vector<std::uint32_t> counts(out.size(), 0);
  parallel_for(pool, leaf.size(), kEvents, [&](std::size_t begin, std::size_t end) {
    for (std::size_t event = begin; event < end; ++event)
      for (std::uint32_t c = leaf[event]; c != 0; c = table.context_parent[c])
        if (const std::uint32_t e = find_entry(table, c, words[event]); e != kNone)
          __atomic_fetch_add(&counts[e], 1u, __ATOMIC_RELAXED);  // whole numbers: any order gives the same
  });
  for (std::size_t e = 0; e < out.size(); ++e) out[e] = counts[e];
}

void score_entries(ThreadPool& pool, const Table& table, std::span<const std::uint32_t> leaf,
                   std::span<const std::uint32_t> words, std::span<const double> weights, std::span<double> score,
                   std::span<std::uint8_t> depth) {
  check_events(table, leaf, words);
  if (weights.size() != table.entry_word.size() || score.size() != leaf.size() || depth.size() != leaf.size())
    throw InvalidInput("one weight per entry, and one score and depth per event");
  parallel_for(pool, leaf.size(), kEvents, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> chain;
    for (std::size_t event = begin; event < end; ++event) {
      chain.clear();
      for (std::uint32_t c = leaf[event]; c != 0; c = table.context_parent[c]) chain.push_back(c);
      double sum = 0.0;
      std::uint8_t deepest = 0;
      for (std::size_t d = 1; d <= chain.size(); ++d)  // the shortest first
        if (const std::uint32_t e = find_entry(table, chain[chain.size() - d], words[event]); e != kNone)
          sum += weights[e], deepest = static_cast<std::uint8_t>(d);
      score[event] = sum, depth[event] = deepest;
    }
  });
}

void previous_symbols(ThreadPool& pool, std::span<const std::int32_t> numbers, std::span<const std::int64_t> event_ptr,
                      std::size_t first_back, std::size_t n_back, std::int32_t begin, std::span<std::int32_t> out) {
  const auto n = static_cast<std::int64_t>(numbers.size());
  if (out.size() != numbers.size() * n_back || event_ptr.empty() || event_ptr[0] != 0 || event_ptr.back() != n ||
      !std::is_sorted(event_ptr.begin(), event_ptr.end()) || first_back == 0)
    throw InvalidInput("the sentences do not fit their events");
  parallel_for(pool, event_ptr.size() - 1, 1024, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s)
      for (std::int64_t event = event_ptr[s]; event < event_ptr[s + 1]; ++event)
        for (std::size_t k = 0; k < n_back; ++k) {
          const std::int64_t back = static_cast<std::int64_t>(first_back + k), place = event - event_ptr[s];
          out[static_cast<std::size_t>(event) * n_back + k] =
              place >= back ? numbers[static_cast<std::size_t>(event - back)]
                            : place == back - 1 && begin >= 0 ? begin : -1;
        }
  });
}

}  // namespace loglinear::composite
