// The Markov chain over the hidden states of an HMM, as sparse rows.
//
//   enter[s] = p(first state is s)      T[s][s'] = p(next is s' | s)      leave[s] = p(the sequence ends | s)
//
// A state of a first-order HMM is a label. A state of a second-order one is a pair (previous label y', label y), with
// y' = n_labels at the start of a sequence: the second-order HMM over labels is first-order over pairs. States that no
// sequence passes through are left out by whoever makes the arrays, so the chain may be much smaller than L (L + 1).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::hmm {

struct StateChain {
  std::size_t n_labels = 0;
  std::span<const std::int32_t> label;     // [S], the label whose emissions a state has
  std::span<const std::int32_t> previous;  // [S], y' of a second-order chain; empty for a first-order one
  std::span<const std::int64_t> indptr;    // [S + 1]
  std::span<const std::int32_t> indices;   // [n_transitions], ascending within a row
  std::span<const double> values;          // [n_transitions]
  std::span<const double> enter, leave;    // [S]

  std::size_t n_states() const { return label.size(); }

  // Everything the kernels rely on; InvalidInput names what is wrong.
  void check() const {
    const std::size_t S = n_states();
    require(n_labels > 0 && n_labels < (std::size_t{1} << 15),
                  "state chain: between 1 and 32767 labels are needed");
    require(previous.empty() || previous.size() == S, "state chain: previous and label differ in length");
    require(enter.size() == S && leave.size() == S, "state chain: enter and leave need one entry per state");
    require(indptr.size() == S + 1 && indptr.front() == 0 && indices.size() == values.size() &&
                indptr.back() == static_cast<std::int64_t>(indices.size()),
            "state chain: indptr must have one entry more than there are states, from 0 to the number of transitions");
    for (std::size_t s = 0; s < S; ++s) {
      require(indptr[s + 1] >= indptr[s] && indptr[s + 1] <= indptr.back(), "state chain: indptr decreases");
      require(in(label[s], n_labels), "state chain: a label is out of range");
      require(previous.empty() || in(previous[s], n_labels + 1), "state chain: a previous label is out of range");
      require(probability(enter[s]) && probability(leave[s]), "state chain: not a probability");
    }
    for (std::size_t s = 0; s < S; ++s)
      for (std::int64_t p = indptr[s]; p < indptr[s + 1]; ++p) {
        require(in(indices[p], S), "state chain: a transition leads to a state that is not there");
        require(p == indptr[s] || indices[p - 1] < indices[p],
                      "state chain: the transitions of a state must ascend");
        require(probability(values[p]), "state chain: not a probability");
      }
  }

  // out = v T, the mass one step later.
  void step_forward(std::span<const double> v, std::span<double> out) const {
    for (double& x : out) x = 0.0;
    for (std::size_t s = 0; s < n_states(); ++s) {
      if (v[s] == 0.0) continue;
      for (std::int64_t p = indptr[s]; p < indptr[s + 1]; ++p) out[indices[p]] += v[s] * values[p];
    }
  }

  // out = T v, the value one step earlier.
  void step_backward(std::span<const double> v, std::span<double> out) const {
    for (std::size_t s = 0; s < n_states(); ++s) {
      double sum = 0.0;
      for (std::int64_t p = indptr[s]; p < indptr[s + 1]; ++p) sum += values[p] * v[indices[p]];
      out[s] = sum;
    }
  }

 private:
  static bool in(std::int32_t x, std::size_t n) { return x >= 0 && static_cast<std::size_t>(x) < n; }
  static bool probability(double x) { return x >= 0.0 && x <= 1.0 + 1e-9; }  // false for NaN
};

}  // namespace loglinear::hmm
