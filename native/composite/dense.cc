#include "composite/dense.hh"

#include <algorithm>
#include <array>

#include "simd/loops.hh"
#include "util/errors.hh"

namespace loglinear::composite {
namespace {

constexpr std::size_t kVector = 8;        // doubles of the widest register
constexpr std::size_t kBlock = 1024;      // histories whose probabilities stay in the second-level cache
constexpr std::size_t kPiece = 64;        // histories of one task
constexpr std::size_t kMostSources = 64;
constexpr double kNever = -1e300;         // score of the outcomes that only fill up a row

std::size_t whole_vectors(std::size_t n) { return (n + kVector - 1) / kVector * kVector; }

Rows choose_rows(const Source& source, std::size_t threshold) {
  Rows out;
  out.nearest.resize(source.n_contexts());
  for (std::uint32_t c = 0; c < source.n_contexts(); ++c) {
    const bool wide = c == 0 || (source.context_entry[c + 1] - source.context_entry[c] >= threshold &&
                                 out.context[out.nearest[source.context_parent[c]]] == source.context_parent[c]);
    if (wide) {
      out.nearest[c] = static_cast<std::uint32_t>(out.context.size());
      out.context.push_back(c);
    } else {
      out.nearest[c] = out.nearest[source.context_parent[c]];
    }
  }
  return out;
}

std::size_t checked_widest(const Problem& problem, const OutcomeGroups& groups) {
  if (groups.start.front() != 0 || groups.start.back() != problem.n_words)
    throw InvalidInput("the groups of outcomes do not have all outcomes");
  std::size_t widest = 0;
  for (std::size_t g = 0; g + 1 < groups.start.size(); ++g) {
    if (groups.start[g] >= groups.start[g + 1]) throw InvalidInput("a group of outcomes is empty");
    widest = std::max<std::size_t>(widest, groups.start[g + 1] - groups.start[g]);
  }
  if (groups.of.size() != problem.n_histories()) throw InvalidInput("every history needs a group of outcomes");
  for (const std::uint32_t g : groups.of)
    if (g + std::size_t{1} >= groups.start.size()) throw InvalidInput("a history has a group that does not exist");
  return whole_vectors(widest);
}

// Calls add(e) for the entries of a context whose outcomes are in a range.
template <class Add>
void for_entries(const Source& s, std::uint32_t context, Range range, Add add) {
  std::uint32_t e = s.context_entry[context];
  const std::uint32_t end = s.context_entry[context + 1];
  const std::uint32_t* const words = s.entry_word.data();
  if (range.begin > 0)
    e = static_cast<std::uint32_t>(std::lower_bound(words + e, words + end, range.begin) - words);
  for (; e < end && words[e] < range.end; ++e) add(e);
}

}  // namespace

Range Dense::range(std::size_t history) const {
  if (groups_.start.empty()) return {0, width_};
  const std::uint32_t g = groups_.of[history];
  return {groups_.start[g], groups_.start[g + 1]};
}

std::uint64_t Dense::terms() const {
  std::uint64_t total = 0;
  for (const std::uint32_t g : groups_.of) total += groups_.start[g + 1] - groups_.start[g];
  return groups_.start.empty() ? static_cast<std::uint64_t>(problem_.n_histories()) * problem_.n_words : total;
}

Dense::Dense(const Problem& problem, OutcomeGroups groups, std::size_t max_row_bytes)
    : problem_(problem), groups_(groups), width_(whole_vectors(problem.n_words)), widest_(width_) {
  if (problem.sources.size() > kMostSources) throw InvalidInput("at most 64 sources can be scored together");
  if (!groups_.start.empty()) {
    widest_ = checked_widest(problem, groups_);
    width_ += kVector;  // whole vectors from the start of the last group stay within a row
  }
  for (std::size_t threshold = std::max<std::size_t>(width_ / kVector, 4);; threshold *= 2) {
    rows_.clear();
    std::size_t n_rows = 0;
    for (const Source& s : problem.sources) {
      rows_.push_back(choose_rows(s, threshold));
      n_rows += rows_.back().size();
    }
    if (n_rows * width_ * 2 * sizeof(double) <= max_row_bytes || threshold > problem.n_words) break;
  }
}

std::size_t Dense::bytes() const {
  std::size_t total = kBlock * widest_ * sizeof(double);
  for (const Rows& r : rows_) total += 2 * r.size() * width_ * sizeof(double) + 4 * (r.nearest.size() + r.size());
  return total;
}

std::vector<Dense::Table> Dense::fill(ThreadPool& pool, std::span<const double> w, double padding) const {
  std::vector<Table> out(rows_.size());
  pool.run(rows_.size(), [&](std::size_t i) {
    const Source& s = problem_.sources[i];
    const Rows& rows = rows_[i];
    Table& table = out[i];
    table.assign(rows.size() * width_, 0.0);
    if (i == 0) {  // the unigrams are in every sum once
      std::copy_n(w.data(), problem_.n_words, table.data());
      std::fill(table.begin() + static_cast<std::ptrdiff_t>(problem_.n_words),
                table.begin() + static_cast<std::ptrdiff_t>(width_), padding);
    }
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const std::uint32_t c = rows.context[r];
      double* const row = table.data() + r * width_;
      std::copy_n(table.data() + rows.nearest[s.context_parent[c]] * width_, width_, row);
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        row[s.entry_word[e]] += w[s.offset + e] * s.value(e);
    }
  });
  return out;
}

void Dense::score(const std::vector<Table>& rows, std::span<const double> w,
                  const std::vector<std::span<const std::uint32_t>>& leaf, std::size_t history, Range range,
                  double* out) const {
  std::array<const double*, kMostSources> wide;
  const std::size_t size = whole_vectors(range.end - range.begin);
  std::size_t n = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::uint32_t r = rows_[i].nearest[leaf[i][history]];
    if (i > 0 && r == 0) continue;
    wide[n++] = rows[i].data() + r * width_ + range.begin;
  }
  std::fill_n(out, size, 0.0);
  simd::loops().chain.add_rows(wide.data(), nullptr, n, size, out);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Source& s = problem_.sources[i];
    std::uint32_t c = leaf[i][history];
    const std::uint32_t stop = rows_[i].context[rows_[i].nearest[c]];
    const double* const own = w.data() + s.offset;
    for (; c != stop; c = s.context_parent[c])
      for_entries(s, c, range, [&](std::uint32_t e) { out[s.entry_word[e] - range.begin] += own[e] * s.value(e); });
  }
}

void Dense::collect(std::size_t source, std::size_t begin, std::size_t end, const double* block, Table& table,
                    std::span<double> out) const {
  const Source& s = problem_.sources[source];
  const Rows& rows = rows_[source];
  const auto leaf = problem_.leaf[source];
  const auto& loops = simd::loops();
  double* const own = out.data() + s.offset;
  for (std::size_t x = begin; x < end; ++x) {
    const double* const p = block + (x - begin) * widest_;
    const Range part = range(x);
    std::uint32_t c = leaf[x];
    const std::uint32_t r = rows.nearest[c], stop = rows.context[r];
    for (; c != stop; c = s.context_parent[c])
      for_entries(s, c, part, [&](std::uint32_t e) { own[e] += p[s.entry_word[e] - part.begin] * s.value(e); });
    if (r > 0 || source == 0)
      loops.axpy(1.0, p, table.data() + r * width_ + part.begin, part.end - part.begin);
  }
}

// The expectations of rows, added up from the longest contexts to the empty one, become those of their entries.
void Dense::finish(std::size_t source, Table& table, std::span<double> out) const {
  const Source& s = problem_.sources[source];
  const Rows& rows = rows_[source];
  const auto& loops = simd::loops();
  for (std::size_t r = rows.size(); r-- > 1;) {
    const std::uint32_t c = rows.context[r];
    const double* const row = table.data() + r * width_;
    for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
      out[s.offset + e] = row[s.entry_word[e]] * s.value(e);
    const std::uint32_t above = rows.nearest[s.context_parent[c]];
    if (above > 0 || source == 0) loops.axpy(1.0, row, table.data() + above * width_, width_);
  }
  if (source == 0) std::copy_n(table.data(), problem_.n_words, out.data());
}

template <class Make>
double Dense::expectations(ThreadPool& pool, std::span<double> out, Make make) const {
  const std::size_t n = problem_.n_histories();
  std::fill(out.begin(), out.end(), 0.0);
  std::vector<Table> tables(rows_.size());
  pool.run(rows_.size(), [&](std::size_t i) { tables[i].assign(rows_[i].size() * width_, 0.0); });
  AlignedDoubles block(kBlock * widest_);
  std::array<double, kBlock / kPiece> partial;
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, n), pieces = chunk_count(end - begin, kPiece);
    pool.run(pieces, [&](std::size_t piece) {
      const Range r = chunk_range(end - begin, kPiece, piece);
      double sum = 0.0;
      for (std::size_t k = r.begin; k < r.end; ++k) sum += make(begin + k, range(begin + k), block.data() + k * widest_);
      partial[piece] = sum;
    });
    for (std::size_t piece = 0; piece < pieces; ++piece) total += partial[piece];
    pool.run(rows_.size(), [&](std::size_t i) { collect(i, begin, end, block.data(), tables[i], out); });
  }
  pool.run(rows_.size(), [&](std::size_t i) { finish(i, tables[i], out); });
  return total;
}

double Dense::value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const {
  if (w.size() != problem_.n_weights() || gradient.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const auto rows = fill(pool, w, kNever);
  const auto& loops = simd::loops();
  const double sum = expectations(pool, gradient, [&](std::size_t x, Range part, double* p) {
    score(rows, w, problem_.leaf, x, part, p);
    return problem_.count[x] * loops.softmax(p, problem_.count[x], part.end - part.begin);
  });
  parallel_for(pool, w.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    loops.axpy(-1.0, problem_.observed.data() + begin, gradient.data() + begin, end - begin);
  });
  return sum - parallel_sum(pool, w.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
           return loops.dot(w.data() + begin, problem_.observed.data() + begin, end - begin);
         });
}

void Dense::hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                           std::span<double> out) const {
  if (w.size() != problem_.n_weights() || v.size() != w.size() || out.size() != w.size())
    throw InvalidInput("a composite model needs one number per weight");
  const auto rows = fill(pool, w, kNever), slopes = fill(pool, v, 0.0);
  const auto& loops = simd::loops();
  expectations(pool, out, [&](std::size_t x, Range part, double* p) {
    thread_local AlignedDoubles slope;
    slope.resize(widest_);
    const std::size_t size = part.end - part.begin;
    score(rows, w, problem_.leaf, x, part, p);
    score(slopes, v, problem_.leaf, x, part, slope.data());
    const double count = problem_.count[x];
    loops.softmax(p, count, size);
    const double mean = count > 0.0 ? loops.dot(p, slope.data(), size) / count : 0.0;
    for (std::size_t k = 0; k < size; ++k) p[k] *= slope[k] - mean;
    return 0.0;
  });
}

void Dense::log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  if (w.size() != problem_.n_weights() || out.size() != problem_.n_histories())
    throw InvalidInput("a composite model needs one number per weight and one per history");
  const auto rows = fill(pool, w, kNever);
  parallel_for(pool, out.size(), kPiece, [&](std::size_t begin, std::size_t end) {
    AlignedDoubles scores(widest_);
    for (std::size_t x = begin; x < end; ++x) {
      const Range part = range(x);
      score(rows, w, problem_.leaf, x, part, scores.data());
      out[x] = simd::loops().logsumexp(scores.data(), part.end - part.begin);
    }
  });
}

Dense::Prepared Dense::prepare(ThreadPool& pool, std::span<const double> w) const {
  if (w.size() != problem_.n_weights()) throw InvalidInput("a composite model needs one number per weight");
  return {fill(pool, w, kNever), w};
}

void Dense::log_probabilities(ThreadPool& pool, const Prepared& prepared,
                              const std::vector<std::span<const std::uint32_t>>& leaf, std::span<double> out) const {
  const std::size_t K = problem_.n_words, n = leaf.empty() ? 0 : leaf[0].size();
  if (leaf.size() != rows_.size() || out.size() != n * K)
    throw InvalidInput("a composite model needs contexts of every source, and room for all outcomes");
  for (std::size_t i = 0; i < leaf.size(); ++i)
    if (leaf[i].size() != n || std::any_of(leaf[i].begin(), leaf[i].end(), [&](std::uint32_t c) {
          return c >= problem_.sources[i].n_contexts();
        }))
      throw InvalidInput("a history has a context that its source lacks");
  const std::array<std::uint32_t, 2> all{0, static_cast<std::uint32_t>(K)};
  const std::span<const std::uint32_t> start = groups_.start.empty() ? std::span<const std::uint32_t>(all)
                                                                      : groups_.start;
  parallel_for(pool, n, kPiece, [&](std::size_t begin, std::size_t end) {
    AlignedDoubles scores(width_);
    for (std::size_t x = begin; x < end; ++x) {
      score(prepared.rows, prepared.w, leaf, x, {0, width_}, scores.data());
      for (std::size_t g = 0; g + 1 < start.size(); ++g) {
        const double log_z = simd::loops().logsumexp(scores.data() + start[g], start[g + 1] - start[g]);
        for (std::size_t k = start[g]; k < start[g + 1]; ++k) out[x * K + k] = scores[k] - log_z;
      }
    }
  });
}

}  // namespace loglinear::composite
