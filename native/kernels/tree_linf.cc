#include "kernels/tree_linf.hh"

#include <functional>

namespace loglinear {
namespace {

constexpr std::uint32_t kNone = PairingHeap::kNone;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void TreeLinf::Work::reserve(std::size_t n) {
  if (level.size() >= n) return;
  level.resize(n);
  top.resize(n);
  value.resize(n);
  weight.resize(n);
  child.resize(n);
  next.resize(n);
}

template <class Source>
struct TreeLinf::Map {
  const Tree& tree;
  Source source;
  Counts* counts = nullptr;

  void clear(const TreeUnit& unit, Work& work, std::size_t first) const {
    std::fill_n(work.level.begin() + static_cast<std::ptrdiff_t>(first), unit.size + unit.n_slots, 0.0);
    std::fill_n(work.top.begin() + static_cast<std::ptrdiff_t>(first), unit.size + unit.n_slots, kNone);
  }

  // Blocks have the numbers of places in `work`, `first` included, so that heaps of units meld in the crown.
  void up(const TreeUnit& unit, Work& work, std::size_t first) const {
    double* level = work.level.data() + first;
    std::uint32_t* top = work.top.data() + first;
    const PairingHeap heap = work.heap();
    const Source from = source;
    tree.upward(unit, [=, this](std::size_t i, std::size_t place, std::size_t target) {
      const double u = std::fabs(from.centre(i)), d = from.weight(i), k = from.penalty.groups.threshold(i);
      const double sum = level[place] + d * u;
      if (sum <= k) {
        level[place] = 0.0;
        return;
      }
      const auto block = static_cast<std::uint32_t>(first + place);
      std::uint32_t below = kNone;
      if (k == 0.0) {
        level[place] = kInfinity;
        below = u > 0.0 ? heap.meld(top[place], make(heap, block, u, d)) : top[place];
      } else if (top[place] == kNone) {
        level[place] = std::max(0.0, u - k / d);
        if (level[place] > 0.0) below = make(heap, block, level[place], d);
        if (counts) counts->above[place] = 1;
      } else {
        below = sink(heap, top[place], block, u, d, k, level[place]);
      }
      if (below == kNone) return;  // where the sums said that something is left, it was rounding
      level[target] += sum - k;
      top[target] = heap.meld(top[target], below);
    });
  }

  std::uint32_t make(const PairingHeap& heap, std::uint32_t block, double u, double d) const {
    if (counts) counts->held[block] = 1;
    return heap.make(block, u, d);
  }

  // Takes k off the largest values of a heap and the node's own (u, d); returns the heap left, `level` gets theirs.
  std::uint32_t sink(const PairingHeap& heap, std::uint32_t rest, std::uint32_t block, double u, double d, double k,
                     double& level) const {
    double sum = 0.0, weight = 0.0;
    std::uint32_t merged = kNone, n_values = 0, n_blocks = 0;
    bool own = u > 0.0;
    for (;;) {
      const bool take_own = own && (rest == kNone || u >= heap.value[rest]);
      if (!take_own && rest == kNone) break;
      const double value = take_own ? u : heap.value[rest];
      if (weight * value <= sum - k) break;
      const double by = take_own ? d : heap.weight[rest];
      sum += value * by;
      weight += by;
      ++n_blocks;
      if (take_own) {
        own = false;
        merged = block;
        ++n_values;
      } else {
        merged = rest;
        if (counts) n_values += counts->held[rest];
        rest = heap.pop(rest);
      }
    }
    level = std::max(0.0, (sum - k) / weight);
    if (counts) counts->above[block] = counts->merged ? n_blocks : n_values;
    if (level == 0.0) return kNone;
    if (own) rest = heap.meld(rest, make(heap, block, u, d));
    heap.make(merged, level, weight);
    if (counts) counts->held[merged] = n_values;
    return heap.meld(rest, merged);
  }

  double down(const TreeUnit& unit, Work& work, std::size_t first) const {
    double* level = work.level.data() + first;
    double largest = 0.0;
    level[unit.size] = kInfinity;  // the slot of roots
    const Source from = source;
    tree.downward(unit, [=, &largest](std::size_t i, std::size_t place, std::size_t target) {
      const double own = std::min(level[place], level[target]), z = from.centre(i);
      level[place] = own;
      const double put = from.put(i, std::copysign(std::min(std::fabs(z), own), z) + 0.0);  // no -0
      if constexpr (Source::kMeasures) largest = std::max(largest, put);
    });
    return largest;
  }

  void join(Work& work, std::size_t slot, std::size_t above) const {
    work.level[above] += work.level[slot];
    work.top[above] = work.heap().meld(work.top[above], work.top[slot]);
  }
  void split(Work& work, std::size_t slot, std::size_t above) const { work.level[slot] = work.level[above]; }
};

TreeLinf::TreeLinf(const Tree& tree, const TreePenalty& penalty) : tree_(tree), penalty_(penalty) {
  check_groups_fit(tree, penalty.groups);
  require(penalty.scale.empty() || penalty.scale.size() == tree.size(), "scale does not have one entry per node");
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
  sweep_both(pool, tree_, spare_, Map<ProxSource>{tree_, source});
}

std::vector<std::int64_t> TreeLinf::pivot_counts(ThreadPool& pool, std::span<const double> z,
                                                 std::span<const double> steps, bool merged) const {
  const ProxSource source{penalty_, z, steps, {}};
  check_prox(pool, tree_, source, tree_.size());
  const Tree whole(tree_.parent(), tree_.size());  // one unit: the place of a node is the number of its block
  const TreeUnit& unit = whole.units().front();
  Counts counts{merged, std::vector<std::uint32_t>(tree_.size()), std::vector<std::uint32_t>(tree_.size())};
  Work work;
  work.reserve(whole.max_places());
  const Map<ProxSource> map{whole, source, &counts};
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
  return sweep_both(pool, tree_, spare_, Map<ResidualSource>{tree_, source});
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

}  // namespace loglinear
