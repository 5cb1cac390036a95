#include "linear/tying.hh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

namespace loglinear::linear {

// ---- identical columns --------------------------------------------------------------------------------------------

std::int64_t identical_columns(ThreadPool& pool, const SparseMatrix<std::int32_t>& columns,
                               std::span<std::int32_t> groups) {
  const std::size_t n = columns.n_rows();
  require(groups.size() == n, "groups do not have one entry per column");
  auto mix = [](std::uint64_t h) {
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
    return h * 0xbf58476d1ce4e5b9ull;
  };
  struct Key {
    std::uint64_t hash;
    std::int32_t column;
  };
  std::vector<Key> keys(n);
  parallel_for(pool, n, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      std::uint64_t h = 0x2545f4914f6cdd1dull;
      for (std::int64_t p = columns.indptr[j]; p < columns.indptr[j + 1]; ++p)
        h = mix(h ^ static_cast<std::uint64_t>(columns.indices[p])) + std::bit_cast<std::uint64_t>(columns.values[p]);
      keys[j] = {mix(h), static_cast<std::int32_t>(j)};
    }
  });
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.column < b.column;
  });
  auto same = [&](std::int32_t a, std::int32_t b) {
    const std::int64_t p = columns.indptr[a], q = columns.indptr[b], size = columns.indptr[a + 1] - p;
    return size == columns.indptr[b + 1] - q &&
           std::equal(&columns.indices[0] + p, &columns.indices[0] + p + size, &columns.indices[0] + q) &&
           std::equal(&columns.values[0] + p, &columns.values[0] + p + size, &columns.values[0] + q);
  };
  // leader[j]: the first column equal to j. Columns of one hash are compared in full, so collisions cost time only.
  std::vector<std::int32_t> leader(n), candidates;
  for (std::size_t i = 0; i < n;) {
    std::size_t stop = i;
    candidates.clear();
    for (; stop < n && keys[stop].hash == keys[i].hash; ++stop) {
      const std::int32_t j = keys[stop].column;
      auto match = columns.n_nonzeros() == 0 ? candidates.begin()
                                             : std::find_if(candidates.begin(), candidates.end(),
                                                            [&](std::int32_t c) { return same(c, j); });
      if (match == candidates.end()) {
        candidates.push_back(j);
        leader[j] = j;
      } else {
        leader[j] = *match;
      }
    }
    i = stop;
  }
  std::int32_t n_groups = 0;
  for (std::size_t j = 0; j < n; ++j)
    groups[j] = leader[j] == static_cast<std::int32_t>(j) ? n_groups++ : groups[leader[j]];
  return n_groups;
}

template <class Index>
TiedRows tie_columns(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const std::int32_t> groups,
                     std::span<const double> scale) {
  require(groups.size() == rows.n_columns, "groups do not have one entry per column");
  check_groups(groups, scale.size());
  const std::size_t n_parts = rows.cuts.size() - 1;
  struct Part {
    std::vector<std::int32_t> indices;
    std::vector<double> values;
  };
  std::vector<Part> parts(n_parts);
  TiedRows out;
  out.indptr.assign(rows.n_rows() + 1, 0);
  pool.run(n_parts, [&](std::size_t part) {
    std::vector<std::pair<std::int32_t, double>> row;
    auto& [indices, values] = parts[part];
    for (std::size_t r = rows.cuts[part]; r < rows.cuts[part + 1]; ++r) {
      row.clear();
      for (std::int64_t p = rows.indptr[r]; p < rows.indptr[r + 1]; ++p)
        row.emplace_back(groups[static_cast<std::size_t>(rows.indices[p])], rows.values[p]);
      std::stable_sort(row.begin(), row.end(), [](auto& a, auto& b) { return a.first < b.first; });
      const std::size_t start = indices.size();
      for (auto [g, x] : row) {
        if (indices.size() > start && indices.back() == g) {
          values.back() += x;
        } else {
          indices.push_back(g);
          values.push_back(x);
        }
      }
      for (std::size_t i = start; i < indices.size(); ++i) values[i] *= scale[indices[i]];
      out.indptr[r + 1] = static_cast<std::int64_t>(indices.size() - start);
    }
  });
  std::partial_sum(out.indptr.begin(), out.indptr.end(), out.indptr.begin());
  out.indices.resize(out.indptr.back());
  out.values.resize(out.indptr.back());
  pool.run(n_parts, [&](std::size_t part) {
    const std::int64_t at = out.indptr[rows.cuts[part]];
    std::copy(parts[part].indices.begin(), parts[part].indices.end(), out.indices.begin() + at);
    std::copy(parts[part].values.begin(), parts[part].values.end(), out.values.begin() + at);
  });
  return out;
}
template TiedRows tie_columns(ThreadPool&, const SparseMatrix<std::int32_t>&, std::span<const std::int32_t>,
                              std::span<const double>);
template TiedRows tie_columns(ThreadPool&, const SparseMatrix<std::int64_t>&, std::span<const std::int32_t>,
                              std::span<const double>);

// ---- sort and block -----------------------------------------------------------------------------------------------
namespace {

// Order of the values by their single-precision rounding: clusters are far wider than that, and 32-bit keys sort in
// three counting passes.
std::vector<std::int32_t> sorted_order(std::span<const double> values, std::vector<float>& sorted) {
  const std::size_t n = values.size();
  struct Item {
    std::uint32_t key;
    std::int32_t index;
  };
  std::vector<Item> items(n), buffer(n);
  std::vector<std::uint32_t> counts(3 * 2048);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t b = std::bit_cast<std::uint32_t>(static_cast<float>(values[i]) + 0.0f);
    b = b & 0x80000000u ? ~b : b | 0x80000000u;
    items[i] = {b, static_cast<std::int32_t>(i)};
    ++counts[b & 2047];
    ++counts[2048 + (b >> 11 & 2047)];
    ++counts[4096 + (b >> 22)];
  }
  for (int pass = 0; pass < 3; ++pass) {
    std::uint32_t* count = counts.data() + 2048 * pass;
    std::uint32_t sum = 0;
    for (int d = 0; d < 2048; ++d) sum += std::exchange(count[d], sum);
    for (const Item& item : items) buffer[count[item.key >> (11 * pass) & 2047]++] = item;
    items.swap(buffer);
  }
  std::vector<std::int32_t> order(n);
  sorted.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = items[i].index;
    const std::uint32_t b = items[i].key & 0x80000000u ? items[i].key & 0x7fffffffu : ~items[i].key;
    sorted[i] = std::bit_cast<float>(b);
  }
  return order;
}

double block_mean(const std::vector<float>& x, const std::vector<double>& mass, const std::vector<double>& sum,
                  std::size_t begin, std::size_t end) {
  const double m = mass[end] - mass[begin];
  return m > 0.0 ? (sum[end] - sum[begin]) / m : 0.5 * (static_cast<double>(x[begin]) + x[end - 1]);
}

// Splits the block of largest squared error at its mean until there are `n_cuts` cuts or nothing is left to split.
void split_worst(const std::vector<float>& x, const std::vector<double>& mass, const std::vector<double>& sum,
                 const std::vector<double>& square, std::size_t n_cuts, std::vector<std::size_t>& cut) {
  using Block = std::tuple<double, std::size_t, std::size_t>;  // error, begin, end
  std::priority_queue<Block> worst;
  auto add = [&](std::size_t begin, std::size_t end) {
    if (x[begin] == x[end - 1]) return;
    const double m = mass[end] - mass[begin], s = sum[end] - sum[begin];
    worst.emplace(m > 0.0 ? square[end] - square[begin] - s * s / m : 0.0, begin, end);
  };
  for (std::size_t c = 0; c + 1 < cut.size(); ++c) add(cut[c], cut[c + 1]);
  while (cut.size() < n_cuts && !worst.empty()) {
    const auto [error, begin, end] = worst.top();
    worst.pop();
    const auto middle = static_cast<float>(block_mean(x, mass, sum, begin, end));
    auto at = static_cast<std::size_t>(std::lower_bound(x.begin() + begin, x.begin() + end, middle) - x.begin());
    if (at == begin)
      at = static_cast<std::size_t>(std::upper_bound(x.begin() + begin, x.begin() + end, x[begin]) - x.begin());
    if (at >= end) continue;
    cut.push_back(at);
    add(begin, at);
    add(at, end);
  }
  std::sort(cut.begin(), cut.end());
}

// Lloyd's rule on sorted values: every cut moves to the middle between the means of its two blocks.
void lloyd(const std::vector<float>& x, const std::vector<double>& mass, const std::vector<double>& sum, int sweeps,
           std::vector<std::size_t>& cut) {
  const std::size_t n = x.size();
  for (int sweep = 0; sweep < sweeps && cut.size() > 2; ++sweep) {
    std::vector<double> mean(cut.size() - 1);
    for (std::size_t c = 0; c + 1 < cut.size(); ++c) mean[c] = block_mean(x, mass, sum, cut[c], cut[c + 1]);
    std::vector<std::size_t> next{0};
    for (std::size_t c = 1; c + 1 < cut.size(); ++c) {
      const auto middle = static_cast<float>(0.5 * (mean[c - 1] + mean[c]));
      const auto at = std::lower_bound(x.begin() + cut[c - 1], x.begin() + cut[c + 1], middle);
      const auto position = static_cast<std::size_t>(at - x.begin());
      if (position > next.back() && position < n) next.push_back(position);
    }
    next.push_back(n);
    if (next == cut) break;
    cut.swap(next);
  }
}

}  // namespace

std::int64_t cluster_values(ThreadPool& pool, std::span<const double> values, std::span<const double> importance,
                            std::int64_t n_clusters, int sweeps, bool split_signs, std::span<std::int32_t> map) {
  const std::size_t n = values.size();
  require(n_clusters >= 1, "the number of clusters must be at least 1");
  require(map.size() == n, "the cluster map does not have one entry per weight");
  require(importance.empty() || importance.size() == n, "importance does not have one entry per weight");
  require(n < std::numeric_limits<std::int32_t>::max(), "more than 2^31 - 1 weights cannot be clustered");
  if (n == 0) return 0;
  for (double v : values) require(std::isfinite(v), "weights to cluster must be finite");

  std::vector<float> x;
  const std::vector<std::int32_t> order = sorted_order(values, x);
  std::vector<double> mass(n + 1), sum(n + 1), square(n + 1), share(n);
  parallel_for(pool, n - 1, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double gap = static_cast<double>(x[i + 1]) - x[i];
      const double c = std::cbrt(importance.empty() ? gap * gap : gap * gap * importance[order[i]]);
      share[i + 1] = c;
    }
  });
  for (std::size_t i = 0; i < n; ++i) {
    const double m = importance.empty() ? 1.0 : importance[order[i]];
    mass[i + 1] = mass[i] + m;
    sum[i + 1] = sum[i] + m * x[i];
    square[i + 1] = square[i] + m * x[i] * x[i];
    if (i > 0) share[i] += share[i - 1];
  }
  // Cut k at the first value whose running share reaches k / n_clusters of the whole.
  std::vector<std::size_t> cut{0};
  for (std::size_t i = 1; i < n; ++i) {
    if (share[n - 1] <= 0.0) break;
    const auto block = [&](std::size_t j) {
      return std::min<std::int64_t>(n_clusters - 1, static_cast<std::int64_t>(share[j] / share[n - 1] * n_clusters));
    };
    if (x[i] != x[i - 1] && block(i) != block(i - 1)) cut.push_back(i);
  }
  cut.push_back(n);
  // Several cuts may fall into one wide gap and be lost there: give the rest to the blocks of largest error.
  split_worst(x, mass, sum, square, static_cast<std::size_t>(n_clusters) + 1, cut);
  lloyd(x, mass, sum, sweeps, cut);
  if (split_signs) {
    const auto negative = static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), 0.0f) - x.begin());
    const auto positive = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), 0.0f) - x.begin());
    for (std::size_t at : {negative, positive})
      if (at > 0 && at < n && !std::binary_search(cut.begin(), cut.end(), at))
        cut.insert(std::lower_bound(cut.begin(), cut.end(), at), at);
  }
  for (std::size_t c = 0; c + 1 < cut.size(); ++c)
    for (std::size_t i = cut[c]; i < cut[c + 1]; ++i) map[order[i]] = static_cast<std::int32_t>(c);
  return static_cast<std::int64_t>(cut.size()) - 1;
}

// ---- sums and copies ----------------------------------------------------------------------------------------------

void check_groups(std::span<const std::int32_t> map, std::size_t n_groups) {
  for (std::size_t i = 0; i < map.size(); ++i)
    if (map[i] < 0 || static_cast<std::size_t>(map[i]) >= n_groups)
      throw InvalidInput("group " + std::to_string(map[i]) + " of weight " + std::to_string(i) + " is outside [0, " +
                         std::to_string(n_groups) + ")");
}

void sum_groups(ThreadPool& pool, std::span<const double> values, std::span<const std::int32_t> map,
                std::span<const double> scale, std::span<double> out) {
  require(values.size() == map.size(), "groups do not have one entry per weight");
  require(scale.empty() || scale.size() == out.size(), "scales do not have one entry per group");
  const std::size_t n = values.size(), n_parts = static_cast<std::size_t>(pool.size());
  std::vector<double> partial(n_parts * out.size());
  pool.run(n_parts, [&](std::size_t part) {
    double* sums = partial.data() + part * out.size();
    for (std::size_t i = n * part / n_parts; i < n * (part + 1) / n_parts; ++i) sums[map[i]] += values[i];
  });
  for (std::size_t g = 0; g < out.size(); ++g) {
    double total = 0.0;
    for (std::size_t part = 0; part < n_parts; ++part) total += partial[part * out.size() + g];
    out[g] = scale.empty() ? total : total * scale[g];
  }
}

void copy_groups(ThreadPool& pool, std::span<const double> shared, std::span<const std::int32_t> map,
                 std::span<const double> scale, std::span<double> out) {
  require(out.size() == map.size(), "groups do not have one entry per weight");
  require(scale.empty() || scale.size() == shared.size(), "scales do not have one entry per group");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = scale.empty() ? shared[map[i]] : shared[map[i]] * scale[map[i]];
  });
}

}  // namespace loglinear::linear
