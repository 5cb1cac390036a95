#include "cache/loglinear.hh"

#include <algorithm>
#include <array>
#include <cmath>

#include "simd/loops.hh"
#include "util/errors.hh"

namespace loglinear::cache {
namespace {

constexpr std::size_t kChunk = 1024;  // events of one memory
constexpr std::size_t kTasks = 16;    // gradients that are summed one by one and then together
constexpr double kLeast = 1e-30;      // of a probability: single precision has no smaller one

}  // namespace

LoglinearCache::LoglinearCache(ThreadPool& pool, Shape shape, std::size_t n_words,
                               std::span<const std::uint32_t> words, std::span<const std::int64_t> document_start)
    : shape_(std::move(shape)), n_words_(n_words), words_(words), document_start_(document_start) {
  if (shape_.window < 1 || shape_.order < 1 || shape_.order > 3 || shape_.half_lives.empty())
    throw InvalidInput("cache: the window must be 1 or more and the order 1, 2 or 3");
  for (const double h : shape_.half_lives)
    if (!(h > 0.0)) throw InvalidInput("cache: half-lives must be positive");
  if (!(shape_.ngram_half_life > 0.0) || !(shape_.ratio > 0.0)) throw InvalidInput("cache: half-lives and the ratio must be positive");
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t w) { return w >= n_words; }))
    throw InvalidInput("cache: a word is not of the vocabulary");
  if (document_start.size() < 2 || document_start.front() != 0 ||
      document_start.back() != static_cast<std::int64_t>(words.size()) ||
      !std::is_sorted(document_start.begin(), document_start.end()))
    throw InvalidInput("cache: the starts of documents do not cut the text");
  std::vector<std::size_t> held(words.size());
  each_chunk(pool, 0, words.size(), [&](Memory& memory, std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t, memory.advance()) held[t] = memory.held().size();
  });
  pair_start_.push_back(0);
  for (const std::size_t n : held) pair_start_.push_back(pair_start_.back() + n);
}

// Chunks begin at multiples of kChunk, wherever the range begins.
template <class Use>
void LoglinearCache::each_chunk(ThreadPool& pool, std::size_t begin, std::size_t end, Use use) const {
  if (begin == end) return;
  const std::size_t first = begin / kChunk, last = (end - 1) / kChunk;
  pool.run(last - first + 1, [&](std::size_t chunk) {
    const std::size_t from = std::max(begin, (first + chunk) * kChunk), to = std::min(end, (first + chunk + 1) * kChunk);
    Memory memory(shape_, n_words_, words_, document_start_);
    memory.begin(from);
    use(memory, from, to);
  });
}

std::size_t LoglinearCache::n_pairs(std::size_t begin, std::size_t end) const {
  if (begin > end || end > n_events()) throw InvalidInput("cache: events outside the text");
  return pair_start_[end] - pair_start_[begin];
}

std::size_t LoglinearCache::check(std::size_t begin, std::span<const Component> components, std::size_t n) const {
  if (begin > n_events() || n > n_events() - begin) throw InvalidInput("cache: events outside the text");
  if (components.empty()) throw InvalidInput("cache: a model to multiply is needed");
  for (const Component& c : components) {
    const std::size_t K = c.words->n_classes();
    if (c.words->n_words() != n_words_ || c.leaf.size() != n || c.class_log_p.size() != (K == 1 ? 0 : n * K))
      throw InvalidInput("cache: a model has other words, or not one context and one distribution per event");
    c.words->check_leaves(c.leaf);
  }
  return begin + n;
}

namespace {

// All models of a mixture before one event.
class Mixture {
 public:
  explicit Mixture(std::span<const Component> components) : components_(components) {
    for (const Component& c : components) loaded_.emplace_back(*c.words);
  }
  void load(std::size_t at) {
    for (std::size_t m = 0; m < loaded_.size(); ++m) {
      const Component& c = components_[m];
      loaded_[m].load(c.leaf[at], c.class_log_p.empty() ? nullptr : c.class_log_p.data() + at * c.words->n_classes());
    }
  }
  void unload() {
    for (auto& one : loaded_) one.unload();
  }
  double probability(std::uint32_t word) const {
    double p = 0.0;
    for (std::size_t m = 0; m < loaded_.size(); ++m) p += components_[m].weight * loaded_[m].probability(word);
    return p;
  }

  void probabilities(std::span<const std::uint32_t> words, std::vector<double>& out) const {
    out.clear();
    for (const std::uint32_t word : words) out.push_back(probability(word));
  }

 private:
  std::span<const Component> components_;
  std::vector<ngram::Within::Loaded> loaded_;
};

}  // namespace

void LoglinearCache::collect(ThreadPool& pool, std::size_t begin, std::span<const Component> components,
                             std::span<float> pairs, std::span<double> log_p) const {
  const std::size_t end = check(begin, components, log_p.size());
  if (pairs.size() != n_pairs(begin, end)) throw InvalidInput("cache: one number per pair of event and word in memory");
  each_chunk(pool, begin, end, [&](Memory& memory, std::size_t from, std::size_t to) {
    Mixture mixture(components);
    for (std::size_t t = from; t < to; ++t, memory.advance()) {
      mixture.load(t - begin);
      float* out = pairs.data() + (pair_start_[t] - pair_start_[begin]);
      for (const std::uint32_t v : memory.held()) *out++ = static_cast<float>(mixture.probability(v));
      log_p[t - begin] = std::log(mixture.probability(words_[t]));
      mixture.unload();
    }
  });
}

// Features of the words in memory: dense ones of unigrams, then those of the words that were used after the same words.
struct Features {
  std::vector<double> dense;                // [2 n half-lives][n]: of sums, then of their shares
  std::vector<Memory::Repeated> repeated;
  std::vector<std::array<double, 4>> more;  // of `repeated`: bigram, trigram, and their shares
};

template <class Real>
void LoglinearCache::boosts(Memory& memory, const Real* p, std::span<const double> lambda, Features& f,
                            std::vector<double>& out) const {
  const std::size_t n = memory.held().size(), H = shape_.half_lives.size(), S = shape_.n_sums(),
                    F = shape_.n_features(), N = shape_.order - 1;
  memory.sums(f.dense);
  f.dense.resize(2 * H * n);
  for (std::size_t j = 0; j < H; ++j) {
    double* const d = f.dense.data() + j * n;
    double* const shares = f.dense.data() + (H + j) * n;
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) total += d[i];
    const double factor = total > 0.0 ? shape_.ratio / total : 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      shares[i] = 1.0 + factor * d[i] / std::max<double>(p[i], kLeast);
      d[i] += 1.0;
    }
  }
  simd::loops().log(f.dense.data(), f.dense.data(), f.dense.size());
  out.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double* const own = lambda.data() + memory.held()[i] * F;
    for (std::size_t j = 0; j < H; ++j) out[i] += own[j] * f.dense[j * n + i] + own[S + j] * f.dense[(H + j) * n + i];
  }
  memory.repeated(f.repeated);
  f.more.resize(f.repeated.size());
  double totals[2] = {0.0, 0.0};
  for (const auto& one : f.repeated)
    for (std::size_t k = 0; k < N; ++k) totals[k] += one.sum[k];
  for (std::size_t r = 0; r < f.repeated.size(); ++r) {
    const auto& one = f.repeated[r];
    const double* const own = lambda.data() + memory.held()[one.slot] * F;
    f.more[r] = {};
    for (std::size_t k = 0; k < N; ++k) {
      if (one.sum[k] <= 0.0) continue;
      f.more[r][k] = std::log1p(one.sum[k]);
      f.more[r][2 + k] = std::log1p(shape_.ratio * one.sum[k] / totals[k] / std::max<double>(p[one.slot], kLeast));
      out[one.slot] += own[H + k] * f.more[r][k] + own[S + H + k] * f.more[r][2 + k];
    }
  }
}

// Calls use(event, memory, P of the words held, features, boosts, out) for all events with a memory; the sums of what it
// returns and of what it adds to its `out` do not depend on the number of threads.
template <class Use>
double LoglinearCache::sum_events(ThreadPool& pool, std::span<const float> pairs, std::span<const double> lambda,
                                  std::span<double> out, Use use) const {
  const std::size_t J = shape_.n_features();
  if (pairs.size() != n_pairs() || lambda.size() != n_words_ * J || out.size() != lambda.size())
    throw InvalidInput("cache: one number per pair, and one weight per word and feature");
  const std::size_t chunks = chunk_count(n_events(), kChunk), per_task = chunk_count(chunks, kTasks);
  const std::size_t tasks = per_task == 0 ? 0 : chunk_count(chunks, per_task);
  std::vector<std::vector<double>> parts(tasks);
  std::vector<double> values(tasks, 0.0);
  pool.run(tasks, [&](std::size_t task) {
    std::vector<double>& own = parts[task];
    own.assign(lambda.size(), 0.0);
    Features features;
    std::vector<double> boost;
    Memory memory(shape_, n_words_, words_, document_start_);
    for (std::size_t chunk = task * per_task; chunk < std::min((task + 1) * per_task, chunks); ++chunk) {
      const Range r = chunk_range(n_events(), kChunk, chunk);
      memory.begin(r.begin);
      for (std::size_t t = r.begin; t < r.end; ++t, memory.advance()) {
        if (memory.held().empty()) continue;
        const float* const p = pairs.data() + pair_start_[t];
        boosts(memory, p, lambda, features, boost);
        values[task] += use(t, memory, p, features, boost, own);
      }
    }
  });
  std::fill(out.begin(), out.end(), 0.0);
  double value = 0.0;
  for (std::size_t task = 0; task < tasks; ++task) {
    value += values[task];
    for (std::size_t k = 0; k < out.size(); ++k) out[k] += parts[task][k];
  }
  return value;
}

double LoglinearCache::value_and_gradient(ThreadPool& pool, std::span<const float> pairs,
                                          std::span<const double> lambda, std::span<double> gradient) const {
  return sum_events(pool, pairs, lambda, gradient, [&](std::size_t t, const Memory& memory, const float* p,
                                                       const Features& f, const std::vector<double>& boost,
                                                       std::vector<double>& own) {
    const std::size_t n = boost.size();
    thread_local std::vector<double> raised;
    raised.resize(n);
    simd::loops().exp(boost.data(), raised.data(), n);
    double z = 1.0;
    for (std::size_t i = 0; i < n; ++i) z += p[i] * (raised[i] - 1.0);
    double value = std::log(z);
    for (std::size_t i = 0; i < n; ++i) raised[i] *= p[i] / z;  // the probability of each word held
    if (memory.holds(words_[t])) {
      const std::size_t slot = memory.slot(words_[t]);
      value -= boost[slot];
      raised[slot] -= 1.0;
    }
    add_features(memory, f, raised.data(), [](double x) { return x; }, own);
    return value;
  });
}

void LoglinearCache::curvature(ThreadPool& pool, std::span<const float> pairs, std::span<double> out) const {
  const std::vector<double> none(out.size(), 0.0);
  sum_events(pool, pairs, none, out, [&](std::size_t, const Memory& memory, const float* p, const Features& f,
                                         const std::vector<double>&, std::vector<double>& own) {
    add_features(memory, f, p, [](double x) { return x * x; }, own);
    return 0.0;
  });
}

// Adds weight[i] * of(feature) of the words in memory to the sums of the words, out [n_words][n_features].
template <class Real, class Of>
void LoglinearCache::add_features(const Memory& memory, const Features& f, const Real* weight, Of of,
                                  std::vector<double>& out) const {
  const std::size_t J = shape_.n_features(), H = shape_.half_lives.size(), S = shape_.n_sums();
  const auto held = memory.held();
  const std::size_t n = held.size();
  for (std::size_t i = 0; i < n; ++i) {
    double* const to = out.data() + held[i] * J;
    for (std::size_t j = 0; j < H; ++j) {
      to[j] += weight[i] * of(f.dense[j * n + i]);
      to[S + j] += weight[i] * of(f.dense[(H + j) * n + i]);
    }
  }
  for (std::size_t r = 0; r < f.repeated.size(); ++r) {
    const std::size_t slot = f.repeated[r].slot;
    double* const to = out.data() + held[slot] * J;
    for (std::size_t k = 0; k + 1 < shape_.order; ++k) {
      to[H + k] += weight[slot] * of(f.more[r][k]);
      to[S + H + k] += weight[slot] * of(f.more[r][2 + k]);
    }
  }
}

void LoglinearCache::score(ThreadPool& pool, std::size_t begin, std::span<const Component> components,
                           std::span<const double> lambda, std::span<double> out) const {
  const std::size_t end = check(begin, components, out.size());
  if (lambda.size() != n_words_ * shape_.n_features()) throw InvalidInput("cache: one weight per word and feature");
  each_chunk(pool, begin, end, [&](Memory& memory, std::size_t from, std::size_t to) {
    Mixture mixture(components);
    Features features;
    std::vector<double> boost, p;
    for (std::size_t t = from; t < to; ++t, memory.advance()) {
      mixture.load(t - begin);
      mixture.probabilities(memory.held(), p);
      boosts(memory, p.data(), lambda, features, boost);
      double z = 1.0;
      for (std::size_t i = 0; i < p.size(); ++i) z += p[i] * std::expm1(boost[i]);
      const std::uint32_t word = words_[t];
      const double s = memory.holds(word) ? boost[memory.slot(word)] : 0.0;
      out[t - begin] = std::log(mixture.probability(word)) + s - std::log(z);
      mixture.unload();
    }
  });
}

void LoglinearCache::distribution(std::size_t event, std::span<const Component> components,
                                  std::span<const double> lambda, std::span<double> out) const {
  check(event, components, 1);
  if (lambda.size() != n_words_ * shape_.n_features() || out.size() != n_words_)
    throw InvalidInput("cache: one weight per word and feature, one number per word");
  Memory memory(shape_, n_words_, words_, document_start_);
  memory.begin(event);
  Mixture mixture(components);
  Features features;
  std::vector<double> boost, held;
  mixture.load(0);
  for (std::uint32_t v = 0; v < n_words_; ++v) out[v] = mixture.probability(v);
  mixture.probabilities(memory.held(), held);
  boosts(memory, held.data(), lambda, features, boost);
  double z = 1.0;
  for (std::size_t i = 0; i < boost.size(); ++i) z += out[memory.held()[i]] * std::expm1(boost[i]);
  for (std::size_t i = 0; i < boost.size(); ++i) out[memory.held()[i]] *= std::exp(boost[i]);
  for (double& p : out) p /= z;
}

void LoglinearCache::linear(ThreadPool& pool, std::span<double> out) const {
  if (out.size() != n_events()) throw InvalidInput("cache: one number per event");
  each_chunk(pool, 0, n_events(), [&](Memory& memory, std::size_t from, std::size_t to) {
    std::vector<double> sums;
    for (std::size_t t = from; t < to; ++t, memory.advance()) {
      memory.sums(sums);
      double total = 0.0;
      for (std::size_t i = 0; i < memory.held().size(); ++i) total += sums[i];
      out[t] = total <= 0.0 ? -1.0 : memory.holds(words_[t]) ? sums[memory.slot(words_[t])] / total : 0.0;
    }
  });
}

void LoglinearCache::uses(std::size_t event, std::span<double> out) const {
  if (event >= n_events() || out.size() != n_words_) throw InvalidInput("cache: one number per word before an event");
  Memory memory(shape_, n_words_, words_, document_start_);
  memory.begin(event);
  std::vector<double> sums;
  memory.sums(sums);
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t i = 0; i < memory.held().size(); ++i) out[memory.held()[i]] = sums[i];
}

void LoglinearCache::features(std::size_t event, std::uint32_t word, std::span<const Component> components,
                              std::span<double> out) const {
  check(event, components, 1);
  if (word >= n_words_ || out.size() != shape_.n_features()) throw InvalidInput("cache: one number per feature");
  Memory memory(shape_, n_words_, words_, document_start_);
  memory.begin(event);
  std::fill(out.begin(), out.end(), 0.0);
  if (!memory.holds(word)) return;
  Mixture mixture(components);
  mixture.load(0);
  Features found;
  std::vector<double> p, boost;
  mixture.probabilities(memory.held(), p);
  const std::vector<double> none(n_words_ * shape_.n_features(), 0.0);
  boosts(memory, p.data(), none, found, boost);
  const std::size_t slot = memory.slot(word), H = shape_.half_lives.size(), S = shape_.n_sums();
  for (std::size_t j = 0; j < H; ++j)
    out[j] = found.dense[j * p.size() + slot], out[S + j] = found.dense[(H + j) * p.size() + slot];
  for (std::size_t r = 0; r < found.repeated.size(); ++r)
    if (found.repeated[r].slot == slot)
      for (std::size_t k = 0; k + 1 < shape_.order; ++k)
        out[H + k] = found.more[r][k], out[S + H + k] = found.more[r][2 + k];
}

}  // namespace loglinear::cache
