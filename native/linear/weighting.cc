#include "linear/weighting.hh"

#include <cmath>

#include "util/errors.hh"

namespace loglinear::linear {

void weigh_rows(ThreadPool& pool, std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                Growth growth, std::span<const double> scale, bool unit, std::span<double> values) {
  if (indptr.empty() || indices.size() != values.size() || indptr.front() != 0 ||
      indptr.back() != static_cast<std::int64_t>(values.size()))
    throw InvalidInput("weighting: indptr, indices and values do not belong together");
  constexpr std::size_t kRows = 256;
  parallel_for(pool, indptr.size() - 1, kRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      if (indptr[r + 1] < indptr[r] || indptr[r + 1] > indptr.back())
        throw InvalidInput("weighting: indptr decreases");
      double squares = 0;
      for (std::int64_t at = indptr[r]; at < indptr[r + 1]; ++at) {
        const auto p = static_cast<std::size_t>(at);
        double v = values[p];
        if (growth == Growth::binary) v = v > 0;
        else if (growth == Growth::logarithm) v = v > 0 ? 1 + std::log(v) : 0;
        if (!scale.empty()) {
          const auto column = static_cast<std::size_t>(indices[p]);
          if (indices[p] < 0 || column >= scale.size()) throw InvalidInput("weighting: a column is out of range");
          v *= scale[column];
        }
        values[p] = v;
        squares += v * v;
      }
      if (!unit || !(squares > 0)) continue;
      const double length = std::sqrt(squares);
      for (std::int64_t at = indptr[r]; at < indptr[r + 1]; ++at) values[static_cast<std::size_t>(at)] /= length;
    }
  });
}

}  // namespace loglinear::linear
