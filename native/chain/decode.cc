#include "chain/decode.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "chain/loss.hh"
#include "simd/loops.hh"
#include "util/interner.hh"
#include "util/views.hh"

namespace loglinear::chain {

namespace {

constexpr double kHighest = 1e300;  // so that sums over a sequence stay within doubles

// Scores beyond the range of doubles have no order and no sum.
void check_scores(const ChainModel& m, std::size_t sequence, std::size_t T, const double* N) {
  for (std::size_t t = 0; t < T; ++t) {
    bool good = true;
    for (std::size_t k = 0; k < m.row_count(t) * m.Lp; ++k)
      good &= N[t * m.stride + k] < kHighest;
    if (!good)
      throw InvalidInput("sequence " + std::to_string(sequence) + ", token " + std::to_string(t) +
                         " (counting from 0): its scores overflow; scale the values of its attributes down");
  }
}

// Normalised scores of the model without constraints, where these forbid nothing.
void take_normalised(const ChainInput& in, std::size_t sequence, std::size_t T, ChainWorkspace& work) {
  const ChainModel &m = in.model, &free = *in.local;
  double *N = work.N.data(), *normalised = work.psi.data();
  free.scores(in.sequences, nullptr, nullptr, sequence, nullptr, normalised);
  normalise_locally(free, T, normalised);
  for (std::size_t t = 0; t < T; ++t)
    for (std::size_t k = t * m.stride; k < t * m.stride + m.row_count(t) * m.Lp; ++k)
      if (N[k] > kForbidden) N[k] = normalised[k];
}

// body(sequence, T, work) for every sequence that has tokens, with its scores in work.N.
template <class Body>
void over_sequences(ThreadPool& pool, const ChainInput& in, Body body) {
  const Sequences& sequences = in.sequences;
  const ChainModel& m = in.model;
  require(sequences.n_attributes == m.features.n_attributes(), "sequences and features differ in attributes");
  require(sequences.numbers.width == m.features.n_numbers, "sequences and features differ in numbers");
  require(sequences.emissions.empty() || sequences.emissions.width == m.L, "emissions must be [tokens][labels]");
  require(!in.local || (&in.local->features == &m.features && in.local->stride == m.stride),
          "a locally normalised model needs the features of the constrained one");
  require(in.node_base.empty() || in.node_base.size() == sequences.n_tokens() * m.L,
          "base scores must be [tokens][labels]");
  require(m.highest < kHighest, "the weights of transitions overflow");
  const std::size_t wanted = std::min<std::size_t>(sequences.size(), static_cast<std::size_t>(pool.size()) * 8);
  if (wanted == 0) return;
  const std::vector<std::size_t> cuts = sequences.cut(wanted);
  pool.run(wanted, [&](std::size_t part) {
    std::size_t longest = 0;
    for (std::size_t i = cuts[part]; i < cuts[part + 1]; ++i) longest = std::max(longest, sequences.length(i));
    if (longest == 0) return;
    ChainWorkspace work(m, longest);
    for (std::size_t i = cuts[part]; i < cuts[part + 1]; ++i) {
      const std::size_t T = sequences.length(i);
      if (T == 0) continue;
      const double* base = in.node_base.empty() ? nullptr : in.node_base.data();
      m.scores(sequences, nullptr, nullptr, i, base, work.N.data());
      check_scores(m, i, T, work.N.data());
      if (in.local == &m) normalise_locally(m, T, work.N.data());
      else if (in.local) take_normalised(in, i, T, work);
      try {
        body(i, T, work);
      } catch (const NoPath& no_path) {
        throw_no_path(i, no_path.token);
      }
    }
  });
}

void sparse_max(const ChainModel& m, std::size_t T, const double* N, double* delta) {
  const std::size_t L = m.L, Lp = m.Lp;
  std::copy_n(N, L, delta);
  std::vector<std::int32_t> order(L);
  for (std::size_t t = 1; t < T; ++t) {
    const double* before = delta + (t - 1) * Lp;
    std::iota(order.begin(), order.end(), 0);
    if (m.background > kForbidden)
      std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return before[a] > before[b]; });
    for (std::size_t y = 0; y < L; ++y) {
      const auto *first = m.edge_from.data() + m.edge_ptr[y], *last = m.edge_from.data() + m.edge_ptr[y + 1];
      double best = kForbidden;
      for (const auto* e = first; e < last; ++e)
        best = std::max(best, before[*e] + m.edge_score[e - m.edge_from.data()]);
      if (m.background > kForbidden)
        for (const std::int32_t from : order) {
          if (before[from] + m.background <= best) break;
          if (!std::binary_search(first, last, from)) {
            best = before[from] + m.background;
            break;
          }
        }
      delta[t * Lp + y] = best + N[t * Lp + y];
    }
  }
}

// Walks back along the maxima: the best state before is found again for the states of the path alone.
void trace_back(const Lattice& lattice, const double* delta, std::int32_t* labels) {
  const std::size_t T = lattice.length();
  std::size_t state = 0;
  double best = kForbidden;
  for (std::size_t s = 0; s < lattice.n_states(T - 1); ++s) {
    const double d = delta[lattice.place(T - 1, s)];
    if (d > best) best = d, state = s;
  }
  if (best == kForbidden) {  // say where the last path ended
    for (std::size_t t = 0; t < T; ++t) {
      bool reached = false;
      for (std::size_t s = 0; s < lattice.n_states(t); ++s) reached |= delta[lattice.place(t, s)] > kForbidden;
      if (!reached) throw NoPath{t};
    }
  }
  for (std::size_t t = T; t-- > 0;) {
    labels[t] = lattice.label(state);
    if (t == 0) break;
    std::size_t previous = 0;
    best = kForbidden;
    lattice.predecessors(t, state, [&](std::size_t p, double step, std::size_t) {
      const double d = delta[lattice.place(t - 1, p)] + step;
      if (d > best) best = d, previous = p;
    });
    state = previous;
  }
}

struct Candidate {
  double score;
  std::int32_t state, rank;  // at the token before
};

void nbest_sequence(const Lattice& lattice, std::size_t k, std::vector<std::vector<std::int32_t>>& paths,
                    std::vector<double>& scores) {
  const std::size_t T = lattice.length(), S = lattice.max_states();
  // best[t][s]: up to k candidates, descending.
  std::vector<std::vector<Candidate>> best(T * S);
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.state != b.state ? a.state < b.state : a.rank < b.rank;
  };
  std::vector<Candidate> pool;
  const auto keep = [&](std::vector<Candidate>& out) {
    const std::size_t n = std::min(k, pool.size());
    std::partial_sort(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(n), pool.end(), better);
    out.assign(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(n));
  };
  for (std::size_t t = 0; t < T; ++t) {
    bool reached = false;
    for (std::size_t s = 0; s < lattice.n_states(t); ++s) {
      const double node = lattice.score(t, s);
      if (node == kForbidden) continue;
      pool.clear();
      if (t == 0) pool.push_back({node, -1, 0});
      else
        lattice.predecessors(t, s, [&](std::size_t p, double step, std::size_t) {
          if (step == kForbidden) return;
          const auto& before = best[(t - 1) * S + p];
          for (std::size_t r = 0; r < before.size(); ++r)
            pool.push_back({before[r].score + step + node, static_cast<std::int32_t>(p), static_cast<std::int32_t>(r)});
        });
      keep(best[t * S + s]);
      reached |= !best[t * S + s].empty();
    }
    if (!reached) throw NoPath{t};
  }
  pool.clear();
  for (std::size_t s = 0; s < lattice.n_states(T - 1); ++s)
    for (std::size_t r = 0; r < best[(T - 1) * S + s].size(); ++r)
      pool.push_back({best[(T - 1) * S + s][r].score, static_cast<std::int32_t>(s), static_cast<std::int32_t>(r)});
  std::vector<Candidate> ends;
  keep(ends);
  paths.assign(ends.size(), std::vector<std::int32_t>(T));
  scores.clear();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    scores.push_back(ends[i].score);
    std::int32_t state = ends[i].state, rank = ends[i].rank;
    for (std::size_t t = T; t-- > 0;) {
      paths[i][t] = lattice.label(static_cast<std::size_t>(state));
      const Candidate& c = best[t * S + static_cast<std::size_t>(state)][static_cast<std::size_t>(rank)];
      state = c.state, rank = c.rank;
    }
  }
}

void edge_marginals(const ChainModel& m, const Lattice& lattice, double* edges) {
  const std::size_t T = lattice.length(), S = lattice.max_states(), L = m.L;
  const std::vector<double> alpha = lattice.forward(), beta = lattice.backward();
  const double Z = lattice.total(alpha);
  std::fill_n(edges, T * L * L, 0.0);
  for (std::size_t t = 1; t < T; ++t)
    for (std::size_t s = 0; s < lattice.n_states(t); ++s) {
      if (m.machine == Machine::pairs) {
        edges[t * L * L + s] = std::exp(alpha[t * S + s] + beta[t * S + s] - Z);
        continue;
      }
      const double after = lattice.score(t, s) + beta[t * S + s] - Z;
      lattice.predecessors(t, s, [&](std::size_t p, double step, std::size_t) {
        edges[(t * L + p) * L + s] = std::exp(alpha[(t - 1) * S + p] + step + after);
      });
    }
}

// A uniform number in [0, 1) from a counter.
double uniform(std::uint64_t seed, std::uint64_t counter) {
  return static_cast<double>(mix_bits(mix_bits(seed) + counter * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

// Picks i with probability proportional to exp(x[i]).
std::size_t pick(const std::vector<double>& x, double u) {
  const double high = *std::max_element(x.begin(), x.end());
  double total = 0.0;
  for (const double v : x) total += std::exp(v - high);
  double rest = u * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == kForbidden) continue;
    last = i;
    rest -= std::exp(x[i] - high);
    if (rest < 0.0) return i;
  }
  return last;
}

}  // namespace

void best_path(const ChainModel& m, std::size_t T, ChainWorkspace& work, std::int32_t* labels) {
  const simd::ChainLoops& loops = simd::loops().chain;
  const double* N = work.N.data();
  double* delta = work.alpha.data();
  if (m.machine == Machine::dense) loops.max(N, m.M.data(), T, m.L, m.Lp, delta);
  else if (m.machine == Machine::sparse) sparse_max(m, T, N, delta);
  else loops.pairs_max(N, m.trigrams ? m.G.data() : nullptr, T, m.L, m.Lp, delta);
  trace_back(Lattice(m, T, N), delta, labels);
}

void chain_viterbi(ThreadPool& pool, const ChainInput& in, std::span<std::int32_t> labels) {
  require(labels.size() == in.sequences.n_tokens(), "labels: one per token is needed");
  over_sequences(pool, in, [&](std::size_t i, std::size_t T, ChainWorkspace& work) {
    best_path(in.model, T, work, labels.data() + in.sequences.begin(i));
  });
}

void chain_nbest(ThreadPool& pool, const ChainInput& in, std::size_t k, std::span<std::int32_t> labels,
                 std::span<double> scores) {
  require(k >= 1 && labels.size() == k * in.sequences.n_tokens() && scores.size() == k * in.sequences.size(),
          "n-best: arrays have the wrong length");
  std::fill(labels.begin(), labels.end(), -1);
  std::fill(scores.begin(), scores.end(), kForbidden);
  for (std::size_t i = 0; i < in.sequences.size(); ++i)
    if (in.sequences.length(i) == 0) scores[i * k] = 0.0;
  over_sequences(pool, in, [&](std::size_t i, std::size_t T, ChainWorkspace& work) {
    std::vector<std::vector<std::int32_t>> paths;
    std::vector<double> found;
    nbest_sequence(Lattice(in.model, T, work.N.data()), k, paths, found);
    for (std::size_t r = 0; r < paths.size(); ++r) {
      scores[i * k + r] = found[r];
      std::copy(paths[r].begin(), paths[r].end(),
                labels.begin() + static_cast<std::ptrdiff_t>(r * in.sequences.n_tokens() + in.sequences.begin(i)));
    }
  });
}

void chain_marginals(ThreadPool& pool, const ChainInput& in, std::span<double> log_z, std::span<double> nodes,
                     std::span<double> edges) {
  const ChainModel& m = in.model;
  const std::size_t L = m.L, n = in.sequences.n_tokens();
  require(log_z.size() == in.sequences.size() && (nodes.empty() || nodes.size() == n * L) &&
              (edges.empty() || edges.size() == n * L * L),
          "marginals: arrays have the wrong length");
  std::fill(log_z.begin(), log_z.end(), 0.0);
  over_sequences(pool, in, [&](std::size_t i, std::size_t T, ChainWorkspace& work) {
    const std::size_t first = in.sequences.begin(i);
    double* N = work.N.data();
    if (!edges.empty()) edge_marginals(m, Lattice(m, T, N), edges.data() + first * L * L);
    if (nodes.empty()) {
      log_z[i] = log_normaliser(m, T, work, N);
      return;
    }
    log_z[i] = forward_backward(m, T, work, N, nullptr);
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t y = 0; y < L; ++y) {
        double sum = 0.0;
        for (std::size_t r = 0; r < m.row_count(t); ++r) sum += N[t * m.stride + r * m.Lp + y];
        nodes[(first + t) * L + y] = sum;
      }
  });
}

void chain_scores(ThreadPool& pool, const ChainInput& in, std::span<const std::int32_t> labels,
                  std::span<double> scores) {
  require(labels.size() == in.sequences.n_tokens() && scores.size() == in.sequences.size(),
          "scores: arrays have the wrong length");
  for (const std::int32_t y : labels)
    require(y >= 0 && static_cast<std::size_t>(y) < in.model.L, "scores: a label is out of range");
  std::fill(scores.begin(), scores.end(), 0.0);
  over_sequences(pool, in, [&](std::size_t i, std::size_t T, ChainWorkspace& work) {
    scores[i] = path_score(in.model, T, work.N.data(), labels.data() + in.sequences.begin(i));
  });
}

void chain_sample(ThreadPool& pool, const ChainInput& in, std::uint64_t seed, std::size_t n_samples,
                  std::span<std::int32_t> labels) {
  require(labels.size() == n_samples * in.sequences.n_tokens(), "samples: labels have the wrong length");
  over_sequences(pool, in, [&](std::size_t i, std::size_t T, ChainWorkspace& work) {
    const Lattice lattice(in.model, T, work.N.data());
    const std::size_t S = lattice.max_states();
    const std::vector<double> alpha = lattice.forward();
    std::uint64_t counter = 0;
    const std::uint64_t key = mix_bits(seed) ^ i;
    for (std::size_t r = 0; r < n_samples; ++r) {
      std::int32_t* out = labels.data() + r * in.sequences.n_tokens() + in.sequences.begin(i);
      std::vector<double> x(alpha.begin() + static_cast<std::ptrdiff_t>((T - 1) * S),
                            alpha.begin() + static_cast<std::ptrdiff_t>((T - 1) * S + lattice.n_states(T - 1)));
      std::size_t state = pick(x, uniform(key, counter++));
      for (std::size_t t = T; t-- > 0;) {
        out[t] = lattice.label(state);
        if (t == 0) break;
        x.assign(lattice.n_states(t - 1), kForbidden);
        lattice.predecessors(t, state,
                             [&](std::size_t p, double step, std::size_t) { x[p] = alpha[(t - 1) * S + p] + step; });
        state = pick(x, uniform(key, counter++));
      }
    }
  });
}

}  // namespace loglinear::chain
