#include "tree/small_forest.hh"

namespace loglinear::tree {
namespace {

struct SmallForest {
  std::span<const std::uint32_t> parent;  // Tree::kNone is above the slot of roots

  template <class Visit>
  void upward(const TreeUnit& unit, Visit visit) const {
    for (std::size_t i = unit.size; i-- > 0;) visit(i, i, std::min<std::size_t>(parent[i], unit.size));
  }
  template <class Visit>
  void downward(const TreeUnit& unit, Visit visit) const {
    for (std::size_t i = 0; i < unit.size; ++i) visit(i, i, std::min<std::size_t>(parent[i], unit.size));
  }
};

// The scale of the penalty is the masses: those of the squares, and of the l2 norm.
struct MassSource {
  static constexpr bool kMeasures = false;
  TreePenalty penalty;
  std::span<double> x;

  double centre(std::size_t i) const { return penalty.clip(x[i]); }
  double weight(std::size_t i) const { return penalty.scale[i]; }
  double spread(std::size_t i) const { return 1.0 / penalty.scale[i]; }
  double put(std::size_t i, double value) const { return x[i] = value; }
};

template <class Map, class Work>
void sweep_once(const Map& map, std::size_t n, Work& work) {
  const TreeUnit unit{.size = n, .n_slots = 1};
  work.reserve(n + 1);
  map.clear(unit, work, 0);
  map.up(unit, work, 0);
  map.down(unit, work, 0);
}

}  // namespace

void SmallForestProx::operator()(SmallForestPenalty penalty, bool nonnegative, std::span<const std::uint32_t> parent,
                                 std::span<const double> mass, std::span<const double> threshold,
                                 std::span<double> x) {
  const SmallForest forest{parent};
  const MassSource source{{.groups = {.weights = threshold}, .scale = mass, .nonnegative = nonnegative}, x};
  switch (penalty) {
    case SmallForestPenalty::kTreeLinf:
      return sweep_once(LinfMap<SmallForest, MassSource>{forest, source}, x.size(), linf_);
    case SmallForestPenalty::kTreeL2:
      return sweep_once(L2Map<SmallForest, MassSource>{forest, source, 1.0}, x.size(), l2_);
    case SmallForestPenalty::kL1:
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double c = source.centre(i), left = std::fabs(c) - threshold[i] / mass[i];
        source.put(i, left > 0.0 ? std::copysign(left, c) : 0.0);
      }
      return;
    case SmallForestPenalty::kNone:
      for (std::size_t i = 0; i < x.size(); ++i) source.put(i, source.centre(i));
  }
}

}  // namespace loglinear::tree
