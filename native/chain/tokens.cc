#include "chain/tokens.hh"

#include <algorithm>

#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kBatch = 64;

template <class T>
std::size_t at(const std::vector<T>& pointers, std::size_t i) {
  return static_cast<std::size_t>(pointers[i]);
}

}  // namespace

ResolvedWeights::ResolvedWeights(ThreadPool& pool, const WeightRows& weights, const Sequences& sequences) {
  constexpr std::size_t kChunk = 1 << 13;  // tokens
  const std::size_t n = sequences.n_tokens();
  row_ptr.assign(n + 1, 0), item_ptr.assign(n + 1, 0);
  const auto row_of = [&](std::int64_t p) { return weights.rows[static_cast<std::size_t>(sequences.indices[p])]; };
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      for (std::int64_t p = sequences.indptr[t]; p < sequences.indptr[t + 1]; ++p) {
        const WeightRows::Row row = row_of(p);
        if (row.count == WeightRows::kExpanded) ++row_ptr[t + 1];
        else item_ptr[t + 1] += row.count;
      }
  });
  for (std::size_t t = 0; t < n; ++t) row_ptr[t + 1] += row_ptr[t], item_ptr[t + 1] += item_ptr[t];
  const bool valued = !sequences.values.empty();
  rows.resize(at(row_ptr, n)), places.resize(at(item_ptr, n)), offsets.resize(at(item_ptr, n));
  if (valued) row_values.resize(rows.size()), item_values.resize(places.size());
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      std::size_t r = at(row_ptr, t), i = at(item_ptr, t);
      for (std::int64_t p = sequences.indptr[t]; p < sequences.indptr[t + 1]; ++p) {
        const WeightRows::Row row = row_of(p);
        if (row.count == WeightRows::kExpanded) {
          if (valued) row_values[r] = sequences.values[p];
          rows[r++] = row.begin;
          continue;
        }
        for (std::uint32_t k = row.begin; k < row.begin + row.count; ++k, ++i) {
          places[i] = k, offsets[i] = weights.offsets[k];
          if (valued) item_values[i] = sequences.values[p];
        }
      }
    }
  });
}

void ResolvedWeights::add(std::size_t token, const double* weights, const double* expanded, std::size_t size,
                          double* scores) const {
  const std::size_t end = at(item_ptr, token + 1);
  if (token + 3 < item_ptr.size())  // weights of the token after the next
    for (std::size_t i = at(item_ptr, token + 2); i < at(item_ptr, token + 3); ++i)
      __builtin_prefetch(weights + places[i]);
  if (item_values.empty())
    for (std::size_t i = at(item_ptr, token); i < end; ++i) scores[offsets[i]] += weights[places[i]];
  else
    for (std::size_t i = at(item_ptr, token); i < end; ++i) scores[offsets[i]] += item_values[i] * weights[places[i]];
  const double* batch[kBatch];
  for (std::size_t r = at(row_ptr, token), last = at(row_ptr, token + 1); r < last;) {
    const std::size_t n = std::min(last - r, kBatch);
    for (std::size_t i = 0; i < n; ++i) batch[i] = expanded + rows[r + i] * size;
    simd::loops().chain.add_rows(batch, row_values.empty() ? nullptr : row_values.data() + r, n, size, scores);
    r += n;
  }
}

void ResolvedWeights::scatter(std::size_t token, const double* residuals, std::size_t size, double* weights,
                              double* expanded) const {
  const std::size_t end = at(item_ptr, token + 1);
  if (token + 3 < item_ptr.size())
    for (std::size_t i = at(item_ptr, token + 2); i < at(item_ptr, token + 3); ++i)
      __builtin_prefetch(weights + places[i], 1);
  if (item_values.empty())
    for (std::size_t i = at(item_ptr, token); i < end; ++i) weights[places[i]] += residuals[offsets[i]];
  else
    for (std::size_t i = at(item_ptr, token); i < end; ++i)
      weights[places[i]] += item_values[i] * residuals[offsets[i]];
  double* batch[kBatch];
  for (std::size_t r = at(row_ptr, token), last = at(row_ptr, token + 1); r < last;) {
    const std::size_t n = std::min(last - r, kBatch);
    for (std::size_t i = 0; i < n; ++i) batch[i] = expanded + rows[r + i] * size;
    simd::loops().chain.add_to_rows(batch, row_values.empty() ? nullptr : row_values.data() + r, n, size, residuals);
    r += n;
  }
}

ChainTokens::ChainTokens(ThreadPool& pool, const ChainFeatures& f, const Sequences& sequences) : features(&f) {
  require(sequences.n_attributes == f.n_attributes(), "sequences and features differ in attributes");
  nodes = ResolvedWeights(pool, f.nodes, sequences);
  if (!f.pairs.rows.empty()) pairs = ResolvedWeights(pool, f.pairs, sequences);
}

}  // namespace loglinear::chain
