// This file is long because values, expectations and second derivatives are modes of one sweep.
#include "ngram/hierarchical_normalisation.hh"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "linear/vector.hh"
#include "simd/loops.hh"
#include "util/cancellation.hh"
#include "util/errors.hh"

namespace loglinear::ngram {

using namespace trie;
namespace {

constexpr std::size_t kChunks = 16;             // of the whole trie: enough for as many threads
constexpr std::size_t kWhole = 1 << 16;         // entries below which one chunk is enough
constexpr double kExtreme = 300.0;              // sum of max |theta| on a path above which squares may leave the range

enum class Mode { kGradient, kTangent, kSquares, kProbabilities, kStep };

// What is done with the gradient of the entries [begin, end), g[0] that of the first: a step of training.
using Stepper = std::function<linear::AcceleratedSums(const double* g, std::size_t begin, std::size_t end)>;

// Contexts of one length and their entries, while a unit is being swept. Second quantities: derivatives along v of
// log P, D, log r and B (kTangent), or nothing, the sums of squares D2, nothing and B2 (kSquares). `m` is the part of
// B that entries got one by one, see up().
struct Frame {
  std::uint32_t first_entry = 0, end_entry = 0, first_context = 0, end_context = 0;
  double *p = nullptr, *d = nullptr, *p2 = nullptr, *d2 = nullptr;  // [entries]
  double *r = nullptr, *b = nullptr, *r2 = nullptr, *b2 = nullptr;  // [contexts]
  double *m = nullptr, *m2 = nullptr;                               // [contexts]
};

struct Level {  // a frame's memory, which only grows
  std::vector<double> store;
  Frame frame;
  double extent = 0.0;  // max |theta| of the frame's entries

  void take(std::uint32_t e0, std::uint32_t e1, std::uint32_t c0, std::uint32_t c1, bool second) {
    const std::size_t n = e1 - e0, m = c1 - c0, sets = second ? 4 : 2;
    const std::size_t size = sets * (n + m) + (second ? 2 : 1) * m;
    if (store.size() < size) store.resize(size * 5 / 4);
    double* at = store.data();
    const auto next = [&at](std::size_t length) { return at += length, at - length; };
    frame.first_entry = e0, frame.end_entry = e1, frame.first_context = c0, frame.end_context = c1;
    frame.p = next(n), frame.d = next(n), frame.r = next(m), frame.b = next(m), frame.m = next(m);
    if (second) {
      frame.p2 = next(n), frame.d2 = next(n), frame.r2 = next(m), frame.b2 = next(m), frame.m2 = next(m);
    }
  }
};

// What one chunk of units does and adds up.
template <Mode mode>
class Sweep {
 public:
  struct Arrays {
    std::span<const double> w, v;   // v: the tangent
    std::span<double> out, out_r;   // gradient, H v, diagonal; or log P and log r
    std::uint32_t first = 0;        // entry of the first number of w and out: V where the unigrams live elsewhere
    const Stepper* stepper = nullptr;  // kStep

    const double* weight(std::uint32_t e) const { return w.data() + (e - first); }
    double* result(std::uint32_t e) const { return out.data() + (e - first); }
  };

  static constexpr bool kSecond = mode == Mode::kTangent || mode == Mode::kSquares;
  static constexpr bool kUp = mode != Mode::kProbabilities;

  Sweep(const TrieView& trie, const Arrays& arrays, const Frame& unigrams, double unigram_extent)
      : trie_(trie), a_(arrays), levels_(trie.order) {
    levels_[0].take(0, unigrams.end_entry, 0, 1, kSecond);
    levels_[0].extent = unigram_extent;
    Frame& root = levels_[0].frame;  // its own sums, the shared probabilities
    std::fill_n(root.d, root.end_entry, 0.0);
    root.b[0] = root.m[0] = 0.0;
    root.r[0] = 1.0;
    if constexpr (kSecond) {
      std::fill_n(root.d2, root.end_entry, 0.0);
      root.b2[0] = root.m2[0] = root.r2[0] = 0.0;
    }
    root.p = unigrams.p;
    root.p2 = unigrams.p2;
  }

  const Frame& root() const { return levels_[0].frame; }
  double loss() const { return loss_; }
  const linear::AcceleratedSums& sums() const { return sums_; }
  double extent() const { return extent_; }  // largest sum of max |theta| over the contexts of a path, or more

  // The unit at position i; returns the position after it.
  std::size_t unit(std::span<const NgramMaxent::Unit> units, std::size_t i) {
    const auto& u = units[i];
    std::uint32_t begin = u.begin, end = u.end;
    const std::size_t last = u.leaf ? trie_.order : u.length + 1;
    std::size_t reached = u.length;
    for (std::size_t k = u.length; k < last && begin < end; ++k) {
      down(k, begin, end);
      reached = k + 1;
      begin = trie_.context_child[begin];
      end = trie_.context_child[end];
    }
    note_extent(u.length, reached);
    std::size_t next = i + 1;
    if (!u.leaf)
      while (next < u.next) next = unit(units, next);
    if constexpr (kUp)
      for (std::size_t k = reached; k-- > u.length;) up(k);
    return u.next;
  }

 private:
  // The frames of lengths [first, end) are of one unit, those below of the single contexts above it. The sum of their
  // extents is at least that of any path; only where it is too much are paths looked at one by one.
  void note_extent(std::size_t first, std::size_t end) {
    double above = 0.0, sum = 0.0;
    for (std::size_t k = 1; k < first; ++k) above += levels_[k].extent;
    for (std::size_t k = first; k < end; ++k) sum += levels_[k].extent;
    sum += above;
    if (sum > kExtreme - levels_[0].extent) sum = path_extent(above, first, end);
    if (!(sum <= extent_) && extent_ == extent_) extent_ = sum;  // NaN wins
  }

  double path_extent(double above, std::size_t first, std::size_t end) {
    const auto& loops = simd::loops();
    double most = above;
    upper_.assign(1, above);  // of the parents
    for (std::size_t k = first; k < end; ++k) {
      const Frame& f = levels_[k].frame;
      std::uint32_t p = levels_[k - 1].frame.first_context;
      const std::uint32_t p0 = p;
      lower_.clear();
      for (std::uint32_t c = f.first_context; c < f.end_context; ++c) {
        if (k > first)
          while (trie_.context_child[p + 1] <= c) ++p;
        const std::uint32_t e = trie_.context_entry[c];
        lower_.push_back(upper_[p - p0] + loops.max_abs(a_.weight(e), trie_.context_entry[c + 1] - e));
        most = std::max(most, lower_.back());
      }
      upper_.swap(lower_);
    }
    return most;
  }

  void down(std::size_t k, std::uint32_t c0, std::uint32_t c1) {
    const std::uint32_t e0 = trie_.context_entry[c0], e1 = trie_.context_entry[c1];
    levels_[k].take(e0, e1, c0, c1, kSecond);
    const Frame& f = levels_[k].frame;
    const Frame& g = levels_[k - 1].frame;
    const auto& loops = simd::loops();
    levels_[k].extent = loops.max_abs(a_.weight(e0), e1 - e0);
    loops.exp(a_.weight(e0), f.p, e1 - e0);
    const std::uint32_t g0 = g.first_entry;
    const auto above = [&, parents = trie_.entry_parent.data()](std::uint32_t e) { return parents[e] - g0; };
    double* const x = f.p;
    const double* const q = g.p;
    std::uint32_t e = e0;
    for (std::uint32_t c = c0; c < c1; ++c) {
      const std::uint32_t stop = trie_.context_entry[c + 1], start = e;
      double sum = 0.0, slope = 0.0;
      for (; e < stop; ++e) {
        const double mass = q[above(e)], rise = x[e - e0] - 1.0;
        sum += mass * rise;
        if constexpr (mode == Mode::kTangent) slope += mass * (rise * g.p2[above(e)] + x[e - e0] * a_.v[e]);
      }
      double r = 1.0 + sum;
      if (r < kCancelledRatio) [[unlikely]] {
        const Missing rest = missing(k, c);
        r = rest.mass, slope = rest.slope;
        for (e = start; e < stop; ++e) {
          r += q[above(e)] * x[e - e0];
          if constexpr (mode == Mode::kTangent) slope += q[above(e)] * x[e - e0] * (g.p2[above(e)] + a_.v[e]);
        }
      }
      f.r[c - c0] = r;
      const double inverse = 1.0 / r;
      if constexpr (mode == Mode::kTangent) f.r2[c - c0] = slope * inverse;
      for (e = start; e < stop; ++e) {
        x[e - e0] *= q[above(e)] * inverse;
        if constexpr (mode == Mode::kTangent) f.p2[e - e0] = g.p2[above(e)] + a_.v[e] - slope * inverse;
      }
    }
    if constexpr (mode == Mode::kProbabilities) {
      loops.log(f.p, a_.result(e0), e1 - e0);
      loops.log(f.r, a_.out_r.data() + c0, c1 - c0);
    } else {
      std::fill_n(f.d, e1 - e0, 0.0);
      std::fill_n(f.m, c1 - c0, 0.0);
      loops.log(f.r, f.b, c1 - c0);
      double loss = 0.0, explained = 0.0;
      for (std::uint32_t c = c0; c < c1; ++c) {
        const double count = trie_.context_count[c];
        loss += count * f.b[c - c0];
        f.b[c - c0] = count;
        if constexpr (mode == Mode::kTangent) f.b2[c - c0] = 0.0;
        if constexpr (mode == Mode::kSquares) f.b2[c - c0] = count;
      }
      const double* const theta = a_.weight(e0);
      for (e = e0; e < e1; ++e) explained += trie_.entry_count[e] * theta[e - e0];
      loss_ += loss - explained;
      if constexpr (kSecond) {
        std::fill_n(f.d2, e1 - e0, 0.0);
        std::fill_n(f.m2, c1 - c0, 0.0);
      }
    }
  }

  // Each context hands B / r to its parent, whose entries take it as one sum; an entry that the context has too takes
  // its share back. Where the sum is far more than the tokens it stands for (strongly negative weights), that would
  // cancel: entries then get their shares one by one, and the parent only remembers the sum for its own parent.
  void up(std::size_t k) {
    const Frame& f = levels_[k].frame;
    const Frame& g = levels_[k - 1].frame;
    const std::uint32_t e0 = f.first_entry;
    const bool one_parent = g.end_context - g.first_context == 1;
    std::uint32_t p = g.first_context;
    for (std::uint32_t c = f.first_context; c < f.end_context; ++c) {
      if (!one_parent)
        while (trie_.context_child[p + 1] <= c) ++p;
      const std::size_t at = c - f.first_context, above = p - g.first_context;
      const double count = trie_.context_count[c], b = f.b[at], inverse = 1.0 / f.r[at];
      double scaled = (b + f.m[at]) * inverse, b2 = 0.0, scaled2 = 0.0, count2 = 0.0;
      if constexpr (mode == Mode::kTangent) {
        b2 = f.b2[at];
        scaled2 = (b2 + f.m2[at]) * inverse - scaled * f.r2[at];  // the derivative of scaled
      }
      if constexpr (mode == Mode::kSquares) {
        b2 = f.b2[at];
        scaled2 = (b2 + f.m2[at]) * inverse * inverse;
        count2 = count;
      }
      const bool amplified =
          scaled > kAmplified * count || (mode == Mode::kSquares && scaled2 > kAmplified * count);
      if (!amplified) {
        g.b[above] += scaled - count;
        if constexpr (kSecond) g.b2[above] += scaled2 - count2;
      } else {
        g.b[above] -= count;
        g.m[above] += scaled;
        if constexpr (kSecond) {
          g.b2[above] -= count2;
          g.m2[above] += scaled2;
        }
        share(c, p, g, scaled, scaled2);
        scaled = scaled2 = 0.0;
      }
      for (std::uint32_t e = trie_.context_entry[c]; e < trie_.context_entry[c + 1]; ++e) {
        const double mine = f.p[e - e0];
        const double expected = mine * b + f.d[e - e0];
        const std::uint32_t parent = trie_.entry_parent[e] - g.first_entry;
        const double mass = g.p[parent];
        g.d[parent] += expected - mass * scaled;
        if constexpr (mode == Mode::kGradient) *a_.result(e) = expected - trie_.entry_count[e];
        if constexpr (mode == Mode::kStep) f.p[e - e0] = expected - trie_.entry_count[e];  // the probability is done with
        if constexpr (mode == Mode::kTangent) {
          const double change = mine * (f.p2[e - e0] * b + b2) + f.d2[e - e0];
          g.d2[parent] += change - mass * (g.p2[parent] * scaled + scaled2);
          a_.out[e] = change;
        }
        if constexpr (mode == Mode::kSquares) {
          const double squares = mine * mine * b2 + f.d2[e - e0];
          g.d2[parent] += squares - mass * mass * scaled2;
          *a_.result(e) = std::max(expected - squares, 0.0);
        }
      }
    }
    if constexpr (mode == Mode::kStep) sums_.add((*a_.stepper)(f.p, e0, f.end_entry));
  }

  // What context c hands to its parent p, given to the entries of p that c lacks.
  void share(std::uint32_t c, std::uint32_t p, const Frame& g, double scaled, double scaled2) const {
    std::uint32_t e = trie_.context_entry[c];
    for (std::uint32_t up = trie_.context_entry[p]; up < trie_.context_entry[p + 1]; ++up) {
      if (e < trie_.context_entry[c + 1] && trie_.entry_parent[e] == up) {
        ++e;
        continue;
      }
      const std::size_t at = up - g.first_entry;
      g.d[at] += g.p[at] * scaled;
      if constexpr (mode == Mode::kTangent) g.d2[at] += g.p[at] * (g.p2[at] * scaled + scaled2);
      if constexpr (mode == Mode::kSquares) g.d2[at] += g.p[at] * g.p[at] * scaled2;
    }
  }

  // sum of p(w | parent of c) over the words w without an entry in c, by positive terms alone, and its derivative.
  struct Missing {
    double mass = 0.0, slope = 0.0;
  };
  Missing missing(std::size_t k, std::uint32_t c) const {
    const Frame& g = levels_[k - 1].frame;
    const auto* child = trie_.context_child.data();
    const auto p = static_cast<std::uint32_t>(
        std::upper_bound(child + g.first_context, child + g.end_context, c) - child - 1);
    Missing out;
    if (k > 1) {
      const std::size_t at = p - g.first_context;
      out = missing(k - 1, p);
      if constexpr (mode == Mode::kTangent) out.slope = (out.slope - out.mass * g.r2[at]) / g.r[at];
      out.mass /= g.r[at];
    }
    std::uint32_t e = trie_.context_entry[c];
    for (std::uint32_t up = trie_.context_entry[p]; up < trie_.context_entry[p + 1]; ++up) {
      if (e < trie_.context_entry[c + 1] && trie_.entry_parent[e] == up) ++e;
      else {
        const std::size_t at = up - g.first_entry;
        out.mass += g.p[at];
        if constexpr (mode == Mode::kTangent) out.slope += g.p[at] * g.p2[at];
      }
    }
    return out;
  }

  const TrieView& trie_;
  const Arrays& a_;
  std::vector<Level> levels_;
  std::vector<double> upper_, lower_;  // scratch
  double extent_ = 0.0, loss_ = 0.0;
  linear::AcceleratedSums sums_;
};

void require_sizes(const TrieView& trie, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes)
    if (size != trie.n_entries()) throw InvalidInput("n-gram model: a vector must have one number per n-gram");
}

}  // namespace

NgramMaxent::NgramMaxent(const TrieView& trie, std::size_t unit) : trie_(trie), unit_(std::max<std::size_t>(unit, 1)) {
  trie_.check_closed();
  if (trie_.order > 1) plan(1, trie_.context_child[0], trie_.context_child[1]);
  std::vector<std::uint32_t> tops;
  std::vector<std::size_t> sizes;
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < units_.size(); i = units_[i].next) {
    tops.push_back(i);
    for (std::uint32_t c = units_[i].begin; c < units_[i].end; ++c) total += subtree(1, c);
    sizes.push_back(total);
  }
  const std::size_t n_chunks = std::clamp<std::size_t>(total / kWhole, 1, kChunks);
  chunks_.push_back(0);
  for (std::size_t k = 1, i = 0; k < n_chunks; ++k) {
    while (i < sizes.size() && sizes[i] < total / n_chunks * k) ++i;
    chunks_.push_back(i + 1 < tops.size() ? tops[i + 1] : static_cast<std::uint32_t>(units_.size()));
  }
  chunks_.push_back(static_cast<std::uint32_t>(units_.size()));
}

std::size_t NgramMaxent::subtree(std::size_t length, std::uint32_t context) const {
  std::size_t size = 0;
  std::uint32_t begin = context, end = context + 1;
  for (std::size_t k = length; k < trie_.order && begin < end; ++k) {
    size += trie_.context_entry[end] - trie_.context_entry[begin] + (end - begin);
    begin = trie_.context_child[begin];
    end = trie_.context_child[end];
  }
  return size;
}

void NgramMaxent::plan(std::size_t length, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t c = begin; c < end;) {
    std::uint32_t stop = c;
    for (std::size_t size = 0; stop < end; ++stop) {
      size += subtree(length, stop);
      if (size > unit_) break;
    }
    const std::size_t at = units_.size();
    const bool leaf = stop > c;
    if (!leaf) stop = c + 1;
    units_.push_back({static_cast<std::uint32_t>(length), c, stop, 0, leaf});
    if (!leaf && length + 1 < trie_.order) plan(length + 1, trie_.context_child[c], trie_.context_child[stop]);
    units_[at].next = static_cast<std::uint32_t>(units_.size());
    c = stop;
  }
}

namespace {

template <Mode mode>
struct Task {
  typename Sweep<mode>::Arrays arrays;
  double value = 0.0;
  linear::AcceleratedSums sums;
};

// All chunks; nothing where the weights are too large for products of exponentials.
template <Mode mode>
std::vector<std::unique_ptr<Sweep<mode>>> sweep_chunks(ThreadPool& pool, const TrieView& trie,
                                                       std::span<const NgramMaxent::Unit> units,
                                                       std::span<const std::uint32_t> chunks,
                                                       const typename Sweep<mode>::Arrays& arrays,
                                                       const Frame& unigrams, double extent) {
  using S = Sweep<mode>;
  std::vector<std::unique_ptr<S>> parts(chunks.size() - 1);
  pool.run(parts.size(), [&](std::size_t chunk) {
    parts[chunk] = std::make_unique<S>(trie, arrays, unigrams, extent);
    for (std::size_t i = chunks[chunk]; i < chunks[chunk + 1];) i = parts[chunk]->unit(units, i);
  });
  for (const auto& part : parts)
    if (!(extent + part->extent() <= kExtreme)) return {};
  return parts;
}

// All chunks, then the unigrams. False where the weights are too large for products of exponentials.
template <Mode mode>
bool sweep(ThreadPool& pool, const TrieView& trie, std::span<const NgramMaxent::Unit> units,
           std::span<const std::uint32_t> chunks, Task<mode>& task) {
  using S = Sweep<mode>;
  const auto& a = task.arrays;
  const std::size_t V = trie.n_words;
  const auto& loops = simd::loops();
  std::vector<double> p(V), p2(S::kSecond ? V : 0);
  const double extent = loops.max_abs(a.w.data(), V);
  if (!(extent <= kExtreme)) return false;
  const double log_z = loops.logsumexp(a.w.data(), V);
  for (std::size_t w = 0; w < V; ++w) p[w] = a.w[w] - log_z;
  if constexpr (mode == Mode::kProbabilities) {
    std::copy(p.begin(), p.end(), a.out.begin());
    a.out_r[0] = log_z;
  }
  loops.exp(p.data(), p.data(), V);
  if constexpr (mode == Mode::kTangent) {
    const double mean = loops.dot(p.data(), a.v.data(), V);
    for (std::size_t w = 0; w < V; ++w) p2[w] = a.v[w] - mean;
  }
  Frame unigrams;
  unigrams.end_entry = static_cast<std::uint32_t>(V);
  unigrams.p = p.data();
  unigrams.p2 = p2.data();

  const auto parts = sweep_chunks<mode>(pool, trie, units, chunks, a, unigrams, extent);
  if (parts.empty()) return false;
  if constexpr (S::kUp) {
    const double tokens = trie.context_count[0];
    double b = tokens, b2 = mode == Mode::kSquares ? tokens : 0.0;
    task.value = tokens * log_z;
    for (const auto& part : parts) {
      task.value += part->loss();
      b += part->root().b[0];
      if constexpr (S::kSecond) b2 += part->root().b2[0];
      if constexpr (mode == Mode::kStep) task.sums.add(part->sums());
    }
    for (std::size_t w = 0; w < V; ++w) {
      double d = 0.0, d2 = 0.0;
      for (const auto& part : parts) {
        d += part->root().d[w];
        if constexpr (S::kSecond) d2 += part->root().d2[w];
      }
      const double count = trie.entry_count[w], expected = p[w] * b + d;
      task.value -= count * a.w[w];
      if constexpr (mode == Mode::kGradient) a.out[w] = expected - count;
      if constexpr (mode == Mode::kStep) p[w] = expected - count;
      if constexpr (mode == Mode::kTangent) a.out[w] = p[w] * (p2[w] * b + b2) + d2;
      if constexpr (mode == Mode::kSquares) a.out[w] = std::max(expected - (p[w] * p[w] * b2 + d2), 0.0);
    }
    if constexpr (mode == Mode::kStep) task.sums.add((*a.stepper)(p.data(), 0, V));
  }
  return true;
}

}  // namespace

double NgramMaxent::value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const {
  require_sizes(trie_, {w.size(), gradient.size()});
  Task<Mode::kGradient> task{{w, {}, gradient, {}}};
  if (sweep(pool, trie_, units_, chunks_, task)) return task.value;
  return log_value_and_gradient(trie_, w, gradient);
}

namespace {

// The sum over the orders of the largest |weight|: no path is longer.
double longest_path(ThreadPool& pool, const TrieView& trie, std::span<const double> w) {
  double sum = 0.0;
  for (std::size_t n = 0; n < trie.order; ++n) {
    const auto begin = static_cast<std::size_t>(trie.entry_start[n]), end = static_cast<std::size_t>(trie.entry_start[n + 1]);
    sum += linear::max_abs(pool, w.subspan(begin, end - begin));
  }
  return sum;
}

}  // namespace

template <class Kept>
double NgramMaxent::value_and_step(ThreadPool& pool, const linear::AcceleratedPath<Kept>& path,
                                   std::span<const double> offset, const linear::Separable& penalty,
                                   const linear::AcceleratedStep& step, double largest,
                                   linear::AcceleratedSums& sums) const {
  require_sizes(trie_, {path.x.size()});
  linear::check(path, penalty);
  std::vector<double> total;
  std::span<const double> w = path.x;
  if (!offset.empty()) {
    require_sizes(trie_, {offset.size()});
    total.resize(w.size());
    linear::combine(pool, 1.0, w, 1.0, offset, std::span<double>(total));
    w = total;
  }
  // A step leaves no way back, so it is known before that the weights are not too large for products of exponentials.
  const bool small = offset.empty() && largest * static_cast<double>(trie_.order) <= kExtreme;
  if (small || longest_path(pool, trie_, w) <= kExtreme) {
    const Stepper stepper = [&](const double* g, std::size_t begin, std::size_t end) {
      return linear::accelerate_range(path, penalty, step, g, begin, end);
    };
    Task<Mode::kStep> task{{w, {}, {}, {}, 0, &stepper}};
    if (!sweep(pool, trie_, units_, chunks_, task)) throw InvalidInput("n-gram model: `largest` is not the largest weight");
    sums = task.sums;
    return task.value;
  }
  std::vector<double> gradient(w.size());
  const double value = log_value_and_gradient(trie_, w, gradient);
  sums = linear::accelerate(pool, path, penalty, step, std::span<const double>(gradient));
  return value;
}

template double NgramMaxent::value_and_step(ThreadPool&, const linear::AcceleratedPath<double>&,
                                            std::span<const double>, const linear::Separable&,
                                            const linear::AcceleratedStep&, double, linear::AcceleratedSums&) const;
template double NgramMaxent::value_and_step(ThreadPool&, const linear::AcceleratedPath<float>&,
                                            std::span<const double>, const linear::Separable&,
                                            const linear::AcceleratedStep&, double, linear::AcceleratedSums&) const;

namespace {

// The contexts of a part, below unigrams of given probabilities.
template <Mode mode>
bool sweep_part(ThreadPool& pool, const NgramMaxent& model, std::span<const std::uint32_t> chunks,
                std::span<const double> unigrams, double extent, typename Sweep<mode>::Arrays arrays, RootSums* sums) {
  const TrieView& trie = model.trie();
  const std::size_t V = trie.n_words;
  const bool right = unigrams.size() == V && arrays.w.size() == trie.n_entries() - V &&
                     arrays.out.size() == arrays.w.size();
  if (!right) throw InvalidInput("part of an n-gram model: one number is needed per word, and per n-gram of the part");
  arrays.first = static_cast<std::uint32_t>(V);
  std::vector<double> p(unigrams.begin(), unigrams.end());
  Frame frame;
  frame.end_entry = arrays.first;
  frame.p = frame.p2 = p.data();
  const auto parts = sweep_chunks<mode>(pool, trie, model.units(), chunks, arrays, frame, extent);
  if (parts.empty()) return false;
  if constexpr (Sweep<mode>::kUp) {
    sums->d.assign(V, 0.0);
    sums->d2.assign(Sweep<mode>::kSecond ? V : 0, 0.0);
    for (const auto& part : parts) {
      sums->loss += part->loss();
      sums->b += part->root().b[0];
      for (std::size_t w = 0; w < V; ++w) sums->d[w] += part->root().d[w];
      if constexpr (Sweep<mode>::kSecond) {
        sums->b2 += part->root().b2[0];
        for (std::size_t w = 0; w < V; ++w) sums->d2[w] += part->root().d2[w];
      }
    }
  }
  return true;
}

}  // namespace

bool NgramMaxent::part_gradient(ThreadPool& pool, std::span<const double> unigrams, double extent,
                                std::span<const double> w, std::span<double> gradient, RootSums& sums) const {
  return sweep_part<Mode::kGradient>(pool, *this, chunks_, unigrams, extent, {w, {}, gradient, {}}, &sums);
}

bool NgramMaxent::part_curvature(ThreadPool& pool, std::span<const double> unigrams, double extent,
                                 std::span<const double> w, std::span<double> out, RootSums& sums) const {
  return sweep_part<Mode::kSquares>(pool, *this, chunks_, unigrams, extent, {w, {}, out, {}}, &sums);
}

bool NgramMaxent::part_probabilities(ThreadPool& pool, std::span<const double> unigrams, double extent,
                                     std::span<const double> w, std::span<double> log_p,
                                     std::span<double> log_r) const {
  if (log_r.size() != trie_.n_contexts()) throw InvalidInput("n-gram model: log_r needs one number per context");
  return sweep_part<Mode::kProbabilities>(pool, *this, chunks_, unigrams, extent, {w, {}, log_p, log_r}, nullptr);
}

void NgramMaxent::curvature_diagonal(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  require_sizes(trie_, {w.size(), out.size()});
  Task<Mode::kSquares> task{{w, {}, out, {}}};
  if (!sweep(pool, trie_, units_, chunks_, task)) direct_sums(trie_, w, {}, {}, out);
}

void NgramMaxent::hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                                 std::span<double> out) const {
  require_sizes(trie_, {w.size(), v.size(), out.size()});
  Task<Mode::kTangent> task{{w, v, out, {}}};
  if (!sweep(pool, trie_, units_, chunks_, task)) direct_sums(trie_, w, {}, v, out);
}

void NgramMaxent::log_probabilities(ThreadPool& pool, std::span<const double> w, std::span<double> log_p,
                                    std::span<double> log_r) const {
  require_sizes(trie_, {w.size(), log_p.size()});
  if (log_r.size() != trie_.n_contexts()) throw InvalidInput("n-gram model: log_r needs one number per context");
  Task<Mode::kProbabilities> task{{w, {}, log_p, log_r}};
  if (!sweep(pool, trie_, units_, chunks_, task)) log_log_probabilities(trie_, w, log_p, log_r);
}

}  // namespace loglinear::ngram
