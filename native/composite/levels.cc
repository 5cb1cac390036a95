#include "composite/levels.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "composite/unigrams.hh"
#include "util/errors.hh"

namespace loglinear::composite {

namespace {

// Renumbers id[x] by (id[x], context of the pattern), in that order.
void refine(const Problem& problem, const Pattern& pattern, std::vector<std::uint32_t>& id) {
  const Source& s = problem.sources[pattern.source];
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys(id.size());
  for (std::uint32_t x = 0; x < id.size(); ++x) {
    const std::uint64_t c = s.ancestor(problem.leaf[pattern.source][x], pattern.depth);
    keys[x] = {static_cast<std::uint64_t>(id[x]) << 32 | c, x};
  }
  std::sort(keys.begin(), keys.end());
  std::uint32_t number = 0;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    number += k > 0 && keys[k].first != keys[k - 1].first;
    id[keys[k].second] = number;
  }
}

}  // namespace

Levels::Levels(ThreadPool&, const Problem& problem, std::vector<std::vector<Pattern>> levels) : problem_(problem) {
  std::vector<std::vector<int>> seen(problem.sources.size());
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i].assign(problem.sources[i].depth() + 1, 0);
  for (auto& patterns : levels) {
    for (const Pattern& p : patterns)
      if (p.source >= seen.size() || p.depth == 0 || p.depth >= seen[p.source].size() || seen[p.source][p.depth]++)
        throw InvalidInput("a level has a pattern that the sources lack, or that another level has");
    levels_.push_back({std::move(patterns), {}, {}});
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (std::size_t d = 1; d < seen[i].size(); ++d)
      if (!seen[i][d]) throw InvalidInput("a pattern is in no level");
  const std::size_t n = problem.n_histories();
  if (levels_.empty() || n == 0) throw InvalidInput("levels need patterns and histories");

  std::vector<std::uint32_t> id(n, 0);
  std::vector<std::vector<std::uint32_t>> ids;  // [level][history]
  for (const Level& level : levels_) {
    for (const Pattern& p : level.patterns) refine(problem, p, id);
    ids.push_back(id);
  }
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  const auto& last = ids.back();
  std::sort(order_.begin(), order_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return last[a] != last[b] ? last[a] < last[b] : a < b; });
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::uint32_t x = order_[k];
      if (k > 0 && ids[l][x] == ids[l][order_[k - 1]]) continue;
      level.example.push_back(x);
      level.child.push_back(l + 1 < levels_.size() ? ids[l + 1][x] : k);
    }
    level.child.push_back(l + 1 < levels_.size() ? ids[l + 1][order_[n - 1]] + 1 : static_cast<std::uint32_t>(n));
  }
  // Chunks of about equal numbers of histories.
  const Level& top = levels_[0];
  std::vector<std::uint32_t> below(top.child);  // first history of each node
  for (std::size_t l = 1; l < levels_.size(); ++l)
    for (std::uint32_t& k : below) k = levels_[l].child[k];
  chunks_.push_back(0);
  for (std::uint32_t k = 0; k < top.example.size(); ++k)
    if (below[k + 1] >= chunks_.size() * n / kChunks && k + 1 > chunks_.back()) chunks_.push_back(k + 1);
  if (chunks_.back() != top.example.size()) chunks_.push_back(static_cast<std::uint32_t>(top.example.size()));
}

std::vector<std::uint64_t> Levels::nodes() const {
  std::vector<std::uint64_t> out;
  for (const Level& level : levels_) out.push_back(level.example.size());
  return out;
}

std::size_t Levels::bytes() const {
  std::size_t total = 4 * order_.size() + 8 * kChunks * problem_.n_weights();
  for (const Level& level : levels_) total += 4 * (level.example.size() + level.child.size());
  return total;
}

// What one chunk of nodes does and adds up: a walk in depth, with the words of the current node of each level.
template <class Num>
class Walk {
 public:
  Walk(const Levels& tree, std::span<const double> w, std::span<const double> v, const Unigrams<Num>& unigrams,
       const std::vector<std::vector<Num>>& alpha, std::span<double> log_z)
      : expected(w.size()), tree_(tree), problem_(tree.problem_), w_(w), v_(v), p_(unigrams.p), log_z0_(unigrams.log_z),
        alpha_(alpha), log_z_(log_z), state_(tree.levels_.size()) {
    for (State& s : state_) {
      s.f.resize(problem_.n_words);
      s.up.resize(problem_.n_words);
      s.stamp.assign(problem_.n_words, 0);
    }
  }

  std::vector<Num> expected;     // [n_weights]; of unigrams: without A(root) p(w)
  std::vector<double> directly;  // [n_weights] expectations of the histories that were summed over all words
  Num a_root = 0.0;
  double loss = 0.0;
  std::uint64_t terms = 0;

  // Returns A of the node.
  Num node(std::size_t l, std::uint32_t number, Num r, double magnitude) {
    const auto& level = tree_.levels_[l];
    State& s = state_[l];
    gather(level, s, level.example[number]);
    for (const std::uint32_t word : s.words) {
      const Num term = (s.f[word] - Num(1.0)) * lower(l, word);
      r += term;
      magnitude += std::abs(value_of(term));
    }
    terms += s.words.size();
    Num a = 0.0;
    for (std::uint32_t k = level.child[number]; k < level.child[number + 1]; ++k)
      a += l + 1 < state_.size() ? node(l + 1, k, r, magnitude) : leaf(tree_.order_[k], r, magnitude);
    if (log_z_.empty()) expectations(level, s, l, level.example[number], a);
    return a;
  }

 private:
  struct State {
    std::vector<Num> f, up;            // [n_words] product of parameters; what deeper levels hand up
    std::vector<std::uint32_t> stamp;  // [n_words] current where f holds
    std::vector<std::uint32_t> words;
    std::uint32_t current = 0;
  };

  void gather(const Levels::Level& level, State& s, std::uint32_t example) {
    ++s.current;
    s.words.clear();
    for (const Pattern& pattern : level.patterns) {
      const Source& source = problem_.sources[pattern.source];
      const std::uint32_t c = source.ancestor(problem_.leaf[pattern.source][example], pattern.depth);
      if (c == 0) continue;
      const Num* alpha = alpha_[pattern.source].data();
      for (std::uint32_t e = source.context_entry[c]; e < source.context_entry[c + 1]; ++e) {
        const std::uint32_t word = source.entry_word[e];
        if (s.stamp[word] == s.current) {
          s.f[word] *= alpha[e];
        } else {
          s.stamp[word] = s.current;
          s.f[word] = alpha[e];
          s.up[word] = 0.0;
          s.words.push_back(word);
        }
      }
    }
  }

  Num lower(std::size_t l, std::uint32_t word) const {
    Num product = p_[word];
    for (std::size_t m = 0; m < l; ++m)
      if (state_[m].stamp[word] == state_[m].current) product *= state_[m].f[word];
    return product;
  }

  Num leaf(std::uint32_t x, const Num& r, double magnitude) {
    const double count = problem_.count[x];
    const bool cancelled = !(value_of(r) > kCancelled * magnitude) || !std::isfinite(magnitude);
    if (!log_z_.empty()) {
      log_z_[x] = cancelled ? direct(x, 0.0) : log_z0_ + std::log(value_of(r));
      return 0.0;
    }
    if (count == 0.0) return 0.0;
    if (cancelled) {
      loss += count * direct(x, count);
      return 0.0;
    }
    loss += count * (log_z0_ + std::log(value_of(r)));
    const Num a = Num(count) / r;
    a_root += a;
    return a;
  }

  double direct(std::uint32_t x, double count) {
    if (directly.empty()) directly.assign(w_.size(), 0.0);
    if (!v_.empty()) return naive_tangent(problem_, w_, v_, x, count, directly, scratch_), 0.0;
    return naive_history(problem_, w_, x, count, directly, scratch_);
  }

  void expectations(const Levels::Level& level, State& s, std::size_t l, std::uint32_t example, const Num& a) {
    for (const Pattern& pattern : level.patterns) {
      const Source& source = problem_.sources[pattern.source];
      const std::uint32_t c = source.ancestor(problem_.leaf[pattern.source][example], pattern.depth);
      if (c == 0) continue;
      for (std::uint32_t e = source.context_entry[c]; e < source.context_entry[c + 1]; ++e) {
        const std::uint32_t word = source.entry_word[e];
        expected[source.offset + e] += Num(source.value(e)) * (a * s.f[word] * lower(l, word) + s.up[word]);
      }
    }
    for (const std::uint32_t word : s.words) {
      const Num up = a * (s.f[word] - Num(1.0)) * lower(l, word) + s.up[word];
      std::size_t m = l;
      while (m > 0 && state_[m - 1].stamp[word] != state_[m - 1].current) --m;
      if (m > 0) state_[m - 1].up[word] += up;
      else expected[word] += up;
    }
  }

  const Levels& tree_;
  const Problem& problem_;
  std::span<const double> w_, v_;
  const std::vector<Num>& p_;
  double log_z0_;
  const std::vector<std::vector<Num>>& alpha_;
  std::span<double> log_z_;
  std::vector<State> state_;
  std::vector<double> scratch_;
};

template <class Num>
double Levels::evaluate(ThreadPool& pool, std::span<const double> w, std::span<const double> v, std::span<double> out,
                        std::span<double> log_z) const {
  const std::size_t V = problem_.n_words;
  const Unigrams<Num> unigrams(w, v, V);
  std::vector<std::vector<Num>> alpha;
  for (const Source& s : problem_.sources) {
    alpha.emplace_back(s.n_entries());
    parallel_for(pool, s.n_entries(), 1 << 14, [&](std::size_t begin, std::size_t end) {
      std::vector<double> scratch;
      parameters(s, w, v, begin, end, alpha.back().data() + begin, scratch);
    });
  }
  std::vector<std::unique_ptr<Walk<Num>>> parts(chunks_.size() - 1);
  pool.run(parts.size(), [&](std::size_t chunk) {
    parts[chunk] = std::make_unique<Walk<Num>>(*this, w, v, unigrams, alpha, log_z);
    for (std::uint32_t k = chunks_[chunk]; k < chunks_[chunk + 1]; ++k) parts[chunk]->node(0, k, Num(1.0), 1.0);
  });
  terms_ = V;
  double value = 0.0;
  Num a = 0.0;
  for (const auto& part : parts) terms_ += part->terms, value += part->loss, a += part->a_root;
  if (!log_z.empty()) return 0.0;
  std::vector<double> scratch(chunk_count(w.size(), kVectorChunk));
  parallel_for(pool, w.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double observed = 0.0;
    for (std::size_t j = begin; j < end; ++j) {
      Num sum = j < V ? a * unigrams.p[j] : Num(0.0);
      for (const auto& part : parts) sum += part->expected[j];
      out[j] = written(sum);
      for (const auto& part : parts)
        if (!part->directly.empty()) out[j] += part->directly[j];
      if constexpr (std::is_same_v<Num, double>) out[j] -= problem_.observed[j];
      observed += problem_.observed[j] * w[j];
    }
    scratch[begin / kVectorChunk] = observed;
  });
  for (const double part : scratch) value -= part;
  return value;
}

double Levels::value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const {
  if (w.size() != problem_.n_weights() || gradient.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  if (!(extent(pool, problem_, w).size <= kExtreme)) {
    std::uint64_t terms;
    return naive(pool, problem_, w, gradient, terms);
  }
  return evaluate<double>(pool, w, {}, gradient, {});
}

void Levels::hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                            std::span<double> out) const {
  if (w.size() != problem_.n_weights() || v.size() != w.size() || out.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  if (!(extent(pool, problem_, w).size <= kExtreme)) return naive_hessian_vector(pool, problem_, w, v, out);
  evaluate<Dual>(pool, w, v, out, {});
}

void Levels::log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  if (w.size() != problem_.n_weights() || out.size() != problem_.n_histories())
    throw InvalidInput("a composite model needs one number per weight and one per history");
  if (!(extent(pool, problem_, w).size <= kExtreme)) return naive_log_z(pool, problem_, w, out);
  evaluate<double>(pool, w, {}, {}, out);
}

}  // namespace loglinear::composite
