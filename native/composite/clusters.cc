#include "composite/clusters.hh"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "composite/sweep.hh"
#include "composite/unigrams.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

// Memory of one evaluation.
template <class Num>
struct Workspace {
  Others<Num> others;
  std::vector<Part<Num>> parts;
};

// Things that were used before and are free again.
template <class T>
class Spare {
 public:
  std::unique_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (items_.empty()) return std::make_unique<T>();
    auto item = std::move(items_.back());
    items_.pop_back();
    return item;
  }
  void give(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> items_;
};

template <class T>
struct Lease {
  Spare<T>& spare;
  std::unique_ptr<T> item;

  explicit Lease(Spare<T>& from) : spare(from), item(from.take()) {}
  ~Lease() { spare.give(std::move(item)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
};

template <class Num>
void sums_before(ThreadPool& pool, const Clusters::View& view, std::span<const double> w, std::span<const double> v,
                 const Unigrams<Num>& unigrams, Others<Num>& out) {
  const Problem& problem = view.problem;
  const std::size_t M = problem.sources.size();
  out.s.resize(M), out.d.resize(M), out.pd.resize(M);
  out.u.assign(view.n_shared, 0.0), out.size.assign(view.n_shared, 0.0);
  if (M > 1) pool.run(M - 1, [&](std::size_t task) {
    const std::size_t i = task + 1;
    const Source& s = problem.sources[i];
    const Slots& slots = view.slots[i];
    std::vector<double> scratch;
    out.s[i].resize(s.n_entries()), out.pd[i].resize(s.n_entries());
    out.d[i].assign(slots.n_slots, 0.0);
    parameters(s, w, v, 0, s.n_entries(), out.s[i].data(), scratch);
    for (std::size_t e = 0; e < s.n_entries(); ++e) {  // parents come first
      const Num parent = s.entry_parent[e] == kNone ? Num(1.0) : out.s[i][s.entry_parent[e]];
      out.s[i][e] *= parent;
      const Num d = out.s[i][e] - parent;
      out.d[i][slots.of_entry[e]] = d;
      out.pd[i][e] = unigrams.p[s.entry_word[e]] * d;
    }
    Num* u = out.u.data() + view.source_at[i];
    double* size = out.size.data() + view.source_at[i];
    for (std::uint32_t c = 1; c < s.n_contexts(); ++c) {
      u[c] = u[s.context_parent[c]], size[c] = size[s.context_parent[c]];
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        u[c] += out.pd[i][e], size[c] += std::abs(value_of(out.pd[i][e]));
    }
  });
  pool.run(view.columns.size() - view.n_owned, [&](std::size_t task) {
    const std::size_t k = view.n_owned + task;
    const Column& column = view.columns[k];
    add_terms<true>(column, 0, column.n_stored_terms(), out.pd[column.sources[0]].data(), out, out.u.data(),
                    out.size.data());
    Num* u = out.u.data() + view.column_at[k];
    double* size = out.size.data() + view.column_at[k];
    for (std::size_t n = 0; n < column.n_nodes(); ++n)
      if (column.parent[n] != kNone) u[n] += u[column.parent[n]], size[n] += size[column.parent[n]];
  });
}

// The gradient of a source's entries from derivatives by D, deepest first: S changes with all weights of its chain.
template <class Num>
void chain_rule(const Source& source, const std::vector<Num>& s, const std::vector<Num>& d_bar,
                std::span<const double> observed, std::span<double> out) {
  std::vector<Num> s_bar(s.size(), 0.0), total(s.size(), 0.0);
  for (std::size_t d = source.depth(); d > 0; --d)
    for (std::uint32_t e = source.context_entry[source.depth_start[d]];
         e < source.context_entry[source.depth_start[d + 1]]; ++e) {
      const Num f = s[e] * (s_bar[e] + d_bar[e]) + total[e];
      if (d > 1) {
        const std::uint32_t parent = source.entry_parent[e];
        s_bar[parent] -= d_bar[e];
        total[parent] += f;
      }
      out[source.offset + e] = written(Num(source.value(e)) * f);
      if constexpr (std::is_same_v<Num, double>) out[source.offset + e] -= observed[source.offset + e];
    }
}

// Adds what all parts have into `total`.
template <class Num, class Of>
std::vector<Num> added(ThreadPool& pool, const std::vector<Part<Num>>& parts, std::size_t n, Of of) {
  std::vector<Num> total(n, 0.0);
  parallel_for(pool, n, kVectorChunk / 8, [&](std::size_t begin, std::size_t end) {
    for (const auto& part : parts) {
      const std::vector<Num>& own = of(part);
      for (std::size_t j = begin; j < end; ++j) total[j] += own[j];
    }
  });
  return total;
}

// Adds the parts up and writes the gradient of unigrams and of all sources but the first.
template <class Num>
void sums_after(ThreadPool& pool, const Clusters::View& view, const Unigrams<Num>& unigrams, const Others<Num>& others,
                std::vector<Part<Num>>& parts, std::span<double> out) {
  const Problem& problem = view.problem;
  const std::size_t M = problem.sources.size();
  std::vector<Num> a = added(pool, parts, view.n_shared, [](const Part<Num>& p) -> auto& { return p.a; });
  for (std::size_t i = 1; i < M; ++i)  // up the chains of contexts and nodes
    for (std::size_t c = problem.sources[i].n_contexts(); c-- > 1;)
      a[view.source_at[i] + problem.sources[i].context_parent[c]] += a[view.source_at[i] + c];
  for (std::size_t k = view.n_owned; k < view.columns.size(); ++k)
    for (std::size_t n = view.columns[k].n_nodes(); n-- > 0;)
      if (const std::uint32_t parent = view.columns[k].parent[n]; parent != kNone)
        a[view.column_at[k] + parent] += a[view.column_at[k] + n];
  pool.run(view.n_owned == view.columns.size() ? 0 : parts.size(), [&](std::size_t chunk) {
    for (const Column& column : view.columns.subspan(view.n_owned)) {  // a slice of its terms to each chunk
      const std::size_t i = column.sources[0], n = column.n_stored_terms();
      const std::size_t size = (n + parts.size() - 1) / parts.size();
      differentiate(column, std::min(chunk * size, n), std::min((chunk + 1) * size, n), a.data(), others.pd[i].data(),
                    parts[chunk].pd[i].data(), others, parts[chunk]);
    }
  });
  std::vector<std::vector<Num>> slope(M), p_bar(M);  // derivatives by p(w) D, and by p(w)
  std::vector<std::vector<Num>> d_bar(M);
  for (std::size_t i = 1; i < M; ++i) {
    const std::size_t n = problem.sources[i].n_entries();
    d_bar[i] = added(pool, parts, view.slots[i].n_slots, [i](const Part<Num>& p) -> auto& { return p.d[i]; });
    if (parts[0].pd[i].empty()) slope[i].assign(n, 0.0);
    else slope[i] = added(pool, parts, n, [i](const Part<Num>& p) -> auto& { return p.pd[i]; });
  }
  if (M > 1) pool.run(M - 1, [&](std::size_t task) {
    const std::size_t i = task + 1;
    const Source& s = problem.sources[i];
    const auto& slot = view.slots[i].of_entry;
    p_bar[i].assign(problem.n_words, 0.0);
    for (std::uint32_t c = 1; c < s.n_contexts(); ++c)
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e) {
        const std::uint32_t word = s.entry_word[e];
        const Num g = slope[i][e] + a[view.source_at[i] + c];
        p_bar[i][word] += others.d[i][slot[e]] * g;
        slope[i][e] = unigrams.p[word] * g + d_bar[i][slot[e]];
      }
    chain_rule(s, others.s[i], slope[i], problem.observed, out);
  });
  const auto root = added(pool, parts, problem.n_words, [](const Part<Num>& p) -> auto& { return p.root; });
  Num a_root = 0.0;
  for (const auto& part : parts) a_root += part.a_root;
  for (std::size_t word = 0; word < problem.n_words; ++word) {
    Num sum = a_root;
    for (std::size_t i = 1; i < M; ++i) sum += p_bar[i][word];
    out[word] = written(unigrams.p[word] * sum + root[word]);
    if constexpr (std::is_same_v<Num, double>) out[word] -= problem.observed[word];
  }
  for (const auto& part : parts)
    for (std::size_t j = 0; j < part.directly.size(); ++j) out[j] += part.directly[j];
}

}  // namespace

struct Clusters::Workspaces {
  Spare<Workspace<double>> values;
  Spare<Workspace<Dual>> duals;
  Spare<Frames<double>> value_frames;
  Spare<Frames<Dual>> dual_frames;

  template <class Num>
  auto& workspaces() {
    if constexpr (std::is_same_v<Num, double>) return values;
    else return duals;
  }
  template <class Num>
  auto& frames() {
    if constexpr (std::is_same_v<Num, double>) return value_frames;
    else return dual_frames;
  }
};

Clusters::~Clusters() = default;
Clusters::Clusters(Clusters&&) noexcept = default;

Clusters::Clusters(ThreadPool& pool, const Problem& problem, std::span<const std::uint32_t> apart,
                   std::uint64_t max_bytes, std::size_t unit)
    : problem_(problem), spare_(std::make_unique<Workspaces>()) {
  if (problem.sources.empty() || problem.sources[0].depth() == 0)
    throw InvalidInput("sharing over intersections needs a source with contexts");
  slots_.resize(problem.sources.size());
  pool.run(slots_.size(), [&](std::size_t i) {
    if (i == 0) order_ = Order(problem, 0);
    else slots_[i] = Slots(problem.sources[i], problem.n_words);
  });
  columns_ = build_columns(pool, problem, slots_, order_, apart, max_bytes);
  while (n_owned_ < columns_.size() && columns_[n_owned_].sources[0] == 0) ++n_owned_;
  plan(unit);
  if (n_sums_ >= kNone) throw InvalidInput("the sources have more than 2^32 tuples of contexts");
  localise(pool);
}

Clusters::View Clusters::view() const {
  return {problem_, slots_, columns_, n_owned_, order_, frames_, pieces_, rows_, count_,
          problem_.sources.size() - 1 + columns_.size(), source_at_, column_at_, n_shared_, n_sums_};
}

std::uint64_t Clusters::terms() const {
  std::uint64_t total = problem_.n_words;
  for (const Source& s : problem_.sources) total += s.n_entries();
  for (const Column& c : columns_) total += c.n_terms();
  return total;
}

std::size_t Clusters::bytes() const {
  std::size_t total = sizeof(Unit) * units_.size() + sizeof(Frame) * frames_.size() + sizeof(Piece) * pieces_.size();
  std::size_t sums = problem_.n_words + 2 * n_shared_;
  for (const Column& c : columns_) total += c.bytes();
  for (const Slots& s : slots_) {
    total += 4 * s.of_entry.size();
    for (const auto& depth : s.depths) total += 4 * depth.row.size();
    sums += s.n_slots;
  }
  total += 4 * (rows_.size() + order_.history.size() + order_.start.size() + order_.child.size()) + 8 * count_.size();
  return total + 8 * (chunks_.size() + 4) * sums;
}

template <class Num, bool is_signed>
double Clusters::evaluate(ThreadPool& pool, std::span<const double> w, std::span<const double> v, std::span<double> out,
                          std::span<double> log_z) const {
  const View seen = view();
  const Unigrams<Num> unigrams(w, v, problem_.n_words);
  Lease<Workspace<Num>> lease(spare_->workspaces<Num>());
  auto& others = lease.item->others;  // no structured binding: lambdas of older clang cannot take one
  auto& parts = lease.item->parts;
  sums_before(pool, seen, w, v, unigrams, others);
  parts.resize(chunks_.size() - 1);
  pool.run(parts.size(), [&](std::size_t chunk) {
    Lease<Frames<Num>> frames(spare_->frames<Num>());
    parts[chunk].clear(seen);
    Sweep<Num, is_signed> sweep(seen, {w, v, out, log_z}, unigrams, others, parts[chunk], *frames.item);
    for (std::size_t k = chunks_[chunk]; k < chunks_[chunk + 1];) k = sweep.unit(units_, k);
    sweep.finish();
  });
  if (!log_z.empty()) return 0.0;
  sums_after(pool, seen, unigrams, others, parts, out);
  double value = 0.0;
  for (const auto& part : parts) value += part.loss;
  const Source& first = problem_.sources[0];
  for (std::size_t j = 0; j < w.size(); ++j)  // the sweep has done its own
    if (j < first.offset || j >= first.offset + first.n_entries()) value -= w[j] * problem_.observed[j];
    else j = first.offset + first.n_entries() - 1;
  return value;
}

double Clusters::value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const {
  if (w.size() != problem_.n_weights() || gradient.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const Extent range = extent(pool, problem_, w);
  if (!(range.size <= kExtreme)) {
    std::uint64_t terms;
    return naive(pool, problem_, w, gradient, terms);
  }
  return range.is_signed ? evaluate<double, true>(pool, w, {}, gradient, {})
                         : evaluate<double, false>(pool, w, {}, gradient, {});
}

void Clusters::hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                              std::span<double> out) const {
  if (w.size() != problem_.n_weights() || v.size() != w.size() || out.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const Extent range = extent(pool, problem_, w);
  if (!(range.size <= kExtreme)) return naive_hessian_vector(pool, problem_, w, v, out);
  if (range.is_signed) evaluate<Dual, true>(pool, w, v, out, {});
  else evaluate<Dual, false>(pool, w, v, out, {});
}

void Clusters::log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  if (w.size() != problem_.n_weights() || out.size() != problem_.n_histories())
    throw InvalidInput("a composite model needs one number per weight and one per history");
  const Extent range = extent(pool, problem_, w);
  if (!(range.size <= kExtreme)) return naive_log_z(pool, problem_, w, out);
  if (range.is_signed) evaluate<double, true>(pool, w, {}, {}, out);
  else evaluate<double, false>(pool, w, {}, {}, out);
}

}  // namespace loglinear::composite
