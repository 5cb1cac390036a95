#include "chain/listed_pairs.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chain/inference.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kFewPairs = 64;  // states up to which all of them are quicker

std::size_t padded(std::size_t n) { return (n + 3) / 4 * 4; }
std::size_t at(std::int64_t code) { return static_cast<std::size_t>(code); }

}  // namespace

ListedPairs::ListedPairs(const ChainFeatures& f) : L(f.L), Lp(f.Lp) {
  if (L * Lp <= kFewPairs || (f.pair_code.empty() && f.trigram_code.empty())) return;
  std::vector<std::uint8_t> listed(L * L, 0);
  for (const std::int32_t code : f.pair_code) listed[at(code)] = 1;
  for (const std::int32_t code : f.transition_code) listed[at(code)] = 1;
  for (const std::int32_t code : f.trigram_code) {
    if (at(code) / (L * L) < L) listed[at(code) / L] = 1;
    listed[at(code) % (L * L)] = 1;
  }
  const auto in_count = [&](std::size_t b) {
    std::size_t count = 0;
    for (std::size_t a = 0; a < L; ++a) count += listed[a * L + b];
    return count;
  };
  place_.assign(L * L, 0), first_.assign(1, 0), in_ptr_.assign(1, 0), block_.assign(1, 0), back_.assign(1, 0);
  std::size_t places = 0;
  for (std::size_t b = 0; b < L; ++b) {
    for (std::size_t c = 0; c < L; ++c)
      if (listed[b * L + c]) {
        place_[b * L + c] = static_cast<std::uint32_t>(Lp + places++);
        second.push_back(static_cast<std::int32_t>(c));
      }
    second.resize(places = padded(places), -1);
    first_.push_back(static_cast<std::uint32_t>(places));
  }
  if (2 * places > L * Lp || Lp + places > 0xFFF0) return;
  n = places;
  for (std::size_t b = 0; b < L; ++b) {
    for (std::size_t a = 0; a < L; ++a)
      if (listed[a * L + b]) in_.push_back(place_[a * L + b]);
    in_ptr_.push_back(static_cast<std::uint32_t>(in_.size()));
    const std::size_t width = first_[b + 1] - first_[b], in = in_count(b);
    block_.push_back(static_cast<std::uint32_t>(block_[b] + in * width));
    back_.push_back(static_cast<std::uint32_t>(back_[b] + width * padded(in)));
  }
  n_trigrams = block_.back();

  std::vector<std::int32_t> codes(f.pair_code.size());
  for (std::size_t k = 0; k < codes.size(); ++k) codes[k] = static_cast<std::int32_t>(place_[at(f.pair_code[k])] - Lp);
  rows.build(f.pair_ptr.first(f.first_number() + 1), codes, n, n, n);
  for (const std::int32_t code : f.transition_code) transition_place.push_back(place_[at(code)]);
  for (const std::int32_t code : f.trigram_code) {
    const std::size_t a = at(code) / (L * L), b = at(code) / L % L, to = place_[at(code) % (L * L)] - Lp;
    if (a == L) {
      trigram_place.push_back(static_cast<std::uint32_t>(n_trigrams + to));
      continue;
    }
    const auto *begin = in_.data() + in_ptr_[b], *end = in_.data() + in_ptr_[b + 1];
    const auto row = static_cast<std::size_t>(std::lower_bound(begin, end, place_[a * L + b]) - begin);
    trigram_place.push_back(
        static_cast<std::uint32_t>(block_[b] + row * (first_[b + 1] - first_[b]) + (to - first_[b])));
  }
}

simd::PairLattice ListedPairs::lattice() const {
  simd::PairLattice lattice{};
  lattice.L = L, lattice.Lp = Lp, lattice.n = n;
  lattice.first = first_.data(), lattice.in_ptr = in_ptr_.data(), lattice.in = in_.data();
  lattice.block = block_.data(), lattice.back = back_.data();
  return lattice;
}

void ListedPotentials::set(ThreadPool& pool, const ListedPairs& p, const ResolvedWeights& resolved,
                           const ChainFeatures& f, const double* w, double highest) {
  const std::size_t L = p.L, Lp = p.Lp;
  const double *pair_weights = w + f.pair_begin(), *trigram_weights = w + f.trigram_begin();
  expanded.assign(p.rows.expanded.size() * p.n, 0.0);
  for (std::size_t e = 0; e < p.rows.expanded.size(); ++e)
    for (std::int64_t k = f.pair_ptr[p.rows.expanded[e]]; k < f.pair_ptr[p.rows.expanded[e] + 1]; ++k)
      expanded[e * p.n + p.rows.offsets[static_cast<std::size_t>(k)]] = pair_weights[k];
  resolved.fill(pool, pair_weights, expanded.data(), p.n, rows);
  transitions.assign(p.n, 0.0);
  for (std::size_t s = 0; s < p.n; ++s)
    if (p.second[s] < 0) transitions[s] = kForbidden;
  for (std::size_t k = 0; k < p.transition_place.size(); ++k)
    transitions[p.transition_place[k] - Lp] = w[f.transition_begin() + k];
  background = std::exp(-highest);
  E.assign(p.n_trigrams, background), start.assign(p.n, background);
  for (std::size_t k = 0; k < p.trigram_place.size(); ++k) {
    const std::size_t to = p.trigram_place[k];
    (to < p.n_trigrams ? E[to] : start[to - p.n_trigrams]) = std::exp(trigram_weights[k] - highest);
  }
  Et.assign(p.back_.back(), 0.0);
  for (std::size_t b = 0; b < L; ++b) {
    const std::size_t width = p.first_[b + 1] - p.first_[b], in = p.in_ptr_[b + 1] - p.in_ptr_[b];
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t y = 0; y < width; ++y)
        Et[p.back_[b] + y * padded(in) + i] = E[p.block_[b] + i * width + y];
  }
  unlisted.assign(L * Lp, 0.0), unlisted_back.assign(L * Lp, 0.0);
  for (std::size_t a = 0; a < L; ++a)
    for (std::size_t b = 0; b < L; ++b)
      if (p.place(a, b) == 0) unlisted[a * Lp + b] = unlisted_back[b * Lp + a] = background;
}

void ListedSums::clear(const ListedPairs& p, std::size_t n_rows) {
  transitions.assign(p.n, 0.0), counts.assign(p.n_trigrams, 0.0), starts.assign(p.n, 0.0);
  rows.assign(n_rows * p.n, 0.0);
}

void finish_listed(const ListedPairs& p, const ListedPotentials& potentials, const ChainFeatures& f,
                   std::span<const ChainGradient> parts, std::span<double> out) {
  for (const ChainGradient& part : parts) {
    const ListedSums& sums = part.listed;
    for (std::size_t e = 0; e < p.rows.expanded.size(); ++e)
      for (std::int64_t k = f.pair_ptr[p.rows.expanded[e]]; k < f.pair_ptr[p.rows.expanded[e] + 1]; ++k)
        out[f.pair_begin() + at(k)] += sums.rows[e * p.n + p.rows.offsets[at(k)]];
    for (std::size_t k = 0; k < p.transition_place.size(); ++k)
      out[f.transition_begin() + k] += sums.transitions[p.transition_place[k] - p.Lp];
    for (std::size_t k = 0; k < p.trigram_place.size(); ++k) {
      const std::size_t from = p.trigram_place[k], s = from - p.n_trigrams;
      out[f.trigram_begin() + k] += from < p.n_trigrams ? sums.counts[from] * potentials.E[from]
                                                        : sums.starts[s] * potentials.start[s];
    }
  }
}

ListedCrf::ListedCrf(const ChainModel& model, const Sequences& sequences, const ChainTokens& tokens,
                     const ChainWork& work, const double* node_base)
    : m_(model), sequences_(sequences), tokens_(tokens), work_(work), pairs_(tokens.listed), node_base_(node_base) {}

// Scores of the states of all tokens, pads -infinity.
void ListedCrf::take_scores(std::size_t number) {
  const std::size_t Lp = pairs_.Lp, S = pairs_.stride(), T = sequences_.length(number);
  for (std::size_t t = 0; t < T; ++t) {
    double *u = N_.data() + t * S, *v = u + Lp;
    m_.label_scores(sequences_, &tokens_, &work_, number, t, node_base_, u);
    for (std::size_t y = m_.L; y < Lp; ++y) u[y] = kForbidden;
    if (t == 0) continue;
    std::copy_n(work_.listed.transitions.data(), pairs_.n, v);
    tokens_.listed_pairs.add(sequences_.begin(number) + t, m_.weights().data() + m_.features.pair_begin(),
                             work_.listed.rows.data(), pairs_.n, v);
    for (std::size_t s = 0; s < pairs_.n; ++s)
      if (pairs_.second[s] >= 0) v[s] += u[pairs_.second[s]];
  }
}

double ListedCrf::score(std::size_t T, const std::int32_t* y) const {
  double sum = N_[at(y[0])];
  if (sum == kForbidden) throw NoPath{0};
  for (std::size_t t = 1; t < T; ++t) {
    const std::size_t place = pairs_.place(at(y[t - 1]), at(y[t]));
    sum += N_[t * pairs_.stride() + (place ? place : at(y[t]))];
    if (m_.trigrams) sum += m_.G[((t > 1 ? at(y[t - 2]) : m_.L) * m_.L + at(y[t - 1])) * m_.Lp + at(y[t])];
    if (sum == kForbidden) throw NoPath{t};
  }
  return sum;
}

// Marginals take the place of the scores; returns log Z.
double ListedCrf::forward_backward(std::size_t T, ChainGradient& g) {
  const simd::ChainLoops& loops = simd::loops().chain;
  const std::size_t Lp = pairs_.Lp, S = pairs_.stride();
  double range = 0.0, shift = static_cast<double>(T - 1) * m_.highest;
  for (std::size_t t = 0; t < T; ++t) {
    const std::size_t size = t ? S : Lp;
    shift += loops.potentials(N_.data() + t * S, 1, size, size, psi_.data() + t * S, &range);
  }
  if (!(range + m_.range < kSafeRange)) return by_logarithms(T, g);
  const ListedPotentials& p = work_.listed;
  simd::PairLattice lattice = pairs_.lattice();
  lattice.E = p.E.data(), lattice.Et = p.Et.data(), lattice.start = p.start.data();
  lattice.unlisted = p.unlisted.data(), lattice.unlisted_back = p.unlisted_back.data();
  lattice.background = p.background;
  lattice.counts = g.listed.counts.data(), lattice.starts = g.listed.starts.data();
  simd::ChainRun run{psi_.data(), alpha_.data(), N_.data(), scale_.data(), T, 0};
  loops.listed_pairs(lattice, &run, passes_.data());
  if (run.reached < T) throw NoPath{run.reached};
  return shift + log_scales({scale_.data(), T});
}

// The same where scores are too far apart for potentials: over all pairs.
double ListedCrf::by_logarithms(std::size_t T, ChainGradient& g) {
  ChainWorkspace all(m_, T);
  const std::size_t S = pairs_.stride(), L = m_.L, Lp = m_.Lp;
  const auto each = [&](std::size_t t, auto body) {  // of all pairs: their place here and there
    for (std::size_t a = 0; a < (t ? L : 1); ++a)
      for (std::size_t y = 0; y < L; ++y) body(t && pairs_.place(a, y) ? pairs_.place(a, y) : y, y, a * Lp + y);
  };
  for (std::size_t t = 0; t < T; ++t)
    each(t, [&](std::size_t from, std::size_t, std::size_t to) { all.N[t * m_.stride + to] = N_[t * S + from]; });
  const double log_z = chain::forward_backward(m_, T, all, all.N.data(), &g);
  std::fill_n(N_.data(), T * S, 0.0);
  for (std::size_t t = 0; t < T; ++t)
    each(t, [&](std::size_t to, std::size_t y, std::size_t from) {
      const double marginal = all.N[t * m_.stride + from];
      N_[t * S + y] += marginal;
      if (to != y) N_[t * S + to] += marginal;
    });
  return log_z;
}

// Marginals become residuals, and these the gradient.
void ListedCrf::scatter(std::size_t number, const std::int32_t* y, ChainGradient& g) {
  const std::size_t S = pairs_.stride(), T = sequences_.length(number);
  double* pair_weights = g.weights.data() + m_.features.pair_begin();
  for (std::size_t t = 0; t < T; ++t) {
    double *u = N_.data() + t * S, *v = u + pairs_.Lp;
    u[at(y[t])] -= 1.0;
    m_.scatter_labels(sequences_, tokens_, number, t, u, g);
    if (t == 0) continue;
    if (const std::size_t place = pairs_.place(at(y[t - 1]), at(y[t]))) u[place] -= 1.0;
    if (m_.trigrams)
      g.trigrams[((t > 1 ? at(y[t - 2]) : m_.L) * m_.L + at(y[t - 1])) * m_.Lp + at(y[t])] -= 1.0;
    for (std::size_t s = 0; s < pairs_.n; ++s) g.listed.transitions[s] += v[s];
    tokens_.listed_pairs.scatter(sequences_.begin(number) + t, v, pairs_.n, pair_weights, g.listed.rows.data());
  }
}

double ListedCrf::sequence(std::size_t number, const std::int32_t* y, ChainGradient& g) {
  const std::size_t T = sequences_.length(number);
  if (N_.size() < T * pairs_.stride()) {
    for (AlignedDoubles* of : {&N_, &psi_, &alpha_}) of->resize(T * pairs_.stride());
    scale_.resize(T), passes_.resize(T * pairs_.Lp + 2 * pairs_.Lp + pairs_.stride());
  }
  take_scores(number);
  const double of_labels = score(T, y), log_z = forward_backward(T, g);
  scatter(number, y, g);
  return log_z - of_labels;
}

}  // namespace loglinear::chain
