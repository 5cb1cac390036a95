#include "tree/small_forest.hh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace loglinear::tree {

void SmallForestProx::operator()(SmallForestPenalty penalty, bool nonnegative, std::span<const std::uint32_t> parent,
                                 std::span<const double> mass, std::span<const double> threshold,
                                 std::span<double> x) {
  if (nonnegative)  // the projection first: exact for all of these penalties
    for (double& v : x) v = v > 0.0 ? v : 0.0;
  switch (penalty) {
    case SmallForestPenalty::kTreeLinf: return linf(parent, mass, threshold, x);
    case SmallForestPenalty::kTreeL2: return l2(parent, mass, threshold, x);
    case SmallForestPenalty::kL1:
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double left = std::abs(x[i]) - threshold[i] / mass[i];
        x[i] = left > 0.0 ? std::copysign(left, x[i]) : 0.0;
      }
      return;
    case SmallForestPenalty::kNone: return;
  }
}

void SmallForestProx::linf(std::span<const std::uint32_t> parent, std::span<const double> mass,
                           std::span<const double> threshold, std::span<double> x) {
  const std::size_t n = x.size();
  blocks_.resize(n);
  const PairingHeap blocks{blocks_.data()};
  heaps_.assign(n, PairingHeap::kNone);
  total_.assign(n, 0.0);
  cap_.resize(n);
  for (std::size_t i = n; i-- > 0;) {
    const double value = std::abs(x[i]), K = threshold[i];
    std::uint32_t heap = heaps_[i];
    double total = total_[i] + mass[i] * value;  // the most that this subtree can give up
    if (value > 0.0) heap = blocks.meld(heap, blocks.make(static_cast<std::uint32_t>(i), value, mass[i]));
    if (total <= K) {
      cap_[i] = 0.0;
      continue;
    }
    cap_[i] = std::numeric_limits<double>::infinity();
    if (heap == i && blocks_[i].child == PairingHeap::kNone) {  // alone, as most are
      cap_[i] = blocks_[i].value = value - K / mass[i];
      total -= K;
    } else if (K > 0.0) {
      double sum = 0.0, weight = 0.0;
      std::uint32_t last = PairingHeap::kNone;
      while (heap != PairingHeap::kNone && weight * blocks_[heap].value > sum - K) {
        last = heap;
        sum += blocks_[heap].value * blocks_[heap].weight;
        weight += blocks_[heap].weight;
        heap = blocks.pop(heap);
      }
      cap_[i] = std::max((sum - K) / weight, 0.0);
      heap = blocks.meld(heap, blocks.make(last, cap_[i], weight));
      total -= K;
    }
    if (parent[i] != PairingHeap::kNone) {
      heaps_[parent[i]] = blocks.meld(heaps_[parent[i]], heap);
      total_[parent[i]] += total;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (parent[i] != PairingHeap::kNone) cap_[i] = std::min(cap_[i], cap_[parent[i]]);
    if (std::abs(x[i]) > cap_[i]) x[i] = std::copysign(cap_[i], x[i]);
    if (x[i] == 0.0) x[i] = 0.0;  // no -0
  }
}

void SmallForestProx::l2(std::span<const std::uint32_t> parent, std::span<const double> mass,
                         std::span<const double> threshold, std::span<double> x) {
  const std::size_t n = x.size();
  total_.assign(n, 0.0);
  cap_.resize(n);  // here a factor
  for (std::size_t i = n; i-- > 0;) {
    const double norm = std::sqrt(total_[i] + mass[i] * x[i] * x[i]);
    const double left = norm - threshold[i] / std::sqrt(mass[i]);
    cap_[i] = left > 0.0 ? left / norm : 0.0;
    if (left > 0.0 && parent[i] != PairingHeap::kNone) total_[parent[i]] += left * left;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (parent[i] != PairingHeap::kNone) cap_[i] *= cap_[parent[i]];
    x[i] = cap_[i] == 0.0 ? 0.0 : x[i] * cap_[i];
  }
}

}  // namespace loglinear::tree
