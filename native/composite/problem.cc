#include "composite/problem.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "simd/loops.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

[[noreturn]] void refuse(std::size_t source, const char* what) {
  throw InvalidInput("information source " + std::to_string(source + 1) + ": " + what);
}

void check_source(const Source& s, std::size_t i, std::size_t n_words, std::size_t n_weights) {
  const std::size_t n = s.n_contexts();
  if (s.depth_start.size() < 2 || s.depth_start[0] != 0 || s.depth_start[1] != 1 || s.depth_start.back() != n)
    refuse(i, "the numbers of contexts by depth are wrong");
  for (std::size_t d = 0; d + 1 < s.depth_start.size(); ++d)
    if (s.depth_start[d] > s.depth_start[d + 1]) refuse(i, "the numbers of contexts by depth decrease");
  if (s.context_entry.size() != n + 1 || s.context_entry[0] != 0 || s.context_entry[1] != 0 ||
      s.context_entry[n] != s.n_entries())
    refuse(i, "the entries of the contexts are wrong");
  if (s.entry_parent.size() != s.n_entries()) refuse(i, "entries lack parents");
  if (!s.entry_value.empty() && s.entry_value.size() != s.n_entries()) refuse(i, "entries lack values");
  if (s.offset > n_weights || s.n_entries() > n_weights - s.offset) refuse(i, "entries lack weights");
  if (!std::is_sorted(s.context_entry.begin(), s.context_entry.end())) refuse(i, "the entries of the contexts decrease");
  for (std::size_t d = 1; d <= s.depth(); ++d) {
    for (std::uint32_t c = s.depth_start[d]; c < s.depth_start[d + 1]; ++c) {
      const std::uint32_t parent = s.context_parent[c];
      if (parent < s.depth_start[d - 1] || parent >= s.depth_start[d] ||
          (c > s.depth_start[d] && parent < s.context_parent[c - 1]))
        refuse(i, "a context has a wrong parent");
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e) {
        if (s.entry_word[e] >= n_words || (e > s.context_entry[c] && s.entry_word[e] <= s.entry_word[e - 1]))
          refuse(i, "the words of a context are not ascending");
        const std::uint32_t p = s.entry_parent[e];
        const bool right = d == 1 ? p == kNone
                                  : p >= s.context_entry[parent] && p < s.context_entry[parent + 1] &&
                                        s.entry_word[p] == s.entry_word[e];
        if (!right) refuse(i, "an entry has a wrong parent");
      }
    }
  }
}

}  // namespace

void Problem::check() const {
  if (n_words == 0 || n_weights() < n_words) throw InvalidInput("a composite model needs a weight per word");
  if (leaf.size() != sources.size()) throw InvalidInput("a composite model needs one context per source and history");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    check_source(sources[i], i, n_words, n_weights());
    if (leaf[i].size() != n_histories()) refuse(i, "histories lack contexts");
    for (const std::uint32_t c : leaf[i])
      if (c >= sources[i].n_contexts()) refuse(i, "a history has a context that does not exist");
  }
  if (!sources.empty() && sources[0].depth() > 0) {
    std::uint32_t before = 0;
    for (const std::uint32_t c : leaf[0]) {
      const std::uint32_t first = sources[0].ancestor(c, 1);
      if (first < before) throw InvalidInput("histories are not sorted by the contexts of their first source");
      before = first;
    }
  }
}

void history_scores(const Problem& problem, std::span<const double> w, std::size_t history, std::span<double> scores) {
  std::copy_n(w.begin(), problem.n_words, scores.begin());
  for (std::size_t i = 0; i < problem.sources.size(); ++i) {
    const Source& s = problem.sources[i];
    for (std::uint32_t c = problem.leaf[i][history]; c != 0; c = s.context_parent[c])
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        scores[s.entry_word[e]] += s.value(e) * w[s.offset + e];
  }
}

namespace {

// Turns scores into probabilities; returns log Z.
double normalise(std::span<double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0;
  for (double& s : scores) sum += s = std::exp(s - top);
  for (double& s : scores) s /= sum;
  return top + std::log(sum);
}

constexpr std::size_t kNaiveChunks = 8;

}  // namespace

double naive_history(const Problem& problem, std::span<const double> w, std::size_t history, double count,
                     std::span<double> expected, std::vector<double>& scratch) {
  scratch.resize(problem.n_words);
  history_scores(problem, w, history, scratch);
  const double log_z = normalise(scratch);
  for (std::size_t word = 0; word < problem.n_words; ++word) expected[word] += count * scratch[word];
  for (std::size_t i = 0; i < problem.sources.size(); ++i) {
    const Source& s = problem.sources[i];
    for (std::uint32_t c = problem.leaf[i][history]; c != 0; c = s.context_parent[c])
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        expected[s.offset + e] += count * s.value(e) * scratch[s.entry_word[e]];
  }
  return log_z;
}

void naive_tangent(const Problem& problem, std::span<const double> w, std::span<const double> v, std::size_t history,
                   double count, std::span<double> out, std::vector<double>& scratch) {
  const std::size_t V = problem.n_words;
  scratch.resize(2 * V);
  const std::span<double> p(scratch.data(), V), along(scratch.data() + V, V);
  history_scores(problem, w, history, p);
  history_scores(problem, v, history, along);
  normalise(p);
  double mean = 0.0;
  for (std::size_t word = 0; word < V; ++word) mean += p[word] * along[word];
  for (std::size_t word = 0; word < V; ++word) p[word] *= count * (along[word] - mean);  // change of expected tokens
  for (std::size_t word = 0; word < V; ++word) out[word] += p[word];
  for (std::size_t i = 0; i < problem.sources.size(); ++i) {
    const Source& s = problem.sources[i];
    for (std::uint32_t c = problem.leaf[i][history]; c != 0; c = s.context_parent[c])
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        out[s.offset + e] += s.value(e) * p[s.entry_word[e]];
  }
}

void naive_hessian_vector(ThreadPool& pool, const Problem& problem, std::span<const double> w,
                          std::span<const double> v, std::span<double> out) {
  const std::size_t n = problem.n_histories(), size = (n + kNaiveChunks - 1) / kNaiveChunks;
  std::vector<std::vector<double>> parts(n == 0 ? 0 : chunk_count(n, size));
  pool.run(parts.size(), [&](std::size_t chunk) {
    std::vector<double> scratch;
    parts[chunk].assign(w.size(), 0.0);
    const Range r = chunk_range(n, size, chunk);
    for (std::size_t x = r.begin; x < r.end; ++x)
      if (problem.count[x] > 0) naive_tangent(problem, w, v, x, problem.count[x], parts[chunk], scratch);
  });
  std::fill(out.begin(), out.end(), 0.0);
  for (const auto& part : parts)
    for (std::size_t j = 0; j < w.size(); ++j) out[j] += part[j];
}

double naive(ThreadPool& pool, const Problem& problem, std::span<const double> w, std::span<double> gradient,
             std::uint64_t& terms) {
  if (w.size() != problem.n_weights() || gradient.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const std::size_t n = problem.n_histories(), size = (n + kNaiveChunks - 1) / kNaiveChunks;
  terms = static_cast<std::uint64_t>(n) * problem.n_words;
  std::vector<std::vector<double>> expected(n == 0 ? 0 : chunk_count(n, size));
  std::vector<double> loss(expected.size(), 0.0);
  pool.run(expected.size(), [&](std::size_t chunk) {
    std::vector<double> scratch;
    expected[chunk].assign(w.size(), 0.0);
    const Range r = chunk_range(n, size, chunk);
    for (std::size_t x = r.begin; x < r.end; ++x)
      if (problem.count[x] > 0)
        loss[chunk] += problem.count[x] * naive_history(problem, w, x, problem.count[x], expected[chunk], scratch);
  });
  double value = 0.0;
  for (const double part : loss) value += part;
  for (std::size_t j = 0; j < w.size(); ++j) {
    value -= problem.observed[j] * w[j];
    gradient[j] = -problem.observed[j];
    for (const auto& part : expected) gradient[j] += part[j];
  }
  return value;
}

void naive_log_z(ThreadPool& pool, const Problem& problem, std::span<const double> w, std::span<double> log_z) {
  parallel_for(pool, problem.n_histories(), 64, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch(problem.n_words);
    for (std::size_t x = begin; x < end; ++x) {
      history_scores(problem, w, x, scratch);
      log_z[x] = normalise(scratch);
    }
  });
}

Extent extent(ThreadPool& pool, const Problem& problem, std::span<const double> w) {
  Extent out{0.0, false};
  for (const Source& s : problem.sources)
    for (std::size_t d = 1; d <= s.depth(); ++d) {
      const std::size_t first = s.context_entry[s.depth_start[d]], n = s.context_entry[s.depth_start[d + 1]] - first;
      std::vector<double> most(chunk_count(n, kVectorChunk), 0.0);
      std::vector<std::uint64_t> signs(most.size(), 0);
      parallel_for(pool, n, kVectorChunk, [&](std::size_t begin, std::size_t end) {
        std::vector<double> scores;
        const double* x = w.data() + s.offset + first + begin;
        if (!s.entry_value.empty()) {
          for (std::size_t j = begin; j < end; ++j) scores.push_back(s.entry_value[first + j] * x[j - begin]);
          x = scores.data();
        }
        std::uint64_t bits = 0;
        for (std::size_t j = 0; j < end - begin; ++j) bits |= std::bit_cast<std::uint64_t>(x[j]);
        most[begin / kVectorChunk] = simd::loops().max_abs(x, end - begin);
        signs[begin / kVectorChunk] = bits;
      });
      double largest = 0.0;
      for (std::size_t k = 0; k < most.size(); ++k) {
        if (!(most[k] <= largest)) largest = most[k];
        out.is_signed |= signs[k] >> 63 != 0;
      }
      out.size += largest;
    }
  return out;
}

}  // namespace loglinear::composite
