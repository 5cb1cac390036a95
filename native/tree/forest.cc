#include "tree/forest.hh"

#include <algorithm>
#include <string>

#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::tree {

namespace {

std::string name_of(std::size_t i) { return "node " + std::to_string(i); }

// Some node of a cycle, or the size where there is none: follow parents, marking each walk with its own number.
std::size_t find_cycle(std::span<const std::int32_t> parent) {
  std::vector<std::uint32_t> walk(parent.size(), 0);
  for (std::size_t i = 0; i < parent.size(); ++i) {
    const auto mark = static_cast<std::uint32_t>(i + 1);
    std::size_t at = i;
    while (walk[at] == 0) {
      walk[at] = mark;
      if (parent[at] < 0) break;
      at = static_cast<std::size_t>(parent[at]);
    }
    if (walk[at] == mark && parent[at] >= 0) return at;
  }
  return parent.size();
}

void check_acyclic(std::span<const std::int32_t> parent) {
  if (const std::size_t at = find_cycle(parent); at < parent.size())
    throw InvalidInput("the tree is cyclic: " + name_of(at) + " is its own ancestor");
}

// The first node that comes before its parent, or the size where there is none. Every parent is a node, or -1.
std::size_t first_unordered(std::span<const std::int32_t> parent) {
  const std::size_t n = parent.size();
  require(n > 0, "the tree is empty: it needs at least one node");
  require(n < std::size_t{1} << 31, "a tree has fewer than 2^31 nodes");
  std::size_t unordered = n;
  for (std::size_t i = n; i-- > 0;) {
    const std::int64_t p = parent[i];
    if (p < -1 || p >= static_cast<std::int64_t>(n))
      throw InvalidInput("the tree is disconnected: the parent of " + name_of(i) + " is " + std::to_string(p) +
                         ", which is no node (0 to " + std::to_string(n - 1) + ", or -1 at a root)");
    if (p >= static_cast<std::int64_t>(i)) unordered = i;
  }
  return unordered;
}

std::vector<std::uint32_t> subtree_sizes(std::span<const std::int32_t> parent) {
  std::vector<std::uint32_t> sizes(parent.size(), 1);
  for (std::size_t i = parent.size(); i-- > 0;)
    if (parent[i] >= 0) sizes[static_cast<std::size_t>(parent[i])] += sizes[i];
  return sizes;
}

}  // namespace

void check_forest(std::span<const std::int32_t> parent) {
  const std::size_t unordered = first_unordered(parent);
  if (unordered == parent.size()) return;
  check_acyclic(parent);
  throw InvalidInput("the tree is unordered: " + name_of(unordered) + " comes before its parent " +
                     std::to_string(parent[unordered]) + "; Tree.sort(parent) numbers parents before children");
}

void forest_depths(std::span<const std::int32_t> parent, std::span<std::uint32_t> depth) {
  require(depth.size() == parent.size(), "depths do not have one entry per node");
  for (std::size_t i = 0; i < parent.size(); ++i) {
    require(parent[i] < static_cast<std::int64_t>(i), "the tree changed and is no longer in order");
    depth[i] = parent[i] < 0 ? 0 : depth[static_cast<std::size_t>(parent[i])] + 1;
  }
}

void sort_forest(std::span<const std::int32_t> parent, std::span<std::int32_t> order,
                 std::span<std::int32_t> sorted_parent) {
  const std::size_t n = parent.size();
  require(order.size() == n && sorted_parent.size() == n, "order does not have one entry per node");
  if (first_unordered(parent) < n) check_acyclic(parent);
  // Children of p: child[start[p]] .. child[start[p + 1] - 1], ascending; those of no parent come first.
  std::vector<std::uint32_t> start(n + 2, 0), child(n), stack;
  for (std::int32_t p : parent) ++start[static_cast<std::size_t>(p + 1) + 1];
  for (std::size_t p = 0; p <= n; ++p) start[p + 1] += start[p];
  std::vector<std::uint32_t> at(start.begin(), start.end() - 1);
  for (std::size_t i = 0; i < n; ++i)
    child[at[static_cast<std::size_t>(parent[i] + 1)]++] = static_cast<std::uint32_t>(i);
  std::vector<std::int32_t> number(n);
  const auto push = [&](std::size_t p) {
    for (std::size_t c = start[p + 1]; c-- > start[p];) stack.push_back(child[c]);
  };
  push(0);
  std::int32_t next = 0;
  while (!stack.empty()) {
    const std::size_t i = stack.back();
    stack.pop_back();
    number[i] = next;
    order[static_cast<std::size_t>(next)] = static_cast<std::int32_t>(i);
    sorted_parent[static_cast<std::size_t>(next)] = parent[i] < 0 ? -1 : number[static_cast<std::size_t>(parent[i])];
    ++next;
    push(i + 1);
  }
}

// ---- the cut into units ---------------------------------------------------------------------------------------------

Tree::Tree(std::span<const std::int32_t> parent, std::size_t unit) : parent_(parent) {
  check_forest(parent);
  require(unit > 0, "a unit holds at least one node");
  const std::size_t n = size();
  const std::vector<std::uint32_t> sizes = subtree_sizes(parent);
  std::vector<std::uint32_t> unit_of = cut_levels(sizes, unit);
  if (unit_of.empty() || inherit(unit_of) > n / 4) {
    std::vector<std::uint32_t> other = cut_subtrees(sizes, unit);
    const std::size_t crown = inherit(other);
    const auto crown_before = static_cast<std::size_t>(std::count(unit_of.begin(), unit_of.end(), kNone));
    if (unit_of.empty() || crown < crown_before) unit_of = std::move(other);
  }
  number(unit_of);
}

// Gives every node the unit of its parent where it has none of its own; returns the size of the crown.
std::size_t Tree::inherit(std::vector<std::uint32_t>& unit_of) const {
  std::size_t crown = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (unit_of[i] == kNone && parent_[i] >= 0) unit_of[i] = unit_of[static_cast<std::size_t>(parent_[i])];
    crown += unit_of[i] == kNone;
  }
  return crown;
}

// The largest subtrees that fit, in order of their roots, neighbours joined up to the size of a unit.
std::vector<std::uint32_t> Tree::cut_subtrees(std::span<const std::uint32_t> sizes, std::size_t unit) const {
  std::vector<std::uint32_t> unit_of(size(), kNone);
  std::uint32_t current = 0;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (sizes[i] > unit || (parent_[i] >= 0 && sizes[static_cast<std::size_t>(parent_[i])] <= unit)) continue;
    if (filled + sizes[i] > unit) ++current, filled = 0;
    unit_of[i] = current;
    filled += sizes[i];
  }
  return unit_of;
}

// Empty where nodes are not numbered level by level. A cut before node p of its level continues before node below[p] of
// the next one; good[p]: no edge crosses it there or deeper.
std::vector<std::uint32_t> Tree::cut_levels(std::span<const std::uint32_t> sizes, std::size_t unit) const {
  const std::size_t n = size();
  std::vector<std::uint32_t> start{0}, depth(n);  // start of each level
  forest_depths(parent_, depth);
  for (std::size_t i = 1; i < n; ++i) {
    if (depth[i] < depth[i - 1]) return {};
    if (depth[i] > depth[i - 1]) start.push_back(static_cast<std::uint32_t>(i));
  }
  start.push_back(static_cast<std::uint32_t>(n));
  start.push_back(static_cast<std::uint32_t>(n));

  // first, last: the first child and one past the last; then running maxima and minima along a level.
  std::vector<std::uint32_t> first(n, kNone), below(n, 0);
  for (std::size_t i = start[1]; i < n; ++i) {
    const auto p = static_cast<std::size_t>(parent_[i]);
    first[p] = std::min(first[p], static_cast<std::uint32_t>(i));
    below[p] = static_cast<std::uint32_t>(i + 1);
  }
  std::vector<std::uint8_t> good(n, 0);
  for (std::size_t level = start.size() - 2; level-- > 0;) {
    const std::uint32_t begin = start[level], end = start[level + 1], next_end = start[level + 2];
    std::uint32_t reached = end;
    for (std::uint32_t p = begin; p < end; ++p) {
      const std::uint32_t last = below[p];
      below[p] = reached;
      reached = std::max(reached, last);
    }
    std::uint32_t ahead = next_end;
    for (std::uint32_t p = end; p-- > begin;) {
      ahead = std::min(ahead, first[p]);
      good[p] = below[p] <= ahead && (below[p] == next_end || good[below[p]]);
    }
  }

  std::vector<std::uint32_t> unit_of(n, kNone);
  std::uint32_t n_units = 0;
  struct Segment {
    std::size_t level;
    std::uint32_t begin, end;
  };
  std::vector<Segment> waiting{{0, start[0], start[1]}};
  while (!waiting.empty()) {
    const Segment segment = waiting.back();
    waiting.pop_back();
    const auto down = [&](std::uint32_t p) {
      return p == start[segment.level + 1] ? start[segment.level + 2] : below[p];
    };
    std::size_t filled = unit + 1;  // of the unit being filled; none yet
    for (std::uint32_t block = segment.begin; block < segment.end;) {
      std::uint32_t end = block + 1;
      std::size_t weight = sizes[block];
      while (end < segment.end && !good[end]) weight += sizes[end++];
      if (weight > unit) {  // to the crown, its children one by one
        if (down(block) < down(end)) waiting.push_back({segment.level + 1, down(block), down(end)});
        filled = unit + 1;
      } else {
        if (filled + weight > unit) ++n_units, filled = 0;
        std::fill(unit_of.begin() + block, unit_of.begin() + end, n_units - 1);
        filled += weight;
      }
      block = end;
    }
  }
  return unit_of;
}

// Runs and places; the crown is numbered as the last unit.
void Tree::number(const std::vector<std::uint32_t>& unit_of) {
  const std::size_t n = size();
  std::size_t n_units = 0;
  for (std::uint32_t u : unit_of)
    if (u != kNone) n_units = std::max<std::size_t>(n_units, u + 1);
  units_.resize(n_units + 1);
  const auto unit_number = [&](std::size_t i) { return unit_of[i] == kNone ? n_units : unit_of[i]; };
  std::vector<std::uint32_t> place(n);
  for (std::size_t i = 0; i < n; ++i) {
    TreeUnit& unit = units_[unit_number(i)];
    place[i] = static_cast<std::uint32_t>(unit.size++);
    unit.n_runs += i == 0 || unit_number(i) != unit_number(i - 1);
  }
  for (std::size_t u = 0; u < n_units; ++u) {
    units_[u + 1].first = units_[u].first + units_[u].size;
    units_[u + 1].first_run = units_[u].first_run + units_[u].n_runs;
  }
  runs_.resize(units_[n_units].first_run + units_[n_units].n_runs);
  std::vector<std::size_t> at(n_units + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t u = unit_number(i);
    if (i == 0 || u != unit_number(i - 1)) {
      runs_[units_[u].first_run + at[u]] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)};
      ++at[u];
    }
    ++runs_[units_[u].first_run + at[u] - 1].end;
  }
  find_slots(unit_of, place);
  crown_ = units_.back();
  units_.pop_back();
}

void Tree::find_slots(const std::vector<std::uint32_t>& unit_of, const std::vector<std::uint32_t>& place) {
  target_.resize(size());
  const std::size_t crown = units_.size() - 1;
  std::vector<std::uint32_t> slot_of(units_[crown].size), seen(units_[crown].size, kNone);
  for (std::size_t u = 0; u <= crown; ++u) {
    TreeUnit& unit = units_[u];
    unit.first_slot = slot_parent_.size();
    slot_parent_.push_back(kNone);  // of roots
    downward(unit, [&](std::size_t i, std::size_t k, std::size_t) {
      std::uint32_t& target = target_[unit.first + k];
      if (parent_[i] < 0) {
        target = static_cast<std::uint32_t>(unit.size);
        return;
      }
      const auto p = static_cast<std::size_t>(parent_[i]);
      if (unit_of[p] == unit_of[i]) {
        target = place[p];
        return;
      }
      if (seen[place[p]] != u) {
        seen[place[p]] = static_cast<std::uint32_t>(u);
        slot_of[place[p]] = static_cast<std::uint32_t>(unit.size + slot_parent_.size() - unit.first_slot);
        slot_parent_.push_back(place[p]);
        unit.closed = false;
      }
      target = slot_of[place[p]];
    });
    unit.n_slots = slot_parent_.size() - unit.first_slot;
    max_places_ = std::max(max_places_, unit.size + unit.n_slots);
  }
  require(n_places() < kNone, "a tree has too many nodes");
}

}  // namespace loglinear::tree
