// Where the sweep of clusters.hh cuts the first source, and where each part finds its sums.
#include <algorithm>
#include <tuple>
#include <utility>

#include "composite/clusters.hh"
#include "composite/unigrams.hh"

namespace loglinear::composite {
namespace {

// The part of ascending numbers [begin, end) of a list that lies in [low, high).
std::pair<std::uint32_t, std::uint32_t> within(const std::vector<std::uint32_t>& list, std::uint32_t begin,
                                               std::uint32_t end, std::uint32_t low, std::uint32_t high) {
  const auto from = list.begin() + begin, to = list.begin() + end;
  const auto first = std::lower_bound(from, to, low);
  return {static_cast<std::uint32_t>(first - list.begin()),
          static_cast<std::uint32_t>(std::lower_bound(first, to, high) - list.begin())};
}

// The first term whose entry is at least `entry`: terms are sorted by contexts, as entries are.
std::uint64_t first_term(const Column& column, std::uint32_t entry) {
  std::uint64_t low = 0, high = column.n_stored_terms();
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (column.terms[middle * column.width() + 1] < entry) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace

void Clusters::plan(std::size_t unit) {
  const Source& s = problem_.sources[0];
  const std::size_t n = s.n_contexts();
  for (std::size_t i = 0; i < problem_.sources.size(); ++i) {
    source_at_.push_back(static_cast<std::uint32_t>(n_shared_));
    if (i > 0) n_shared_ += problem_.sources[i].n_contexts();
  }
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    column_at_.push_back(static_cast<std::uint32_t>(n_shared_));
    if (k >= n_owned_) n_shared_ += columns_[k].n_nodes();
  }
  n_sums_ = n_shared_;
  // What a context takes in the cache and, weighted, in time; then with all below it.
  std::vector<std::uint64_t> size(n, 0), cost(n, 0);
  for (std::size_t c = 0; c < n; ++c) {
    const std::uint64_t entries = s.context_entry[c + 1] - s.context_entry[c];
    size[c] = 1 + entries;
    cost[c] = 2 + 12 * entries + 8 * std::uint64_t{order_.start[c + 1] - order_.start[c]};
  }
  for (std::size_t k = 0; k < n_owned_; ++k) {
    const Column& column = columns_[k];
    for (std::size_t j = 0; j < column.context.size(); ++j) size[column.context[j]] += 1, cost[column.context[j]] += 4;
    for (std::size_t j = 0; j < column.spread_context.size(); ++j) {
      size[column.spread_context[j]] += column.together;
      cost[column.spread_context[j]] += column.together * (5 + column.spread_pair[j + 1] - column.spread_pair[j]) / 8;
    }
  }
  for (std::size_t c = n; c-- > 1;)
    if (s.context_parent[c] != 0) size[s.context_parent[c]] += size[c], cost[s.context_parent[c]] += cost[c];
  if (order_.start[1] > 0) units_.push_back({add_frame(0, 0, 1, kNone), 1, 1});
  cut(size, unit, 1, s.depth_start[1], s.depth_start[2], kNone);
  deal(cost);
}

void Clusters::cut(std::span<const std::uint64_t> size, std::size_t unit, std::uint32_t depth, std::uint32_t begin,
                   std::uint32_t end, std::uint32_t above) {
  for (std::uint32_t c = begin; c < end;) {
    std::uint32_t stop = c;
    for (std::uint64_t sum = 0; stop < end && (sum += size[stop]) <= unit;) ++stop;
    const bool whole = stop > c;  // with all that is below
    if (!whole) stop = c + 1;
    const std::size_t at = units_.size();
    std::uint32_t last = add_frame(depth, c, stop, above);
    units_.push_back({last, last + 1, 0});
    std::uint32_t first_child = order_.child[c], end_child = order_.child[stop];
    if (!whole) {
      cut(size, unit, depth + 1, first_child, end_child, last);
    } else {
      for (std::uint32_t d = depth + 1; first_child < end_child; ++d) {
        last = add_frame(d, first_child, end_child, last);
        first_child = order_.child[first_child], end_child = order_.child[end_child];
      }
      units_[at].last = last + 1;
    }
    units_[at].next = static_cast<std::uint32_t>(units_.size());
    c = stop;
  }
}

std::uint32_t Clusters::add_frame(std::uint32_t depth, std::uint32_t begin, std::uint32_t end, std::uint32_t above) {
  const Source& s = problem_.sources[0];
  std::size_t at = above == kNone ? n_shared_ : frames_[above].until;
  for (std::size_t k = 0; k < n_owned_; ++k) {
    const Column& column = columns_[k];
    Piece piece;
    if (depth > 0) {
      std::tie(piece.first, piece.end) =
          within(column.context, column.stored[depth], column.stored[depth + 1], begin, end);
      std::tie(piece.first_spread, piece.end_spread) =
          within(column.spread_context, column.spread[depth], column.spread[depth + 1], begin, end);
      piece.term = first_term(column, s.context_entry[begin]);
      piece.end_term = first_term(column, s.context_entry[end]);
    }
    piece.at = static_cast<std::uint32_t>(at);
    piece.spread_at = static_cast<std::uint32_t>(at += piece.end - piece.first);
    at += (piece.end_spread - piece.first_spread) * std::size_t{column.together};
    pieces_.push_back(piece);
  }
  n_sums_ = std::max(n_sums_, at);
  frames_.push_back({depth, begin, end, above, static_cast<std::uint32_t>(at)});
  return static_cast<std::uint32_t>(frames_.size() - 1);
}

// Cuts the units into chunks of about equal cost.
void Clusters::deal(std::span<const std::uint64_t> cost) {
  const Source& s = problem_.sources[0];
  std::uint64_t all = cost[0], sum = 0;
  for (std::uint32_t c = s.depth_start[1]; c < s.depth_start[2]; ++c) all += cost[c];
  std::size_t sums = problem_.n_words + 2 * n_shared_;  // of a chunk: they should be a small part of its work
  for (const Slots& slots : slots_) sums += slots.n_slots;
  const std::uint64_t n_chunks = std::clamp<std::uint64_t>(all / (20 * sums), 4, 2 * kChunks);
  chunks_.push_back(0);
  for (std::uint32_t k = 0; k < units_.size(); k = units_[k].next) {
    const Frame& frame = frames_[units_[k].first];
    for (std::uint32_t c = frame.begin; c < frame.end; ++c) sum += cost[c];
    if (sum * n_chunks >= all * chunks_.size()) chunks_.push_back(units_[k].next);
  }
  if (chunks_.back() != units_.size()) chunks_.push_back(static_cast<std::uint32_t>(units_.size()));
}

// Where the sum of a node is while a frame is swept.
std::uint32_t Clusters::local(std::size_t k, std::uint32_t node, std::uint32_t frame) const {
  if (node == kNone) return 0;
  if (k >= n_owned_) return column_at_[k] + node;
  const Column& column = columns_[k];
  const bool spread = node & kSpread;
  const std::uint32_t number = spread ? (node & ~kSpread) / column.together : node;
  const auto& starts = spread ? column.spread : column.stored;
  while (number < starts[frames_[frame].depth]) frame = frames_[frame].above;
  const Piece& piece = pieces_[frame * n_owned_ + k];
  return spread ? piece.spread_at + ((node & ~kSpread) - piece.first_spread * column.together)
                : piece.at + (node - piece.first);
}

// Turns the numbers of nodes, in terms, parents and histories, into places in the array of sums, and the numbers of
// entries into places in their frame.
void Clusters::localise(ThreadPool& pool) {
  const Source& s = problem_.sources[0];
  const std::size_t M = problem_.sources.size(), stride = M - 1 + columns_.size();
  rows_.resize(problem_.n_histories() * stride), count_.resize(problem_.n_histories());
  for (std::size_t k = n_owned_; k < columns_.size(); ++k)
    for (std::size_t t = 0; t < columns_[k].terms.size(); t += columns_[k].width())
      columns_[k].terms[t] += column_at_[k];
  parallel_for(pool, frames_.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (auto f = static_cast<std::uint32_t>(begin); f < end; ++f) {
      const Frame& frame = frames_[f];
      const std::uint32_t first_entry = s.context_entry[frame.begin];
      for (std::size_t k = 0; k < n_owned_; ++k) {
        Column& column = columns_[k];
        const Piece& piece = pieces_[f * n_owned_ + k];
        for (std::uint32_t n = piece.first; n < piece.end; ++n) column.parent[n] = local(k, column.parent[n], f);
        for (std::uint64_t t = piece.term; t < piece.end_term; ++t) {
          std::uint32_t* term = column.terms.data() + t * column.width();
          term[0] = local(k, term[0], f);
          term[1] -= first_entry;
        }
        for (std::uint32_t n = piece.first_spread; n < piece.end_spread; ++n)
          for (std::uint64_t p = column.spread_pair[n]; p < column.spread_pair[n + 1]; ++p)
            column.pairs[2 * p] -= first_entry;
      }
      for (std::uint32_t x = order_.start[frame.begin]; x < order_.start[frame.end]; ++x) {
        const std::uint32_t history = order_.history[x];
        std::uint32_t* row = rows_.data() + x * stride;
        for (std::size_t i = 1; i < M; ++i) *row++ = source_at_[i] + problem_.leaf[i][history];
        for (std::size_t k = 0; k < columns_.size(); ++k) *row++ = local(k, columns_[k].node[history], f);
        count_[x] = problem_.count[history];
      }
    }
  });
  for (Column& column : columns_) column.node = {};
}

}  // namespace loglinear::composite
