#include "chain/inference.hh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simd/loops.hh"
#include "util/cancellation.hh"

namespace loglinear::chain {

namespace {

// Running log-sum-exp.
struct LogSum {
  double high = kForbidden, sum = 0.0;
  void add(double x) {
    if (x == kForbidden) return;
    if (x <= high) {
      sum += std::exp(x - high);
    } else {
      sum = sum * std::exp(high - x) + 1.0;
      high = x;
    }
  }
  double value() const { return high == kForbidden ? kForbidden : high + std::log(sum); }
};

// Sum over labels `from` of alpha[from] times the potential of (from, to), term by term.
double sparse_sum(const ChainModel& m, std::size_t to, const double* alpha) {
  double sum = 0.0;
  std::int64_t e = m.edge_ptr[to];
  for (std::size_t from = 0; from < m.L; ++from) {
    double potential = m.background_potential;
    if (e < m.edge_ptr[to + 1] && static_cast<std::size_t>(m.edge_from[e]) == from) potential = m.edge_potential[e++];
    sum += alpha[from] * potential;
  }
  return sum;
}

std::size_t sparse_forward(const ChainModel& m, const double* psi, std::size_t T, double* alpha, double* scale) {
  const std::size_t L = m.L, Lp = m.Lp;
  for (std::size_t t = 0; t < T; ++t) {
    double* a = alpha + t * Lp;
    const double* before = a - Lp;
    double sum = 0.0;
    for (std::size_t y = 0; y < L; ++y) {
      const double p = psi[t * Lp + y];
      double in = 1.0;
      if (t && p > 0.0) {
        double excess = 0.0;
        for (std::int64_t e = m.edge_ptr[y]; e < m.edge_ptr[y + 1]; ++e)
          excess += before[m.edge_from[e]] * m.edge_excess[e];
        in = m.background_potential + excess;
        if (in < kCancelledStep * m.background_potential) in = sparse_sum(m, y, before);
      }
      sum += a[y] = p * in;
    }
    if (!(sum > 0.0)) return t;
    scale[t] = sum;
    const double inverse = 1.0 / sum;
    for (std::size_t y = 0; y < L; ++y) a[y] *= inverse;
  }
  return T;
}

void sparse_backward(const ChainModel& m, double* psi, std::size_t T, const double* alpha, const double* scale,
                     double* beta, double* marginals, double* outer) {
  const std::size_t L = m.L, Lp = m.Lp;
  std::fill(beta, beta + L, 1.0);
  for (std::size_t t = T; t-- > 0;) {
    double total = 0.0;
    double* B = psi + t * Lp;
    const double inverse = 1.0 / scale[t];
    for (std::size_t y = 0; y < L; ++y) {
      marginals[t * Lp + y] = alpha[t * Lp + y] * beta[y];
      total += B[y] *= beta[y] * inverse;
    }
    for (std::size_t y = L; y < Lp; ++y) marginals[t * Lp + y] = 0.0;
    if (t == 0) return;
    const double* before = alpha + (t - 1) * Lp;
    std::fill(beta, beta + L, m.background_potential * total);
    for (std::size_t y = 0; y < L; ++y) {
      const double b = B[y];
      if (b == 0.0) continue;
      for (std::int64_t e = m.edge_ptr[y]; e < m.edge_ptr[y + 1]; ++e) {
        const auto from = static_cast<std::size_t>(m.edge_from[e]);
        beta[from] += m.edge_excess[e] * b;
        if (outer) outer[e] += before[from] * b;
      }
    }
    for (std::size_t from = 0; from < L; ++from) {
      if (beta[from] >= kCancelledStep * m.background_potential * total) continue;
      beta[from] = 0.0;
      for (std::size_t y = 0; y < L; ++y) {
        const auto *first = m.edge_from.data() + m.edge_ptr[y], *last = m.edge_from.data() + m.edge_ptr[y + 1];
        const auto* e = std::lower_bound(first, last, static_cast<std::int32_t>(from));
        const bool listed = e < last && static_cast<std::size_t>(*e) == from;
        beta[from] += B[y] * (listed ? m.edge_potential[e - m.edge_from.data()] : m.background_potential);
      }
    }
  }
}

double log_forward_backward(const ChainModel& m, std::size_t T, double* N, ChainGradient* g, int sign) {
  const Lattice lattice(m, T, N);
  const std::size_t S = lattice.max_states();
  const std::vector<double> alpha = lattice.forward(), beta = lattice.backward();
  const double Z = lattice.total(alpha);
  if (Z == kForbidden) throw NoPath{T - 1};
  if (g) {
    std::vector<double> steps(m.machine == Machine::pairs ? (m.trigrams ? m.G.size() : 0) : m.L * m.Lp, 0.0);
    for (std::size_t t = 1; t < T && !steps.empty(); ++t)
      for (std::size_t s = 0; s < lattice.n_states(t); ++s) {
        const double after = lattice.score(t, s) + beta[t * S + s] - Z;
        if (after == kForbidden) continue;
        lattice.predecessors(t, s, [&](std::size_t p, double step, std::size_t at) {
          steps[at] += std::exp(alpha[(t - 1) * S + p] + step + after);
        });
      }
    if (m.machine == Machine::sparse) {
      for (std::size_t e = 0; e < m.edges.size(); ++e)
        g->transitions[e] += sign * steps[static_cast<std::size_t>(m.edges[e].from) * m.Lp +
                                          static_cast<std::size_t>(m.edges[e].to)];
    } else {
      AlignedDoubles& out = m.machine == Machine::pairs ? g->trigrams : g->transitions;
      for (std::size_t i = 0; i < steps.size(); ++i) out[i] += sign * steps[i];
    }
  }
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t r = 0; r < m.row_count(t); ++r)
      for (std::size_t y = m.L; y < m.Lp; ++y) N[t * m.stride + r * m.Lp + y] = 0.0;
    for (std::size_t s = 0; s < lattice.n_states(t); ++s) {
      const double x = alpha[t * S + s] + beta[t * S + s] - Z;
      N[lattice.place(t, s)] = x == kForbidden ? 0.0 : std::exp(x);
    }
  }
  return Z;
}

// Potentials of all tokens; returns the logarithm they were divided by, or NaN where logarithms are needed.
double potentials(const ChainModel& m, std::size_t T, const double* N, double* psi) {
  double shift = 0.0, range = 0.0;
  for (std::size_t t = 0; t < T; ++t)
    shift += simd::loops().chain.potentials(N + t * m.stride, m.row_count(t), m.L, m.Lp, psi + t * m.stride, &range);
  if (!(range + m.range < kSafeRange)) return std::numeric_limits<double>::quiet_NaN();
  return shift + static_cast<double>(T - 1) * m.highest;
}

// Forward values; returns the first token that no path reaches, or T.
std::size_t forward(const ChainModel& m, std::size_t T, ChainWorkspace& work) {
  const simd::ChainLoops& loops = simd::loops().chain;
  const double* psi = work.psi.data();
  double *alpha = work.alpha.data(), *scale = work.scale.data();
  if (m.machine == Machine::dense) return loops.forward(psi, m.E.data(), T, m.L, m.Lp, alpha, scale);
  if (m.machine == Machine::sparse) return sparse_forward(m, psi, T, alpha, scale);
  return loops.pairs_forward(psi, m.trigrams ? m.E3.data() : nullptr, T, m.L, m.Lp, alpha, scale);
}

// Where expected transitions that await their potentials are added.
double* awaiting(const ChainModel& m, ChainGradient& g, int sign) {
  AlignedDoubles& to = sign > 0 ? g.outer : g.negative;
  if (to.empty()) to.assign(m.outer_size(), 0.0);
  return to.data();
}

// Recursions of sequences whose potentials are in work.psi.
void run_group(const ChainModel& m, std::span<simd::ChainRun> runs, double* outer) {
  const simd::ChainLoops& loops = simd::loops().chain;
  if (runs.empty()) return;
  if (m.machine == Machine::pairs) {
    AlignedDoubles beta(runs.size() * m.stride);
    const double *E = m.trigrams ? m.E3.data() : nullptr, *Et = m.trigrams ? m.E3t.data() : nullptr;
    loops.pairs_group(runs.data(), runs.size(), E, Et, m.L, m.Lp, beta.data(), m.trigrams ? outer : nullptr);
    return;
  }
  loops.group(runs.data(), runs.size(), m.panels.data(), m.back_panels.data(), m.L, m.Lp);
  if (!outer) return;
  for (std::size_t i = 0, n; i < runs.size(); i += n) {  // those that stand next to each other, at once
    std::size_t tokens = runs[i].T;
    for (n = 1; i + n < runs.size() && runs[i + n].psi == runs[i].psi + tokens * m.Lp; ++n) tokens += runs[i + n].T;
    loops.outer(runs[i].alpha, runs[i].psi, tokens, m.L, m.Lp, outer);
  }
}

}  // namespace

double log_scales(std::span<const double> scales) {
  double sum = 0.0, product = 1.0;
  for (const double scale : scales) {
    if (scale < 1e-100) sum += std::log(scale);
    else product *= scale;
    if (product < 1e-150 || product > 1e150) sum += std::log(product), product = 1.0;
  }
  return sum + std::log(product);
}

std::vector<double> Lattice::forward() const {
  const std::size_t S = max_states();
  std::vector<double> alpha(T_ * S, kForbidden);
  for (std::size_t t = 0; t < T_; ++t) {
    bool reached = false;
    for (std::size_t s = 0; s < n_states(t); ++s) {
      double in = 0.0;
      if (t) {
        LogSum sum;
        predecessors(t, s, [&](std::size_t p, double step, std::size_t) { sum.add(alpha[(t - 1) * S + p] + step); });
        in = sum.value();
      }
      alpha[t * S + s] = in + score(t, s);
      reached |= alpha[t * S + s] > kForbidden;
    }
    if (!reached) throw NoPath{t};
  }
  return alpha;
}

std::vector<double> Lattice::backward() const {
  const std::size_t S = max_states();
  std::vector<double> beta(T_ * S, kForbidden);
  std::fill_n(beta.begin() + static_cast<std::ptrdiff_t>((T_ - 1) * S), n_states(T_ - 1), 0.0);
  std::vector<LogSum> sums(S);
  for (std::size_t t = T_; t-- > 1;) {
    std::fill(sums.begin(), sums.end(), LogSum{});
    for (std::size_t s = 0; s < n_states(t); ++s) {
      const double after = score(t, s) + beta[t * S + s];
      if (after > kForbidden)
        predecessors(t, s, [&](std::size_t p, double step, std::size_t) { sums[p].add(step + after); });
    }
    for (std::size_t p = 0; p < n_states(t - 1); ++p) beta[(t - 1) * S + p] = sums[p].value();
  }
  return beta;
}

double Lattice::total(const std::vector<double>& alpha) const {
  LogSum sum;
  for (std::size_t s = 0; s < n_states(T_ - 1); ++s) sum.add(alpha[(T_ - 1) * max_states() + s]);
  return sum.value();
}

double log_normaliser(const ChainModel& m, std::size_t T, ChainWorkspace& work, const double* N) {
  const double shift = potentials(m, T, N, work.psi.data());
  if (std::isnan(shift)) {
    const Lattice lattice(m, T, N);
    return lattice.total(lattice.forward());
  }
  const std::size_t reached = forward(m, T, work);
  if (reached < T) throw NoPath{reached};
  return shift + log_scales({work.scale.data(), T});
}

double forward_backward(const ChainModel& m, std::size_t T, ChainWorkspace& work, double* N, ChainGradient* g,
                        int sign) {
  double *psi = work.psi.data(), *alpha = work.alpha.data(), *scale = work.scale.data(), *beta = work.beta.data();
  const double shift = potentials(m, T, N, psi);
  if (std::isnan(shift)) return log_forward_backward(m, T, N, g, sign);
  double* outer = g ? awaiting(m, *g, sign) : nullptr;
  std::size_t reached;
  if (m.machine == Machine::sparse) {
    reached = forward(m, T, work);
    if (reached == T) sparse_backward(m, psi, T, alpha, scale, beta, N, outer);
  } else {
    simd::ChainRun run{psi, alpha, N, scale, T, 0};
    run_group(m, {&run, 1}, outer);
    reached = run.reached;
  }
  if (reached < T) throw NoPath{reached};
  return shift + log_scales({work.scale.data(), T});
}

void forward_backward(const ChainModel& m, std::span<const std::size_t> lengths, ChainWorkspace& work,
                      ChainGradient& g, double* log_z) {
  simd::ChainRun runs[simd::kChainGroup];
  std::size_t member[simd::kChainGroup], n = 0;
  for (std::size_t i = 0, first = 0; i < lengths.size(); first += lengths[i], ++i) {
    const std::size_t T = lengths[i], at = first * m.stride;
    double* N = work.N.data() + at;
    if (m.machine == Machine::sparse) {
      try {
        log_z[i] = forward_backward(m, T, work, N, &g);
      } catch (const NoPath& no_path) {
        throw NoPath{no_path.token, i};
      }
      continue;
    }
    log_z[i] = potentials(m, T, N, work.psi.data() + at);
    if (std::isnan(log_z[i])) {
      log_z[i] = log_forward_backward(m, T, N, &g, 1);
    } else {
      member[n] = i;
      runs[n++] = {work.psi.data() + at, work.alpha.data() + at, N, work.scale.data() + first, T, 0};
    }
  }
  run_group(m, {runs, n}, awaiting(m, g, 1));
  for (std::size_t k = 0; k < n; ++k) {
    if (runs[k].reached < runs[k].T) throw NoPath{runs[k].reached, member[k]};
    log_z[member[k]] += log_scales({runs[k].scale, runs[k].T});
  }
}

double path_score(const ChainModel& m, std::size_t T, const double* N, const std::int32_t* y) {
  double sum = 0.0;
  const auto at = [&](std::size_t t) { return static_cast<std::size_t>(y[t]); };
  for (std::size_t t = 0; t < T; ++t) {
    if (m.machine == Machine::pairs) {
      sum += N[t * m.stride + (t ? at(t - 1) * m.Lp : 0) + at(t)];
      if (t && m.trigrams) sum += m.G[((t > 1 ? at(t - 2) : m.L) * m.L + at(t - 1)) * m.Lp + at(t)];
      continue;
    }
    sum += N[t * m.stride + at(t)];
    if (t == 0) continue;
    sum += m.M[at(t - 1) * m.Lp + at(t)];
  }
  return sum;
}

void normalise_locally(const ChainModel& m, std::size_t T, double* N) {
  const Lattice lattice(m, T, N);
  std::vector<LogSum> sums(lattice.max_states());
  LogSum first;
  for (std::size_t s = 0; s < lattice.n_states(0); ++s) first.add(lattice.score(0, s));
  std::vector<double> taken(T * lattice.max_states(), 0.0);  // from the states of token t
  for (std::size_t t = 1; t < T; ++t) {
    std::fill(sums.begin(), sums.end(), LogSum{});
    for (std::size_t s = 0; s < lattice.n_states(t); ++s)
      lattice.predecessors(t, s,
                           [&](std::size_t p, double step, std::size_t) { sums[p].add(step + lattice.score(t, s)); });
    for (std::size_t p = 0; p < lattice.n_states(t - 1); ++p) taken[(t - 1) * sums.size() + p] = sums[p].value();
  }
  for (std::size_t t = 0; t < T; ++t)
    for (std::size_t s = 0; s < lattice.n_states(t); ++s) {
      const double less = taken[t * sums.size() + s] + (t == 0 ? first.value() : 0.0);
      double& x = N[lattice.place(t, s)];
      x = less == kForbidden ? kForbidden : x - less;
    }
}

}  // namespace loglinear::chain
