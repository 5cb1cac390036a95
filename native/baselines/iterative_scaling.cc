#include "baselines/iterative_scaling.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "util/views.hh"

namespace loglinear::baselines {

namespace {

constexpr int kNewtonSteps = 60;  // from the right of the root each step of a convex function stays there: few are used

// One weight's equation, g(delta) = sum_m E_m exp(m delta) + b delta - rest = 0; g is convex and increasing.
struct Equation {
  const double* E;
  std::size_t stride;
  std::span<const double> m;
  double b, rest;

  void evaluate(double delta, double& g, double& slope) const {
    g = b * delta - rest, slope = b;
    for (std::size_t i = 0; i < m.size(); ++i) {
      const double mass = E[i * stride] * std::exp(m[i] * delta);
      g += mass, slope += m[i] * mass;
    }
  }
};

double solve(const Equation& equation, double limit) {
  double sum = 0.0, mean = 0.0;
  for (std::size_t i = 0; i < equation.m.size(); ++i) {
    sum += equation.E[i * equation.stride];
    mean += equation.m[i] * equation.E[i * equation.stride];
  }
  if (sum == equation.rest) return 0.0;
  double delta = 0.0;  // right of the root where g(0) > 0
  if (sum < equation.rest) {
    // By Jensen g(delta) >= sum exp(mean delta) - rest + b delta, which is not negative at either of these.
    const double infinity = std::numeric_limits<double>::infinity();
    const double scaled = sum > 0.0 ? std::log(equation.rest / sum) * sum / mean : infinity;
    const double ridge = equation.b > 0.0 ? equation.rest / equation.b : infinity;
    delta = std::min({scaled, ridge, limit});
  }
  for (int i = 0; i < kNewtonSteps; ++i) {
    double g, slope;
    equation.evaluate(delta, g, slope);
    if (!(slope > 0.0)) break;
    const double change = g / slope;
    delta = std::clamp(delta - change, -limit, limit);
    if (std::fabs(change) <= 1e-12 * std::max(1.0, std::fabs(delta)) || delta == -limit) break;
  }
  return delta;
}

}  // namespace

void scaling_step(ThreadPool& pool, std::span<const double> expectations, std::span<const double> multiplicity,
                  std::span<const double> counts, std::span<const double> b, std::span<const double> w, double limit,
                  std::span<double> step) {
  const std::size_t n = w.size();
  require(counts.size() == n && b.size() == n && step.size() == n && expectations.size() == n * multiplicity.size(),
          "iterative scaling: vectors differ in length");
  for (double m : multiplicity) require(m > 0.0, "iterative scaling: the number of active features is positive");
  require(limit > 0.0, "iterative scaling: the largest step is positive");
  parallel_for(pool, n, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      step[j] = solve({expectations.data() + j, n, multiplicity, b[j], counts[j] - b[j] * w[j]}, limit);
  });
}

}  // namespace loglinear::baselines
