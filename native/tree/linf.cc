#include "tree/linf.hh"

#include <functional>

namespace loglinear::tree {

namespace {

constexpr std::uint32_t kNone = PairingHeap::kNone;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void TreeLinf::Work::reserve(std::size_t n) {
  if (places.size() >= n) return;
  places.resize(n);
  blocks.resize(n);
}

template <class Source>
struct TreeLinf::Map {
  const Tree& tree;
  Source source;
  Counts* counts = nullptr;

  void clear(const TreeUnit& unit, Work& work, std::size_t first) const {
    std::fill_n(work.places.begin() + static_cast<std::ptrdiff_t>(first), unit.size + unit.n_slots, Place{0.0, kNone});
  }

  // Blocks have the numbers of places in `work`, `first` included, so that heaps of units meld in the crown.
  void up(const TreeUnit& unit, Work& work, std::size_t first) const {
    Place* places = work.places.data() + first;
    const PairingHeap heap = work.heap();
    const Source from = source;
    tree.upward(unit, [=, this](std::size_t i, std::size_t place, std::size_t target) {
      const double u = std::fabs(from.centre(i)), spread = from.spread(i), k = from.penalty.groups.threshold(i);
      double& level = places[place].level;
      const std::uint32_t top = places[place].top;
      // The test sum d u <= k, times the step to avoid a division. It predicts badly, so it is decided early.
      if (level * spread + u <= k * spread) {
        level = 0.0;
        return;
      }
      const double d = from.weight(i), sum = level + d * u;
      const auto block = static_cast<std::uint32_t>(first + place);
      std::uint32_t below = kNone;
      if (k == 0.0) {
        level = kInfinity;
        below = u > 0.0 ? heap.meld(top, make(heap, block, u, d)) : top;
      } else if (top == kNone) {
        level = std::max(0.0, u - k * spread);
        if (level > 0.0) below = make(heap, block, level, d);
        if (counts) counts->above[place] = 1;
      } else {
        const bool pair = heap.block[top].child == kNone && !counts;
        below = pair ? sink_two(heap, top, block, u, d, k, level) : sink(heap, top, block, u, d, k, level);
      }
      if (below == kNone) return;  // where the sums said that something is left, it was rounding
      places[target].level += sum - k;
      places[target].top = heap.meld(places[target].top, below);
    });
  }

  std::uint32_t make(const PairingHeap& heap, std::uint32_t block, double u, double d) const {
    if (counts) counts->held[block] = 1;
    return heap.make(block, u, d);
  }

  // The same as `sink` for a heap of one block, the most frequent case.
  static std::uint32_t sink_two(const PairingHeap& heap, std::uint32_t rest, std::uint32_t block, double u, double d,
                                double k, double& level) {
    const PairingHeap::Block other = heap.block[rest];
    const bool own_first = u >= other.value;
    const double high = own_first ? u : other.value, low = own_first ? other.value : u;
    const double high_weight = own_first ? d : other.weight, low_weight = own_first ? other.weight : d;
    const double first = high * high_weight - k;
    if (first < high_weight * low) {
      const double weight = high_weight + low_weight;
      level = std::max(0.0, (first + low * low_weight) / weight);
      return level == 0.0 ? kNone : heap.make(block, level, weight);
    }
    level = first / high_weight;
    if (level == 0.0) return kNone;
    heap.make(rest, level, high_weight);
    if (low > 0.0) {
      heap.make(block, low, low_weight);
      heap.block[rest].child = block;
    }
    return rest;
  }

  // Takes k off the largest values of a heap and the node's own (u, d); returns the heap left, `level` gets theirs.
  std::uint32_t sink(const PairingHeap& heap, std::uint32_t rest, std::uint32_t block, double u, double d, double k,
                     double& level) const {
    double sum = 0.0, weight = 0.0;
    std::uint32_t merged = kNone, n_values = 0, n_blocks = 0;
    bool own = u > 0.0;
    for (;;) {
      const bool take_own = own && (rest == kNone || u >= heap.block[rest].value);
      if (!take_own && rest == kNone) break;
      const double value = take_own ? u : heap.block[rest].value;
      if (weight * value <= sum - k) break;
      const double by = take_own ? d : heap.block[rest].weight;
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
    Place* places = work.places.data() + first;
    double largest = 0.0;
    places[unit.size].level = kInfinity;  // the slot of roots
    const Source from = source;
    tree.downward(unit, [=, &largest](std::size_t i, std::size_t place, std::size_t target) {
      const double own = std::min(places[place].level, places[target].level), z = from.centre(i);
      places[place].level = own;
      const double put = from.put(i, std::copysign(std::min(std::fabs(z), own), z) + 0.0);  // no -0
      if constexpr (Source::kMeasures) largest = std::max(largest, put);
      else (void)largest, (void)put;
    });
    return largest;
  }

  void join(Work& work, std::size_t slot, std::size_t above) const {
    work.places[above].level += work.places[slot].level;
    work.places[above].top = work.heap().meld(work.places[above].top, work.places[slot].top);
  }
  void split(Work& work, std::size_t slot, std::size_t above) const {
    work.places[slot].level = work.places[above].level;
  }
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

}  // namespace loglinear::tree
