#include "grammar/rules.hh"

#include <algorithm>
#include <numeric>

namespace loglinear::grammar {

Rules::Rules(std::size_t symbols, std::size_t start_symbol, std::span<const std::int64_t> ptr,
             std::span<const std::int32_t> left_child, std::span<const std::int32_t> right_child,
             std::span<const std::int32_t> parent, std::span<const std::int32_t> child,
             std::span<const std::int32_t> tags)
    : n_symbols(symbols), start(start_symbol), binary_ptr(ptr), left(left_child), right(right_child),
      unary_parent(parent), unary_child(child), tag_symbol(tags), left_row(symbols, -1), right_row(symbols, -1) {
  require(symbols > 0 && symbols < 0x7FFFFFFF && start < symbols, "rules: the start symbol has an unknown number");
  require(ptr.size() == symbols + 1 && ptr.front() == 0 && ptr.back() == static_cast<std::int64_t>(left.size()) &&
              left.size() == right.size() && parent.size() == child.size(),
          "rules: arrays differ in length");
  const auto known = [&](std::span<const std::int32_t> list) {
    for (const std::int32_t s : list) require(s >= 0 && static_cast<std::size_t>(s) < symbols, "rules: unknown symbol");
  };
  for (const auto& list : {left, right, parent, child, tags}) known(list);
  for (std::size_t a = 0; a < symbols; ++a) {
    require(ptr[a] <= ptr[a + 1] && ptr[a + 1] <= ptr.back(), "rules: pointers decrease");
    if (ptr[a] < ptr[a + 1]) parents.push_back(static_cast<std::int32_t>(a));
  }
  for (std::size_t r = 0; r < left.size(); ++r) {
    auto& l = left_row[static_cast<std::size_t>(left[r])];
    if (l < 0) l = static_cast<std::int32_t>(n_left++);
    auto& x = right_row[static_cast<std::size_t>(right[r])];
    if (x < 0) x = static_cast<std::int32_t>(n_right++);
  }
  rule_parent.resize(left.size());
  for (const std::int32_t a : parents)
    std::fill(rule_parent.begin() + ptr[static_cast<std::size_t>(a)], rule_parent.begin() + ptr[static_cast<std::size_t>(a) + 1], a);
  pair_rule.resize(left.size());
  std::iota(pair_rule.begin(), pair_rule.end(), 0);
  const auto key = [&](std::int32_t r) {
    const auto i = static_cast<std::size_t>(r);
    return std::pair(left_row[static_cast<std::size_t>(left[i])], right[i]);
  };
  std::stable_sort(pair_rule.begin(), pair_rule.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  left_pairs.assign(n_left + 1, 0);
  for (std::size_t p = 0; p < pair_rule.size(); ++p) {
    const auto [row, right_symbol] = key(pair_rule[p]);
    if (p == 0 || key(pair_rule[p - 1]) != key(pair_rule[p])) {
      pair_ptr.push_back(static_cast<std::int64_t>(p));
      pair_left.push_back(row);
      pair_right.push_back(right_row[static_cast<std::size_t>(right_symbol)]);
      ++left_pairs[static_cast<std::size_t>(row) + 1];
    }
  }
  pair_ptr.push_back(static_cast<std::int64_t>(pair_rule.size()));
  std::partial_sum(left_pairs.begin(), left_pairs.end(), left_pairs.begin());
  std::vector<std::uint8_t> read(symbols, 0);  // whether a unary rule has read the symbol
  for (std::size_t u = 0; u < parent.size(); ++u) {
    read[static_cast<std::size_t>(child[u])] = 1;
    require(!read[static_cast<std::size_t>(parent[u])],
            "rules: unary rules are not in order, or chains of them form a cycle");
  }
}

}  // namespace loglinear::grammar
