#include "chain/tokens.hh"

#include <algorithm>
#include <cstring>
#include <limits>

#include "chain/bundles.hh"
#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kManyLabels = 64;  // from here on reading a matrix of transitions costs more than multiplying

template <class T>
std::size_t at(const std::vector<T>& pointers, std::size_t i) {
  return static_cast<std::size_t>(pointers[i]);
}

}  // namespace

SequenceGroups::SequenceGroups(const ChainFeatures& f, const Sequences& sequences) {
  constexpr std::size_t kScores = 1 << 20;  // of a group of several sequences
  const std::size_t most_members = f.L > kManyLabels ? simd::kChainGroup : 8;
  const bool pairs = !f.pair_code.empty() || !f.trigram_code.empty();
  const std::size_t enough = kScores / (pairs ? f.L * f.Lp : f.Lp);  // tokens
  for (std::size_t i = 0; i < sequences.size(); ++i)
    if (sequences.length(i) > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sequences.length(a) > sequences.length(b); });
  for (std::size_t i = 0, tokens = 0; i < order.size(); ++i) {
    const std::size_t T = sequences.length(order[i]);
    if (i > ptr.back() && (i - ptr.back() == most_members || tokens + T > enough)) ptr.push_back(i), tokens = 0;
    tokens += T;
    most_tokens = std::max(most_tokens, tokens);
  }
  if (!order.empty()) ptr.push_back(order.size());
}

std::vector<std::size_t> SequenceGroups::cut(const Sequences& sequences, std::size_t parts) const {
  const auto work = [&](std::size_t i) {
    const std::size_t first = sequences.begin(i), end = first + sequences.length(i);
    return static_cast<std::size_t>(sequences.indptr[end] - sequences.indptr[first]) + 16 * (end - first);
  };
  std::size_t total = 0, before = 0;
  for (const std::size_t i : order) total += work(i);
  std::vector<std::size_t> cuts{0};
  for (std::size_t p = 1, g = 0; p < parts; ++p) {
    for (; g < size() && before * parts < total * p; ++g)
      for (const std::size_t i : members(g)) before += work(i);
    cuts.push_back(g);
  }
  cuts.push_back(size());
  return cuts;
}

ResolvedWeights::ResolvedWeights(ThreadPool& pool, const WeightRows& weights, const Sequences& sequences,
                                 std::size_t size, bool bundled) {
  constexpr std::size_t kChunk = 1 << 13;  // tokens
  const double no_row_pays = std::numeric_limits<double>::infinity();
  const Bundles bundles(pool, weights, sequences, bundled ? 1.0 + static_cast<double>(size) / 16.0 : no_row_pays);
  n_tokens = sequences.n_tokens(), n_expanded = weights.expanded.size(), n_bundles = bundles.size;
  const std::size_t n = n_tokens + n_bundles, A = sequences.n_attributes;
  row_ptr.assign(n + 1, 0), item_ptr.assign(n + 1, 0);
  const auto over_entries = [&](std::size_t begin, std::size_t end, auto row, auto items) {
    for (std::size_t t = begin; t < end; ++t)
      for (std::int64_t p = bundles.ptr[t]; p < bundles.ptr[t + 1]; ++p) {
        const auto entry = static_cast<std::size_t>(bundles.entries[static_cast<std::size_t>(p)]);
        if (entry >= A) row(t, p, static_cast<std::uint32_t>(n_expanded + entry - A));
        else if (weights.rows[entry].count == WeightRows::kExpanded) row(t, p, weights.rows[entry].begin);
        else items(t, p, entry);
      }
  };
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    over_entries(
        begin, end, [&](std::size_t t, std::int64_t, std::uint32_t) { ++row_ptr[t + 1]; },
        [&](std::size_t t, std::int64_t, std::size_t a) { item_ptr[t + 1] += weights.rows[a].count; });
  });
  for (std::size_t t = 0; t < n; ++t) row_ptr[t + 1] += row_ptr[t], item_ptr[t + 1] += item_ptr[t];
  const bool valued = !sequences.values.empty();
  rows.resize(at(row_ptr, n)), places.resize(at(item_ptr, n)), offsets.resize(at(item_ptr, n));
  if (valued) row_values.resize(rows.size()), item_values.resize(places.size());
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    std::size_t r = at(row_ptr, begin), i = at(item_ptr, begin);
    over_entries(
        begin, end,
        [&](std::size_t, std::int64_t p, std::uint32_t row) {
          if (valued) row_values[r] = sequences.values[p];
          rows[r++] = row;
        },
        [&](std::size_t, std::int64_t p, std::size_t a) {
          const WeightRows::Row row = weights.rows[a];
          for (std::uint32_t k = row.begin; k < row.begin + row.count; ++k, ++i) {
            places[i] = k, offsets[i] = weights.offsets[k];
            if (valued) item_values[i] = sequences.values[p];
          }
        });
  });
}

void ResolvedWeights::fill(ThreadPool& pool, const double* weights, const double* expanded, std::size_t size,
                           AlignedDoubles& all) const {
  all.resize(n_rows() * size);
  std::copy_n(expanded, n_expanded * size, all.begin());
  parallel_for(pool, n_bundles, 256, [&](std::size_t begin, std::size_t end) {
    double* to = all.data() + (n_expanded + begin) * size;
    std::fill_n(to, (end - begin) * size, 0.0);
    for (std::size_t b = begin; b < end; ++b, to += size) add(n_tokens + b, weights, all.data(), size, to);
  });
}

void ResolvedWeights::unbundle(std::size_t size, double* weights, double* all) const {
  for (std::size_t b = 0; b < n_bundles; ++b)
    scatter(n_tokens + b, all + (n_expanded + b) * size, size, weights, all);
}

// Memory is what an evaluation waits for: rows of the next token, single weights of the one after it.
void ResolvedWeights::prefetch(std::size_t token, const double* weights, const double* all, std::size_t size) const {
  if (token + 3 >= item_ptr.size()) return;
  for (std::size_t r = at(row_ptr, token + 1); r < at(row_ptr, token + 2); ++r)
    for (std::size_t k = 0; k < size; k += 8) __builtin_prefetch(all + rows[r] * size + k);
  for (std::size_t i = at(item_ptr, token + 2); i < at(item_ptr, token + 3); ++i)
    __builtin_prefetch(weights + places[i]);
}

void ResolvedWeights::add(std::size_t token, const double* weights, const double* all, std::size_t size,
                          double* scores) const {
  prefetch(token, weights, all, size);
  const std::size_t end = at(item_ptr, token + 1);
  if (item_values.empty())
    for (std::size_t i = at(item_ptr, token); i < end; ++i) scores[offsets[i]] += weights[places[i]];
  else
    for (std::size_t i = at(item_ptr, token); i < end; ++i) scores[offsets[i]] += item_values[i] * weights[places[i]];
  const double* batch[kBatch];
  for (std::size_t r = at(row_ptr, token), last = at(row_ptr, token + 1); r < last;) {
    const std::size_t n = std::min(last - r, kBatch);
    for (std::size_t i = 0; i < n; ++i) batch[i] = all + rows[r + i] * size;
    simd::loops().chain.add_rows(batch, row_values.empty() ? nullptr : row_values.data() + r, n, size, scores);
    r += n;
  }
}

void ResolvedWeights::scatter(std::size_t token, const double* residuals, std::size_t size, double* weights,
                              double* all) const {
  prefetch(token, weights, all, size);
  const std::size_t end = at(item_ptr, token + 1);
  if (item_values.empty())
    for (std::size_t i = at(item_ptr, token); i < end; ++i) weights[places[i]] += residuals[offsets[i]];
  else
    for (std::size_t i = at(item_ptr, token); i < end; ++i)
      weights[places[i]] += item_values[i] * residuals[offsets[i]];
  double* batch[kBatch];
  for (std::size_t r = at(row_ptr, token), last = at(row_ptr, token + 1); r < last;) {
    const std::size_t n = std::min(last - r, kBatch);
    for (std::size_t i = 0; i < n; ++i) batch[i] = all + rows[r + i] * size;
    simd::loops().chain.add_to_rows(batch, row_values.empty() ? nullptr : row_values.data() + r, n, size, residuals);
    r += n;
  }
}

void ResolvedWeights::scatter_where(std::size_t token, const double* residuals, std::size_t size, const double* has,
                                    double* weights, double* all) const {
  prefetch(token, weights, all, size);
  const double* value = item_values.empty() ? nullptr : item_values.data();
  for (std::size_t i = at(item_ptr, token), end = at(item_ptr, token + 1); i < end; ++i)
    weights[places[i]] += (value ? value[i] : 1.0) * residuals[offsets[i]];
  for (std::size_t r = at(row_ptr, token), last = at(row_ptr, token + 1); r < last; ++r) {
    const double x = row_values.empty() ? 1.0 : row_values[r];
    double* to = all + rows[r] * size;
    const double* keep = has + rows[r] * size;
    for (std::size_t k = 0; k < size; ++k) to[k] += x * keep[k] * residuals[k];
  }
}

ChainTokens::ChainTokens(ThreadPool& pool, const ChainFeatures& f, const Sequences& sequences, bool by_listed)
    : features(&f), groups(f, sequences) {
  require(sequences.n_attributes == f.n_attributes(), "sequences and features differ in attributes");
  nodes = ResolvedWeights(pool, f.nodes, sequences, f.Lp);
  if (!f.pairs.rows.empty()) pairs = ResolvedWeights(pool, f.pairs, sequences, f.L * f.Lp);
  if (by_listed) listed = ListedPairs(f);
  if (!listed.empty()) listed_pairs = ResolvedWeights(pool, listed.rows, sequences, listed.n);
}

}  // namespace loglinear::chain
