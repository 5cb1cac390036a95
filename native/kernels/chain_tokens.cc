#include "kernels/chain_tokens.hh"

#include "util/views.hh"

namespace loglinear {

ChainTokens::ChainTokens(ThreadPool& pool, const ChainFeatures& features, const Sequences& sequences) {
  require(sequences.n_attributes == features.n_attributes(), "sequences and features differ in attributes");
  constexpr std::size_t kChunk = 1 << 13;  // tokens
  const std::size_t n = sequences.n_tokens();
  row_ptr.assign(n + 1, 0), item_ptr.assign(n + 1, 0);
  const auto row_of = [&](std::int64_t p) { return features.rows[static_cast<std::size_t>(sequences.indices[p])]; };
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      for (std::int64_t p = sequences.indptr[t]; p < sequences.indptr[t + 1]; ++p) {
        const ChainFeatures::Row row = row_of(p);
        if (row.count == ChainFeatures::kExpanded) ++row_ptr[t + 1];
        else item_ptr[t + 1] += row.count;
      }
  });
  for (std::size_t t = 0; t < n; ++t) row_ptr[t + 1] += row_ptr[t], item_ptr[t + 1] += item_ptr[t];
  const bool valued = !sequences.values.empty();
  const auto n_rows = static_cast<std::size_t>(row_ptr[n]), n_items = static_cast<std::size_t>(item_ptr[n]);
  rows.resize(n_rows), places.resize(n_items), labels.resize(n_items);
  if (valued) row_values.resize(n_rows), item_values.resize(n_items);
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      auto r = static_cast<std::size_t>(row_ptr[t]), i = static_cast<std::size_t>(item_ptr[t]);
      for (std::int64_t p = sequences.indptr[t]; p < sequences.indptr[t + 1]; ++p) {
        const ChainFeatures::Row row = row_of(p);
        if (row.count == ChainFeatures::kExpanded) {
          if (valued) row_values[r] = sequences.values[p];
          rows[r++] = row.begin;
          continue;
        }
        for (std::uint32_t k = row.begin; k < row.begin + row.count; ++k, ++i) {
          places[i] = k, labels[i] = features.label16[k];
          if (valued) item_values[i] = sequences.values[p];
        }
      }
    }
  });
}

}  // namespace loglinear
