#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "composite/clusters.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

using Key = std::pair<std::uint64_t, std::uint32_t>;  // (what is grouped by, history)
constexpr std::size_t kBlock = 2048;                  // runs of equal keys whose intersections one task takes
constexpr std::size_t kMostTogether = 16;

struct Run {
  std::uint32_t history;        // an example
  std::size_t begin, end;       // in the sorted keys
};

struct Found {  // intersections of one block of runs
  std::vector<std::uint32_t> sizes, entries;
};

// Appends the entries of the words that all contexts share, one row per word.
std::uint32_t intersect(const Problem& problem, std::span<const std::uint32_t> sources,
                        std::span<const std::uint32_t> contexts, std::vector<std::uint32_t>& out) {
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
    for (std::size_t i = 0; i < n; ++i) out.push_back(at[i]);
    ++found;
  }
  return found;
}

// Numbers the tuples of contexts of the other sources; kNone where a history lacks one.
std::vector<std::uint32_t> number_others(const Problem& problem, const Column& column) {
  const std::size_t n = problem.n_histories();
  std::vector<std::uint32_t> id(n, 0);
  std::vector<Key> keys;
  for (std::size_t k = 1; k < column.sources.size(); ++k) {
    const Source& s = problem.sources[column.sources[k]];
    const auto leaf = problem.leaf[column.sources[k]];
    const std::uint32_t depth = column.depths[k - 1];
    if (k == 1) {  // contexts are numbers already
      for (std::uint32_t x = 0; x < n; ++x) {
        const std::uint32_t c = s.ancestor(leaf[x], depth);
        id[x] = c == 0 ? kNone : c;
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

void add_depth(ThreadPool& pool, const Problem& problem, Column& column, std::span<const std::uint32_t> others,
               std::uint32_t depth) {
  const Source& owner = problem.sources[column.sources[0]];
  const auto leaf = problem.leaf[column.sources[0]];
  const std::size_t width = column.sources.size();
  std::vector<Key> keys;
  for (std::uint32_t x = 0; x < problem.n_histories(); ++x) {
    if (others[x] == kNone || (depth > 1 && column.node[x] == kNone)) continue;
    if (depth > 1 && column.node[x] < column.depth_start[depth - 1]) continue;  // the parent's words do not intersect
    const std::uint64_t c = owner.ancestor(leaf[x], depth);
    if (c != 0) keys.push_back({c << 32 | others[x], x});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Run> runs;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    if (j == 0 || keys[j].first != keys[j - 1].first) runs.push_back({keys[j].second, j, j});
    runs.back().end = j + 1;
  }
  std::vector<Found> found(chunk_count(runs.size(), kBlock));
  pool.run(found.size(), [&](std::size_t block) {
    const Range r = chunk_range(runs.size(), kBlock, block);
    std::array<std::uint32_t, kMostTogether> contexts;
    for (std::size_t j = r.begin; j < r.end; ++j) {
      const std::uint32_t x = runs[j].history;
      contexts[0] = owner.ancestor(leaf[x], depth);
      for (std::size_t k = 1; k < width; ++k) {
        const std::uint32_t i = column.sources[k];
        contexts[k] = problem.sources[i].ancestor(problem.leaf[i][x], column.depths[k - 1]);
      }
      found[block].sizes.push_back(
          intersect(problem, column.sources, {contexts.data(), width}, found[block].entries));
    }
  });
  for (std::size_t block = 0; block < found.size(); ++block) {
    column.entries.insert(column.entries.end(), found[block].entries.begin(), found[block].entries.end());
    for (std::size_t j = 0; j < found[block].sizes.size(); ++j) {
      const std::uint32_t size = found[block].sizes[j];
      if (size == 0) continue;
      const Run& run = runs[block * kBlock + j];
      const auto number = static_cast<std::uint32_t>(column.n_nodes());
      column.context.push_back(static_cast<std::uint32_t>(keys[run.begin].first >> 32));
      column.parent.push_back(depth == 1 ? kNone : column.node[run.history]);
      column.term.push_back(column.term.back() + size);
      for (std::size_t k = run.begin; k < run.end; ++k) column.node[keys[k].second] = number;
    }
    found[block] = {};
  }
  column.depth_start.push_back(static_cast<std::uint32_t>(column.n_nodes()));
}

}  // namespace

std::size_t Column::bytes() const {
  return 4 * (context.size() + parent.size() + entries.size() + node.size()) + 8 * term.size();
}

std::vector<Column> build_columns(ThreadPool& pool, const Problem& problem, std::span<const std::uint32_t> apart,
                                  std::uint64_t max_bytes) {
  const std::size_t M = problem.sources.size();
  if (M > kMostTogether) throw InvalidInput("at most 16 sources can be shared over intersections");
  std::vector<Column> columns;
  std::uint64_t bytes = 0;
  for (std::uint32_t set = 1; set < (1u << M); ++set) {
    if ((set & (set - 1)) == 0) continue;
    if (std::any_of(apart.begin(), apart.end(), [&](std::uint32_t a) { return (set & a) == a; })) continue;
    Column shape;
    for (std::uint32_t i = 0; i < M; ++i)
      if (set >> i & 1) shape.sources.push_back(i);
    shape.depths.assign(shape.sources.size() - 1, 1);
    for (bool more = true; more;) {
      Column column = shape;
      column.depth_start = {0, 0};
      column.term = {0};
      column.node.assign(problem.n_histories(), kNone);
      const auto others = number_others(problem, column);
      for (std::uint32_t d = 1; d <= problem.sources[column.sources[0]].depth(); ++d)
        add_depth(pool, problem, column, others, d);
      if (column.n_nodes() > 0) {
        bytes += column.bytes();
        if (bytes > max_bytes)
          throw InvalidInput("the intersections of the sources take more than " + std::to_string(max_bytes >> 20) +
                             " MiB");
        column.entries.shrink_to_fit();
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
