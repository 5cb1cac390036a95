#include "hmm/posteriors.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "util/errors.hh"

namespace loglinear::hmm {

namespace {

// Marginals of a run of tokens, and sums of label pairs and triples over it.
struct Marginals {
  std::vector<double> node;      // [n_tokens][L]
  std::vector<double> pair;      // [n_tokens][L * L], empty where no attribute has pair features
  std::vector<double> pairs;     // [L * L]
  std::vector<double> triples;   // [(L + 1) * L * L], empty where there are no trigram features
};

class Recursion {
 public:
  Recursion(const StateChain& chain, std::span<const double> scores) : chain_(chain), scores_(scores) {}

  // Marginals of the tokens [begin, end) of one sequence, written from token `at` of `out` on.
  void run(std::size_t sequence, std::size_t begin, std::size_t end, std::size_t at, Marginals& out) {
    if (begin == end) return;
    n_ = end - begin;
    emissions(sequence, begin);
    if (!forward()) fail(sequence);
    backward();
    for (std::size_t t = 0; t < n_; ++t) {
      nodes(t, &out.node[(at + t) * L()]);
      if (t == 0) continue;
      double* pair = out.pair.empty() ? nullptr : &out.pair[(at + t) * L() * L()];
      edges(t, pair, out.pairs, out.triples);
    }
  }

 private:
  std::size_t L() const { return chain_.n_labels; }
  std::size_t S() const { return chain_.n_states(); }
  double* alpha(std::size_t t) { return &alpha_[t * S()]; }
  double* beta(std::size_t t) { return &beta_[t * S()]; }
  double emission(std::size_t t, std::size_t s) const { return emission_[t * L() + chain_.label[s]]; }

  [[noreturn]] static void fail(std::size_t sequence) {
    throw InvalidInput("posteriors: sequence " + std::to_string(sequence) +
                       " is impossible under the HMM; smooth its emissions or leave the sequence out");
  }

  void emissions(std::size_t sequence, std::size_t begin) {
    emission_.resize(n_ * L());
    for (std::size_t t = 0; t < n_; ++t) {
      const auto row = scores_.subspan((begin + t) * L(), L());
      const double top = *std::max_element(row.begin(), row.end());
      if (!std::isfinite(top)) fail(sequence);
      for (std::size_t y = 0; y < L(); ++y) emission_[t * L() + y] = std::exp(row[y] - top);
    }
  }

  bool forward() {
    alpha_.resize(n_ * S());
    scale_.resize(n_);
    for (std::size_t t = 0; t < n_; ++t) {
      if (t == 0) std::copy(chain_.enter.begin(), chain_.enter.end(), alpha(0));
      else chain_.step_forward({alpha(t - 1), S()}, {alpha(t), S()});
      double sum = 0.0;
      for (std::size_t s = 0; s < S(); ++s) sum += alpha(t)[s] *= emission(t, s);
      if (!(sum > 0.0)) return false;
      for (std::size_t s = 0; s < S(); ++s) alpha(t)[s] /= sum;
      scale_[t] = sum;
    }
    last_ = std::inner_product(chain_.leave.begin(), chain_.leave.end(), alpha(n_ - 1), 0.0);
    return last_ > 0.0;
  }

  // ahead_[t] is e_t beta_t / c_t, what a step into token t is multiplied by.
  void backward() {
    beta_.resize(n_ * S());
    ahead_.resize(n_ * S());
    for (std::size_t s = 0; s < S(); ++s) beta(n_ - 1)[s] = chain_.leave[s] / last_;
    for (std::size_t t = n_; t-- > 0;) {
      double* ahead = &ahead_[t * S()];
      for (std::size_t s = 0; s < S(); ++s) ahead[s] = emission(t, s) * beta(t)[s] / scale_[t];
      if (t > 0) chain_.step_backward({ahead, S()}, {beta(t - 1), S()});
    }
  }

  void nodes(std::size_t t, double* out) {
    std::fill(out, out + L(), 0.0);
    for (std::size_t s = 0; s < S(); ++s) out[chain_.label[s]] += alpha(t)[s] * beta(t)[s];
  }

  // Marginals of the pair of labels at t - 1 and t, and of the triple that ends at t.
  void edges(std::size_t t, double* pair, std::vector<double>& pairs, std::vector<double>& triples) {
    if (pair) std::fill(pair, pair + L() * L(), 0.0);
    const double* ahead = &ahead_[t * S()];
    const bool second_order = !chain_.previous.empty();
    for (std::size_t a = 0; a < S(); ++a)
      for (std::int64_t p = chain_.indptr[a]; p < chain_.indptr[a + 1]; ++p) {
        const auto b = static_cast<std::size_t>(chain_.indices[p]);
        const double mass = alpha(t - 1)[a] * chain_.values[p] * ahead[b];
        const std::size_t code = chain_.label[a] * L() + chain_.label[b];
        pairs[code] += mass;
        if (pair) pair[code] += mass;
        if (triples.empty()) continue;
        if (second_order) triples[chain_.previous[a] * L() * L() + code] += mass;
        else if (t == 1) triples[L() * L() * L() + code] += mass;
        else triples_into(t - 1, a, code, chain_.values[p] * ahead[b], triples);
      }
  }

  // A first-order chain: the states before `a`, which is at token t.
  void triples_into(std::size_t t, std::size_t a, std::size_t code, double rest, std::vector<double>& triples) {
    const double enter = emission(t, a) / scale_[t] * rest;
    const auto all = chain_.indices.begin();
    for (std::size_t z = 0; z < S(); ++z) {
      const auto last = all + chain_.indptr[z + 1];
      const auto at = std::lower_bound(all + chain_.indptr[z], last, static_cast<std::int32_t>(a));
      if (at == last || *at != static_cast<std::int32_t>(a)) continue;
      triples[chain_.label[z] * L() * L() + code] += alpha(t - 1)[z] * chain_.values[at - all] * enter;
    }
  }

  const StateChain& chain_;
  std::span<const double> scores_;
  std::size_t n_ = 0;
  double last_ = 0.0;
  std::vector<double> emission_, alpha_, beta_, ahead_, scale_;
};

// Adds the marginals of the tokens [begin, end) to the features of their attributes.
void add_attributes(const LabelledSequences& data, const ChainFeatureLists& features, const Marginals& marginals,
                    std::size_t begin, std::size_t end, std::span<double> node, std::span<double> pair) {
  const std::size_t L = features.n_labels;
  for (std::size_t t = begin; t < end; ++t)
    for (std::int64_t p = data.indptr[t]; p < data.indptr[t + 1]; ++p) {
      const std::int32_t a = data.attributes[p];
      const double value = data.values.empty() ? 1.0 : data.values[p];
      for (std::int64_t f = features.node_ptr[a]; f < features.node_ptr[a + 1]; ++f)
        node[f] += value * marginals.node[(t - begin) * L + features.node_label[f]];
      for (std::int64_t f = features.pair_ptr[a]; f < features.pair_ptr[a + 1]; ++f)
        pair[f] += value * marginals.pair[(t - begin) * L * L + features.pair_code[f]];
    }
}

// Sequences of a chunk: enough tokens to share the work, few enough that their marginals stay small.
std::vector<std::size_t> cut_sequences(std::span<const std::int64_t> sequence_ptr) {
  constexpr std::int64_t kTokens = 512;
  std::vector<std::size_t> cuts{0};
  for (std::size_t i = 0; i + 1 < sequence_ptr.size(); ++i)
    if (sequence_ptr[i + 1] - sequence_ptr[cuts.back()] >= kTokens) cuts.push_back(i + 1);
  if (cuts.back() != sequence_ptr.size() - 1) cuts.push_back(sequence_ptr.size() - 1);
  return cuts;
}

}  // namespace

void posterior_counts(ThreadPool& pool, const StateChain& chain, const LabelledSequences& data,
                      std::span<const double> scores, const ChainFeatureLists& features, std::span<double> out) {
  const std::size_t L = chain.n_labels;
  chain.check();
  check_features(data, features);
  require(features.n_labels == L, "posteriors: the HMM and the features have different numbers of labels");
  const auto n_tokens = static_cast<std::size_t>(data.sequence_ptr.back());
  require(scores.size() / L == n_tokens && scores.size() % L == 0, "posteriors: scores need one row per token");
  const std::size_t n_node = features.node_label.size(), n_pair = features.pair_code.size();
  const std::size_t n_transition = features.transition_code.size(), n_trigram = features.trigram_code.size();
  require(out.size() == n_node + n_pair + n_transition + n_trigram, "posteriors: one result per feature is needed");
  std::fill(out.begin(), out.end(), 0.0);
  const auto transition_out = out.subspan(n_node + n_pair, n_transition);
  const auto trigram_out = out.subspan(n_node + n_pair + n_transition);

  // Marginals of a few chunks at a time, on all threads; then added up in order, whatever the number of threads.
  constexpr std::size_t kTogether = 16;
  const auto cuts = cut_sequences(data.sequence_ptr);
  std::vector<Marginals> marginals(kTogether);
  for (std::size_t first = 0; first + 1 < cuts.size(); first += kTogether) {
    const std::size_t n = std::min(kTogether, cuts.size() - 1 - first);
    pool.run(n, [&](std::size_t c) {
      const std::size_t begin = data.sequence_ptr[cuts[first + c]], end = data.sequence_ptr[cuts[first + c + 1]];
      Marginals& m = marginals[c];
      m.node.assign((end - begin) * L, 0.0);
      m.pair.assign(n_pair ? (end - begin) * L * L : 0, 0.0);
      m.pairs.assign(L * L, 0.0);
      m.triples.assign(n_trigram ? (L + 1) * L * L : 0, 0.0);
      Recursion recursion(chain, scores);
      for (std::size_t i = cuts[first + c]; i < cuts[first + c + 1]; ++i)
        recursion.run(i, data.sequence_ptr[i], data.sequence_ptr[i + 1], data.sequence_ptr[i] - begin, m);
    });
    for (std::size_t c = 0; c < n; ++c) {
      add_attributes(data, features, marginals[c], data.sequence_ptr[cuts[first + c]],
                     data.sequence_ptr[cuts[first + c + 1]], out.first(n_node), out.subspan(n_node, n_pair));
      const Marginals& m = marginals[c];
      for (std::size_t f = 0; f < n_transition; ++f) transition_out[f] += m.pairs[features.transition_code[f]];
      for (std::size_t f = 0; f < n_trigram; ++f) trigram_out[f] += m.triples[features.trigram_code[f]];
    }
  }
}

}  // namespace loglinear::hmm
