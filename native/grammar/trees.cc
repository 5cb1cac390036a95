#include "grammar/trees.hh"

#include <string>

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t v) { return static_cast<std::size_t>(v); }

[[noreturn]] void refuse(std::size_t tree, const char* message) {
  throw InvalidInput("tree " + std::to_string(tree + 1) + ": " + message);
}

// The children of a node; reused, so that long lists are allocated once.
void list_children(const Trees& trees, std::int64_t v, std::vector<std::int64_t>& out) {
  out.clear();
  const std::int64_t end = trees.next_sibling(v);
  for (std::int64_t c = v + 1; c < end; c = trees.next_sibling(c)) out.push_back(c);
}

}  // namespace

void Trees::check() const {
  require(!tree_ptr.empty() && tree_ptr.front() == 0 && tree_ptr.back() == static_cast<std::int64_t>(label.size()) &&
              word.size() == label.size() && size.size() == label.size(),
          "trees: arrays differ in length");
  std::vector<std::int64_t> ends;
  for (std::size_t t = 0; t < n_trees(); ++t) {
    const std::int64_t begin = tree_ptr[t], end = tree_ptr[t + 1];
    if (end <= begin || end > static_cast<std::int64_t>(label.size())) refuse(t, "it has no nodes");
    if (size[at(begin)] != end - begin) refuse(t, "its root does not hold all of its nodes");
    ends.assign(1, end);
    for (std::int64_t v = begin; v < end; ++v) {
      while (ends.back() == v) ends.pop_back();
      const std::int64_t s = size[at(v)];
      if (s < 1 || v + s > ends.back()) refuse(t, "a subtree reaches beyond its parent");
      if (label[at(v)] < 0 || at(label[at(v)]) >= n_labels) refuse(t, "a label has an unknown number");
      if ((s == 1) != (word[at(v)] >= 0)) refuse(t, "leaves must have words, and other nodes none");
      if (word[at(v)] >= 0 && at(word[at(v)]) >= n_words) refuse(t, "a word has an unknown number");
      ends.push_back(v + s);
      if (ends.size() > kMaxTreeDepth + 1) refuse(t, "it is more than 2,000 levels deep");
    }
  }
}

void find_heads(const Trees& trees, const HeadTable& table, std::span<std::int64_t> out) {
  require(out.size() == trees.n_nodes() && table.from_left.size() == trees.n_labels &&
              table.wanted_ptr.size() == trees.n_labels + 1 && table.is_word_like.size() == trees.n_labels &&
              table.wanted_ptr.front() == 0 && table.wanted_ptr.back() == static_cast<std::int64_t>(table.wanted.size()),
          "heads: arrays differ in length");
  for (std::size_t l = 0; l < trees.n_labels; ++l)
    require(table.wanted_ptr[l] <= table.wanted_ptr[l + 1], "heads: pointers decrease");
  std::vector<std::int64_t> children;
  for (std::int64_t v = static_cast<std::int64_t>(trees.n_nodes()) - 1; v >= 0; --v) {  // children before parents
    if (trees.word[at(v)] >= 0) {
      out[at(v)] = v;
      continue;
    }
    list_children(trees, v, children);
    const auto label = at(trees.label[at(v)]);
    const auto label_of = [&](std::int64_t c) { return trees.label[at(c)]; };
    std::int64_t head = -1;
    if (static_cast<std::int32_t>(label) == table.possessed && label_of(children.back()) == table.possessive &&
        table.possessive >= 0)
      head = children.back();
    const bool from_left = table.from_left[label];
    const auto first = [&](auto good) {
      for (std::size_t i = 0; i < children.size(); ++i) {
        const std::int64_t c = children[from_left ? i : children.size() - 1 - i];
        if (good(c)) return c;
      }
      return std::int64_t{-1};
    };
    for (std::int64_t p = table.wanted_ptr[label]; head < 0 && p < table.wanted_ptr[label + 1]; ++p)
      head = first([&](std::int64_t c) { return label_of(c) == table.wanted[at(p)]; });
    if (head < 0) head = first([&](std::int64_t c) { return table.is_word_like[at(label_of(c))] != 0; });
    if (head < 0) head = from_left ? children.front() : children.back();
    out[at(v)] = out[at(head)];
  }
}

void SymbolTable::check(std::size_t n_labels) const {
  require(chain_ptr.size() == kind.size() + 1 && chain_ptr.front() == 0 &&
              chain_ptr.back() == static_cast<std::int64_t>(chain.size()),
          "symbols: arrays differ in length");
  for (std::size_t s = 0; s < kind.size(); ++s) {
    require(kind[s] <= kTag && chain_ptr[s] <= chain_ptr[s + 1], "symbols: an unknown kind, or pointers decrease");
    const std::int64_t n = chain_ptr[s + 1] - chain_ptr[s];
    require(kind[s] == kRoot || kind[s] == kIntermediate ? n == 0 : kind[s] == kTop ? n >= 1 : n == 1,
            "symbols: a symbol stands for a wrong number of labels");
  }
  for (const std::int32_t l : chain) require(l >= 0 && at(l) < n_labels, "symbols: a label has an unknown number");
}

PlainTrees unbinarise(const Trees& trees, const SymbolTable& symbols) {
  require(symbols.kind.size() == trees.n_labels, "symbols: their number differs from that of the trees");
  PlainTrees out;
  struct Open {
    std::size_t node;
    std::int64_t end;
  };
  std::vector<Open> open;
  const auto chain_of = [&](std::int32_t s) {
    return symbols.chain.subspan(at(symbols.chain_ptr[at(s)]), at(symbols.chain_ptr[at(s) + 1] - symbols.chain_ptr[at(s)]));
  };
  for (std::size_t t = 0; t < trees.n_trees(); ++t) {
    for (std::int64_t v = trees.tree_ptr[t]; v < trees.tree_ptr[t + 1]; ++v) {
      for (; !open.empty() && open.back().end == v; open.pop_back())
        out.size[open.back().node] = static_cast<std::int32_t>(out.label.size() - open.back().node);
      const std::int32_t s = trees.label[at(v)], w = trees.word[at(v)];
      const auto kind = symbols.kind[at(s)];
      const auto chain = chain_of(s);
      if ((kind == kTag) != (w >= 0)) refuse(t, "only tags have words");
      if (kind == kTop && chain.size() == 1) {  // over the constituent of its own label, it is that label
        const std::int32_t child = trees.label[at(v + 1)];
        if (symbols.kind[at(child)] == kBottom && chain_of(child).front() == chain.front()) continue;
      }
      for (const std::int32_t l : chain) {
        open.push_back({out.label.size(), trees.next_sibling(v)});
        out.label.push_back(l);
        out.word.push_back(w);
        out.size.push_back(0);
      }
    }
    for (; !open.empty(); open.pop_back())
      out.size[open.back().node] = static_cast<std::int32_t>(out.label.size() - open.back().node);
    out.tree_ptr.push_back(static_cast<std::int64_t>(out.label.size()));
  }
  return out;
}

}  // namespace loglinear::grammar
