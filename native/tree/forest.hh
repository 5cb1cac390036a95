// A forest over the weights: groups are subtrees, node by node.
//
// Nodes are numbered so that parents come before children; any such order will do. Sweeps up visit children before
// their parents, sweeps down parents before their children, both without recursion.
//
// For threads the forest is cut once into units of at most kUnit nodes, each closed under descendants; what is left
// above them is the crown, swept by one thread after (up) or before (down) the units. A unit is a list of runs of
// consecutive nodes and numbers its own nodes 0, 1, ... in the order of its runs; `target` says for each of them where
// its parent is: below `size` a node of the unit, from `size` on a slot. A slot stands for one parent in the crown
// (kNone: for no parent, shared by the roots), so a star of millions hands one value per unit to its centre. Units
// without slots in the crown are swept up and down at once, while they are in the cache.
//
// Where to cut. In a forest numbered level by level (an n-gram trie) a position is a good cut if no edge crosses it on
// any deeper level: units are then a few long runs. Elsewhere units are the largest subtrees that fit, neighbours
// joined: one run each in a forest numbered depth first. The cut depends on the forest alone, so results are the same
// bits on any number of threads.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "util/reused.hh"
#include "util/thread_pool.hh"

namespace loglinear::tree {

struct TreeRun {
  std::uint32_t begin, end;  // nodes
};

struct TreeUnit {
  std::size_t first_run = 0, n_runs = 0;
  std::size_t first = 0, size = 0;            // its places in arrays over all nodes in the order of units
  std::size_t first_slot = 0, n_slots = 0;
  bool closed = true;                         // no slot in the crown
};

class Tree {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kUnit = 1 << 14;

  // Keeps the span, which must outlive it. Throws InvalidInput, by name, for what is no forest in order.
  explicit Tree(std::span<const std::int32_t> parent, std::size_t unit = kUnit);

  std::size_t size() const { return parent_.size(); }
  std::span<const std::int32_t> parent() const { return parent_; }
  std::span<const TreeUnit> units() const { return units_; }
  const TreeUnit& crown() const { return crown_; }
  std::size_t n_runs() const { return runs_.size(); }
  std::size_t max_places() const { return max_places_; }  // largest size + n_slots of a unit
  std::uint32_t slot_parent(const TreeUnit& unit, std::size_t slot) const {
    return slot_parent_[unit.first_slot + slot];  // a place of the crown, or kNone
  }
  // Arrays with room for the places of every unit, one after the other, slots included.
  std::size_t n_places() const { return size() + slot_parent_.size(); }
  std::size_t first_place(const TreeUnit& unit) const { return unit.first + unit.first_slot; }

  // visit(node, place, target place) for the nodes of a unit, children first.
  template <class Visit>
  void upward(const TreeUnit& unit, Visit visit) const {
    const std::uint32_t* target = target_.data() + unit.first;
    std::size_t place = unit.size;
    for (std::size_t r = unit.first_run + unit.n_runs; r-- > unit.first_run;)
      for (std::uint32_t node = runs_[r].end; node-- > runs_[r].begin;) {
        --place;
        visit(static_cast<std::size_t>(node), place, static_cast<std::size_t>(target[place]));
      }
  }
  // The same, parents first.
  template <class Visit>
  void downward(const TreeUnit& unit, Visit visit) const {
    const std::uint32_t* target = target_.data() + unit.first;
    std::size_t place = 0;
    for (std::size_t r = unit.first_run; r < unit.first_run + unit.n_runs; ++r)
      for (std::uint32_t node = runs_[r].begin; node < runs_[r].end; ++node, ++place)
        visit(static_cast<std::size_t>(node), place, static_cast<std::size_t>(target[place]));
  }

 private:
  std::vector<std::uint32_t> cut_levels(std::span<const std::uint32_t> sizes, std::size_t unit) const;
  std::vector<std::uint32_t> cut_subtrees(std::span<const std::uint32_t> sizes, std::size_t unit) const;
  std::size_t inherit(std::vector<std::uint32_t>& unit_of) const;
  void number(const std::vector<std::uint32_t>& unit_of);
  void find_slots(const std::vector<std::uint32_t>& unit_of, const std::vector<std::uint32_t>& place);

  std::span<const std::int32_t> parent_;
  std::vector<std::uint32_t> target_;  // [n] in the order of units, the crown last
  std::vector<TreeRun> runs_;
  std::vector<std::uint32_t> slot_parent_;
  std::vector<TreeUnit> units_;
  TreeUnit crown_;
  std::size_t max_places_ = 0;
};

// Throws InvalidInput for an empty forest, a parent that is no node (disconnected), a cycle (with a node of it), and a
// parent that does not come before its child (unordered).
void check_forest(std::span<const std::int32_t> parent);

// order[k] = the node that becomes node k of the same forest numbered depth first; sorted_parent[k] its parent there.
void sort_forest(std::span<const std::int32_t> parent, std::span<std::int32_t> order,
                 std::span<std::int32_t> sorted_parent);

// Edges between a node and its root.
void forest_depths(std::span<const std::int32_t> parent, std::span<std::uint32_t> depth);

// node(i, acc) once acc holds the sum (+=) of its children's; what it leaves in acc goes to its parent. Returns the
// totals of what it returns, joined by total(a, b), in an order that depends on the tree alone.
template <class Acc, class Node, class Total>
double gather(ThreadPool& pool, const Tree& tree, Node node, Total total) {
  const auto units = tree.units();
  std::vector<double> partial(units.size());
  std::vector<std::vector<Acc>> slots(units.size());
  Reused<std::vector<Acc>> spare;
  const auto sweep = [&](const TreeUnit& unit, Acc* acc) {
    double sum = 0.0;
    tree.upward(unit, [&](std::size_t i, std::size_t place, std::size_t target) {
      sum = total(sum, node(i, acc[place]));
      acc[target] += acc[place];
    });
    return sum;
  };
  pool.run(units.size(), [&](std::size_t u) {
    auto acc = spare.take([&] { return std::make_unique<std::vector<Acc>>(); });
    acc->assign(units[u].size + units[u].n_slots, Acc{});
    partial[u] = sweep(units[u], acc->data());
    if (!units[u].closed) slots[u].assign(acc->begin() + static_cast<std::ptrdiff_t>(units[u].size), acc->end());
    spare.give(std::move(acc));
  });
  double sum = 0.0;
  for (double p : partial) sum = total(sum, p);
  std::vector<Acc> acc(tree.crown().size + tree.crown().n_slots);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (std::size_t s = 0; s < slots[u].size(); ++s)
      if (const std::uint32_t above = tree.slot_parent(units[u], s); above != Tree::kNone) acc[above] += slots[u][s];
  return total(sum, sweep(tree.crown(), acc.data()));
}

}  // namespace loglinear::tree
