#include "grammar/generate.hh"

#include <algorithm>
#include <string>

#include "util/random.hh"

namespace loglinear::grammar {

void Productions::check() const {
  const std::size_t n = ptr.size() - 1;
  require(!ptr.empty() && ptr.front() == 0 && ptr.back() == static_cast<std::int64_t>(first.size()) &&
              second.size() == first.size() && cumulative.size() == first.size(),
          "productions: arrays differ in length");
  for (std::size_t s = 0; s < n; ++s) require(ptr[s] <= ptr[s + 1], "productions: pointers decrease");
  for (std::size_t p = 0; p < first.size(); ++p)
    require(first[p] < static_cast<std::int32_t>(n) && second[p] >= -1 && second[p] < static_cast<std::int32_t>(n),
            "productions: unknown symbol");
}

GeneratedTrees generate_trees(ThreadPool& pool, const Productions& productions, std::int32_t start, std::size_t n,
                              std::uint64_t seed, std::size_t max_nodes) {
  productions.check();
  require(start >= 0 && static_cast<std::size_t>(start) + 1 < productions.ptr.size(), "productions: unknown start symbol");
  constexpr std::size_t kTrees = 1024;
  std::vector<GeneratedTrees> pieces(chunk_count(n, kTrees));
  pool.run(pieces.size(), [&](std::size_t c) {
    GeneratedTrees& out = pieces[c];
    struct Pending {
      std::int32_t symbol;  // or -1: the node ends
      std::size_t node;
    };
    std::vector<Pending> stack;
    const Range range = chunk_range(n, kTrees, c);
    for (std::size_t t = range.begin; t < range.end; ++t) {
      Random random(seed, t);
      const std::size_t first_node = out.symbol.size();
      stack.assign(1, {start, 0});
      while (!stack.empty()) {
        const Pending next = stack.back();
        stack.pop_back();
        if (next.symbol < 0) {
          out.size[next.node] = static_cast<std::int32_t>(out.symbol.size() - next.node);
          continue;
        }
        const auto s = static_cast<std::size_t>(next.symbol);
        const auto begin = productions.cumulative.begin() + productions.ptr[s];
        const auto end = productions.cumulative.begin() + productions.ptr[s + 1];
        require(begin != end, "a symbol of the grammar has no rules");
        const auto found = std::upper_bound(begin, end, random.uniform() * *(end - 1));
        const auto p = static_cast<std::size_t>(std::min(found, end - 1) - productions.cumulative.begin());
        const std::int32_t x = productions.first[p], y = productions.second[p];
        const std::size_t node = out.symbol.size();
        out.symbol.push_back(next.symbol);
        out.word.push_back(x < 0 ? -1 - x : -1);
        out.size.push_back(1);
        if (node - first_node >= max_nodes)
          throw InvalidInput("a sampled tree has more than " + std::to_string(max_nodes) +
                             " nodes: the grammar hardly ends, or not at all");
        if (x < 0) continue;
        stack.push_back({-1, node});
        if (y >= 0) stack.push_back({y, 0});
        stack.push_back({x, 0});
      }
      out.tree_ptr.push_back(static_cast<std::int64_t>(out.symbol.size()));
    }
  });
  GeneratedTrees all;
  for (const GeneratedTrees& piece : pieces) {
    const auto nodes = static_cast<std::int64_t>(all.symbol.size());
    for (std::size_t i = 1; i < piece.tree_ptr.size(); ++i) all.tree_ptr.push_back(nodes + piece.tree_ptr[i]);
    all.symbol.insert(all.symbol.end(), piece.symbol.begin(), piece.symbol.end());
    all.word.insert(all.word.end(), piece.word.begin(), piece.word.end());
    all.size.insert(all.size.end(), piece.size.begin(), piece.size.end());
  }
  return all;
}

}  // namespace loglinear::grammar
