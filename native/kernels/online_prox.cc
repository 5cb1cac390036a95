#include "kernels/online_prox.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ngram_trie.hh"

namespace loglinear {

void SmallForestProx::operator()(OnlinePenalty penalty, bool nonnegative, std::span<const std::uint32_t> parent,
                                 std::span<const double> mass, std::span<const double> threshold,
                                 std::span<double> x) {
  if (nonnegative)  // the projection first: exact for all of these penalties
    for (double& v : x) v = v > 0.0 ? v : 0.0;
  switch (penalty) {
    case OnlinePenalty::kTreeLinf: return linf(parent, mass, threshold, x);
    case OnlinePenalty::kTreeL2: return l2(parent, mass, threshold, x);
    case OnlinePenalty::kL1:
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double left = std::abs(x[i]) - threshold[i] / mass[i];
        x[i] = left > 0.0 ? std::copysign(left, x[i]) : 0.0;
      }
      return;
    case OnlinePenalty::kNone: return;
  }
}

std::uint32_t SmallForestProx::meld(std::uint32_t a, std::uint32_t b) {
  if (a == kNoWord) return b;
  if (b == kNoWord) return a;
  if (elements_[a].value < elements_[b].value) std::swap(a, b);
  elements_[b].next = elements_[a].child;
  elements_[a].child = b;
  return a;
}

// The heap without its largest element: its children melded in pairs, then all pairs.
std::uint32_t SmallForestProx::without_first(std::uint32_t heap) {
  std::uint32_t at = elements_[heap].child, pairs = kNoWord;
  while (at != kNoWord) {
    const std::uint32_t a = at, b = elements_[a].next;
    at = b == kNoWord ? kNoWord : elements_[b].next;
    const std::uint32_t pair = meld(a, b);
    elements_[pair].next = pairs;
    pairs = pair;
  }
  std::uint32_t all = kNoWord;
  while (pairs != kNoWord) {
    const std::uint32_t pair = pairs;
    pairs = elements_[pair].next;
    all = meld(all, pair);
  }
  return all;
}

void SmallForestProx::linf(std::span<const std::uint32_t> parent, std::span<const double> mass,
                           std::span<const double> threshold, std::span<double> x) {
  const std::size_t n = x.size();
  elements_.resize(n);
  heaps_.assign(n, kNoWord);
  total_.assign(n, 0.0);
  cap_.resize(n);
  for (std::size_t i = n; i-- > 0;) {
    const double value = std::abs(x[i]), K = threshold[i];
    std::uint32_t heap = heaps_[i];
    double total = total_[i] + mass[i] * value;  // the most that this subtree can give up
    if (value > 0.0) {
      elements_[i] = {value, mass[i], kNoWord, kNoWord};
      heap = meld(heap, static_cast<std::uint32_t>(i));
    }
    if (total <= K) {
      cap_[i] = 0.0;
      continue;
    }
    cap_[i] = std::numeric_limits<double>::infinity();
    if (heap == i && elements_[i].child == kNoWord) {  // alone, as most are
      cap_[i] = elements_[i].value = value - K / mass[i];
      total -= K;
    } else if (K > 0.0) {
      double sum = 0.0, weight = 0.0;
      std::uint32_t last = kNoWord;
      while (heap != kNoWord && weight * elements_[heap].value > sum - K) {
        last = heap;
        sum += elements_[heap].value * elements_[heap].mass;
        weight += elements_[heap].mass;
        heap = without_first(heap);
      }
      cap_[i] = std::max((sum - K) / weight, 0.0);
      elements_[last] = {cap_[i], weight, kNoWord, kNoWord};
      heap = meld(heap, last);
      total -= K;
    }
    if (parent[i] != kNoWord) {
      heaps_[parent[i]] = meld(heaps_[parent[i]], heap);
      total_[parent[i]] += total;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (parent[i] != kNoWord) cap_[i] = std::min(cap_[i], cap_[parent[i]]);
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
    if (left > 0.0 && parent[i] != kNoWord) total_[parent[i]] += left * left;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (parent[i] != kNoWord) cap_[i] *= cap_[parent[i]];
    x[i] = cap_[i] == 0.0 ? 0.0 : x[i] * cap_[i];
  }
}

}  // namespace loglinear
