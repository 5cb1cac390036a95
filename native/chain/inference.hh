// Inference on the lattice of one sequence: normaliser, marginals, expected transitions, local normalisation.
//
//     forward    alpha_t(y) = psi_t(y) sum_y' alpha_{t-1}(y') exp M(y', y) / c_t        c_t so that alpha_t sums to one
//     backward   beta_t(y) is proportional to  sum_y' exp M(y, y') psi_{t+1}(y') beta_{t+1}(y')
//     marginal   p(y_t = y | x) is proportional to  alpha_t(y) beta_t(y);      log Z = sum_t log c_t;      psi_t = exp N_t
//
// The dense recursions are in simd/chain.inc, the sparse ones and those in logarithms in inference.cc. Forward-backward
// runs on potentials, each token's scaled so that its forward values sum to one (Rabiner 1989, V.A). Dense ones divide
// the next token's instead, and run for several sequences at once.
// A forward value is never smaller than exp(-(range of the token's scores + range of the transition scores)) times the
// largest of its token, so where the sum of both ranges is below 600 no forward value underflows. Sequences with a
// larger sum are computed again in logarithms, which is slower and correct for any scores.
#pragma once
#include <vector>

#include "chain/model.hh"

namespace loglinear::chain {

// No legal path leads through this token, of this sequence of several.
struct NoPath {
  std::size_t token, sequence = 0;
};

inline constexpr double kSafeRange = 600.0;  // of scores in nats: exp(-600) is far above the least double

// Sum of the logarithms of the scales of a sequence, most of which are taken together.
double log_scales(std::span<const double> scales);

struct ChainWorkspace {
  AlignedDoubles N, psi, alpha, scale, beta;
  ChainWorkspace(const ChainModel& model, std::size_t tokens)
      : N(model.stride * tokens), psi(N.size()), alpha(N.size()), scale(tokens), beta(model.stride) {}
  explicit ChainWorkspace(const ChainModel& model) : beta(model.stride) {}
  // Makes room where there is none yet.
  void reserve(const ChainModel& model, std::size_t tokens) {
    if (N.empty()) *this = ChainWorkspace(model, tokens);
  }
};

// N: scores in, marginal probabilities of the states out. Expected transitions are added to the gradient, or taken from
// it where `sign` is -1; it may be null. Returns log Z; throws NoPath.
double forward_backward(const ChainModel& model, std::size_t T, ChainWorkspace& work, double* N,
                        ChainGradient* gradient, int sign = 1);
// The same of several sequences, up to simd::kChainGroup, whose scores stand one after another in work.N; the longest
// comes first. log_z [lengths].
void forward_backward(const ChainModel& model, std::span<const std::size_t> lengths, ChainWorkspace& work,
                      ChainGradient& gradient, double* log_z);
double log_normaliser(const ChainModel& model, std::size_t T, ChainWorkspace& work, const double* N);

// Score of a labelling. `labels` [T].
double path_score(const ChainModel& model, std::size_t T, const double* N, const std::int32_t* labels);

// Turns the scores of a locally normalised model (MEMM) into those of a chain with the same distribution over label
// sequences: the normaliser of a token depends on the state before it alone, and is taken from that state's score.
void normalise_locally(const ChainModel& model, std::size_t T, double* N);

// The lattice in logarithms, any machine; states are numbered without padding (pairs: previous * L + current).
class Lattice {
 public:
  Lattice(const ChainModel& model, std::size_t T, const double* N)
      : model_(model), T_(T), N_(N) {}

  std::size_t length() const { return T_; }
  std::size_t n_states(std::size_t t) const {
    return model_.machine == Machine::pairs && t ? model_.L * model_.L : model_.L;
  }
  std::size_t max_states() const { return model_.machine == Machine::pairs ? model_.L * model_.L : model_.L; }
  std::int32_t label(std::size_t state) const { return static_cast<std::int32_t>(state % model_.L); }
  std::size_t place(std::size_t t, std::size_t s) const {  // of a state in N
    return t * model_.stride + s / model_.L * model_.Lp + s % model_.L;
  }
  double score(std::size_t t, std::size_t s) const { return N_[place(t, s)]; }

  // f(state at t - 1, score of the step to state s at t, place of the step in M or G).
  template <class F>
  void predecessors(std::size_t t, std::size_t s, F f) const {
    const std::size_t L = model_.L, Lp = model_.Lp;
    if (model_.machine != Machine::pairs) {
      for (std::size_t p = 0; p < L; ++p) f(p, model_.M[p * Lp + s], p * Lp + s);
      return;
    }
    const std::size_t b = s / L, c = s % L;
    if (t == 1) {
      const std::size_t at = (L * L + b) * Lp + c;
      f(b, model_.trigrams ? model_.G[at] : 0.0, at);
      return;
    }
    for (std::size_t a = 0; a < L; ++a) {
      const std::size_t at = (a * L + b) * Lp + c;
      f(a * L + b, model_.trigrams ? model_.G[at] : 0.0, at);
    }
  }

  // log of the sum over all paths that end in a state, [T][max_states]; throws NoPath.
  std::vector<double> forward() const;
  std::vector<double> backward() const;
  double total(const std::vector<double>& forward) const;

 private:
  const ChainModel& model_;
  std::size_t T_;
  const double* N_;
};

}  // namespace loglinear::chain
