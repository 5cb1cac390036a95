#include <algorithm>
#include <limits>
#include <string>

#include "lists/features.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::lists {

using text::CountRows;
namespace {

struct Row {
  const std::int32_t* indices;
  const double* values;
  std::size_t size;
};

// emit(feature, a - b) for every feature whose values differ, ascending.
template <class Emit>
void for_each_difference(const Row& a, const Row& b, Emit emit) {
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  std::size_t i = 0, j = 0;
  while (i < a.size || j < b.size) {
    const std::int32_t fa = i < a.size ? a.indices[i] : kNone, fb = j < b.size ? b.indices[j] : kNone;
    const std::int32_t f = std::min(fa, fb);
    double value = 0.0;
    if (i < a.size && fa == f) value += a.values[i++];
    if (j < b.size && fb == f) value -= b.values[j++];
    if (value != 0.0) emit(f, value);
  }
}

void check_rows(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                std::span<const double> values) {
  require(!indptr.empty(), "candidate rows: indptr is empty");
  require(indices.size() == values.size(), "candidate rows: indices and values differ in length");
  check_list_ptr(indptr, indices.size(), "stored values");
  for (std::size_t r = 0; r + 1 < indptr.size(); ++r)
    for (std::int64_t p = indptr[r] + 1; p < indptr[r + 1]; ++p)
      if (indices[static_cast<std::size_t>(p)] <= indices[static_cast<std::size_t>(p - 1)])
        throw InvalidInput("candidate rows: the features of row " + std::to_string(r) + " do not ascend");
}

}  // namespace

CountRows candidate_differences(ThreadPool& pool, std::span<const std::int64_t> indptr,
                                std::span<const std::int32_t> indices, std::span<const double> values,
                                std::span<const std::int64_t> list_ptr, std::span<const std::int32_t> reference) {
  check_rows(indptr, indices, values);
  check_list_ptr(list_ptr, indptr.size() - 1, "candidates");
  const std::size_t n_lists = list_ptr.size() - 1;
  require(reference.size() == n_lists, "there must be one reference for each list");
  std::vector<std::int64_t> first_pair(n_lists + 1, 0);
  for (std::size_t i = 0; i < n_lists; ++i) {
    const std::int64_t n = list_ptr[i + 1] - list_ptr[i];
    if (n && (reference[i] < 0 || reference[i] >= n))
      throw InvalidInput("list " + std::to_string(i) + ": reference " + std::to_string(reference[i]) + " of " +
                         std::to_string(n) + " candidates");
    first_pair[i + 1] = first_pair[i] + (n ? n - 1 : 0);
  }
  const auto row = [&](std::int64_t r) {
    const auto begin = static_cast<std::size_t>(indptr[static_cast<std::size_t>(r)]);
    const auto end = static_cast<std::size_t>(indptr[static_cast<std::size_t>(r) + 1]);
    return Row{indices.data() + begin, values.data() + begin, end - begin};
  };
  // body(pair, row of the reference, row of the candidate)
  const auto for_each_pair = [&](auto body) {
    parallel_for(pool, n_lists, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        auto pair = static_cast<std::size_t>(first_pair[i]);
        for (std::int64_t c = list_ptr[i]; c < list_ptr[i + 1]; ++c)
          if (c != list_ptr[i] + reference[i]) body(pair++, row(list_ptr[i] + reference[i]), row(c));
      }
    });
  };
  CountRows out;
  out.indptr.assign(static_cast<std::size_t>(first_pair.back()) + 1, 0);
  for_each_pair([&](std::size_t pair, const Row& a, const Row& b) {
    std::int64_t n = 0;
    for_each_difference(a, b, [&](std::int32_t, double) { ++n; });
    out.indptr[pair + 1] = n;
  });
  for (std::size_t p = 0; p + 1 < out.indptr.size(); ++p) out.indptr[p + 1] += out.indptr[p];
  out.indices.resize(static_cast<std::size_t>(out.indptr.back()));
  out.values.resize(out.indices.size());
  for_each_pair([&](std::size_t pair, const Row& a, const Row& b) {
    auto at = static_cast<std::size_t>(out.indptr[pair]);
    for_each_difference(a, b, [&](std::int32_t feature, double value) {
      out.indices[at] = feature;
      out.values[at++] = value;
    });
  });
  return out;
}

}  // namespace loglinear::lists
