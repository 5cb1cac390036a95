#include "chain/model.hh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kDenseLabels = 48;  // up to here a full matrix is always at least as fast

void check_scores(std::span<const double> scores, std::size_t size, const char* what) {
  if (scores.empty()) return;
  if (scores.size() != size)
    throw InvalidInput(std::string(what) + ": " + std::to_string(scores.size()) + " scores, but " +
                       std::to_string(size) + " are needed");
  for (const double s : scores)
    if (!(s < std::numeric_limits<double>::infinity()))
      throw InvalidInput(std::string(what) + ": scores must be finite, or -infinity to forbid");
}

std::vector<double> copy(std::span<const double> s) { return {s.begin(), s.end()}; }

}  // namespace

ChainModel::ChainModel(const ChainFeatures& f, const ChainBase& base, const char* asked)
    : features(f), L(f.L), Lp(f.Lp) {
  check_scores(base.start, L, "start");
  check_scores(base.stop, base.stop.size() == L ? L : (L + 1) * L, "stop");
  check_scores(base.transitions, L * L, "transitions");
  check_scores(base.trigrams, (L + 1) * L * L, "trigrams");
  start_ = copy(base.start), stop_ = copy(base.stop);
  base_transitions_ = copy(base.transitions), base_trigrams_ = copy(base.trigrams);
  trigrams = !f.trigram_code.empty() || !base.trigrams.empty();
  const bool pairs = trigrams || !f.pair_code.empty() || (!stop_.empty() && stop_.size() != L);
  const std::string name(asked);
  require(name == "auto" || name == "dense" || name == "sparse", "machine must be 'auto', 'dense' or 'sparse'");
  if (pairs) {
    machine = Machine::pairs;
    pair_place_.resize(f.pair_code.size());
    const auto l = static_cast<std::int32_t>(L), lp = static_cast<std::int32_t>(Lp);
    for (std::size_t k = 0; k < pair_place_.size(); ++k) pair_place_[k] = f.pair_code[k] / l * lp + f.pair_code[k] % l;
  } else if (name == "dense" || (name == "auto" && L <= kDenseLabels)) {
    machine = Machine::dense;
  } else {
    machine = Machine::sparse;
    layout_sparse();
    if (name == "auto" && edges.size() * 4 > L * L) machine = Machine::dense, edges.clear(), edge_ptr.clear();
  }
  stride = machine == Machine::pairs ? L * Lp : Lp;
  expanded_.assign(f.nodes.expanded.size() * Lp, 0.0);
  expanded_pairs_.assign(f.pairs.expanded.size() * stride, 0.0);
  numbers_.assign(f.n_numbers * Lp, 0.0);
}

void ChainModel::layout_sparse() {
  // The background is what most transitions without a weight have.
  std::size_t forbidden = 0;
  for (const double s : base_transitions_) forbidden += s == kForbidden;
  background = forbidden * 2 > L * L ? kForbidden : 0.0;
  std::vector<std::int32_t> weight(L * L, -1);
  for (std::size_t k = 0; k < features.transition_code.size(); ++k)
    weight[static_cast<std::size_t>(features.transition_code[k])] =
        static_cast<std::int32_t>(features.transition_begin() + k);
  edge_ptr.assign(1, 0);
  for (std::size_t to = 0; to < L; ++to) {
    for (std::size_t from = 0; from < L; ++from) {
      const std::size_t code = from * L + to;
      const double b = base_transitions_.empty() ? 0.0 : base_transitions_[code];
      if (b != background || (weight[code] >= 0 && b != kForbidden))
        edges.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), weight[code], b});
    }
    edge_ptr.push_back(static_cast<std::int64_t>(edges.size()));
  }
  edge_from.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) edge_from[e] = edges[e].from;
  out_ptr.assign(L + 1, 0), out_edge.resize(edges.size());
  for (const Edge& edge : edges) ++out_ptr[static_cast<std::size_t>(edge.from) + 1];
  for (std::size_t y = 0; y < L; ++y) out_ptr[y + 1] += out_ptr[y];
  std::vector<std::int64_t> next(out_ptr.begin(), out_ptr.end() - 1);
  for (std::size_t e = 0; e < edges.size(); ++e)
    out_edge[static_cast<std::size_t>(next[static_cast<std::size_t>(edges[e].from)]++)] = static_cast<std::int32_t>(e);
  for (std::vector<double>* v : {&edge_score, &edge_potential, &edge_excess}) v->resize(edges.size());
}

// out [n_expanded][size]: the weights of attributes that have a whole row, each at its offset.
void ChainModel::expand(const WeightRows& rows, std::span<const std::int64_t> ptr, const double* weights,
                        std::size_t size, AlignedDoubles& out) const {
  for (std::size_t e = 0; e < rows.expanded.size(); ++e) {
    const std::size_t a = rows.expanded[e];
    for (std::int64_t k = ptr[a]; k < ptr[a + 1]; ++k) out[e * size + rows.offsets[k]] = weights[k];
  }
}

void ChainModel::set(std::span<const double> weights, bool potentials) {
  if (weights.size() != features.n_weights())
    throw InvalidInput(std::to_string(weights.size()) + " weights for " + std::to_string(features.n_weights()) +
                       " features");
  w_ = weights;
  const simd::Loops& loops = simd::loops();
  expand(features.nodes, features.node_ptr, w_.data(), Lp, expanded_);
  for (std::size_t k = 0; k < features.n_numbers; ++k) {
    const std::size_t a = features.first_number() + k;
    for (std::int64_t p = features.node_ptr[a]; p < features.node_ptr[a + 1]; ++p)
      numbers_[k * Lp + static_cast<std::size_t>(features.node_label[p])] = w_[static_cast<std::size_t>(p)];
  }
  if (!expanded_pairs_.empty())
    expand(features.pairs, features.pair_ptr, w_.data() + features.pair_begin(), stride, expanded_pairs_);
  double low = std::numeric_limits<double>::infinity();
  highest = kForbidden;
  const auto span_of = [&](double s) {
    highest = std::max(highest, s);
    if (s > kForbidden) low = std::min(low, s);
  };
  if (machine == Machine::sparse) {
    span_of(background);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const Edge& edge = edges[e];
      span_of(edge_score[e] = edge.base + (edge.weight >= 0 ? w_[static_cast<std::size_t>(edge.weight)] : 0.0));
    }
    M.assign(L * Lp, background);  // for the slow exact paths and to walk back
    for (std::size_t e = 0; e < edges.size(); ++e)
      M[static_cast<std::size_t>(edges[e].from) * Lp + static_cast<std::size_t>(edges[e].to)] = edge_score[e];
    if (highest == kForbidden) highest = 0.0;
    if (potentials) {
      background_potential = background == kForbidden ? 0.0 : std::exp(background - highest);
      for (std::size_t e = 0; e < edges.size(); ++e) edge_potential[e] = edge_score[e] - highest;
      loops.exp(edge_potential.data(), edge_potential.data(), edge_potential.size());
      for (std::size_t e = 0; e < edges.size(); ++e) edge_excess[e] = edge_potential[e] - background_potential;
    }
  } else {
    M.assign(L * Lp, 0.0);
    for (std::size_t i = 0; i < L * L && !base_transitions_.empty(); ++i)
      M[i / L * Lp + i % L] = base_transitions_[i];
    for (std::size_t k = 0; k < features.transition_code.size(); ++k) {
      const auto code = static_cast<std::size_t>(features.transition_code[k]);
      M[code / L * Lp + code % L] += w_[features.transition_begin() + k];
    }
    if (machine == Machine::dense) {
      for (std::size_t i = 0; i < L * L; ++i) span_of(M[i / L * Lp + i % L]);
      if (highest == kForbidden) highest = 0.0;
      if (potentials) {
        E.assign(L * Lp, 0.0), panels.resize(L * Lp), back_panels.resize(L * Lp);
        for (std::size_t r = 0; r < L; ++r) {
          for (std::size_t y = 0; y < L; ++y) E[r * Lp + y] = M[r * Lp + y] - highest;
          loops.exp(&E[r * Lp], &E[r * Lp], L);
        }
        loops.chain.pack(E.data(), false, L, Lp, panels.data());
        loops.chain.pack(E.data(), true, L, Lp, back_panels.data());
      }
    } else if (trigrams) {
      G.assign((L + 1) * L * Lp, 0.0);
      for (std::size_t i = 0; i < base_trigrams_.size(); ++i) G[i / L * Lp + i % L] = base_trigrams_[i];
      for (std::size_t k = 0; k < features.trigram_code.size(); ++k) {
        const auto code = static_cast<std::size_t>(features.trigram_code[k]);
        G[code / L * Lp + code % L] += w_[features.trigram_begin() + k];
      }
      for (std::size_t i = 0; i < (L + 1) * L * L; ++i) span_of(G[i / L * Lp + i % L]);
      if (highest == kForbidden) highest = 0.0;
      if (potentials) {
        E3.assign(G.size(), 0.0);
        for (std::size_t r = 0; r < (L + 1) * L; ++r) {
          for (std::size_t y = 0; y < L; ++y) E3[r * Lp + y] = G[r * Lp + y] - highest;
          loops.exp(&E3[r * Lp], &E3[r * Lp], L);
        }
        E3t.assign(L * L * Lp, 0.0);
        for (std::size_t a = 0; a < L; ++a)
          for (std::size_t b = 0; b < L; ++b)
            for (std::size_t c = 0; c < L; ++c) E3t[(b * L + c) * Lp + a] = E3[(a * L + b) * Lp + c];
      }
    } else {
      highest = low = 0.0;
    }
  }
  range = low <= highest ? highest - low : 0.0;
}

void ChainModel::add_steps_from(std::size_t label, double* x) const {
  for (std::size_t y = 0; y < L; ++y) x[y] += M[label * Lp + y];
}

void ChainModel::add_steps_to(std::size_t label, double* x) const {
  for (std::size_t y = 0; y < L; ++y) x[y] += M[y * Lp + label];
}

void ChainModel::scatter_steps_from(std::size_t label, const double* r, ChainGradient& g) const {
  if (machine == Machine::dense)
    for (std::size_t y = 0; y < L; ++y) g.transitions[label * Lp + y] += r[y];
  else
    for (std::int64_t p = out_ptr[label]; p < out_ptr[label + 1]; ++p)
      g.transitions[out_edge[p]] += r[edges[out_edge[p]].to];
}

void ChainModel::scatter_steps_to(std::size_t label, const double* r, ChainGradient& g) const {
  if (machine == Machine::dense)
    for (std::size_t y = 0; y < L; ++y) g.transitions[y * Lp + label] += r[y];
  else
    for (std::int64_t e = edge_ptr[label]; e < edge_ptr[label + 1]; ++e) g.transitions[e] += r[edge_from[e]];
}

// Attributes of a token two ahead of the one that ends at `end` have their rows fetched, those of the next their
// weights.
void ChainModel::prefetch_rows(const Sequences& sequences, std::int64_t end) const {
  const auto n = static_cast<std::int64_t>(sequences.indices.size());
  const std::int64_t near = std::min<std::int64_t>(end + 20, n), far = std::min<std::int64_t>(near + 20, n);
  const WeightRows::Row* rows = features.nodes.rows.data();
  for (std::int64_t p = near; p < far; ++p) __builtin_prefetch(rows + sequences.indices[p]);
  for (std::int64_t p = end; p < near; ++p) {
    const WeightRows::Row row = rows[sequences.indices[p]];
    if (row.count != WeightRows::kExpanded) __builtin_prefetch(w_.data() + row.begin);
  }
}

// u [Lp] += the node scores of a token, attribute by attribute.
void ChainModel::add_nodes(const Sequences& sequences, std::size_t token, double* u) const {
  const simd::ChainLoops& loops = simd::loops().chain;
  const bool valued = !sequences.values.empty();
  constexpr std::size_t kBatch = 64;
  const double* dense[kBatch];
  double dense_value[kBatch];
  std::size_t n_dense = 0;
  const std::int64_t end = sequences.indptr[token + 1];
  prefetch_rows(sequences, end);
  for (std::int64_t p = sequences.indptr[token]; p < end; ++p) {
    const WeightRows::Row row = features.nodes.rows[static_cast<std::size_t>(sequences.indices[p])];
    const double value = valued ? sequences.values[p] : 1.0;
    if (row.count == 1) {
      u[row.offset] += value * w_[row.begin];
    } else if (row.count != WeightRows::kExpanded) {
      for (std::size_t k = row.begin; k < row.begin + row.count; ++k) u[features.nodes.offsets[k]] += value * w_[k];
    } else {
      dense[n_dense] = expanded_.data() + row.begin * Lp;
      dense_value[n_dense] = value;
      if (++n_dense == kBatch) loops.add_rows(dense, valued ? dense_value : nullptr, n_dense, Lp, u), n_dense = 0;
    }
  }
  if (n_dense) loops.add_rows(dense, valued ? dense_value : nullptr, n_dense, Lp, u);
}

// u [Lp] += what the numbers of a token say, and the emissions that it is given.
void ChainModel::add_numbers(const Sequences& sequences, std::size_t sequence, std::size_t t, double* u) const {
  if (!sequences.emissions.empty()) {
    const float* given = sequences.emissions.row(sequence, t);
    for (std::size_t y = 0; y < L; ++y) u[y] += static_cast<double>(given[y]);
  }
  if (sequences.numbers.empty()) return;
  constexpr std::size_t kBatch = 64;
  const float* x = sequences.numbers.row(sequence, t);
  const double* rows[kBatch];
  double values[kBatch];
  for (std::size_t begin = 0; begin < features.n_numbers; begin += kBatch) {
    const std::size_t n = std::min(features.n_numbers - begin, kBatch);
    for (std::size_t k = 0; k < n; ++k)
      rows[k] = numbers_.data() + (begin + k) * Lp, values[k] = static_cast<double>(x[begin + k]);
    simd::loops().chain.add_rows(rows, values, n, Lp, u);
  }
}

void ChainModel::scatter_numbers(const Sequences& sequences, std::size_t sequence, std::size_t t, const double* u,
                                 ChainGradient& g) const {
  if (sequences.numbers.empty()) return;
  constexpr std::size_t kBatch = 64;
  const float* x = sequences.numbers.row(sequence, t);
  double* rows[kBatch];
  double values[kBatch];
  for (std::size_t begin = 0; begin < features.n_numbers; begin += kBatch) {
    const std::size_t n = std::min(features.n_numbers - begin, kBatch);
    for (std::size_t k = 0; k < n; ++k)
      rows[k] = g.numbers.data() + (begin + k) * Lp, values[k] = static_cast<double>(x[begin + k]);
    simd::loops().chain.add_to_rows(rows, values, n, Lp, u);
  }
}

// P [L][Lp] += the pair scores of a token, attribute by attribute.
void ChainModel::add_pairs(const Sequences& sequences, std::size_t token, double* P) const {
  const double* w = w_.data() + features.pair_begin();
  for (std::int64_t p = sequences.indptr[token]; p < sequences.indptr[token + 1]; ++p) {
    const auto a = static_cast<std::size_t>(sequences.indices[p]);
    const double value = sequences.values.empty() ? 1.0 : sequences.values[p];
    for (std::int64_t k = features.pair_ptr[a]; k < features.pair_ptr[a + 1]; ++k) P[pair_place_[k]] += value * w[k];
  }
}

void ChainModel::scatter_pairs(const Sequences& sequences, std::size_t token, const double* P, ChainGradient& g) const {
  double* out = g.weights.data() + features.pair_begin();
  for (std::int64_t p = sequences.indptr[token]; p < sequences.indptr[token + 1]; ++p) {
    const auto a = static_cast<std::size_t>(sequences.indices[p]);
    const double value = sequences.values.empty() ? 1.0 : sequences.values[p];
    for (std::int64_t k = features.pair_ptr[a]; k < features.pair_ptr[a + 1]; ++k) out[k] += value * P[pair_place_[k]];
  }
}

void ChainModel::fill(ThreadPool& pool, const ChainTokens& tokens, ChainWork& work) const {
  tokens.nodes.fill(pool, w_.data(), expanded_.data(), Lp, work.rows);
  if (tokens.pairs.n_tokens)
    tokens.pairs.fill(pool, w_.data() + features.pair_begin(), expanded_pairs_.data(), stride, work.pair_rows);
}

void ChainModel::label_scores(const Sequences& sequences, const ChainTokens* tokens, const ChainWork* work,
                              std::size_t sequence, std::size_t t, const double* node_base, double* u) const {
  const std::size_t token = sequences.begin(sequence) + t;
  std::memset(u, 0, Lp * sizeof(double));
  if (node_base) std::memcpy(u, node_base + token * L, L * sizeof(double));
  if (tokens) tokens->nodes.add(token, w_.data(), work->rows.data(), Lp, u);
  else add_nodes(sequences, token, u);
  add_numbers(sequences, sequence, t, u);
  if (t == 0 && !start_.empty())
    for (std::size_t y = 0; y < L; ++y) u[y] += start_[y];
  if (t + 1 == sequences.length(sequence) && stop_.size() == L)
    for (std::size_t y = 0; y < L; ++y) u[y] += stop_[y];
}

void ChainModel::scatter_labels(const Sequences& sequences, const ChainTokens& tokens, std::size_t sequence,
                                std::size_t t, const double* u, ChainGradient& g) const {
  tokens.nodes.scatter(sequences.begin(sequence) + t, u, Lp, g.weights.data(), g.rows.data());
  scatter_numbers(sequences, sequence, t, u, g);
}

void ChainModel::scores(const Sequences& sequences, const ChainTokens* tokens, const ChainWork* work,
                        std::size_t sequence, const double* node_base, double* N) const {
  const std::size_t first = sequences.begin(sequence), T = sequences.length(sequence);
  const bool with_pairs = machine == Machine::pairs;
  AlignedDoubles node_store(with_pairs ? Lp : 0);  // scores by label, where N has pairs
  for (std::size_t t = 0; t < T; ++t) {
    double* u = with_pairs ? node_store.data() : N + t * stride;
    label_scores(sequences, tokens, work, sequence, t, node_base, u);
    if (!with_pairs) continue;
    double* P = N + t * stride;
    const std::size_t n_rows = row_count(t);
    for (std::size_t a = 0; a < n_rows; ++a)
      for (std::size_t y = 0; y < Lp; ++y) P[a * Lp + y] = u[y] + (t ? M[a * Lp + y] : 0.0);
    if (t + 1 == T && stop_.size() > L)
      for (std::size_t a = 0; a < n_rows; ++a)
        for (std::size_t y = 0; y < L; ++y) P[a * Lp + y] += stop_[(t ? a : L) * L + y];
    if (t == 0 || features.pair_code.empty()) continue;
    if (tokens && tokens->pairs.n_tokens)
      tokens->pairs.add(first + t, w_.data() + features.pair_begin(), work->pair_rows.data(), stride, P);
    else
      add_pairs(sequences, first + t, P);
  }
}

void ChainModel::scatter(const Sequences& sequences, const ChainTokens& tokens, std::size_t sequence, double* dN,
                         ChainGradient& g) const {
  const std::size_t first = sequences.begin(sequence), T = sequences.length(sequence);
  const bool with_pairs = machine == Machine::pairs;
  AlignedDoubles node_store(with_pairs ? Lp : 0);
  for (std::size_t t = 0; t < T; ++t) {
    double* P = dN + t * stride;
    const double* u = P;
    if (with_pairs && t > 0) {
      std::fill(node_store.begin(), node_store.end(), 0.0);
      for (std::size_t a = 0; a < L; ++a)
        for (std::size_t y = 0; y < Lp; ++y) node_store[y] += P[a * Lp + y];
      for (std::size_t i = 0; i < L * Lp; ++i) g.transitions[i] += P[i];
      u = node_store.data();
    }
    scatter_labels(sequences, tokens, sequence, t, u, g);
    if (!with_pairs || t == 0 || features.pair_code.empty()) continue;
    if (tokens.pairs.n_tokens)
      tokens.pairs.scatter(first + t, P, stride, g.weights.data() + features.pair_begin(), g.pair_rows.data());
    else
      scatter_pairs(sequences, first + t, P, g);
  }
}

}  // namespace loglinear::chain
