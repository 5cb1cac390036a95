// What the proximal maps of tree norms share: where they read from, where they write to, and the order of sweeps.
//
// A map is two sweeps, up and down, over work of a few numbers per place of the tree (tree/forest.hh). Closed units do
// both at once on scratch that stays in the cache; the others keep theirs until the crown is done.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tree/forest.hh"
#include "util/views.hh"

namespace loglinear::tree {

// Thresholds of the groups: strength * weights[g] * multiplicity[g] * growth[depth[g]]; empty spans mean ones.
struct TreeGroups {
  double strength = 1.0;
  std::span<const double> weights = {}, multiplicity = {}, growth = {};
  std::span<const std::uint32_t> depth = {};

  double threshold(std::size_t g) const {
    double k = strength;
    if (!weights.empty()) k *= weights[g];
    if (!multiplicity.empty()) k *= multiplicity[g];
    if (!growth.empty()) k *= growth[depth[g]];
    return k;
  }
  double times(std::size_t g) const { return multiplicity.empty() ? 1.0 : multiplicity[g]; }
};

// max(x, 0), exactly, without the branch that compilers make of it: signs and vanishing groups cannot be predicted.
inline double above_zero(double x) { return 0.5 * (x + std::fabs(x)); }

// sum of groups' norms + l2 / 2 sum_i multiplicity_i x_i^2, with x >= 0 where nonnegative.
struct TreePenalty {
  TreeGroups groups;
  std::span<const double> scale = {};  // one per node; empty: ones
  double l2 = 0.0;
  bool nonnegative = false;
  bool plain = false;  // of l2: the norms do not depend on the scale

  double s(std::size_t i) const { return scale.empty() ? 1.0 : scale[i]; }
  double q(std::size_t i) const { return plain ? 1.0 : s(i); }
  double ridge(std::size_t i) const { return l2 == 0.0 ? 0.0 : l2 * groups.times(i); }
  double clip(double x) const { return nonnegative ? above_zero(x) : x; }
};

// Throws InvalidInput where an array does not fit the tree.
void check_fit(const Tree& tree, const TreePenalty& penalty);

// The map of the penalty at z. With the ridge taken into the squares, sum_i weight_i (x_i - centre_i)^2 / 2 remains.
struct ProxSource {
  static constexpr bool kMeasures = false;
  TreePenalty penalty;
  std::span<const double> z, steps;  // steps has one entry, or one per node
  std::span<double> out;

  double step(std::size_t i) const { return steps.size() == 1 ? steps[0] : steps[i]; }
  double centre(std::size_t i) const {
    return penalty.clip(penalty.l2 == 0.0 ? z[i] : z[i] / (1.0 + step(i) * penalty.ridge(i)));
  }
  double weight(std::size_t i) const { return 1.0 / step(i) + penalty.ridge(i); }
  double spread(std::size_t i) const {  // 1 / weight
    return penalty.l2 == 0.0 ? step(i) : step(i) / (1.0 + step(i) * penalty.ridge(i));
  }
  double put(std::size_t i, double x) const {
    out[i] = x;
    return 0.0;
  }
};

// How far w is from optimal, in units of the gradient: D (w - map(w - (gradient + ridge w) / D)), the map being that of
// the penalty without its ridge in steps of 1 / D, D = scale. Zero at the optima of loss + penalty, and only there.
struct ResidualSource {
  static constexpr bool kMeasures = true;
  TreePenalty penalty;
  std::span<const double> w, gradient;  // gradient of the loss

  double centre(std::size_t i) const {
    return penalty.clip(w[i] - (gradient[i] + penalty.ridge(i) * w[i]) * spread(i));
  }
  double weight(std::size_t i) const { return penalty.s(i); }
  double spread(std::size_t i) const { return penalty.scale.empty() ? 1.0 : 1.0 / penalty.scale[i]; }
  double put(std::size_t i, double x) const {
    const double residual = std::fabs(penalty.s(i) * (w[i] - x));
    return residual <= std::numeric_limits<double>::max() ? residual : std::numeric_limits<double>::infinity();
  }
};

void check_prox(ThreadPool& pool, const Tree& tree, const ProxSource& source, std::size_t n_out);
void check_residual(const Tree& tree, const ResidualSource& source);

// visit(slot of a unit below the crown, its place in the crown)
template <class Visit>
void each_slot(const Tree& tree, Visit visit) {
  const std::size_t top = tree.first_place(tree.crown());
  for (const TreeUnit& unit : tree.units())
    for (std::size_t s = 0; s < (unit.closed ? 0 : unit.n_slots); ++s)
      if (const std::uint32_t above = tree.slot_parent(unit, s); above != Tree::kNone)
        visit(tree.first_place(unit) + unit.size + s, top + above);
}

// A map is made of
//   clear(unit, work, first)        before the sweep up of a unit whose work begins at place `first`
//   up(unit, work, first)           children before parents
//   down(unit, work, first)         parents before children; returns the largest source.put
//   join(work, slot, above)         after the units' sweeps up: what a slot holds goes to the crown's place
//   split(work, slot, above)        before their sweeps down: what the crown's place holds goes to the slot
// Returns the largest source.put. Maps copy their source before a loop: the compiler then knows that what they write
// does not change it.
template <class Work, class Map>
double sweep_both(ThreadPool& pool, const Tree& tree, Reused<Work>& spare, Map map) {
  const auto units = tree.units();
  const TreeUnit& crown = tree.crown();
  std::vector<double> largest(units.size() + 1);
  auto kept = spare.take([] { return std::make_unique<Work>(); });
  if (crown.size > 0) kept->reserve(tree.n_places());
  pool.run(units.size(), [&](std::size_t u) {
    const TreeUnit& unit = units[u];
    if (!unit.closed) {
      map.clear(unit, *kept, tree.first_place(unit));
      map.up(unit, *kept, tree.first_place(unit));
      return;
    }
    auto work = spare.take([] { return std::make_unique<Work>(); });
    work->reserve(tree.max_places());
    map.clear(unit, *work, 0);
    map.up(unit, *work, 0);
    largest[u] = map.down(unit, *work, 0);
    spare.give(std::move(work));
  });
  if (crown.size > 0) {
    const std::size_t top = tree.first_place(crown);
    map.clear(crown, *kept, top);
    each_slot(tree, [&](std::size_t slot, std::size_t above) { map.join(*kept, slot, above); });
    map.up(crown, *kept, top);
    largest.back() = map.down(crown, *kept, top);
    each_slot(tree, [&](std::size_t slot, std::size_t above) { map.split(*kept, slot, above); });
    pool.run(units.size(), [&](std::size_t u) {
      if (!units[u].closed) largest[u] = map.down(units[u], *kept, tree.first_place(units[u]));
    });
  }
  spare.give(std::move(kept));
  return *std::max_element(largest.begin(), largest.end());
}

// Largest root of the groups' conditions for zero weights: Newton's method on convex decreasing functions, one per root
// of the forest, from the left. A pass at c returns the next c, the largest of all roots'; it never passes the answer.
template <class Pass>
double newton_from_left(Pass pass) {
  double c = 0.0;
  for (int i = 0; i < 200; ++i) {
    const double next = pass(c);
    if (!(next > c * (1.0 + 1e-15))) break;
    c = next;
    if (std::isinf(c)) break;
  }
  return c;
}

}  // namespace loglinear::tree
