#include "composite/clusters.hh"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "composite/sweep.hh"
#include "composite/unigrams.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

// p(w) D of all entries of a source that is not swept.
template <class Num>
std::vector<Num> weighted(const Source& s, const std::vector<Num>& d, const std::vector<Num>& p) {
  std::vector<Num> out(d.size());
  for (std::size_t e = 0; e < d.size(); ++e) out[e] = p[s.entry_word[e]] * d[e];
  return out;
}

template <class Num>
Others<Num> before(ThreadPool& pool, const Problem& problem, std::span<const Column> free, std::span<const double> w,
                   std::span<const double> v, const Unigrams<Num>& unigrams, std::vector<std::vector<Num>>& pd) {
  Others<Num> out;
  const std::size_t M = problem.sources.size();
  out.s.resize(M), out.d.resize(M), out.u.resize(M), pd.resize(M), out.free.resize(free.size());
  out.u_size.resize(M), out.free_size.resize(free.size());
  if (M > 1) pool.run(M - 1, [&](std::size_t task) {
    const std::size_t i = task + 1;
    const Source& s = problem.sources[i];
    std::vector<double> scratch;
    out.s[i].resize(s.n_entries()), out.d[i].resize(s.n_entries()), out.u[i].assign(s.n_contexts(), 0.0);
    out.u_size[i].assign(s.n_contexts(), 0.0);
    parameters(s, w, v, 0, s.n_entries(), out.s[i].data(), scratch);
    for (std::size_t e = 0; e < s.n_entries(); ++e) {  // parents come first
      const Num parent = s.entry_parent[e] == kNone ? Num(1.0) : out.s[i][s.entry_parent[e]];
      out.s[i][e] *= parent;
      out.d[i][e] = out.s[i][e] - parent;
    }
    pd[i] = weighted(s, out.d[i], unigrams.p);
    for (std::uint32_t c = 1; c < s.n_contexts(); ++c) {
      Num sum = out.u[i][s.context_parent[c]];
      double size = out.u_size[i][s.context_parent[c]];
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        sum += pd[i][e], size += std::abs(value_of(pd[i][e]));
      out.u[i][c] = sum, out.u_size[i][c] = size;
    }
  });
  pool.run(free.size(), [&](std::size_t k) {
    auto& u = out.free[k];
    auto& size = out.free_size[k];
    u.resize(free[k].n_nodes()), size.assign(free[k].n_nodes(), 0.0);
    for (std::size_t n = 0; n < free[k].n_nodes(); ++n) {
      u[n] = sum_terms(free[k], n, pd[free[k].sources[0]].data(), out, true, size[n]);
      const std::uint32_t parent = free[k].parent[n];
      if (parent != kNone) u[n] += u[parent], size[n] += size[parent];
    }
  });
  return out;
}

}  // namespace

Clusters::Clusters(ThreadPool& pool, const Problem& problem, std::span<const std::uint32_t> apart,
                   std::uint64_t max_bytes, std::size_t unit)
    : problem_(problem), columns_(build_columns(pool, problem, apart, max_bytes)) {
  if (problem.sources.empty() || problem.sources[0].depth() == 0)
    throw InvalidInput("sharing over intersections needs a source with contexts");
  while (n_owned_ < columns_.size() && columns_[n_owned_].sources[0] == 0) ++n_owned_;
  const Source& s = problem.sources[0];
  const std::size_t n = problem.n_histories(), first = s.depth_start[1], last = s.depth_start[2];
  // Entries below each depth-1 context, and the histories that end there.
  std::vector<std::uint64_t> work(last + 1, 0);
  for (std::size_t d = 1; d <= s.depth(); ++d)
    for (std::uint32_t c = s.depth_start[d]; c < s.depth_start[d + 1]; ++c)
      work[s.ancestor(c, 1)] += 1 + s.context_entry[c + 1] - s.context_entry[c];
  std::vector<std::uint32_t> histories(last + 1, 0);
  for (const std::uint32_t c : problem.leaf[0]) ++histories[c == 0 ? 0 : s.ancestor(c, 1)];
  std::vector<std::uint64_t> cost;
  std::uint32_t at = histories[0];
  if (at > 0) units_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first), 0, at}), cost.push_back(at);
  for (std::size_t c = first; c < last;) {
    Unit u{static_cast<std::uint32_t>(c), 0, at, 0};
    std::uint64_t size = 0, total = 0;
    for (; c < last && (size == 0 || size + work[c] <= unit); ++c) size += work[c], at += histories[c], total += histories[c];
    u.end = static_cast<std::uint32_t>(c), u.history = at;
    units_.push_back(u), cost.push_back(size + 4 * total);
  }
  std::uint64_t all = 0, sum = 0;
  for (const std::uint64_t c : cost) all += c;
  chunks_.push_back(0);
  for (std::uint32_t k = 0; k < units_.size(); ++k) {
    sum += cost[k];
    if (sum * kChunks >= all * chunks_.size() && k + 1 > chunks_.back()) chunks_.push_back(k + 1);
  }
  if (chunks_.back() != units_.size()) chunks_.push_back(static_cast<std::uint32_t>(units_.size()));
  if (at != n) throw InvalidInput("histories are not sorted by the contexts of their first source");
}

std::uint64_t Clusters::terms() const {
  std::uint64_t total = problem_.n_words;
  for (const Source& s : problem_.sources) total += s.n_entries();
  for (const Column& c : columns_) total += c.n_terms();
  return total;
}

std::size_t Clusters::bytes() const {
  std::size_t total = sizeof(Unit) * units_.size(), sums = problem_.n_words;
  for (const Column& c : columns_) total += c.bytes();
  for (std::size_t i = 1; i < problem_.sources.size(); ++i)
    sums += problem_.sources[i].n_entries() + problem_.sources[i].n_contexts();
  for (std::size_t k = n_owned_; k < columns_.size(); ++k) sums += columns_[k].n_nodes();
  return total + 8 * (kChunks + 4) * sums;
}

template <class Num>
double Clusters::evaluate(ThreadPool& pool, std::span<const double> w, std::span<const double> v, std::span<double> out,
                          std::span<double> log_z, bool is_signed) const {
  const std::size_t V = problem_.n_words, M = problem_.sources.size(), n_free = columns_.size() - n_owned_;
  const std::span<const Column> free(columns_.data() + n_owned_, n_free);
  const Unigrams<Num> unigrams(w, v, V);
  std::vector<std::vector<Num>> pd;
  Others<Num> others = before(pool, problem_, free, w, v, unigrams, pd);
  std::vector<std::unique_ptr<Sweep<Num>>> parts(chunks_.size() - 1);
  pool.run(parts.size(), [&](std::size_t chunk) {
    parts[chunk] = std::make_unique<Sweep<Num>>(problem_, columns_, n_owned_, w, v, unigrams, others, out, log_z,
                                                  is_signed);
    for (std::uint32_t k = chunks_[chunk]; k < chunks_[chunk + 1]; ++k) parts[chunk]->unit(units_[k]);
  });
  if (!log_z.empty()) return 0.0;

  // A of the others' contexts and nodes, from all chunks, and up their chains.
  const auto add_all = [&](std::vector<Num>& total, auto of) {
    parallel_for(pool, total.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
      for (const auto& part : parts) {
        const std::vector<Num>& own = of(part->part);
        for (std::size_t j = begin; j < end; ++j) total[j] += own[j];
      }
    });
  };
  std::vector<std::vector<Num>> a(M), a_free(n_free);
  for (std::size_t i = 1; i < M; ++i) {
    a[i].assign(problem_.sources[i].n_contexts(), 0.0);
    add_all(a[i], [i](const Part<Num>& part) -> const std::vector<Num>& { return part.a[i]; });
    for (std::size_t c = a[i].size(); c-- > 1;) a[i][problem_.sources[i].context_parent[c]] += a[i][c];
  }
  for (std::size_t k = 0; k < n_free; ++k) {
    a_free[k].assign(free[k].n_nodes(), 0.0);
    add_all(a_free[k], [k](const Part<Num>& part) -> const std::vector<Num>& { return part.free[k]; });
    for (std::size_t n = a_free[k].size(); n-- > 0;)
      if (free[k].parent[n] != kNone) a_free[k][free[k].parent[n]] += a_free[k][n];
  }
  // Derivatives of their terms, a slice of all nodes and contexts to each chunk.
  std::vector<std::vector<std::vector<Num>>> pd_bar(parts.size(), std::vector<std::vector<Num>>(M));
  pool.run(parts.size(), [&](std::size_t chunk) {
    Part<Num>& part = parts[chunk]->part;
    const auto slice = [&](std::size_t n) { return chunk_range(n, (n + parts.size() - 1) / parts.size() + 1, chunk); };
    for (std::size_t k = 0; k < n_free; ++k) {
      const std::size_t i = free[k].sources[0];
      auto& own = pd_bar[chunk][i];
      if (own.empty()) own.assign(problem_.sources[i].n_entries(), 0.0);
      const Range r = slice(free[k].n_nodes());
      for (std::size_t n = r.begin; n < r.end; ++n)
        differentiate(free[k], n, a_free[k][n], pd[i].data(), own.data(), others, part);
    }
    for (std::size_t i = 1; i < M; ++i) {
      const Source& s = problem_.sources[i];
      const auto& own = pd_bar[chunk][i];
      for (std::size_t e = 0; e < own.size(); ++e) {
        part.d[i][e] += unigrams.p[s.entry_word[e]] * own[e];
        part.p[s.entry_word[e]] += others.d[i][e] * own[e];
      }
      const Range r = slice(s.n_contexts());
      for (std::size_t c = r.begin; c < r.end; ++c)
        for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e) {
          part.d[i][e] += unigrams.p[s.entry_word[e]] * a[i][c];
          part.p[s.entry_word[e]] += others.d[i][e] * a[i][c];
        }
    }
  });
  std::vector<Num> p_bar(V, 0.0);
  add_all(p_bar, [](const Part<Num>& part) -> const std::vector<Num>& { return part.p; });
  double value = 0.0;
  Num a_root = 0.0;
  for (const auto& part : parts) value += part->part.loss, a_root += part->part.a_root;
  for (std::size_t word = 0; word < V; ++word) {
    out[word] = written(unigrams.p[word] * (a_root + p_bar[word]));
    if constexpr (std::is_same_v<Num, double>) out[word] -= problem_.observed[word];
  }
  for (std::size_t i = 1; i < M; ++i) {
    const Source& s = problem_.sources[i];
    std::vector<Num> d_bar(s.n_entries(), 0.0), s_bar(s.n_entries(), 0.0), total(s.n_entries(), 0.0);
    add_all(d_bar, [i](const Part<Num>& part) -> const std::vector<Num>& { return part.d[i]; });
    for (std::size_t d = s.depth(); d > 0; --d)
      chain_rule(s, d, s.context_entry[s.depth_start[d]], s.context_entry[s.depth_start[d + 1]], others.s[i].data(),
                 d_bar.data(), s_bar.data(), total.data(), problem_.observed, out);
  }
  for (const auto& part : parts)
    for (std::size_t j = 0; j < part->part.directly.size(); ++j) out[j] += part->part.directly[j];
  return value - parallel_sum(pool, w.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
           return simd::loops().dot(w.data() + begin, problem_.observed.data() + begin, end - begin);
         });
}

double Clusters::value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const {
  if (w.size() != problem_.n_weights() || gradient.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const Extent range = extent(pool, problem_, w);
  if (!(range.size <= kExtreme)) {
    std::uint64_t terms;
    return naive(pool, problem_, w, gradient, terms);
  }
  return evaluate<double>(pool, w, {}, gradient, {}, range.is_signed);
}

void Clusters::hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                              std::span<double> out) const {
  if (w.size() != problem_.n_weights() || v.size() != w.size() || out.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const Extent range = extent(pool, problem_, w);
  if (!(range.size <= kExtreme)) return naive_hessian_vector(pool, problem_, w, v, out);
  evaluate<Dual>(pool, w, v, out, {}, range.is_signed);
}

void Clusters::log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  if (w.size() != problem_.n_weights() || out.size() != problem_.n_histories())
    throw InvalidInput("a composite model needs one number per weight and one per history");
  const Extent range = extent(pool, problem_, w);
  if (!(range.size <= kExtreme)) return naive_log_z(pool, problem_, w, out);
  evaluate<double>(pool, w, {}, {}, out, range.is_signed);
}

}  // namespace loglinear::composite
