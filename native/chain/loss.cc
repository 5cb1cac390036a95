#include "chain/loss.hh"

#include <algorithm>
#include <cmath>
#include <string>

#include "chain/listed_pairs.hh"
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

// The score of a labelling; throws NoPath where it is forbidden.
double legal_score(const ChainModel& m, std::size_t T, const double* N, Labels y) {
  const double score = path_score(m, T, N, y);
  if (score == kForbidden) {
    for (std::size_t t = 1; t <= T; ++t)
      if (path_score(m, t, N, y) == kForbidden) throw NoPath{t - 1};
  }
  return score;
}

// Marginals N become residuals, and the gradient loses the features of a labelling that depend on several states.
void take_labels(const ChainModel& m, std::size_t T, double* N, Labels y, ChainGradient& g) {
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
}

double crf_sequence(const ChainModel& m, std::size_t T, Labels y, const std::uint8_t* allowed, ChainWorkspace& work,
                    double* N, ChainGradient& g) {
  if (std::find(y, y + T, -1) == y + T) {
    const double score = legal_score(m, T, N, y), Z = forward_backward(m, T, work, N, &g);
    take_labels(m, T, N, y, g);
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

double memm_sequence(const ChainModel& m, std::size_t T, Labels y, ChainWorkspace& work, double* N, ChainGradient& g) {
  double loss = 0.0;
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
double pseudolikelihood_pairs(const ChainModel& m, std::size_t T, Labels y, ChainWorkspace& work, double* N,
                              ChainGradient& g) {
  const std::size_t L = m.L, Lp = m.Lp;
  double loss = 0.0;
  double *dN = work.psi.data(), *x = work.beta.data();
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

double pseudolikelihood_sequence(const ChainModel& m, std::size_t T, Labels y, ChainWorkspace& work, double* N,
                                 ChainGradient& g) {
  if (m.machine == Machine::pairs) return pseudolikelihood_pairs(m, T, y, work, N, g);
  double loss = 0.0;
  for (std::size_t t = 0; t < T; ++t) {
    double* x = N + t * m.stride;
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

// Whether sequences with known labels have listed pairs as states.
bool has_listed(const ChainModel& m, const ChainTokens& tokens) {
  return !tokens.listed.empty() && m.machine == Machine::pairs && m.steps_are_weights();
}

// What the losses of a part of the data are computed from.
struct Part {
  ChainLoss kind;
  const ChainModel& m;
  const Sequences& sequences;
  const ChainTokens& tokens;
  const double* node_base;
  Labels labels;
  const std::uint8_t* allowed;
  const ChainWork& rows;
  ChainGradient& g;
  ListedCrf listed;
  ChainWorkspace work;

  Labels labels_of(std::size_t i) const { return labels + sequences.begin(i); }

  double one(std::size_t i, double* N) {
    const std::size_t T = sequences.length(i);
    Labels y = labels_of(i);
    if (kind == ChainLoss::memm) return memm_sequence(m, T, y, work, N, g);
    if (kind == ChainLoss::pseudolikelihood) return pseudolikelihood_sequence(m, T, y, work, N, g);
    return crf_sequence(m, T, y, allowed ? allowed + sequences.begin(i) * m.L : nullptr, work, N, g);
  }

  // The loss of sequences whose scores are in work.N, all fully labelled.
  double crf(std::span<const std::size_t> members) {
    double loss = 0.0, log_z[simd::kChainGroup];
    std::size_t lengths[simd::kChainGroup];
    const auto each = [&](auto body) {
      double* N = work.N.data();
      for (std::size_t k = 0; k < members.size(); N += lengths[k++] * m.stride) body(k, N);
    };
    for (std::size_t k = 0; k < members.size(); ++k) lengths[k] = sequences.length(members[k]);
    each([&](std::size_t k, double* N) {
      try {
        loss -= legal_score(m, lengths[k], N, labels_of(members[k]));
      } catch (const NoPath& no_path) {
        throw NoPath{no_path.token, k};
      }
    });
    forward_backward(m, {lengths, members.size()}, work, g, log_z);
    each([&](std::size_t k, double* N) {
      loss += log_z[k];
      take_labels(m, lengths[k], N, labels_of(members[k]), g);
    });
    return loss;
  }

  void by_listed_pairs(std::span<const std::size_t> members) {
    for (const std::size_t i : members) {
      try {
        g.value += listed.sequence(i, labels_of(i), g);
      } catch (const NoPath& no_path) {
        throw_no_path(i, no_path.token);
      }
    }
  }

  void group(std::span<const std::size_t> members) {
    const bool whole = kind == ChainLoss::crf && std::ranges::all_of(members, [&](std::size_t i) {
      Labels y = labels_of(i), end = y + sequences.length(i);
      return std::find(y, end, -1) == end;
    });
    if (whole && has_listed(m, tokens)) return by_listed_pairs(members);
    work.reserve(m, tokens.groups.most_tokens);
    double* N = work.N.data();
    for (const std::size_t i : members) {
      m.scores(sequences, &tokens, &rows, i, node_base, N);
      N += sequences.length(i) * m.stride;
    }
    std::size_t k = 0;
    try {
      if (whole) g.value += crf(members);
      N = work.N.data();
      for (; k < members.size(); N += sequences.length(members[k++]) * m.stride) {
        if (!whole) g.value += one(members[k], N);
        m.scatter(sequences, tokens, members[k], N, g);
      }
    } catch (const NoPath& no_path) {
      throw_no_path(members[whole ? no_path.sequence : k], no_path.token);
    }
  }
};

}  // namespace

void throw_no_path(std::size_t sequence, std::size_t token) {
  throw InvalidInput("sequence " + std::to_string(sequence) + ", token " + std::to_string(token) +
                     " (counting from 0): no legal path: the constraints allow no label here after those before");
}

double chain_loss(ThreadPool& pool, ChainLoss kind, const ChainModel& m, const Sequences& sequences,
                  const ChainTokens& tokens, std::span<const double> node_base, std::span<const std::int32_t> labels,
                  std::span<const std::uint8_t> allowed, ChainWork& work, std::span<double> gradient) {
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
  const std::vector<std::size_t> cuts = tokens.groups.cut(sequences, n_parts);
  work.parts.resize(n_parts);
  m.fill(pool, tokens, work);
  const bool listed = kind == ChainLoss::crf && has_listed(m, tokens);
  if (listed) work.listed.set(pool, tokens.listed, tokens.listed_pairs, m.features, m.weights().data(), m.highest);
  pool.run(n_parts, [&](std::size_t part) {
    ChainGradient& g = work.parts[part];
    m.clear(g, &tokens);
    const double* base = node_base.empty() ? nullptr : node_base.data();
    Part of{kind, m, sequences, tokens, base, labels.data(), allowed.empty() ? nullptr : allowed.data(), work, g,
            ListedCrf(m, sequences, tokens, work, base), ChainWorkspace(m)};
    for (std::size_t i = cuts[part]; i < cuts[part + 1]; ++i) of.group(tokens.groups.members(i));
    m.unbundle(tokens, g);
  });
  m.finish(pool, work.parts, gradient);
  if (listed) finish_listed(tokens.listed, work.listed, m.features, work.parts, gradient);
  double value = 0.0;
  for (const ChainGradient& g : work.parts) value += g.value;
  return value;
}

}  // namespace loglinear::chain
