// Sorting by integer keys: insertion sort for few items, comparison sort for some, radix sort (least significant digit
// first) for many.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace loglinear {

// Sorts items by key(item), of which only the lowest `bits` bits are set. Items of equal keys may change places.
// `spare` is a vector for scratch.
template <class Item, class Spare, class Key>
void sort_by_key(std::span<Item> items, unsigned bits, Spare& spare, Key key) {
  constexpr std::size_t kFew = 24, kMany = 1500;
  constexpr unsigned kDigit = 11;
  const std::size_t n = items.size();
  if (n <= kFew) {
    for (std::size_t i = 1; i < n; ++i) {
      const Item item = items[i];
      std::size_t j = i;
      for (; j > 0 && key(items[j - 1]) > key(item); --j) items[j] = items[j - 1];
      items[j] = item;
    }
    return;
  }
  if (n < kMany) {
    std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return key(a) < key(b); });
    return;
  }
  if (spare.size() < n) {
    Spare().swap(spare);  // nothing of it is wanted
    spare.resize(n);
  }
  const unsigned n_passes = (bits + kDigit - 1) / kDigit;
  std::array<std::uint32_t, std::size_t{1} << kDigit> place;
  std::span<Item> from = items, to(spare.data(), n);
  for (unsigned pass = 0; pass < n_passes; ++pass) {
    const unsigned shift = pass * kDigit;
    const auto digit = [&](const Item& item) { return key(item) >> shift & ((std::uint64_t{1} << kDigit) - 1); };
    place.fill(0);
    for (const Item& item : from) ++place[digit(item)];
    if (place[digit(from[0])] == n) continue;  // all the same
    std::uint32_t sum = 0;
    for (std::uint32_t& p : place) sum += std::exchange(p, sum);
    for (const Item& item : from) to[place[digit(item)]++] = item;
    std::swap(from, to);
  }
  if (from.data() != items.data()) std::copy(from.begin(), from.end(), items.begin());
}

}  // namespace loglinear
