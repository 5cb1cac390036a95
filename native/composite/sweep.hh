// The sweep over the first source of a composite model, and the sums over intersections that it shares with the rest:
// what clusters.cc does to one unit. See clusters.hh for the equations.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "composite/clusters.hh"
#include "composite/unigrams.hh"

namespace loglinear::composite {

// The sums of the sources and columns that the first source does not own, made before its units are swept.
template <class Num>
struct Others {
  std::vector<std::vector<Num>> s, d;  // [source][entry]
  std::vector<std::vector<Num>> u;     // [source][context] sum of T along the chain
  std::vector<std::vector<Num>> free;  // [column][node] the same
  std::vector<std::vector<double>> u_size, free_size;  // the same sums of absolute terms: they show what cancelled
};

// What one chunk of units adds up.
template <class Num>
struct Part {
  std::vector<Num> p;                     // [n_words] derivatives by p(w)
  std::vector<std::vector<Num>> d;        // [source][entry] derivatives by D
  std::vector<std::vector<Num>> a, free;  // [source][context], [column][node]: A
  std::vector<double> directly;           // [n_weights] of histories that were summed over all words
  Num a_root = 0.0;
  double loss = 0.0;
};

template <class Num>
Num product_of_others(const std::uint32_t* row, const Column& column, const Others<Num>& others, std::size_t skip) {
  Num product = 1.0;
  for (std::size_t k = 1; k < column.sources.size(); ++k)
    if (k != skip) product *= others.d[column.sources[k]][row[k]];
  return product;
}

// Adds A times the derivatives of the terms of one node. `pd`: p(w) D of the owner's entries; `pd_bar` gets derivatives
// by it. Both are shifted so that entry numbers index them.
template <class Num>
void differentiate(const Column& column, std::size_t node, const Num& a, const Num* pd, Num* pd_bar,
                   const Others<Num>& others, Part<Num>& part) {
  const std::size_t width = column.sources.size();
  const std::uint32_t* row = column.entries.data() + column.term[node] * width;
  const std::uint32_t* end = column.entries.data() + column.term[node + 1] * width;
  if (width == 2) {
    const Num* d = others.d[column.sources[1]].data();
    Num* d_bar = part.d[column.sources[1]].data();
    for (; row < end; row += 2) {
      pd_bar[row[0]] += a * d[row[1]];
      d_bar[row[1]] += a * pd[row[0]];
    }
    return;
  }
  for (; row < end; row += width) {
    pd_bar[row[0]] += a * product_of_others(row, column, others, 0);
    for (std::size_t k = 1; k < width; ++k)
      part.d[column.sources[k]][row[k]] += a * pd[row[0]] * product_of_others(row, column, others, k);
  }
}

// Returns the sum of the terms of a node, and adds their absolute values to `size`; without `sizes` they are positive,
// and it may stay as it is.
template <class Num>
Num sum_terms(const Column& column, std::size_t node, const Num* pd, const Others<Num>& others, bool sizes,
              double& size) {
  const std::size_t width = column.sources.size();
  const std::uint32_t* row = column.entries.data() + column.term[node] * width;
  const std::uint32_t* end = column.entries.data() + column.term[node + 1] * width;
  Num sum = 0.0;
  if (width == 2) {
    const Num* d = others.d[column.sources[1]].data();
    if (!sizes) {  // two sums: neither waits for the other
      Num other = 0.0;
      for (; row + 2 < end; row += 4) sum += pd[row[0]] * d[row[1]], other += pd[row[2]] * d[row[3]];
      if (row < end) sum += pd[row[0]] * d[row[1]];
      return sum + other;
    }
    for (; row < end; row += 2) {
      const Num term = pd[row[0]] * d[row[1]];
      sum += term, size += std::abs(value_of(term));
    }
  } else {
    for (; row < end; row += width) {
      const Num term = pd[row[0]] * product_of_others(row, column, others, 0);
      sum += term, size += std::abs(value_of(term));
    }
  }
  return sum;
}

// The gradient of a source's entries from derivatives by D, deepest first: S changes with all weights of its chain.
template <class Num>
void chain_rule(const Source& source, std::size_t depth, std::uint32_t begin, std::uint32_t end, const Num* s,
                const Num* d_bar, Num* s_bar, Num* total, std::span<const double> observed, std::span<double> out) {
  for (std::uint32_t e = begin; e < end; ++e) {
    const Num f = s[e] * (s_bar[e] + d_bar[e]) + total[e];
    if (depth > 1) {
      const std::uint32_t parent = source.entry_parent[e];
      s_bar[parent] -= d_bar[e];
      total[parent] += f;
    }
    out[source.offset + e] = written(Num(source.value(e)) * f);
    if constexpr (std::is_same_v<Num, double>) out[source.offset + e] -= observed[source.offset + e];
  }
}

template <class Num>
class Sweep {
 public:
  Sweep(const Problem& problem, std::span<const Column> columns, std::size_t n_owned, std::span<const double> w,
        std::span<const double> v, const Unigrams<Num>& unigrams, const Others<Num>& others, std::span<double> out,
        std::span<double> log_z, bool is_signed)
      : problem_(problem), columns_(columns), n_owned_(n_owned), w_(w), v_(v), unigrams_(unigrams), others_(others),
        out_(out), log_z_(log_z), signed_(is_signed), nodes_(n_owned) {
    part.p.assign(problem.n_words, 0.0);
    for (const Source& s : problem.sources) {
      const bool first = &s == problem.sources.data();
      part.d.emplace_back(first ? 0 : s.n_entries());
      part.a.emplace_back(first ? 0 : s.n_contexts());
    }
    for (std::size_t k = n_owned; k < columns.size(); ++k) part.free.emplace_back(columns[k].n_nodes());
  }

  Part<Num> part;

  void unit(const Clusters::Unit& unit) {
    const Source& s = problem_.sources[0];
    place(unit);
    for (std::size_t d = 1; d <= depth_; ++d) down(s, d);
    for (std::size_t k = 0; k < n_owned_; ++k) down(columns_[k], nodes_[k]);
    ratio_.clear(), tokens_.clear();
    for (std::uint32_t x = unit.first_history; x < unit.history; ++x) history(x);
    if (!log_z_.empty()) return;
    simd::loops().log(ratio_.data(), ratio_.data(), ratio_.size());
    part.loss += simd::loops().dot(ratio_.data(), tokens_.data(), ratio_.size());
    for (std::size_t k = 0; k < n_owned_; ++k) up(columns_[k], nodes_[k]);
    for (std::size_t d = depth_; d > 0; --d) up(s, d);
  }

 private:
  // Ranges of contexts, entries or nodes by depth, one after the other in local arrays.
  struct Ranges {
    std::vector<std::uint32_t> begin, end, base;

    void clear() { begin.assign(1, 0), end.assign(1, 0), base.assign(1, 0); }
    void add(std::uint32_t b, std::uint32_t e) {
      base.push_back(size());
      begin.push_back(b), end.push_back(e);
    }
    std::uint32_t size() const { return base.back() + end.back() - begin.back(); }
    std::uint32_t shift(std::size_t d) const { return base[d] - begin[d]; }  // modulo 2^32
  };
  struct Nodes {
    Ranges at;
    std::vector<Num> u, a;
    std::vector<double> size;
  };

  void place(const Clusters::Unit& unit) {
    const Source& s = problem_.sources[0];
    contexts_.clear(), entries_.clear();
    for (auto& n : nodes_) n.at.clear();
    std::uint32_t begin = unit.begin, end = unit.end;
    depth_ = 0;
    for (std::size_t d = 1; d <= s.depth() && begin < end; ++d, ++depth_) {
      contexts_.add(begin, end);
      entries_.add(s.context_entry[begin], s.context_entry[end]);
      for (std::size_t k = 0; k < n_owned_; ++k) {
        const Column& column = columns_[k];
        const auto first = column.context.begin();
        const auto b = first + column.depth_start[d], e = first + column.depth_start[d + 1];
        nodes_[k].at.add(static_cast<std::uint32_t>(std::lower_bound(b, e, begin) - first),
                         static_cast<std::uint32_t>(std::lower_bound(b, e, end) - first));
      }
      if (d == s.depth()) continue;
      const auto parents = s.context_parent.begin();
      const auto b = parents + s.depth_start[d + 1], e = parents + s.depth_start[d + 2];
      const std::uint32_t first = begin, last = end;
      begin = static_cast<std::uint32_t>(std::lower_bound(b, e, first) - parents);
      end = static_cast<std::uint32_t>(std::lower_bound(b, e, last) - parents);
    }
    const std::size_t n = entries_.size();
    if (s_.size() < n) {
      for (auto* a : {&s_, &d_, &pd_, &pd_bar_, &s_bar_, &total_}) a->resize(n * 5 / 4);
    }
    for (auto* a : {&pd_bar_, &s_bar_, &total_}) std::fill_n(a->begin(), n, Num(0.0));
    u_.assign(contexts_.size() + 1, 0.0);
    a_.assign(contexts_.size() + 1, 0.0);
    u_size_.assign(contexts_.size() + 1, 0.0);
    for (auto& node : nodes_) {
      node.u.assign(node.at.size(), 0.0), node.a.assign(node.at.size(), 0.0);
      node.size.assign(node.at.size(), 0.0);
    }
  }

  void down(const Source& s, std::size_t d) {
    const std::uint32_t begin = entries_.begin[d], base = entries_.base[d];
    parameters(s, w_, v_, begin, entries_.end[d], s_.data() + base, scratch_);
    const std::uint32_t above = d > 1 ? entries_.shift(d - 1) : 0;
    for (std::uint32_t e = begin, j = base; e < entries_.end[d]; ++e, ++j) {
      const Num parent = d > 1 ? s_[s.entry_parent[e] + above] : Num(1.0);
      s_[j] *= parent;
      d_[j] = s_[j] - parent;
      pd_[j] = unigrams_.p[s.entry_word[e]] * d_[j];
    }
    const std::uint32_t shift = entries_.shift(d);
    for (std::uint32_t c = contexts_.begin[d], j = contexts_.base[d]; c < contexts_.end[d]; ++c, ++j) {
      const std::uint32_t parent = s.context_parent[c] + contexts_.shift(d - 1);
      Num sum = d > 1 ? u_[parent] : Num(0.0);
      double size = d > 1 ? u_size_[parent] : 0.0;
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e) sum += pd_[e + shift];
      if (signed_)
        for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
          size += std::abs(value_of(pd_[e + shift]));
      u_[j] = sum, u_size_[j] = size;
    }
  }

  // Pointers that entry numbers of depth d index.
  Num* shifted(std::vector<Num>& local, std::size_t d) const {
    return local.data() + static_cast<std::ptrdiff_t>(entries_.base[d]) - static_cast<std::ptrdiff_t>(entries_.begin[d]);
  }

  void down(const Column& column, Nodes& nodes) {
    for (std::size_t d = 1; d <= depth_; ++d) {
      const Num* pd = shifted(pd_, d);
      for (std::uint32_t n = nodes.at.begin[d], j = nodes.at.base[d]; n < nodes.at.end[d]; ++n, ++j) {
        nodes.u[j] = sum_terms(column, n, pd, others_, signed_, nodes.size[j]);
        if (d == 1) continue;
        const std::uint32_t parent = column.parent[n] + nodes.at.shift(d - 1);
        nodes.u[j] += nodes.u[parent], nodes.size[j] += nodes.size[parent];
      }
    }
  }

  void up(const Column& column, Nodes& nodes) {
    for (std::size_t d = depth_; d > 0; --d) {
      const Num* pd = shifted(pd_, d);
      Num* pd_bar = shifted(pd_bar_, d);
      for (std::uint32_t n = nodes.at.begin[d], j = nodes.at.base[d]; n < nodes.at.end[d]; ++n, ++j) {
        if (d > 1) nodes.a[column.parent[n] + nodes.at.shift(d - 1)] += nodes.a[j];
        differentiate(column, n, nodes.a[j], pd, pd_bar, others_, part);
      }
    }
  }

  void up(const Source& s, std::size_t d) {
    const std::uint32_t above = d > 1 ? entries_.shift(d - 1) : 0;
    std::uint32_t j = entries_.base[d];
    for (std::uint32_t c = contexts_.begin[d], k = contexts_.base[d]; c < contexts_.end[d]; ++c, ++k) {
      const Num a = a_[k];
      if (d > 1) a_[s.context_parent[c] + contexts_.shift(d - 1)] += a;
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e, ++j) {
        const std::uint32_t word = s.entry_word[e];
        const Num pd_bar = pd_bar_[j] + a;
        part.p[word] += d_[j] * pd_bar;
        const Num d_bar = pd_bar * unigrams_.p[word];
        const Num f = s_[j] * (s_bar_[j] + d_bar) + total_[j];
        if (d > 1) {
          const std::uint32_t parent = s.entry_parent[e] + above;
          s_bar_[parent] -= d_bar;
          total_[parent] += f;
        }
        out_[s.offset + e] = written(Num(s.value(e)) * f);
        if constexpr (std::is_same_v<Num, double>) out_[s.offset + e] -= problem_.observed[s.offset + e];
      }
    }
  }

  std::uint32_t local(std::uint32_t number, const Ranges& at, std::span<const std::uint32_t> depth_start) const {
    std::size_t d = 1;
    while (number >= depth_start[d + 1]) ++d;
    return number + at.shift(d);
  }

  void history(std::uint32_t x) {
    const Source& first = problem_.sources[0];
    Num r = 1.0;
    double magnitude = 1.0;
    const auto add = [&](const Num& u, double size) { r += u, magnitude += size; };
    const std::uint32_t c = problem_.leaf[0][x];
    const std::uint32_t at = c == 0 ? 0 : local(c, contexts_, first.depth_start);
    if (c != 0) add(u_[at], u_size_[at]);
    for (std::size_t i = 1; i < problem_.sources.size(); ++i)
      add(others_.u[i][problem_.leaf[i][x]], others_.u_size[i][problem_.leaf[i][x]]);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const std::uint32_t n = columns_[k].node[x];
      if (n == kNone) continue;
      if (k >= n_owned_) {
        add(others_.free[k - n_owned_][n], others_.free_size[k - n_owned_][n]);
        continue;
      }
      const std::uint32_t j = local(n, nodes_[k].at, columns_[k].depth_start);
      add(nodes_[k].u[j], nodes_[k].size[j]);
    }
    const double count = problem_.count[x];
    const bool cancelled = !(value_of(r) > kCancelled * magnitude) || !std::isfinite(value_of(r));
    if (!log_z_.empty()) {
      log_z_[x] = cancelled ? direct(x, 0.0) : unigrams_.log_z + std::log(value_of(r));
      return;
    }
    if (count == 0.0) return;
    if (cancelled) {
      part.loss += count * direct(x, count);
      return;
    }
    part.loss += count * unigrams_.log_z;
    ratio_.push_back(value_of(r)), tokens_.push_back(count);
    const Num a = Num(count) / r;
    part.a_root += a;
    if (c != 0) a_[at] += a;
    for (std::size_t i = 1; i < problem_.sources.size(); ++i) part.a[i][problem_.leaf[i][x]] += a;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const std::uint32_t n = columns_[k].node[x];
      if (n == kNone) continue;
      if (k >= n_owned_) part.free[k - n_owned_][n] += a;
      else nodes_[k].a[local(n, nodes_[k].at, columns_[k].depth_start)] += a;
    }
  }

  double direct(std::uint32_t x, double count) {
    if (part.directly.empty()) part.directly.assign(w_.size(), 0.0);
    if (!v_.empty()) return naive_tangent(problem_, w_, v_, x, count, part.directly, scratch_words_), 0.0;
    return naive_history(problem_, w_, x, count, part.directly, scratch_words_);
  }

  const Problem& problem_;
  std::span<const Column> columns_;
  std::size_t n_owned_, depth_ = 0;
  std::span<const double> w_, v_;
  const Unigrams<Num>& unigrams_;
  const Others<Num>& others_;
  std::span<double> out_, log_z_;
  bool signed_;
  Ranges contexts_, entries_;
  std::vector<Nodes> nodes_;
  std::vector<Num> s_, d_, pd_, pd_bar_, s_bar_, total_, u_, a_;
  std::vector<double> u_size_, ratio_, tokens_, scratch_, scratch_words_;
};

}  // namespace loglinear::composite
