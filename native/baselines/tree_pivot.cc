#include "baselines/tree_pivot.hh"

#include <algorithm>
#include <cmath>

#include "util/random.hh"

namespace loglinear::baselines {

using tree::ProxSource;
using tree::Tree;
using tree::TreeLinf;
using tree::check_prox;
namespace {

// Subtrees are contiguous in post-order.
struct PostOrder {
  std::vector<std::uint32_t> node, size;  // [n] the node at each place, and how many its subtree has
};

// Children follow parents in number, so places can be given out from the end: those of a node's subtree end just before
// what its later siblings took.
PostOrder post_order(std::span<const std::int32_t> parent) {
  const std::size_t n = parent.size();
  std::vector<std::uint32_t> size(n, 1), end(n);
  for (std::size_t i = n; i-- > 0;)
    if (parent[i] >= 0) size[static_cast<std::size_t>(parent[i])] += size[i];
  PostOrder order{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n)};
  auto free = static_cast<std::uint32_t>(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t& last = parent[i] < 0 ? free : end[static_cast<std::size_t>(parent[i])];
    const std::uint32_t place = last - 1;
    last -= size[i];
    end[i] = place;
    order.node[place] = static_cast<std::uint32_t>(i);
    order.size[place] = size[i];
  }
  return order;
}

struct Value {
  double u, d;
};

// The level r with sum d (u - r)_+ = k, or 0 where there is less than k. `left` is used up.
double find_level(std::vector<Value>& left, double k, Random& random) {
  double sum = 0.0, weight = 0.0;
  std::size_t begin = 0, end = left.size();
  while (begin < end) {
    const std::size_t at = begin + static_cast<std::size_t>(random.uniform() * static_cast<double>(end - begin));
    const double pivot = left[at].u;
    std::swap(left[begin], left[at]);
    double more = 0.0, more_weight = 0.0;
    std::size_t upper = begin;  // [begin, upper) at or above the pivot, the pivot itself first
    for (std::size_t j = begin; j < end; ++j)
      if (left[j].u >= pivot) {
        more += left[j].u * left[j].d;
        more_weight += left[j].d;
        std::swap(left[j], left[upper++]);
      }
    if (sum + more - (weight + more_weight) * pivot < k) {
      sum += more;
      weight += more_weight;
      begin = upper;
    } else {
      ++begin;  // without the pivot
      end = upper;
    }
  }
  return weight == 0.0 ? 0.0 : std::max(0.0, (sum - k) / weight);
}

}  // namespace

void pivot_prox(ThreadPool& pool, const TreeLinf& norm, std::span<const double> z, std::span<const double> steps,
                std::uint64_t seed, std::span<double> out) {
  const Tree& tree = norm.tree();
  const ProxSource source{norm.penalty(), z, steps, out};
  check_prox(pool, tree, source, out.size());
  const PostOrder order = post_order(tree.parent());
  const std::size_t n = tree.size();
  std::vector<double> u(n), d(n);
  for (std::size_t p = 0; p < n; ++p) {
    u[p] = std::fabs(source.centre(order.node[p]));
    d[p] = source.weight(order.node[p]);
  }
  const auto project = [&](std::size_t place, std::vector<Value>& left) {
    const std::size_t begin = place + 1 - order.size[place];
    const double k = norm.penalty().groups.threshold(order.node[place]);
    if (k == 0.0) return;
    left.clear();
    for (std::size_t p = begin; p <= place; ++p)
      if (u[p] > 0.0) left.push_back({u[p], d[p]});
    Random random(seed, order.node[place]);
    const double level = find_level(left, k, random);
    for (std::size_t p = begin; p <= place; ++p) u[p] = std::min(u[p], level);
  };
  // Pieces of whole subtrees, at most a unit of nodes each; what is above them follows in order.
  std::vector<Range> pieces;
  std::vector<std::size_t> above;
  for (std::size_t end = n; end > 0;) {
    if (order.size[end - 1] > Tree::kUnit) {
      above.push_back(--end);
      continue;
    }
    std::size_t begin = end;
    while (begin > 0 && order.size[begin - 1] <= Tree::kUnit && end - begin + order.size[begin - 1] <= Tree::kUnit)
      begin -= order.size[begin - 1];
    pieces.push_back({begin, end});
    end = begin;
  }
  pool.run(pieces.size(), [&](std::size_t piece) {
    std::vector<Value> left;
    for (std::size_t p = pieces[piece].begin; p < pieces[piece].end; ++p) project(p, left);
  });
  std::vector<Value> left;
  for (std::size_t a = above.size(); a-- > 0;) project(above[a], left);
  for (std::size_t p = 0; p < n; ++p) {
    const std::size_t i = order.node[p];
    out[i] = u[p] == 0.0 ? 0.0 : std::copysign(u[p], z[i]);
  }
}

}  // namespace loglinear::baselines
