// Counts of n-grams made into values of features, row by row.
//
//   v = c (count), [c > 0] (binary) or 1 + ln c (logarithm);  v_j <- v_j s_j;  v <- v / |v|_2
//
// The factors s are inverse document frequencies. A row of zeros stays as it is.
#pragma once
#include <cstdint>
#include <span>

#include "util/thread_pool.hh"

namespace loglinear::linear {

enum class Growth { count, binary, logarithm };

// indptr [n_rows + 1], indices and values [n_nonzeros]; values are counts and are overwritten. scale [n_columns], or
// empty; unit: whether rows get length one.
void weigh_rows(ThreadPool& pool, std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                Growth growth, std::span<const double> scale, bool unit, std::span<double> values);

}  // namespace loglinear::linear
