#include "chain/features.hh"

#include <algorithm>
#include <cmath>
#include <string>

#include "util/views.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kSmallPairs = 64;  // states of label pairs up to which rows of them are worth it

// Pointers that start at 0, never decrease and end at `end`.
void check_pointers(std::span<const std::int64_t> ptr, std::size_t end, const char* what) {
  const std::string name(what);
  if (ptr.empty() || ptr.front() != 0) throw InvalidInput(name + ": pointers must begin with 0");
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i)
    if (ptr[i + 1] < ptr[i]) throw InvalidInput(name + ": pointers decrease at " + std::to_string(i));
  if (ptr.back() != static_cast<std::int64_t>(end))
    throw InvalidInput(name + ": pointers must end at " + std::to_string(end));
}

void check_codes(std::span<const std::int64_t> ptr, std::span<const std::int32_t> codes, std::size_t limit,
                 const char* what) {
  for (std::size_t a = 0; a + 1 < ptr.size(); ++a)
    for (std::int64_t p = ptr[a]; p < ptr[a + 1]; ++p) {
      if (codes[p] < 0 || static_cast<std::size_t>(codes[p]) >= limit)
        throw InvalidInput(std::string(what) + " feature " + std::to_string(p) + " is out of range");
      if (p > ptr[a] && codes[p] <= codes[p - 1])
        throw InvalidInput(std::string(what) + " feature " + std::to_string(p) + " is out of order");
    }
}

}  // namespace

ChainFeatures::ChainFeatures(std::size_t n_labels, std::span<const std::int64_t> node_pointers,
                             std::span<const std::int32_t> node_labels, std::span<const std::int64_t> pair_pointers,
                             std::span<const std::int32_t> pair_codes, std::span<const std::int32_t> transitions,
                             std::span<const std::int32_t> trigrams, std::size_t numbers)
    : L(n_labels),
      Lp((n_labels + 3) / 4 * 4),
      n_numbers(numbers),
      node_ptr(node_pointers),
      node_label(node_labels),
      pair_ptr(pair_pointers),
      pair_code(pair_codes),
      transition_code(transitions),
      trigram_code(trigrams) {
  require(L >= 1 && L < 0xFFF0, "chain features: between 1 and 65519 labels");
  check_pointers(node_ptr, node_label.size(), "node features");
  check_pointers(pair_ptr, pair_code.size(), "pair features");
  require(pair_ptr.size() == node_ptr.size(), "chain features: node and pair pointers differ in length");
  check_codes(node_ptr, node_label, L, "node");
  check_codes(pair_ptr, pair_code, L * L, "pair");
  const std::int64_t all_transitions[] = {0, static_cast<std::int64_t>(transition_code.size())};
  const std::int64_t all_trigrams[] = {0, static_cast<std::int64_t>(trigram_code.size())};
  check_codes(all_transitions, transition_code, L * L, "transition");
  require(trigram_code.empty() || (L + 1) * L * L <= 0x7FFFFFFF, "chain features: too many labels for trigrams");
  check_codes(all_trigrams, trigram_code, (L + 1) * L * L, "trigram");
  require(n_weights() <= 0x7FFFFFFF, "chain features: more than 2147483647 weights");
  require(n_numbers < node_ptr.size(), "chain features: fewer attributes than numbers");
  require(pair_ptr[first_number()] == pair_ptr.back(), "chain features: numbers go with the label alone");

  nodes.build(node_ptr.first(first_number() + 1), node_label, L, Lp, L);  // numbers have a matrix of their own
  if (!pair_code.empty() && L * Lp <= kSmallPairs) pairs.build(pair_ptr, pair_code, L, Lp, L * L);
}

void WeightRows::build(std::span<const std::int64_t> ptr, std::span<const std::int32_t> codes, std::size_t L,
                       std::size_t Lp, std::size_t n_codes) {
  rows.resize(ptr.size() - 1);
  offsets.resize(codes.size());
  for (std::size_t k = 0; k < codes.size(); ++k) {
    const auto code = static_cast<std::size_t>(codes[k]);
    offsets[k] = static_cast<std::uint16_t>(code / L * Lp + code % L);
  }
  for (std::size_t a = 0; a < rows.size(); ++a) {
    const auto begin = static_cast<std::size_t>(ptr[a]), count = static_cast<std::size_t>(ptr[a + 1]) - begin;
    if (count >= 3 && count * 4 >= n_codes) {  // a whole row is added faster than a quarter of it one by one
      rows[a] = {static_cast<std::uint32_t>(expanded.size()), kExpanded, 0};
      expanded.push_back(static_cast<std::uint32_t>(a));
    } else {
      rows[a] = {static_cast<std::uint32_t>(begin), static_cast<std::uint16_t>(count),
                 count ? offsets[begin] : std::uint16_t{0}};
    }
  }
}

Sequences::Sequences(std::span<const std::int64_t> sequence_pointers, std::span<const std::int64_t> row_pointers,
                     std::span<const std::int32_t> attribute_indices, std::span<const double> attribute_values,
                     std::size_t attributes, TokenArrays token_numbers, TokenArrays token_emissions)
    : ptr(sequence_pointers), indptr(row_pointers), indices(attribute_indices), values(attribute_values),
      n_attributes(attributes), numbers(std::move(token_numbers)), emissions(std::move(token_emissions)) {
  require(!indptr.empty(), "sequences: row pointers are empty");
  check_pointers(ptr, n_tokens(), "sequences");
  check_pointers(indptr, indices.size(), "attributes");
  require(values.empty() || values.size() == indices.size(), "attributes: values differ in length from the numbers");
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0 || static_cast<std::size_t>(indices[i]) >= n_attributes)
      throw InvalidInput("attribute number " + std::to_string(indices[i]) + " is outside [0, " +
                         std::to_string(n_attributes) + ")");
  for (const double v : values) require(std::isfinite(v), "attributes: a value is not finite");
  require(numbers.width <= n_attributes, "numbers: more columns than attributes");
  for (const TokenArrays* arrays : {&numbers, &emissions}) {
    if (arrays->empty()) continue;
    require(arrays->rows.size() == size(), "numbers: one array per sequence is needed");
    for (std::size_t i = 0; i < size(); ++i)
      for (std::size_t k = 0; k < length(i) * arrays->width; ++k)
        if (!std::isfinite(arrays->rows[i][k]))
          throw InvalidInput("sequence " + std::to_string(i) + ", token " + std::to_string(k / arrays->width) +
                             ", column " + std::to_string(k % arrays->width) + ": the number is not finite");
  }
}

std::size_t Sequences::longest() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < size(); ++i) n = std::max(n, length(i));
  return n;
}

std::vector<std::size_t> Sequences::cut(std::size_t parts) const {
  std::vector<std::size_t> cuts{0};
  const auto work = [&](std::size_t i) { return indptr[begin(i)] + 16 * ptr[i]; };
  const std::int64_t total = indptr.back() + 16 * ptr.back();
  for (std::size_t p = 1, i = 0; p < parts; ++p) {
    while (i < size() && work(i) * static_cast<std::int64_t>(parts) < total * static_cast<std::int64_t>(p)) ++i;
    cuts.push_back(i);
  }
  cuts.push_back(size());
  return cuts;
}

ObservedFeatures observed_features(ThreadPool& pool, const Sequences& sequences, std::span<const std::int32_t> labels,
                                   std::size_t L, std::span<const std::uint8_t> scopes, bool pairs,
                                   std::int64_t min_count) {
  require(labels.size() == sequences.n_tokens(), "observed features: one label per token is needed");
  require(scopes.empty() || scopes.size() == sequences.n_attributes, "observed features: one scope per attribute");
  const std::size_t A = sequences.n_attributes, limit = pairs ? L * L : L;
  require(limit <= 0x7FFFFFFF, "observed features: too many labels");
  for (const std::int32_t y : labels)
    require(y >= -1 && (y < 0 || static_cast<std::size_t>(y) < L), "observed features: a label is out of range");
  const std::uint8_t bit = pairs ? 2 : 1;
  const auto wanted = [&](std::size_t a) { return scopes.empty() ? !pairs : (scopes[a] & bit) != 0; };

  std::vector<std::int32_t> code(labels.begin(), labels.end());  // of the feature at each token, or -1
  if (pairs)
    for (std::size_t i = 0; i < sequences.size(); ++i)
      for (std::size_t t = sequences.length(i); t-- > 0;) {
        const std::size_t at = sequences.begin(i) + t;
        const bool known = t > 0 && labels[at] >= 0 && labels[at - 1] >= 0;
        code[at] = known ? labels[at - 1] * static_cast<std::int32_t>(L) + labels[at] : -1;
      }

  // Occurrences by attribute, then the distinct codes of each.
  std::vector<std::int64_t> start(A + 1, 0);
  for (std::size_t t = 0; t < code.size(); ++t)
    if (code[t] >= 0)
      for (std::int64_t p = sequences.indptr[t]; p < sequences.indptr[t + 1]; ++p)
        if (wanted(static_cast<std::size_t>(sequences.indices[p]))) ++start[sequences.indices[p] + 1];
  for (std::size_t a = 0; a < A; ++a) start[a + 1] += start[a];
  std::vector<std::int32_t> found(static_cast<std::size_t>(start[A]));
  {
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    for (std::size_t t = 0; t < code.size(); ++t)
      if (code[t] >= 0)
        for (std::int64_t p = sequences.indptr[t]; p < sequences.indptr[t + 1]; ++p) {
          const auto a = static_cast<std::size_t>(sequences.indices[p]);
          if (wanted(a)) found[static_cast<std::size_t>(next[a]++)] = code[t];
        }
  }
  std::vector<std::int64_t> kept(A);
  parallel_for(pool, A, 1 << 12, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      std::int32_t* first = found.data() + start[a];
      std::int32_t* last = found.data() + start[a + 1];
      std::sort(first, last);
      std::int32_t* out = first;
      for (std::int32_t* p = first; p < last;) {
        std::int32_t* q = p;
        while (q < last && *q == *p) ++q;
        if (q - p >= min_count) *out++ = *p;
        p = q;
      }
      kept[a] = out - first;
    }
  });
  ObservedFeatures result;
  result.ptr.assign(A + 1, 0);
  for (std::size_t a = 0; a < A; ++a) result.ptr[a + 1] = result.ptr[a] + kept[a];
  result.codes.resize(static_cast<std::size_t>(result.ptr[A]));
  for (std::size_t a = 0; a < A; ++a)
    std::copy_n(found.begin() + start[a], kept[a], result.codes.begin() + result.ptr[a]);
  return result;
}

}  // namespace loglinear::chain
