#include "hmm/sequences.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "util/random.hh"

namespace loglinear::hmm {

namespace {

// Running sums of rows, for drawing by binary search.
struct Sums {
  std::vector<double> sums;
  void add_row(std::span<const double> row) {
    double total = 0.0;
    for (const double p : row) sums.push_back(total += p);
  }
};

// First place whose running sum exceeds u; a place of probability zero is never taken. The end where u is above all.
std::size_t draw(std::span<const double> sums, double u) {
  return static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), u) - sums.begin());
}

// As `draw` for a row that sums to its last entry, which rounding may keep a little from 1.
std::size_t draw_surely(std::span<const double> sums, double u) {
  const std::size_t at = draw(sums, u * sums.back());
  if (at < sums.size()) return at;
  return static_cast<std::size_t>(std::lower_bound(sums.begin(), sums.end(), sums.back()) - sums.begin());
}

struct Sampler {
  const StateChain& chain;
  Sums enter, steps;  // steps: the sums of each row of T
  std::vector<Sums> emissions;
  std::vector<std::size_t> widths;
  std::size_t max_length;

  // One sequence, appended.
  void sample(Random random, SampledSequences& out) const {
    std::size_t length = 0;
    const double mass = enter.sums.empty() ? 0.0 : enter.sums.back();
    double u = random.uniform();
    if (mass > 1.0 - 1e-9) u *= mass;  // no empty sequences: rounding must not make one
    std::size_t state = draw(enter.sums, u);
    bool inside = state < chain.n_states();
    while (inside) {
      if (++length > max_length)
        throw InvalidInput("a sampled sequence exceeds max_length = " + std::to_string(max_length) +
                           " tokens: raise max_length, or check that the model stops");
      const auto label = static_cast<std::size_t>(chain.label[state]);
      out.labels.push_back(chain.label[state]);
      for (std::size_t c = 0; c < emissions.size(); ++c) {
        const std::span<const double> row(emissions[c].sums.data() + label * widths[c], widths[c]);
        out.columns[c].push_back(static_cast<std::int32_t>(draw_surely(row, random.uniform())));
      }
      inside = next(random.uniform(), state);
    }
    out.sequence_ptr.push_back(static_cast<std::int64_t>(out.labels.size()));
  }

  bool next(double u, std::size_t& state) const {
    const auto begin = static_cast<std::size_t>(chain.indptr[state]);
    const std::span<const double> row(steps.sums.data() + begin, chain.indptr[state + 1] - chain.indptr[state]);
    const double stay = row.empty() ? 0.0 : row.back();
    const double total = stay + chain.leave[state];
    if (stay == 0.0) return false;
    if (chain.leave[state] > 0.0 && u * total >= stay) return false;
    const std::size_t at = chain.leave[state] > 0.0 ? draw(row, u * total) : draw_surely(row, u);
    state = static_cast<std::size_t>(chain.indices[begin + at]);
    return true;
  }
};

Sampler make_sampler(const StateChain& chain, const std::vector<std::span<const double>>& emissions,
                     std::size_t max_length) {
  Sampler sampler{chain, {}, {}, {}, {}, max_length};
  sampler.enter.add_row(chain.enter);
  for (std::size_t s = 0; s < chain.n_states(); ++s)
    sampler.steps.add_row(chain.values.subspan(chain.indptr[s], chain.indptr[s + 1] - chain.indptr[s]));
  for (const auto& table : emissions) {
    require(!table.empty() && table.size() % chain.n_labels == 0, "sampling: emissions need one row per label");
    const std::size_t width = table.size() / chain.n_labels;
    for (const double p : table) require(p >= 0.0 && p <= 1.0 + 1e-9, "sampling: an emission is not a probability");
    Sums sums;
    for (std::size_t y = 0; y < chain.n_labels; ++y) {
      sums.add_row(table.subspan(y * width, width));
      require(sums.sums.back() > 0.0, "sampling: a label emits nothing");
    }
    sampler.widths.push_back(width);
    sampler.emissions.push_back(std::move(sums));
  }
  return sampler;
}

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

class Forward {
 public:
  explicit Forward(const StateChain& chain)
      : chain_(chain), alpha_(chain.n_states()), next_(chain.n_states()), emission_(chain.n_labels) {}

  // Of one sequence with at least one token; scores [n][L].
  double log_probability(std::span<const double> scores) {
    const std::size_t L = chain_.n_labels;
    double total = 0.0;
    alpha_.assign(chain_.enter.begin(), chain_.enter.end());
    for (std::size_t at = 0; at < scores.size(); at += L) {
      if (at > 0) {
        chain_.step_forward(alpha_, next_);
        std::swap(alpha_, next_);
      }
      const double gained = emit(scores.subspan(at, L));
      if (!(gained > kImpossible)) return kImpossible;
      total += gained;
    }
    const double last = std::inner_product(alpha_.begin(), alpha_.end(), chain_.leave.begin(), 0.0);
    return last > 0.0 ? total + std::log(last) : kImpossible;
  }

 private:
  // Multiplies by the emissions and scales to a sum of one; the logarithm of what was scaled away.
  double emit(std::span<const double> row) {
    const double top = *std::max_element(row.begin(), row.end());
    if (!(top > kImpossible)) return kImpossible;
    for (std::size_t y = 0; y < row.size(); ++y) emission_[y] = std::exp(row[y] - top);
    double sum = 0.0;
    for (std::size_t s = 0; s < alpha_.size(); ++s) sum += alpha_[s] *= emission_[chain_.label[s]];
    if (!(sum > 0.0)) return kImpossible;
    for (double& a : alpha_) a /= sum;
    return top + std::log(sum);
  }

  const StateChain& chain_;
  std::vector<double> alpha_, next_, emission_;
};

}  // namespace

SampledSequences sample_sequences(ThreadPool& pool, const StateChain& chain,
                                  const std::vector<std::span<const double>>& emissions, std::size_t n,
                                  std::uint64_t seed, std::size_t max_length) {
  chain.check();
  const Sampler sampler = make_sampler(chain, emissions, max_length);
  constexpr std::size_t kChunk = 256;
  std::vector<SampledSequences> parts(chunk_count(n, kChunk));
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    SampledSequences& part = parts[begin / kChunk];
    part.columns.resize(emissions.size());
    for (std::size_t k = begin; k < end; ++k) sampler.sample(Random(seed, k), part);
  });
  SampledSequences all;
  all.sequence_ptr.push_back(0);
  all.columns.resize(emissions.size());
  for (SampledSequences& part : parts) {
    const auto before = static_cast<std::int64_t>(all.labels.size());
    for (const std::int64_t end : part.sequence_ptr) all.sequence_ptr.push_back(before + end);
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
    for (std::size_t c = 0; c < emissions.size(); ++c)
      all.columns[c].insert(all.columns[c].end(), part.columns[c].begin(), part.columns[c].end());
    part = {};
  }
  return all;
}

void input_log_probabilities(ThreadPool& pool, const StateChain& chain, std::span<const std::int64_t> sequence_ptr,
                             std::span<const double> scores, std::span<double> out) {
  chain.check();
  const std::size_t L = chain.n_labels;
  require(sequence_ptr.size() == out.size() + 1 && sequence_ptr.front() == 0,
          "forward: one result per sequence is needed");
  for (std::size_t i = 0; i < out.size(); ++i)
    require(sequence_ptr[i + 1] >= sequence_ptr[i], "forward: sequence_ptr decreases");
  require(scores.size() % L == 0 && static_cast<std::size_t>(sequence_ptr.back()) == scores.size() / L,
          "forward: scores need one row per token and one column per label");
  const double empty = 1.0 - std::accumulate(chain.enter.begin(), chain.enter.end(), 0.0);
  parallel_for(pool, out.size(), 16, [&](std::size_t begin, std::size_t end) {
    Forward forward(chain);
    for (std::size_t i = begin; i < end; ++i) {
      const auto from = static_cast<std::size_t>(sequence_ptr[i]), to = static_cast<std::size_t>(sequence_ptr[i + 1]);
      if (from == to) out[i] = empty > 1e-12 ? std::log(empty) : kImpossible;  // below that, it is rounding
      else out[i] = forward.log_probability(scores.subspan(from * L, (to - from) * L));
    }
  });
}

}  // namespace loglinear::hmm
