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

}  // namespace

Dense::Dense(const Problem& problem, std::size_t max_row_bytes)
    : problem_(problem), width_((problem.n_words + kVector - 1) / kVector * kVector) {
  if (problem.sources.size() > kMostSources) throw InvalidInput("at most 64 sources can be scored together");
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
  std::size_t total = kBlock * width_ * sizeof(double);
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
                  const std::vector<std::span<const std::uint32_t>>& leaf, std::size_t history, double* out) const {
  std::array<const double*, kMostSources> wide;
  std::size_t n = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::uint32_t r = rows_[i].nearest[leaf[i][history]];
    if (i > 0 && r == 0) continue;
    wide[n++] = rows[i].data() + r * width_;
  }
  std::fill_n(out, width_, 0.0);
  simd::loops().chain.add_rows(wide.data(), nullptr, n, width_, out);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Source& s = problem_.sources[i];
    std::uint32_t c = leaf[i][history];
    const std::uint32_t stop = rows_[i].context[rows_[i].nearest[c]];
    const double* const own = w.data() + s.offset;
    for (; c != stop; c = s.context_parent[c])
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        out[s.entry_word[e]] += own[e] * s.value(e);
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
    const double* const p = block + (x - begin) * width_;
    std::uint32_t c = leaf[x];
    const std::uint32_t r = rows.nearest[c], stop = rows.context[r];
    for (; c != stop; c = s.context_parent[c])
      for (std::uint32_t e = s.context_entry[c]; e < s.context_entry[c + 1]; ++e)
        own[e] += p[s.entry_word[e]] * s.value(e);
    if (r > 0 || source == 0) loops.axpy(1.0, p, table.data() + r * width_, width_);
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
  AlignedDoubles block(kBlock * width_);
  std::array<double, kBlock / kPiece> partial;
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, n), pieces = chunk_count(end - begin, kPiece);
    pool.run(pieces, [&](std::size_t piece) {
      const Range r = chunk_range(end - begin, kPiece, piece);
      double sum = 0.0;
      for (std::size_t k = r.begin; k < r.end; ++k) sum += make(begin + k, block.data() + k * width_);
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
  const double sum = expectations(pool, gradient, [&](std::size_t x, double* p) {
    score(rows, w, problem_.leaf, x, p);
    return problem_.count[x] * loops.softmax(p, problem_.count[x], width_);
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
  expectations(pool, out, [&](std::size_t x, double* p) {
    thread_local AlignedDoubles slope;
    slope.resize(width_);
    score(rows, w, problem_.leaf, x, p);
    score(slopes, v, problem_.leaf, x, slope.data());
    const double count = problem_.count[x];
    loops.softmax(p, count, width_);
    const double mean = count > 0.0 ? loops.dot(p, slope.data(), width_) / count : 0.0;
    for (std::size_t k = 0; k < width_; ++k) p[k] *= slope[k] - mean;
    return 0.0;
  });
}

void Dense::log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  if (w.size() != problem_.n_weights() || out.size() != problem_.n_histories())
    throw InvalidInput("a composite model needs one number per weight and one per history");
  const auto rows = fill(pool, w, kNever);
  parallel_for(pool, out.size(), kPiece, [&](std::size_t begin, std::size_t end) {
    AlignedDoubles scores(width_);
    for (std::size_t x = begin; x < end; ++x) {
      score(rows, w, problem_.leaf, x, scores.data());
      out[x] = simd::loops().logsumexp(scores.data(), problem_.n_words);
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
  parallel_for(pool, n, kPiece, [&](std::size_t begin, std::size_t end) {
    AlignedDoubles scores(width_);
    for (std::size_t x = begin; x < end; ++x) {
      score(prepared.rows, prepared.w, leaf, x, scores.data());
      const double log_z = simd::loops().logsumexp(scores.data(), K);
      for (std::size_t k = 0; k < K; ++k) out[x * K + k] = scores[k] - log_z;
    }
  });
}

}  // namespace loglinear::composite
