#include <algorithm>
#include <cstring>

#include "chain/model.hh"
#include "util/views.hh"

namespace loglinear::chain {

void ChainModel::unbundle(const ChainTokens& tokens, ChainGradient& g) const {
  tokens.nodes.unbundle(Lp, g.weights.data(), g.rows.data());
  tokens.pairs.unbundle(stride, g.weights.data() + features.pair_begin(), g.pair_rows.data());
  tokens.listed_pairs.unbundle(tokens.listed.n, g.weights.data() + features.pair_begin(), g.listed.rows.data());
}

std::size_t ChainModel::outer_size() const {
  if (machine == Machine::sparse) return edges.size();
  if (machine == Machine::dense) return L * Lp;
  return trigrams ? (L + 1) * L * Lp : 0;
}

void ChainModel::clear(ChainGradient& g, const ChainTokens* tokens) const {
  g.weights.assign(features.transition_begin(), 0.0);
  g.rows.assign(expanded_.size() + (tokens ? tokens->nodes.n_bundles * Lp : 0), 0.0);
  g.pair_rows.assign(expanded_pairs_.size() + (tokens ? tokens->pairs.n_bundles * stride : 0), 0.0);
  g.numbers.assign(numbers_.size(), 0.0);
  g.transitions.assign(machine == Machine::sparse ? edges.size() : L * Lp, 0.0);
  g.outer.assign(outer_size(), 0.0);
  g.negative.clear();
  g.trigrams.assign(trigrams ? (L + 1) * L * Lp : 0, 0.0);
  if (tokens && !tokens->listed.empty()) g.listed.clear(tokens->listed, tokens->listed_pairs.n_rows());
  g.value = 0.0;
}

void ChainModel::finish(ThreadPool& pool, std::span<const ChainGradient> parts, std::span<double> out) const {
  require(out.size() == features.n_weights(), "chain gradient: out has the wrong length");
  parallel_for(pool, features.transition_begin(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    std::memcpy(out.data() + begin, parts[0].weights.data() + begin, (end - begin) * sizeof(double));
    for (std::size_t p = 1; p < parts.size(); ++p)
      for (std::size_t k = begin; k < end; ++k) out[k] += parts[p].weights[k];
  });
  const auto gather = [&](const WeightRows& rows, std::span<const std::int64_t> ptr, std::size_t size,
                          AlignedDoubles ChainGradient::*field, double* to) {
    parallel_for(pool, rows.expanded.size(), 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t e = begin; e < end; ++e)
        for (std::int64_t k = ptr[rows.expanded[e]]; k < ptr[rows.expanded[e] + 1]; ++k) {
          double sum = 0.0;
          for (const ChainGradient& part : parts) sum += (part.*field)[e * size + rows.offsets[k]];
          to[k] = sum;
        }
    });
  };
  gather(features.nodes, features.node_ptr, Lp, &ChainGradient::rows, out.data());
  gather(features.pairs, features.pair_ptr, stride, &ChainGradient::pair_rows, out.data() + features.pair_begin());
  for (std::size_t k = 0; k < features.n_numbers; ++k)
    for (std::int64_t p = features.node_ptr[features.first_number() + k];
         p < features.node_ptr[features.first_number() + k + 1]; ++p) {
      double sum = 0.0;
      for (const ChainGradient& part : parts)
        sum += part.numbers[k * Lp + static_cast<std::size_t>(features.node_label[p])];
      out[static_cast<std::size_t>(p)] = sum;
    }
  const auto outer = [&](std::size_t i) {
    double sum = 0.0;
    for (const ChainGradient& part : parts) {
      if (!part.outer.empty()) sum += part.outer[i];
      if (!part.negative.empty()) sum -= part.negative[i];
    }
    return sum;
  };
  const auto plain = [&](AlignedDoubles ChainGradient::*field, std::size_t i) {
    double sum = 0.0;
    for (const ChainGradient& part : parts) sum += (part.*field)[i];
    return sum;
  };
  double* transition_out = out.data() + features.transition_begin();
  if (machine == Machine::sparse) {
    std::fill_n(transition_out, features.transition_code.size(), 0.0);
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (edges[e].weight >= 0)
        out[static_cast<std::size_t>(edges[e].weight)] =
            outer(e) * edge_potential[e] + plain(&ChainGradient::transitions, e);
    return;
  }
  for (std::size_t k = 0; k < features.transition_code.size(); ++k) {
    const auto code = static_cast<std::size_t>(features.transition_code[k]);
    const std::size_t i = code / L * Lp + code % L;
    transition_out[k] = plain(&ChainGradient::transitions, i) + (machine == Machine::dense ? outer(i) * E[i] : 0.0);
  }
  double* trigram_out = out.data() + features.trigram_begin();
  for (std::size_t k = 0; k < features.trigram_code.size(); ++k) {
    const auto code = static_cast<std::size_t>(features.trigram_code[k]);
    const std::size_t i = code / L * Lp + code % L;
    trigram_out[k] = plain(&ChainGradient::trigrams, i) + outer(i) * E3[i];
  }
}

}  // namespace loglinear::chain
