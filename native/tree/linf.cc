#include "tree/linf.hh"

#include <functional>

namespace loglinear::tree {

TreeLinf::TreeLinf(const Tree& tree, const TreePenalty& penalty) : tree_(tree), penalty_(penalty) {
  check_fit(tree, penalty);
}

double TreeLinf::value(ThreadPool& pool, std::span<const double> x) const {
  require(x.size() == tree_.size(), "the tree of the penalty does not have one node per weight");
  struct Largest {
    double value = 0.0;
    void operator+=(const Largest& other) { value = std::max(value, other.value); }
  };
  return gather<Largest>(pool, tree_, [&](std::size_t i, Largest& largest) {
    largest += Largest{std::fabs(x[i])};
    return penalty_.groups.threshold(i) * largest.value + 0.5 * penalty_.ridge(i) * x[i] * x[i];
  }, std::plus<double>());
}

void TreeLinf::prox(ThreadPool& pool, std::span<const double> z, std::span<const double> steps,
                    std::span<double> out) const {
  const ProxSource source{penalty_, z, steps, out};
  check_prox(pool, tree_, source, out.size());
  sweep_both(pool, tree_, spare_, LinfMap<Tree, ProxSource>{tree_, source});
}

std::vector<std::int64_t> TreeLinf::pivot_counts(ThreadPool& pool, std::span<const double> z,
                                                 std::span<const double> steps, bool merged) const {
  const ProxSource source{penalty_, z, steps, {}};
  check_prox(pool, tree_, source, tree_.size());
  const Tree whole(tree_.parent(), tree_.size());  // one unit: the place of a node is the number of its block
  const TreeUnit& unit = whole.units().front();
  LinfCounts counts{merged, std::vector<std::uint32_t>(tree_.size()), std::vector<std::uint32_t>(tree_.size())};
  LinfWork work;
  work.reserve(whole.max_places());
  const LinfMap<Tree, ProxSource> map{whole, source, &counts};
  map.clear(unit, work, 0);
  map.up(unit, work, 0);
  std::vector<std::int64_t> histogram(1);
  for (std::uint32_t k : counts.above) {
    if (k >= histogram.size()) histogram.resize(k + 1);
    ++histogram[k];
  }
  return histogram;
}

double TreeLinf::violation(ThreadPool& pool, std::span<const double> w, std::span<const double> gradient) const {
  const ResidualSource source{penalty_, w, gradient};
  check_residual(tree_, source);
  return sweep_both(pool, tree_, spare_, LinfMap<Tree, ResidualSource>{tree_, source});
}

// Zero weights are optimal where the sum of what is left of |gradient| is zero at every root. What is left above a
// multiple c of the thresholds is sum |g| - c sum k over the nodes where something is left, up to the root.
double TreeLinf::max_strength(ThreadPool& pool, std::span<const double> gradient) const {
  require(gradient.size() == tree_.size(), "the gradient does not have one entry per weight");
  struct Left {
    double sum = 0.0, thresholds = 0.0;
    void operator+=(const Left& other) {
      sum += other.sum;
      thresholds += other.thresholds;
    }
  };
  const auto pass = [&](double c) {
    return gather<Left>(pool, tree_, [&](std::size_t i, Left& left) {
      left += Left{std::fabs(penalty_.clip(-gradient[i])), penalty_.groups.threshold(i)};
      if (left.sum <= c * left.thresholds) left = {};
      return tree_.parent()[i] >= 0 || left.sum == 0.0 ? 0.0 : left.sum / left.thresholds;
    }, [](double a, double b) { return std::max(a, b); });
  };
  return newton_from_left(pass);
}

}  // namespace loglinear::tree
