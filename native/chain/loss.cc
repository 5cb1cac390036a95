#include "chain/loss.hh"

#include <algorithm>
#include <cmath>
#include <string>

#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::chain {

namespace {

using Labels = const std::int32_t*;

std::size_t at(std::int32_t label) { return static_cast<std::size_t>(label); }

// Place of the true state of token t in N.
std::size_t true_place(const ChainModel& m, Labels y, std::size_t t) {
  return t * m.stride + (m.machine == Machine::pairs && t ? at(y[t - 1]) * m.Lp : 0) + at(y[t]);
}

// Place of the row of trigrams that follows the labels before token t, t >= 1.
std::size_t trigram_row(const ChainModel& m, std::size_t before, std::size_t previous) {
  return (before * m.L + previous) * m.Lp;
}

// x [n] scores in, residuals p - [k = label] out; returns the log-loss.
double softmax_residuals(double* x, std::size_t n, std::size_t label) {
  const simd::Loops& loops = simd::loops();
  const double Z = loops.logsumexp(x, n), loss = Z - x[label];
  for (std::size_t k = 0; k < n; ++k) x[k] -= Z;
  loops.exp(x, x, n);
  x[label] -= 1.0;
  return loss;
}

double crf_sequence(const ChainModel& m, std::size_t T, Labels y, const std::uint8_t* allowed, ChainWorkspace& work,
                    ChainGradient& g) {
  double* N = work.N.data();
  if (std::find(y, y + T, -1) == y + T) {
    const double score = path_score(m, T, N, y);
    if (score == kForbidden) {
      for (std::size_t t = 1; t <= T; ++t)
        if (path_score(m, t, N, y) == kForbidden) throw NoPath{t - 1};
    }
    const double Z = forward_backward(m, T, work, N, &g);
    for (std::size_t t = 0; t < T; ++t) {
      N[true_place(m, y, t)] -= 1.0;
      if (t == 0) continue;
      if (m.machine == Machine::pairs) {
        if (m.trigrams) g.trigrams[trigram_row(m, t > 1 ? at(y[t - 2]) : m.L, at(y[t - 1])) + at(y[t])] -= 1.0;
      } else if (m.machine == Machine::dense) {
        g.transitions[at(y[t - 1]) * m.Lp + at(y[t])] -= 1.0;
      } else {
        const auto *first = m.edge_from.data() + m.edge_ptr[at(y[t])],
                   *last = m.edge_from.data() + m.edge_ptr[at(y[t]) + 1];
        const auto* e = std::lower_bound(first, last, y[t - 1]);
        if (e < last && *e == y[t - 1]) g.transitions[static_cast<std::size_t>(e - m.edge_from.data())] -= 1.0;
      }
    }
    return Z - score;
  }
  std::vector<double> constrained(N, N + T * m.stride);
  for (std::size_t t = 0; t < T; ++t)
    for (std::size_t r = 0; r < m.row_count(t); ++r)
      for (std::size_t k = 0; k < m.L; ++k)
        if (y[t] >= 0 ? at(y[t]) != k : allowed && !allowed[t * m.L + k])
          constrained[t * m.stride + r * m.Lp + k] = kForbidden;
  const double Z = forward_backward(m, T, work, N, &g);
  const double part = forward_backward(m, T, work, constrained.data(), &g, -1);
  for (std::size_t t = 0; t < T; ++t)
    for (std::size_t i = t * m.stride; i < t * m.stride + m.row_count(t) * m.Lp; ++i) N[i] -= constrained[i];
  return Z - part;
}

double memm_sequence(const ChainModel& m, std::size_t T, Labels y, ChainWorkspace& work, ChainGradient& g) {
  double loss = 0.0;
  double* N = work.N.data();
  const bool pairs = m.machine == Machine::pairs;
  double* x = work.beta.data();
  for (std::size_t t = 0; t < T; ++t) {
    double* row = N + t * m.stride + (pairs && t && y[t - 1] >= 0 ? at(y[t - 1]) * m.Lp : 0);
    const bool known = y[t] >= 0 && (t < 1 || y[t - 1] >= 0) && (!m.trigrams || t < 2 || y[t - 2] >= 0);
    if (known) {
      std::copy_n(row, m.L, x);
      const std::size_t place = m.trigrams && t ? trigram_row(m, t > 1 ? at(y[t - 2]) : m.L, at(y[t - 1])) : 0;
      if (m.trigrams && t)
        for (std::size_t k = 0; k < m.L; ++k) x[k] += m.G[place + k];
      if (!pairs && t) m.add_steps_from(at(y[t - 1]), x);
      loss += softmax_residuals(x, m.L, at(y[t]));
      if (m.trigrams && t)
        for (std::size_t k = 0; k < m.L; ++k) g.trigrams[place + k] += x[k];
      if (!pairs && t) m.scatter_steps_from(at(y[t - 1]), x, g);
    }
    std::fill_n(N + t * m.stride, m.row_count(t) * m.Lp, 0.0);
    if (known) std::copy_n(x, m.L, row);
  }
  return loss;
}

// Every term of the score that depends on the label of token t, given all other labels; f(place in N or G, of which).
double pseudolikelihood_pairs(const ChainModel& m, std::size_t T, Labels y, ChainWorkspace& work, ChainGradient& g) {
  const std::size_t L = m.L, Lp = m.Lp;
  double loss = 0.0;
  double *N = work.N.data(), *dN = work.psi.data(), *x = work.beta.data();
  std::fill_n(dN, T * m.stride, 0.0);
  const auto known = [&](std::size_t t) { return t >= T || y[t] >= 0; };
  for (std::size_t t = 0; t < T; ++t) {
    const bool all = y[t] >= 0 && (t < 1 || y[t - 1] >= 0) && (t < 2 || y[t - 2] >= 0) && known(t + 1) && known(t + 2);
    if (!all) continue;
    // For label k of this token: places of its terms.
    const auto terms = [&](std::size_t k, auto node, auto trigram) {
      node(t * m.stride + (t ? at(y[t - 1]) * Lp : 0) + k);
      if (t + 1 < T) node((t + 1) * m.stride + k * Lp + at(y[t + 1]));
      if (!m.trigrams) return;
      if (t) trigram(trigram_row(m, t > 1 ? at(y[t - 2]) : L, at(y[t - 1])) + k);
      if (t + 1 < T) trigram(trigram_row(m, t ? at(y[t - 1]) : L, k) + at(y[t + 1]));
      if (t + 2 < T) trigram(trigram_row(m, k, at(y[t + 1])) + at(y[t + 2]));
    };
    for (std::size_t k = 0; k < L; ++k) {
      x[k] = 0.0;
      terms(k, [&](std::size_t i) { x[k] += N[i]; }, [&](std::size_t i) { x[k] += m.G[i]; });
    }
    loss += softmax_residuals(x, L, at(y[t]));
    for (std::size_t k = 0; k < L; ++k)
      terms(k, [&](std::size_t i) { dN[i] += x[k]; }, [&](std::size_t i) { g.trigrams[i] += x[k]; });
  }
  std::copy_n(dN, T * m.stride, N);
  return loss;
}

double pseudolikelihood_sequence(const ChainModel& m, std::size_t T, Labels y, ChainWorkspace& work, ChainGradient& g) {
  if (m.machine == Machine::pairs) return pseudolikelihood_pairs(m, T, y, work, g);
  double loss = 0.0;
  for (std::size_t t = 0; t < T; ++t) {
    double* x = work.N.data() + t * m.stride;
    const bool known = y[t] >= 0 && (t < 1 || y[t - 1] >= 0) && (t + 1 >= T || y[t + 1] >= 0);
    if (!known) {
      std::fill_n(x, m.Lp, 0.0);
      continue;
    }
    if (t) m.add_steps_from(at(y[t - 1]), x);
    if (t + 1 < T) m.add_steps_to(at(y[t + 1]), x);
    loss += softmax_residuals(x, m.L, at(y[t]));
    if (t) m.scatter_steps_from(at(y[t - 1]), x, g);
    if (t + 1 < T) m.scatter_steps_to(at(y[t + 1]), x, g);
  }
  return loss;
}

}  // namespace

void throw_no_path(std::size_t sequence, std::size_t token) {
  throw InvalidInput("sequence " + std::to_string(sequence) + ", token " + std::to_string(token) +
                     " (counting from 0): no legal path: the constraints allow no label here after those before");
}

double chain_loss(ThreadPool& pool, ChainLoss kind, const ChainModel& m, const Sequences& sequences,
                  const ChainTokens& tokens, std::span<const double> node_base, std::span<const std::int32_t> labels,
                  std::span<const std::uint8_t> allowed, std::vector<ChainGradient>& parts,
                  std::span<double> gradient) {
  require(sequences.n_attributes == m.features.n_attributes(),
          "chain loss: sequences and features differ in attributes");
  require(sequences.numbers.width == m.features.n_numbers, "sequences and features differ in numbers");
  require(sequences.emissions.empty() || sequences.emissions.width == m.L, "emissions must be [tokens][labels]");
  require(tokens.features == &m.features, "chain loss: tokens of other features");
  require(tokens.n_tokens() == sequences.n_tokens(), "chain loss: tokens of other sequences");
  require(labels.size() == sequences.n_tokens(), "chain loss: one label per token is needed");
  require(node_base.empty() || node_base.size() == labels.size() * m.L,
          "chain loss: base scores must be [tokens][labels]");
  require(allowed.empty() || allowed.size() == labels.size() * m.L, "chain loss: allowed must be [tokens][labels]");
  for (const std::int32_t y : labels)
    require(y >= -1 && (y < 0 || at(y) < m.L), "chain loss: a label is out of range");
  const std::size_t n_parts = static_cast<std::size_t>(pool.size());
  const std::vector<std::size_t> cuts = sequences.cut(n_parts);
  const std::size_t longest = sequences.longest();
  parts.resize(n_parts);
  pool.run(n_parts, [&](std::size_t part) {
    ChainGradient& g = parts[part];
    m.clear(g);
    ChainWorkspace work(m, longest);
    for (std::size_t i = cuts[part]; i < cuts[part + 1]; ++i) {
      const std::size_t first = sequences.begin(i), T = sequences.length(i);
      if (T == 0) continue;
      const double* base = node_base.empty() ? nullptr : node_base.data();
      m.scores(sequences, &tokens, i, base, work.N.data());
      Labels y = labels.data() + first;
      const std::uint8_t* legal = allowed.empty() ? nullptr : allowed.data() + first * m.L;
      try {
        if (kind == ChainLoss::crf) g.value += crf_sequence(m, T, y, legal, work, g);
        else if (kind == ChainLoss::memm) g.value += memm_sequence(m, T, y, work, g);
        else g.value += pseudolikelihood_sequence(m, T, y, work, g);
      } catch (const NoPath& no_path) {
        throw_no_path(i, no_path.token);
      }
      m.scatter(sequences, tokens, i, work.N.data(), g);
    }
  });
  m.finish(pool, parts, gradient);
  double value = 0.0;
  for (const ChainGradient& g : parts) value += g.value;
  return value;
}

}  // namespace loglinear::chain
