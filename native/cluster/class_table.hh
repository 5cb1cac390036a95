// Counts of class bigrams, their terms g(x) = x log x, and both transposed: rows and columns are read alike.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loglinear::cluster {

inline double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

struct ClassTable {
  std::size_t n = 0, stride = 0;                // classes; entries from row to row
  std::vector<std::int32_t> counts, transposed;  // N(c,d) at [c][d]; at [d][c]
  std::vector<double> terms, transposed_terms;   // g of them
  std::vector<double> totals;                    // [stride] N(c)

  explicit ClassTable(std::size_t n_classes)
      : n(n_classes), stride((n + 7) / 8 * 8), counts(n * stride, 0), transposed(counts), terms(n * stride, 0.0),
        transposed_terms(terms), totals(stride, 0.0) {}

  std::int32_t count(std::size_t c, std::size_t d) const { return counts[c * stride + d]; }
  double term(std::size_t c, std::size_t d) const { return terms[c * stride + d]; }

  void add(std::size_t c, std::size_t d, std::int32_t more) {
    if (more == 0) return;
    const std::size_t a = c * stride + d, b = d * stride + c;
    counts[a] += more, transposed[b] += more;
    terms[a] = transposed_terms[b] = x_log_x(counts[a]);
  }

  // sum N(c,d) log N(c,d) - 2 sum N(c) log N(c)
  double objective() const {
    double sum = 0.0;
    for (const double term : terms) sum += term;
    for (const double total : totals) sum -= 2.0 * x_log_x(total);
    return sum;
  }
};

}  // namespace loglinear::cluster
