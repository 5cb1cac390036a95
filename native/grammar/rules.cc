#include "grammar/rules.hh"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void check_known(std::span<const std::int32_t> list, std::size_t bound, const char* message) {
  for (const std::int32_t x : list) require(x >= 0 && at(x) < bound, message);
}

}  // namespace

Rules::Rules(std::size_t symbols, std::size_t start_symbol, std::span<const std::int64_t> ptr,
             std::span<const std::int32_t> left_child, std::span<const std::int32_t> right_child,
             std::span<const std::int32_t> parent, std::span<const std::int32_t> child,
             std::span<const std::int32_t> tags, std::size_t label_count, std::span<const std::int32_t> classes,
             std::span<const std::int32_t> labels_of_classes)
    : n_symbols(symbols), start(start_symbol), n_labels(label_count), binary_ptr(ptr), left(left_child),
      right(right_child), unary_parent(parent), unary_child(child), tag_symbol(tags), rule_class(classes),
      class_label(labels_of_classes) {
  require(symbols > 0 && symbols < 0x7FFFFFFF && start < symbols, "rules: the start symbol has an unknown number");
  require(ptr.size() == symbols + 1 && ptr.front() == 0 && ptr.back() == static_cast<std::int64_t>(left.size()) &&
              left.size() == right.size() && parent.size() == child.size() && rule_class.size() == n_rules(),
          "rules: arrays differ in length");
  for (const auto& list : {left, right, parent, child, tags}) check_known(list, symbols, "rules: unknown symbol");
  check_known(rule_class, n_classes(), "rules: a rule is of an unknown class");
  check_known(class_label, n_labels, "rules: a class has an unknown label");
  left_row.assign(symbols, -1), right_row.assign(symbols, -1);
  rule_parent.resize(left.size());
  for (std::size_t a = 0; a < symbols; ++a) {
    require(ptr[a] <= ptr[a + 1] && ptr[a + 1] <= ptr.back(), "rules: pointers decrease");
    std::fill(rule_parent.begin() + ptr[a], rule_parent.begin() + ptr[a + 1], static_cast<std::int32_t>(a));
  }
  find_pairs();
  std::vector<std::uint8_t> read(symbols, 0);  // whether a unary rule has read the symbol
  for (std::size_t u = 0; u < parent.size(); ++u) {
    read[at(child[u])] = 1;
    require(!read[at(parent[u])], "rules: unary rules are not in order, or chains of them form a cycle");
  }
}

void Rules::find_pairs() {
  for (std::size_t r = 0; r < left.size(); ++r) {
    auto& l = left_row[at(left[r])];
    if (l < 0) l = static_cast<std::int32_t>(n_left++);
    auto& x = right_row[at(right[r])];
    if (x < 0) x = static_cast<std::int32_t>(n_right++);
  }
  pair_rule.resize(left.size());
  std::iota(pair_rule.begin(), pair_rule.end(), 0);
  const auto key = [&](std::int32_t r) {
    return std::tuple(label_of(at(r)), left_row[at(left[at(r)])], rule_class[at(r)], right_row[at(right[at(r)])]);
  };
  std::stable_sort(pair_rule.begin(), pair_rule.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  for (std::size_t p = 0; p < pair_rule.size(); ++p) {
    const auto [label, l, c, x] = key(pair_rule[p]);
    pair_parent.push_back(rule_parent[at(pair_rule[p])]);
    if (p == 0 || key(pair_rule[p - 1]) != key(pair_rule[p])) {
      const bool new_label = labels.empty() || labels.back().label != label;
      const auto here = static_cast<std::int32_t>(pairs.size());
      if (new_label) labels.push_back({label, at(pair_parent[p]), runs.size(), 0});
      if (new_label || runs.back().left != l) runs.push_back({l, here, 0});
      pairs.push_back({l, x, c, static_cast<std::int32_t>(p), 0});
      runs.back().last = here + 1;
      labels.back().last = runs.size();
    }
    pairs.back().last = static_cast<std::int32_t>(p + 1);
  }
}

}  // namespace loglinear::grammar
