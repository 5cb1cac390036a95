#include "tree/l2.hh"

#include <atomic>
#include <functional>

namespace loglinear::tree {

TreeL2::TreeL2(const Tree& tree, const TreePenalty& penalty) : tree_(tree), penalty_(penalty) {
  check_fit(tree, penalty);
}

double TreeL2::value(ThreadPool& pool, std::span<const double> x) const {
  require(x.size() == tree_.size(), "the tree of the penalty does not have one node per weight");
  return gather<double>(pool, tree_, [&](std::size_t i, double& sum) {
    sum += penalty_.q(i) * x[i] * x[i];
    return penalty_.groups.threshold(i) * std::sqrt(sum / penalty_.q(i)) + 0.5 * penalty_.ridge(i) * x[i] * x[i];
  }, std::plus<double>());
}

// The number L of the closed form, where there is one.
std::optional<double> TreeL2::lipschitz(ThreadPool& pool, const ProxSource& source) const {
  const double first = source.weight(0) / penalty_.q(0);
  if (source.steps.size() == 1 && (penalty_.scale.empty() || penalty_.plain)) return first;
  std::atomic<bool> matched = true;
  parallel_for(pool, tree_.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    if (!matched) return;
    bool same = true;
    for (std::size_t i = begin; i < end; ++i)
      same &= std::fabs(source.weight(i) - first * penalty_.q(i)) <= 1e-9 * first * penalty_.q(i);
    if (!same) matched = false;
  });
  return matched ? std::optional(first) : std::nullopt;
}

void TreeL2::prox(ThreadPool& pool, std::span<const double> z, std::span<const double> steps,
                  std::span<double> out) const {
  const ProxSource source{penalty_, z, steps, out};
  check_prox(pool, tree_, source, out.size());
  if (const auto L = lipschitz(pool, source)) sweep_both(pool, tree_, spare_, L2Map<Tree, ProxSource>{tree_, source, *L});
  else l2_newton(pool, tree_, spare_newton_, source, source.weight(0) / penalty_.q(0));
}

double TreeL2::violation(ThreadPool& pool, std::span<const double> w, std::span<const double> gradient) const {
  const ResidualSource source{penalty_, w, gradient};
  check_residual(tree_, source);
  if (penalty_.plain && !penalty_.scale.empty()) return l2_newton(pool, tree_, spare_newton_, source, source.weight(0));
  return sweep_both(pool, tree_, spare_, L2Map<Tree, ResidualSource>{tree_, source, 1.0});
}

// Zero weights are optimal where the norm of what is left of the gradient at every root, q = sqrt(gamma), is at most
// its threshold. Both q - c k and its slope by the multiple c of the thresholds go up the tree.
double TreeL2::max_strength(ThreadPool& pool, std::span<const double> gradient) const {
  require(gradient.size() == tree_.size(), "the gradient does not have one entry per weight");
  struct Left {
    double gamma = 0.0, half_slope = 0.0;  // of gamma
    void operator+=(const Left& other) {
      gamma += other.gamma;
      half_slope += other.half_slope;
    }
  };
  const auto pass = [&](double c) {
    return gather<Left>(pool, tree_, [&](std::size_t i, Left& left) {
      const double g = penalty_.clip(-gradient[i]);
      left.gamma += g * g / penalty_.q(i);
      const double q = std::sqrt(left.gamma), k = penalty_.groups.threshold(i) / std::sqrt(penalty_.q(i));
      const double rest = q - c * k;
      if (rest <= 0.0) {
        left = {};
        return 0.0;
      }
      const double slope = left.half_slope / q - k;
      left = {rest * rest, rest * slope};
      return tree_.parent()[i] >= 0 ? 0.0 : slope < 0.0 ? c - rest / slope : std::numeric_limits<double>::infinity();
    }, [](double a, double b) { return std::max(a, b); });
  };
  return newton_from_left(pass);
}

}  // namespace loglinear::tree
