// Forests and the maps of tree norms: cuts of any size and any number of threads against one unit on one thread.
#include <cmath>
#include <random>

#include "check.hh"
#include "baselines/tree_pivot.hh"
#include "tree/forest.hh"
#include "tree/l2.hh"
#include "tree/linf.hh"
#include "tree/small_forest.hh"
#include "util/errors.hh"

namespace loglinear::tests::tree {

using namespace loglinear::tree;
using namespace loglinear;

namespace {

// By levels: parents are drawn within a block of the level above, as in an n-gram trie. Otherwise: any earlier node.
std::vector<std::int32_t> random_forest(std::size_t n, bool by_levels, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::int32_t> parent(n, -1);
  if (!by_levels) {
    for (std::size_t i = 1; i < n; ++i) parent[i] = static_cast<std::int32_t>(rng() % (i + 1)) - 1;
    return parent;
  }
  std::size_t begin = 0, end = n / 20 + 1;  // the level above
  while (end < n) {
    const std::size_t size = std::min(n - end, 2 * (end - begin));
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t block = i / 2 / 5 * 5, width = std::min<std::size_t>(5, end - begin - block);
      parent[end + i] = static_cast<std::int32_t>(begin + block + rng() % width);
    }
    begin = end;
    end += size;
  }
  return parent;
}

std::vector<double> draw(std::size_t n, double low, double high, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> u(low, high);
  std::vector<double> out(n);
  for (double& x : out) x = u(rng);
  return out;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST(trees_are_checked) {
  const std::vector<std::int32_t> empty, beyond{-1, 7}, negative{-1, -5}, cycle{-1, 2, 1}, self{0}, unordered{1, -1};
  for (const auto* bad : {&empty, &beyond, &negative, &cycle, &self, &unordered}) {
    CHECK_THROWS(check_forest(*bad), InvalidInput);
    CHECK_THROWS(Tree{*bad}, InvalidInput);
  }
  std::vector<std::int32_t> order(2), sorted(2);
  sort_forest(unordered, order, sorted);
  CHECK(order[0] == 1 && order[1] == 0 && sorted[0] == -1 && sorted[1] == 0);
  for (const auto* bad : {&beyond, &negative}) CHECK_THROWS(sort_forest(*bad, order, sorted), InvalidInput);
  std::vector<std::int32_t> order3(3), sorted3(3);
  CHECK_THROWS(sort_forest(cycle, order3, sorted3), InvalidInput);
  CHECK_THROWS(sort_forest(cycle, order, sorted), InvalidInput);
}

TEST(units_hold_every_node_once_and_children_before_parents) {
  for (bool by_levels : {false, true})
    for (std::size_t unit : {1, 7, 100, 5000}) {
      const auto parent = random_forest(3000, by_levels, 5);
      const Tree tree(parent, unit);
      std::vector<int> seen(parent.size());
      const auto visit = [&](const TreeUnit& u) {
        CHECK(u.size <= unit || &u == &tree.crown());
        tree.upward(u, [&](std::size_t i, std::size_t place, std::size_t target) {
          ++seen[i];
          if (target < u.size) CHECK(target < place);
          CHECK(target < u.size + u.n_slots);
          CHECK((parent[i] < 0) == (target == u.size));
        });
      };
      for (const TreeUnit& u : tree.units()) visit(u);
      visit(tree.crown());
      for (int times : seen) CHECK(times == 1);
    }
}

TEST(tree_maps_do_not_depend_on_units_or_threads) {
  ThreadPool one(1), three(3);
  for (bool by_levels : {false, true}) {
    const std::size_t n = 4000;
    const auto parent = random_forest(n, by_levels, 1);
    const auto z = draw(n, -3, 3, 2), steps = draw(n, 0.2, 2, 3), weights = draw(n, 0, 0.4, 4);
    const TreePenalty penalty{
        .groups = {.strength = 0.7, .weights = weights}, .l2 = 0.1, .nonnegative = by_levels};
    const Tree whole(parent, n);
    CHECK(whole.units().size() == 1 && whole.crown().size == 0);
    std::vector<double> expected(n), flat(n), uneven(n), found(n), pivot(n), again(n);
    const std::vector<double> step{0.8};
    const TreeLinf linf(whole, penalty);
    const TreeL2 l2(whole, penalty);
    linf.prox(one, z, steps, expected);
    l2.prox(one, z, step, flat);
    l2.prox(one, z, steps, uneven);
    baselines::pivot_prox(three, linf, z, steps, 9, pivot);
    CHECK(distance(expected, pivot) < 1e-12);
    for (std::size_t unit : {1, 50, 700}) {
      const Tree cut(parent, unit);
      const TreeLinf linf_cut(cut, penalty);
      const TreeL2 l2_cut(cut, penalty);
      linf_cut.prox(one, z, steps, found);
      linf_cut.prox(three, z, steps, again);
      CHECK(found == again);
      CHECK(distance(expected, found) < 1e-12);
      CHECK(std::fabs(linf_cut.value(three, z) - linf.value(one, z)) < 1e-9 * linf.value(one, z));
      CHECK(std::fabs(linf_cut.violation(three, z, z) - linf.violation(one, z, z)) < 1e-12);
      CHECK(std::fabs(linf_cut.max_strength(three, z) - linf.max_strength(one, z)) < 1e-12);
      l2_cut.prox(one, z, step, found);
      l2_cut.prox(three, z, step, again);
      CHECK(found == again);
      CHECK(distance(flat, found) < 1e-12);
      l2_cut.prox(one, z, steps, found);
      l2_cut.prox(three, z, steps, again);
      CHECK(found == again);
      CHECK(distance(uneven, found) < 1e-11);
      CHECK(std::fabs(l2_cut.max_strength(three, z) - l2.max_strength(one, z)) < 1e-12);
    }
    const auto counts = linf.pivot_counts(one, z, steps, false);
    std::int64_t total = 0;
    for (std::int64_t c : counts) total += c;
    CHECK(total == static_cast<std::int64_t>(n));
    CHECK_THROWS(linf.prox(one, z, std::vector<double>{0.0}, found), InvalidInput);
    CHECK_THROWS(linf.prox(one, z, std::vector<double>{1.0, 1.0}, found), InvalidInput);
    CHECK_THROWS(linf.prox(one, step, steps, found), InvalidInput);
  }
}

TEST(small_forests_have_the_maps_of_trees) {
  ThreadPool pool(1);
  const std::size_t n = 500;
  const auto parent = random_forest(n, false, 6);
  const std::vector<std::uint32_t> above(parent.begin(), parent.end());  // -1 becomes Tree::kNone
  const auto z = draw(n, -3, 3, 7), steps = draw(n, 0.2, 2, 8), thresholds = draw(n, 0, 0.4, 9);
  std::vector<double> masses(n), expected(n);
  for (std::size_t i = 0; i < n; ++i) masses[i] = 1.0 / steps[i];
  const Tree tree(parent);
  SmallForestProx prox;
  for (bool nonnegative : {false, true}) {
    const TreePenalty penalty{.groups = {.weights = thresholds}, .scale = masses, .nonnegative = nonnegative};
    std::vector<double> x = z;
    TreeLinf(tree, penalty).prox(pool, z, steps, expected);
    prox(SmallForestPenalty::kTreeLinf, nonnegative, above, masses, thresholds, x);
    CHECK(distance(expected, x) < 1e-12);
    x = z;
    TreeL2(tree, penalty).prox(pool, z, steps, expected);
    prox(SmallForestPenalty::kTreeL2, nonnegative, above, masses, thresholds, x);
    CHECK(distance(expected, x) < 1e-12);
  }
}

TEST(tree_maps_of_a_deep_chain) {
  ThreadPool pool(2);
  const std::size_t n = 200000;
  std::vector<std::int32_t> parent(n);
  for (std::size_t i = 0; i < n; ++i) parent[i] = static_cast<std::int32_t>(i) - 1;
  const Tree tree(parent);
  const std::vector<double> z(n, 2.0), step{1.0};
  std::vector<double> out(n);
  const TreePenalty penalty{.groups = {.strength = 0.5}};
  TreeLinf(tree, penalty).prox(pool, z, step, out);
  for (std::size_t i = 0; i < n; i += 997) CHECK(std::fabs(out[i] - 1.5) < 1e-9);
}

}  // namespace loglinear::tests::tree
