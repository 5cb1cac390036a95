#include "kernels/hmm_sequences.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "util/interner.hh"

namespace loglinear {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): a stream of its own for every sequence costs one word.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix_bits(seed + mix_bits(stream + 1))) {}
  double uniform() {  // [0, 1)
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

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
    const auto begin = static_cast<std::size_t>(chain.indptr[state]), end = static_cast<std::size_t>(chain.indptr[state + 1]);
    const std::span<const double> row(steps.sums.data() + begin, end - begin);
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
  const std::size_t L = chain.n_labels, S = chain.n_states();
  require(sequence_ptr.size() == out.size() + 1 && sequence_ptr.front() == 0, "forward: one result per sequence is needed");
  for (std::size_t i = 0; i < out.size(); ++i)
    require(sequence_ptr[i + 1] >= sequence_ptr[i], "forward: sequence_ptr decreases");
  require(scores.size() % L == 0 && static_cast<std::size_t>(sequence_ptr.back()) == scores.size() / L,
          "forward: scores need one row per token and one column per label");
  const double mass = std::accumulate(chain.enter.begin(), chain.enter.end(), 0.0);
  constexpr double kImpossible = -std::numeric_limits<double>::infinity();

  parallel_for(pool, out.size(), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<double> alpha(S), next(S), emission(L);
    for (std::size_t i = begin; i < end; ++i) {
      double total = 0.0;
      alpha.assign(chain.enter.begin(), chain.enter.end());
      for (std::int64_t t = sequence_ptr[i]; t < sequence_ptr[i + 1]; ++t) {
        if (t > sequence_ptr[i]) {
          chain.step_forward(alpha, next);
          std::swap(alpha, next);
        }
        const auto row = scores.subspan(static_cast<std::size_t>(t) * L, L);
        const double top = *std::max_element(row.begin(), row.end());
        if (!(top > kImpossible)) {
          total = kImpossible;
          break;
        }
        for (std::size_t y = 0; y < L; ++y) emission[y] = std::exp(row[y] - top);
        double sum = 0.0;
        for (std::size_t s = 0; s < S; ++s) sum += alpha[s] *= emission[chain.label[s]];
        if (!(sum > 0.0)) {
          total = kImpossible;
          break;
        }
        for (double& a : alpha) a /= sum;
        total += top + std::log(sum);
      }
      if (total > kImpossible) {
        double last = 1.0 - mass;
        if (sequence_ptr[i + 1] > sequence_ptr[i]) last = std::inner_product(alpha.begin(), alpha.end(), chain.leave.begin(), 0.0);
        else if (last < 1e-12) last = 0.0;
        total = last > 0.0 ? total + std::log(last) : kImpossible;
      }
      out[i] = total;
    }
  });
}

}  // namespace loglinear
