// Normalised unigrams and the parameters exp(value * theta) of all entries, as numbers or as duals.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "composite/dual.hh"
#include "composite/problem.hh"
#include "simd/loops.hh"

namespace loglinear::composite {

inline constexpr double kExtreme = 300.0;     // largest sum of |theta| whose exponentials and products are used
inline constexpr double kCancelled = 1e-4;    // of the sum of absolute terms: below, a history is summed over all words
inline constexpr std::size_t kChunks = 8;     // of work with sums of its own: the same bits on any number of threads

template <class Num>
struct Unigrams {
  std::vector<Num> p;  // [n_words]
  double log_z = 0.0;

  Unigrams(std::span<const double> w, std::span<const double> v, std::size_t n) : p(n) {
    const auto& loops = simd::loops();
    std::vector<double> q(n);
    log_z = loops.logsumexp(w.data(), n);
    for (std::size_t i = 0; i < n; ++i) q[i] = w[i] - log_z;
    loops.exp(q.data(), q.data(), n);
    const double mean = v.empty() ? 0.0 : loops.dot(q.data(), v.data(), n);
    for (std::size_t i = 0; i < n; ++i) set_exp(p[i], q[i], v.empty() ? 0.0 : v[i] - mean);
  }
};

// out[e - begin] = exp(value theta) of the entries [begin, end) of a source.
template <class Num>
void parameters(const Source& s, std::span<const double> w, std::span<const double> v, std::size_t begin,
                std::size_t end, Num* out, std::vector<double>& scratch) {
  const std::size_t n = end - begin;
  const double* theta = w.data() + s.offset + begin;
  if constexpr (std::is_same_v<Num, double>) {
    if (s.entry_value.empty()) return simd::loops().exp(theta, out, n);
  }
  scratch.resize(n);
  if (s.entry_value.empty()) {
    simd::loops().exp(theta, scratch.data(), n);
  } else {
    for (std::size_t i = 0; i < n; ++i) scratch[i] = s.entry_value[begin + i] * theta[i];
    simd::loops().exp(scratch.data(), scratch.data(), n);
  }
  for (std::size_t i = 0; i < n; ++i)
    set_exp(out[i], scratch[i], v.empty() ? 0.0 : s.value(begin + i) * v[s.offset + begin + i]);
}

}  // namespace loglinear::composite
