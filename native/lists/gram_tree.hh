// The grams of candidates as a tree: a gram is the pair (node of its first n - 1 symbols, last symbol), so that no string
// is made for one that is not kept. features.hh lists the families.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "util/errors.hh"
#include "util/interner.hh"

namespace loglinear::lists {

enum Family : std::uint8_t { kWord, kSkip, kHead, kClass, kCharacter };

struct Node {
  std::int32_t prefix;   // a node, or -1 - family
  std::uint32_t symbol;  // a word, a class, or a code point
};

// Grams, numbered by first occurrence: a prefix always has a smaller number.
class GramTree {
 public:
  std::vector<Node> nodes;
  std::vector<Family> families;

  std::int32_t add(std::int32_t prefix, std::uint32_t symbol) {
    std::size_t at = locate(slots_, prefix, symbol);
    if (slots_[at] >= 0) return slots_[at];
    if (nodes.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw InvalidInput("too many distinct features of candidates; use fewer orders");
    const auto node = static_cast<std::int32_t>(nodes.size());
    slots_[at] = node;
    nodes.push_back({prefix, symbol});
    families.push_back(prefix < 0 ? static_cast<Family>(-1 - prefix) : families[static_cast<std::size_t>(prefix)]);
    if (nodes.size() * 2 > slots_.size()) grow();
    return node;
  }

 private:
  std::size_t locate(const std::vector<std::int32_t>& slots, std::int32_t prefix, std::uint32_t symbol) const {
    const std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(prefix)) << 32 | symbol;
    const std::size_t mask = slots.size() - 1;
    std::size_t at = mix_bits(key) & mask;
    while (slots[at] >= 0) {
      const Node& node = nodes[static_cast<std::size_t>(slots[at])];
      if (node.prefix == prefix && node.symbol == symbol) break;
      at = (at + 1) & mask;
    }
    return at;
  }
  void grow() {
    std::vector<std::int32_t> larger(slots_.size() * 2, -1);
    for (std::size_t n = 0; n < nodes.size(); ++n)
      larger[locate(larger, nodes[n].prefix, nodes[n].symbol)] = static_cast<std::int32_t>(n);
    slots_.swap(larger);
  }

  std::vector<std::int32_t> slots_ = std::vector<std::int32_t>(1024, -1);
};

}  // namespace loglinear::lists
