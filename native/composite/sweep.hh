// The sweep over the first source of a composite model, and the sums over intersections that it shares with the rest:
// what clusters.cc does to one unit. See clusters.hh for the equations. With Q(e) = p(w) S(e), the unigram being the
// parent of entries of depth 1, a context sums Q(e) - Q(parent e); from the derivative G(e) by that difference follow
//
//   E(e) = Q(e) G(e) + sum over children e' of (E(e') - Q(e) G(e'))        expected totals, for features that are 1
//
// whose terms are positive where weights are.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "composite/clusters.hh"
#include "composite/unigrams.hh"

namespace loglinear::composite {

// The sums of the sources and columns that the first source does not own, made before its units are swept.
template <class Num>
struct Others {
  std::vector<std::vector<Num>> s, pd;  // [source][entry] S, p(w) D
  std::vector<std::vector<Num>> d;      // [source][slot]
  std::vector<Num> u;                   // [n_shared] sums of T along the chains of contexts and nodes
  std::vector<double> size;             // the same sums of absolute terms: they show what cancelled
};

// What one chunk of units adds up.
template <class Num>
struct Part {
  std::vector<Num> root;             // [n_words] sum over children of unigrams, see above
  std::vector<std::vector<Num>> d;   // [source][slot] derivatives by D
  std::vector<std::vector<Num>> pd;  // [source][entry] derivatives by p(w) D, from columns that the source owns
  std::vector<Num> a;                // [n_shared] A
  std::vector<double> directly;      // [n_weights] of histories that were summed over all words
  Num a_root = 0.0;
  double loss = 0.0;

  void clear(const Clusters::View& view) {
    const std::size_t M = view.problem.sources.size();
    root.assign(view.problem.n_words, 0.0);
    d.resize(M), pd.resize(M);
    for (std::size_t i = 1; i < M; ++i) d[i].assign(view.slots[i].n_slots, 0.0);
    for (const Column& column : view.columns.subspan(view.n_owned))
      pd[column.sources[0]].assign(view.problem.sources[column.sources[0]].n_entries(), 0.0);
    directly.clear();
    a_root = 0.0, loss = 0.0;
  }
};

template <class Num>
Num product_of_others(const std::uint32_t* term, const Column& column, const Others<Num>& others, std::size_t skip) {
  Num product = 1.0;
  for (std::size_t k = 1; k < column.sources.size(); ++k)
    if (k != skip) product *= others.d[column.sources[k]][term[1 + k]];
  return product;
}

// Adds stored terms [begin, end) to the sums of their nodes; `pd`: p(w) D of the owner's entries.
template <bool is_signed, class Num>
void add_terms(const Column& column, std::uint64_t begin, std::uint64_t end, const Num* pd, const Others<Num>& others,
               Num* u, double* size) {
  const std::size_t width = column.width();
  const std::uint32_t* term = column.terms.data() + begin * width;
  const std::uint32_t* stop = column.terms.data() + end * width;
  if (width == 3) {
    const Num* d = others.d[column.sources[1]].data();
    for (; term < stop; term += 3) {
      const Num product = pd[term[1]] * d[term[2]];
      u[term[0]] += product;
      if constexpr (is_signed) size[term[0]] += std::abs(value_of(product));
    }
    return;
  }
  for (; term < stop; term += width) {
    const Num product = pd[term[1]] * product_of_others(term, column, others, 0);
    u[term[0]] += product;
    if constexpr (is_signed) size[term[0]] += std::abs(value_of(product));
  }
}

// Adds A times the derivatives of stored terms: to `g` by p(w) D of the owner, to `part` by D of the others.
template <class Num>
void differentiate(const Column& column, std::uint64_t begin, std::uint64_t end, const Num* a, const Num* pd, Num* g,
                   const Others<Num>& others, Part<Num>& part) {
  const std::size_t width = column.width();
  const std::uint32_t* term = column.terms.data() + begin * width;
  const std::uint32_t* stop = column.terms.data() + end * width;
  if (width == 3) {
    const Num* d = others.d[column.sources[1]].data();
    Num* d_bar = part.d[column.sources[1]].data();
    for (; term < stop; term += 3) {
      const Num own = a[term[0]];
      g[term[1]] += own * d[term[2]];
      d_bar[term[2]] += own * pd[term[1]];
    }
    return;
  }
  for (; term < stop; term += width) {
    const Num own = a[term[0]];
    g[term[1]] += own * product_of_others(term, column, others, 0);
    for (std::size_t k = 1; k < column.sources.size(); ++k)
      part.d[column.sources[k]][term[1 + k]] += own * pd[term[1]] * product_of_others(term, column, others, k);
  }
}

// The loops of simd::RowLoops for duals.
inline void rows_add(const double* rows, const std::uint32_t* pairs, std::size_t count, std::size_t n, const double* x,
                     double* out) {
  simd::loops().rows.add(rows, pairs, count, n, x, out);
}
inline void rows_add(const Dual* rows, const std::uint32_t* pairs, std::size_t count, std::size_t n, const Dual* x,
                     Dual* out) {
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j < n; ++j) out[j] += x[pairs[2 * k]] * rows[pairs[2 * k + 1] * n + j];
}
inline void rows_both(const double* rows, const std::uint32_t* pairs, std::size_t count, std::size_t n, const double* x,
                      const double* a, double* g, double* sums) {
  simd::loops().rows.both(rows, pairs, count, n, x, a, g, sums);
}
inline void rows_both(const Dual* rows, const std::uint32_t* pairs, std::size_t count, std::size_t n, const Dual* x,
                      const Dual* a, Dual* g, Dual* sums) {
  for (std::size_t k = 0; k < count; ++k) {
    const Dual mass = x[pairs[2 * k]];
    const std::size_t row = pairs[2 * k + 1] * n;
    Dual sum = 0.0;
    for (std::size_t j = 0; j < n; ++j) sum += a[j] * rows[row + j], sums[row + j] += mass * a[j];
    g[pairs[2 * k]] += sum;
  }
}

// Memory of the units that one thread sweeps; it only grows.
template <class Num>
struct Frames {
  struct Frame {  // contexts of one depth
    std::uint32_t first_context = 0, end_context = 0, first_entry = 0, end_entry = 0;
    std::vector<Num> q, pd, g, d;  // [entries] Q, Q - Q(parent), G from columns, the sum over children
    std::vector<Num> u, a;         // [contexts]
    std::vector<double> size;
  };
  std::vector<Frame> depths;
  std::vector<Num> u, a;     // [n_sums] of nodes and of the contexts of other sources
  std::vector<double> size;
  std::vector<Num> ratio;
  std::vector<double> plain, logarithms, tokens, scratch, scratch_words;
};

template <class T>
void at_least(std::vector<T>& v, std::size_t n) {
  if (v.size() < n) v.resize(n + n / 4);
}

template <class Num, bool is_signed>
class Sweep {
 public:
  struct Arrays {
    std::span<const double> w, v;
    std::span<double> out, log_z;
  };

  Sweep(const Clusters::View& view, const Arrays& arrays, const Unigrams<Num>& unigrams, const Others<Num>& others,
        Part<Num>& part, Frames<Num>& frames)
      : view_(view), source_(view.problem.sources[0]), a_(arrays), unigrams_(unigrams), others_(others), part_(part),
        f_(frames) {
    f_.depths.resize(source_.depth() + 1);
    at_least(f_.u, view.n_sums), at_least(f_.a, view.n_sums);
    std::copy_n(others.u.begin(), view.n_shared, f_.u.begin());
    std::fill_n(f_.a.begin(), view.n_shared, Num(0.0));
    if constexpr (is_signed) {
      at_least(f_.size, view.n_sums);
      std::copy_n(others.size.begin(), view.n_shared, f_.size.begin());
    }
  }

  // The unit at position i; returns the position after it.
  std::size_t unit(std::span<const Clusters::Unit> units, std::size_t i) {
    const Clusters::Unit& u = units[i];
    for (std::uint32_t f = u.first; f < u.last; ++f) {
      const Clusters::Frame& frame = view_.frames[f];
      if (frame.depth > 0) down(frame.depth, frame.begin, frame.end);
      for (std::size_t k = 0; k < view_.n_owned; ++k) down(view_.columns[k], f, k);
      histories(frame.depth, frame.begin, frame.end);
    }
    std::size_t next = i + 1;
    while (next < u.next) next = unit(units, next);
    if (a_.log_z.empty())
      for (std::uint32_t f = u.last; f-- > u.first;) {
        for (std::size_t k = 0; k < view_.n_owned; ++k) up(view_.columns[k], f, k);
        if (view_.frames[f].depth > 0) up(view_.frames[f].depth);
      }
    return u.next;
  }

  // Hands what the histories added to the other sources to the part.
  void finish() { part_.a.assign(f_.a.begin(), f_.a.begin() + static_cast<std::ptrdiff_t>(view_.n_shared)); }

 private:
  using Frame = typename Frames<Num>::Frame;
  using Piece = Clusters::Piece;

  void down(std::size_t depth, std::uint32_t c0, std::uint32_t c1) {
    Frame& f = f_.depths[depth];
    const std::uint32_t e0 = source_.context_entry[c0], n = source_.context_entry[c1] - e0, m = c1 - c0;
    f.first_context = c0, f.end_context = c1, f.first_entry = e0, f.end_entry = e0 + n;
    for (auto* a : {&f.q, &f.pd, &f.g, &f.d}) at_least(*a, n);
    at_least(f.u, m), at_least(f.a, m), at_least(f.size, m);
    std::fill_n(f.g.begin(), n, Num(0.0)), std::fill_n(f.d.begin(), n, Num(0.0)), std::fill_n(f.a.begin(), m, Num(0.0));
    parameters(source_, a_.w, a_.v, e0, e0 + n, f.q.data(), f_.scratch);
    const Frame& g = f_.depths[depth - 1];
    const std::uint32_t* above = depth == 1 ? source_.entry_word.data() : source_.entry_parent.data();
    const Num* mass = depth == 1 ? unigrams_.p.data() : g.q.data();
    const std::uint32_t shift = depth == 1 ? 0 : g.first_entry;
    Num *q = f.q.data(), *pd = f.pd.data();
    std::uint32_t j = 0;
    for (std::uint32_t c = c0; c < c1; ++c) {
      Num sum = 0.0;
      double size = 0.0;
      for (const std::uint32_t stop = source_.context_entry[c + 1] - e0; j < stop; ++j) {
        const Num p = mass[above[e0 + j] - shift];
        pd[j] = p * (q[j] - Num(1.0));
        q[j] *= p;
        sum += pd[j];
        if constexpr (is_signed) size += std::abs(value_of(pd[j]));
      }
      if (depth > 1) {
        const std::uint32_t parent = source_.context_parent[c] - g.first_context;
        sum += g.u[parent];
        if constexpr (is_signed) size += g.size[parent];
      }
      f.u[c - c0] = sum;
      if constexpr (is_signed) f.size[c - c0] = size;
    }
  }

  // Where the nodes are of the spread context above spread context s of a frame.
  std::uint32_t above(const Column& column, std::uint32_t f, std::size_t k, std::uint32_t s) const {
    const Piece& piece = view_.pieces[view_.frames[f].above * view_.n_owned + k];
    return piece.spread_at + (column.spread_parent[s] - piece.first_spread) * column.together;
  }

  void down(const Column& column, std::uint32_t f, std::size_t k) {
    const Piece& piece = view_.pieces[f * view_.n_owned + k];
    const std::size_t depth = view_.frames[f].depth, n = column.together;
    const Num* pd = f_.depths[depth].pd.data();
    Num* u = f_.u.data();
    const std::uint32_t end = piece.spread_at + static_cast<std::uint32_t>((piece.end_spread - piece.first_spread) * n);
    std::fill(f_.a.begin() + piece.at, f_.a.begin() + end, Num(0.0));
    const std::uint32_t* parent = column.parent.data() + piece.first;
    for (std::uint32_t j = piece.at; j < piece.spread_at; ++j, ++parent) {
      u[j] = u[*parent];
      if constexpr (is_signed) f_.size[j] = f_.size[*parent];
    }
    for (std::uint32_t s = piece.first_spread, at = piece.spread_at; s < piece.end_spread; ++s, at += n) {
      const std::uint64_t first = column.spread_pair[s], count = column.spread_pair[s + 1] - first;
      const std::uint32_t from = depth == 1 ? 0 : above(column, f, k, s);
      if (depth == 1) std::fill_n(u + at, n, Num(0.0));
      else std::copy_n(u + from, n, u + at);
      const Num* d = rows_of(column, others_.d);
      rows_add(d, column.pairs.data() + 2 * first, count, n, pd, u + at);
      if constexpr (is_signed) {
        double* size = f_.size.data() + at;
        if (depth == 1) std::fill_n(size, n, 0.0);
        else std::copy_n(f_.size.data() + from, n, size);
        for (std::uint64_t p = first; p < first + count; ++p)
          for (std::size_t j = 0; j < n; ++j)
            size[j] += std::abs(value_of(pd[column.pairs[2 * p]] * d[column.pairs[2 * p + 1] * n + j]));
      }
    }
    add_terms<is_signed>(column, piece.term, piece.end_term, pd, others_, u, f_.size.data());
  }

  template <class Vectors>
  auto* rows_of(const Column& column, Vectors& of) const {
    return of[column.sources[1]].data() + view_.slots[column.sources[1]].depths[column.depths[0]].first;
  }

  void up(const Column& column, std::uint32_t f, std::size_t k) {
    const Piece& piece = view_.pieces[f * view_.n_owned + k];
    const std::size_t depth = view_.frames[f].depth, n = column.together;
    Frame& frame = f_.depths[depth];
    Num* a = f_.a.data();
    differentiate(column, piece.term, piece.end_term, a, frame.pd.data(), frame.g.data(), others_, part_);
    for (std::uint32_t s = piece.first_spread, at = piece.spread_at; s < piece.end_spread; ++s, at += n) {
      const std::uint64_t first = column.spread_pair[s], count = column.spread_pair[s + 1] - first;
      rows_both(rows_of(column, others_.d), column.pairs.data() + 2 * first, count, n, frame.pd.data(), a + at,
                frame.g.data(), rows_of(column, part_.d));
      if (depth == 1) continue;
      Num* parent = a + above(column, f, k, s);
      for (std::size_t j = 0; j < n; ++j) parent[j] += a[at + j];
    }
    const std::uint32_t* parent = column.parent.data() + piece.first;
    if (depth > 1)
      for (std::uint32_t j = piece.at; j < piece.spread_at; ++j, ++parent) a[*parent] += a[j];
  }

  void up(std::size_t depth) {
    const Frame& f = f_.depths[depth];
    Frame& g = f_.depths[depth - 1];
    const std::uint32_t e0 = f.first_entry, shift = depth == 1 ? 0 : g.first_entry;
    const std::uint32_t* above = depth == 1 ? source_.entry_word.data() : source_.entry_parent.data();
    const Num* mass = depth == 1 ? unigrams_.p.data() : g.q.data();
    Num* sums = depth == 1 ? part_.root.data() : g.d.data();
    const double* observed = view_.problem.observed.data() + source_.offset;
    double* out = a_.out.data() + source_.offset;
    for (std::uint32_t c = f.first_context; c < f.end_context; ++c) {
      const Num a = f.a[c - f.first_context];
      if (depth > 1) g.a[source_.context_parent[c] - g.first_context] += a;
      for (std::uint32_t e = source_.context_entry[c]; e < source_.context_entry[c + 1]; ++e) {
        const std::uint32_t j = e - e0, parent = above[e] - shift;
        const Num slope = f.g[j] + a, expected = f.q[j] * slope + f.d[j];
        sums[parent] += expected - mass[parent] * slope;
        if constexpr (std::is_same_v<Num, double>) out[e] = source_.value(e) * expected - observed[e];
        else out[e] = written(Num(source_.value(e)) * expected);
      }
    }
    if constexpr (std::is_same_v<Num, double>)
      part_.loss -= simd::loops().dot(a_.w.data() + source_.offset + e0, observed + e0, f.end_entry - e0);
  }

  // The histories that end in contexts [c0, c1) of one depth: their normalisers, and what they add to A.
  void histories(std::size_t depth, std::uint32_t c0, std::uint32_t c1) {
    const std::uint32_t begin = view_.order.start[c0], n = view_.order.start[c1] - begin;
    if (n == 0) return;
    at_least(f_.ratio, n), at_least(f_.tokens, n), at_least(f_.logarithms, n);
    std::copy_n(view_.count.begin() + begin, n, f_.tokens.begin());
    if (view_.stride == 2) normalise<2>(depth, c0, c1, begin);
    else normalise<0>(depth, c0, c1, begin);
    const double* values;
    if constexpr (std::is_same_v<Num, double>) {
      values = f_.ratio.data();
    } else {
      at_least(f_.plain, n);
      for (std::uint32_t x = 0; x < n; ++x) f_.plain[x] = f_.ratio[x].v;
      values = f_.plain.data();
    }
    simd::loops().log(values, f_.logarithms.data(), n);
    if (!a_.log_z.empty()) {
      for (std::uint32_t x = 0; x < n; ++x)  // negative tokens: summed directly
        if (f_.tokens[x] >= 0.0) a_.log_z[view_.order.history[begin + x]] = unigrams_.log_z + f_.logarithms[x];
      return;
    }
    double tokens = 0.0;
    for (std::uint32_t x = 0; x < n; ++x) tokens += f_.tokens[x];
    part_.loss += simd::loops().dot(f_.logarithms.data(), f_.tokens.data(), n) + tokens * unigrams_.log_z;
    for (std::uint32_t x = 0; x < n; ++x) f_.ratio[x] = Num(f_.tokens[x]) / f_.ratio[x];
    if (view_.stride == 2) spread_tokens<2>(depth, c0, c1, begin);
    else spread_tokens<0>(depth, c0, c1, begin);
  }

  // Z(x) / Z(unigrams). `fixed`: the stride, if it is known when this is compiled.
  template <std::size_t fixed>
  void normalise(std::size_t depth, std::uint32_t c0, std::uint32_t c1, std::uint32_t begin) {
    const std::size_t stride = fixed > 0 ? fixed : view_.stride;
    const std::uint32_t* row = view_.rows.data() + begin * stride;
    const Num* u = f_.u.data();
    Num* ratio = f_.ratio.data();
    for (std::uint32_t c = c0, x = 0; c < c1; ++c) {
      const Num base = depth == 0 ? Num(1.0) : Num(1.0) + f_.depths[depth].u[c - c0];
      for (const std::uint32_t stop = view_.order.start[c + 1] - begin; x < stop; ++x, row += stride) {
        Num r = base;
        for (std::size_t k = 0; k < stride; ++k) r += u[row[k]];
        if constexpr (is_signed) {
          double size = 1.0 + (depth == 0 ? 0.0 : f_.depths[depth].size[c - c0]);
          for (std::size_t k = 0; k < stride; ++k) size += f_.size[row[k]];
          if (!(value_of(r) > kCancelled * size) || !std::isfinite(value_of(r))) direct(begin + x, x), r = 1.0;
        }
        ratio[x] = r;
      }
    }
  }

  template <std::size_t fixed>
  void spread_tokens(std::size_t depth, std::uint32_t c0, std::uint32_t c1, std::uint32_t begin) {
    const std::size_t stride = fixed > 0 ? fixed : view_.stride;
    const std::uint32_t* row = view_.rows.data() + begin * stride;
    Num* a = f_.a.data();
    const Num* own = f_.ratio.data();
    for (std::uint32_t c = c0, x = 0; c < c1; ++c) {
      Num sum = 0.0;
      for (const std::uint32_t stop = view_.order.start[c + 1] - begin; x < stop; ++x, row += stride) {
        sum += own[x];
        for (std::size_t k = 0; k < stride; ++k) a[row[k]] += own[x];
      }
      part_.a_root += sum;
      if (depth > 0) f_.depths[depth].a[c - c0] += sum;
    }
  }

  // Sums over all words; the history then has no tokens left.
  void direct(std::uint32_t at, std::uint32_t x) {
    const std::uint32_t history = view_.order.history[at];
    const double count = f_.tokens[x];
    f_.tokens[x] = 0.0;
    if (!a_.log_z.empty()) {
      std::vector<double>& scores = f_.scratch_words;
      scores.resize(view_.problem.n_words);
      history_scores(view_.problem, a_.w, history, scores);
      a_.log_z[history] = simd::loops().logsumexp(scores.data(), scores.size());
      f_.tokens[x] = -1.0;
      return;
    }
    if (count == 0.0) return;
    if (part_.directly.empty()) part_.directly.assign(a_.w.size(), 0.0);
    if (!a_.v.empty()) naive_tangent(view_.problem, a_.w, a_.v, history, count, part_.directly, f_.scratch_words);
    else part_.loss += count * naive_history(view_.problem, a_.w, history, count, part_.directly, f_.scratch_words);
  }

  const Clusters::View& view_;
  const Source& source_;
  Arrays a_;
  const Unigrams<Num>& unigrams_;
  const Others<Num>& others_;
  Part<Num>& part_;
  Frames<Num>& f_;
};

}  // namespace loglinear::composite
