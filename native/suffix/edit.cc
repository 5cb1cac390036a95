#include "suffix/edit.hh"

#include <algorithm>
#include <string>
#include <utility>

#include "backoff/model.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::suffix {

using namespace trie;
namespace {

// The entries that are kept.
class Kept {
 public:
  Kept(const TrieView& trie, std::span<const double> x)
      : t_(trie), keep_(x.size(), 0), rank_(x.size()), n_(trie.n_contexts(), 0) {
    require(x.size() == trie.n_entries(), "suffix tree: one weight per entry is needed");
    for (std::size_t e = x.size(); e-- > 0;) {  // a parent has a lower number
      if (e < trie.n_words || x[e] != 0.0) keep_[e] = 1;
      if (keep_[e] && e >= trie.n_words) keep_[trie.entry_parent[e]] = 1;
    }
    for (std::size_t c = 0; c < n_.size(); ++c)
      for (std::size_t e = trie.context_entry[c]; e < trie.context_entry[c + 1]; ++e)
        if (keep_[e]) rank_[e] = n_[c]++;
  }

  std::uint32_t n(std::size_t c) const { return n_[c]; }        // of class c
  std::uint32_t rank(std::size_t e) const { return rank_[e]; }  // among those of its class

  template <class Visit>
  void entries(std::size_t c, Visit visit) const {
    for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e)
      if (keep_[e]) visit(e);
  }
  template <class Visit>
  void children(std::size_t c, Visit visit) const {
    for (std::uint32_t d = t_.context_child[c]; d < t_.context_child[c + 1]; ++d)
      if (n_[d] > 0) visit(d);
  }

 private:
  const TrieView& t_;
  std::vector<std::uint8_t> keep_;
  std::vector<std::uint32_t> rank_, n_;
};

// Writes the n-grams of a tree, one length after the other.
class Expander {
 public:
  Expander(const SuffixTreeView& tree, std::span<const double> x) : tree_(tree), t_(tree.trie), x_(x), kept_(t_, x) {}

  ExpandedTree run() {
    const std::size_t order = check_size();
    TrieArrays& trie = out_.trie;
    trie.context_start = {0, 1};
    trie.context_word.push_back(kNowhere);
    level_.push_back({0, 0});
    kept_.entries(0, [&](std::uint32_t e) { add(e, kNowhere); });
    trie.context_entry.push_back(0);
    trie.context_count.push_back(t_.context_count[0]);
    trie.entry_start = {0, static_cast<std::int64_t>(t_.n_words)};
    for (std::size_t length = 0; length + 1 < order; ++length) {
      next(length);
      trie.context_start.push_back(static_cast<std::int64_t>(trie.context_word.size()));
      trie.entry_start.push_back(static_cast<std::int64_t>(trie.entry_word.size()));
    }
    trie.context_child.resize(trie.context_word.size() + 1, static_cast<std::uint32_t>(trie.context_word.size()));
    trie.context_entry.push_back(static_cast<std::uint32_t>(trie.entry_word.size()));
    return std::move(out_);
  }

 private:
  struct Context {
    std::uint32_t number, first_entry;  // a class, and where its entries are among the n-grams
  };

  // The order of the result.
  std::size_t check_size() const {
    std::size_t longest = 0;
    std::uint64_t n = 0;
    for (std::size_t c = 0; c < t_.n_contexts(); ++c)
      kept_.children(c, [&](std::uint32_t d) {
        longest = std::max<std::size_t>(longest, tree_.context_length[d]);
        n += std::uint64_t{tree_.context_length[d] - tree_.context_length[c]} * kept_.n(d);
      });
    if (longest + 1 > kHighestOrder)
      throw InvalidInput("suffix tree: the longest n-gram that is kept has " + std::to_string(longest + 1) +
                         " words, and a back-off model may have " + std::to_string(kHighestOrder) +
                         "; train with order=" + std::to_string(kHighestOrder) + " or lower");
    if (n + t_.n_words > kMaxNumber)
      throw InvalidInput("suffix tree: it stands for more than 4294967294 n-grams; train with a lower order");
    return longest + 1;
  }

  void add(std::uint32_t e, std::uint32_t parent) {
    out_.trie.entry_word.push_back(t_.entry_word[e]);
    out_.trie.entry_parent.push_back(parent);
    out_.trie.entry_count.push_back(t_.entry_count[e]);
    out_.weights.push_back(x_[e]);
  }

  // A context of class c and length + 1 words, after `parent`; parent_of(e) is the entry of the class above e.
  template <class ParentOf>
  void open(std::uint32_t c, std::size_t length, const Context& parent, ParentOf parent_of) {
    const auto first = static_cast<std::uint32_t>(out_.trie.entry_word.size());
    out_.trie.context_word.push_back(tree_.word(c, length + 1));
    out_.trie.context_entry.push_back(first);
    out_.trie.context_count.push_back(t_.context_count[c]);
    kept_.entries(c, [&](std::uint32_t e) { add(e, parent.first_entry + kept_.rank(parent_of(e))); });
    next_.push_back({c, first});
  }

  // The contexts one word longer than `length`.
  void next(std::size_t length) {
    next_.clear();
    for (const Context& context : level_) {
      out_.trie.context_child.push_back(static_cast<std::uint32_t>(out_.trie.context_word.size()));
      if (length < tree_.context_length[context.number])
        open(context.number, length, context, [](std::uint32_t e) { return e; });
      else
        kept_.children(context.number, [&](std::uint32_t d) {
          open(d, length, context, [&](std::uint32_t e) { return t_.entry_parent[e]; });
        });
    }
    level_.swap(next_);
  }

  const SuffixTreeView& tree_;
  const TrieView& t_;
  std::span<const double> x_;
  Kept kept_;
  ExpandedTree out_;
  std::vector<Context> level_, next_;
};

class Packer {
 public:
  Packer(const SuffixTreeView& tree, std::span<const double> x) : tree_(tree), t_(tree.trie), x_(x), kept_(t_, x) {}

  PackedTree run() {
    std::vector<Path> level{{0, 0, 0}}, next;
    while (!level.empty()) {
      next.clear();
      for (const Path& path : level) {
        write(path);
        std::uint32_t n = 0;
        const std::uint32_t length = tree_.context_length[path.last];
        kept_.children(path.last, [&](std::uint32_t d) {
          next.push_back({d, follow(d), length});
          ++n;
        });
        out_.n_children.push_back(n);
      }
      level.swap(next);
    }
    return std::move(out_);
  }

 private:
  struct Path {
    std::uint32_t first, last;     // classes
    std::uint32_t parent_length;
  };

  void write(const Path& path) {
    const std::uint32_t length = tree_.context_length[path.last];
    out_.edge_length.push_back(length - path.parent_length);
    if (out_.edges.size() + (length - path.parent_length) > kMaxNumber)
      throw InvalidInput("suffix tree: contexts of more than 4294967294 words; train with a lower order");
    for (std::size_t j = path.parent_length; j < length; ++j) out_.edges.push_back(word(path, j + 1));
    out_.n_entries.push_back(kept_.n(path.first));
    kept_.entries(path.first, [&](std::uint32_t e) {
      if (e >= t_.n_words) out_.entry_word.push_back(t_.entry_word[e]);
      out_.weights.push_back(x_[e]);
    });
  }

  // Word j of the contexts of a path: from the class of the path that adds it.
  std::uint32_t word(const Path& path, std::size_t j) const {
    std::uint32_t c = path.first;
    while (tree_.context_length[c] < j) c = only_child(c);
    return tree_.word(c, j);
  }

  std::uint32_t only_child(std::uint32_t c) const {
    std::uint32_t child = kNowhere, n = 0;
    kept_.children(c, [&](std::uint32_t d) { child = d, ++n; });
    return n == 1 ? child : kNowhere;
  }

  // The last class of the path on which the entries of c keep their weights.
  std::uint32_t follow(std::uint32_t c) const {
    for (;;) {
      const std::uint32_t d = only_child(c);
      if (d == kNowhere || kept_.n(d) != kept_.n(c)) return c;
      bool equal = true;
      kept_.entries(d, [&](std::uint32_t e) { equal = equal && x_[e] == x_[t_.entry_parent[e]]; });
      if (!equal) return c;
      c = d;
    }
  }

  const SuffixTreeView& tree_;
  const TrieView& t_;
  std::span<const double> x_;
  Kept kept_;
  PackedTree out_;
};

void demand(bool condition, const char* what) {
  if (!condition) throw InvalidInput(std::string("packed suffix tree: ") + what);
}

// Numbers added up from `first`: [n + 1]; they must come to `total`.
void running_sum(std::span<const std::uint32_t> sizes, std::size_t first, std::size_t total, Pages<std::uint32_t>& out,
                 const char* what) {
  out.resize(sizes.size() + 1);
  std::uint64_t sum = first;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out[i] = static_cast<std::uint32_t>(sum);
    sum += sizes[i];
    demand(sum <= total, what);
  }
  out[sizes.size()] = static_cast<std::uint32_t>(sum);
  demand(sum == total, what);
}

// Where levels begin, from the children of the contexts.
std::vector<std::int64_t> levels_of(std::span<const std::uint32_t> context_child) {
  std::vector<std::int64_t> starts{0, 1};
  const auto n = static_cast<std::int64_t>(context_child.size() - 1);
  while (starts.back() < n) {
    const auto end = static_cast<std::int64_t>(context_child[static_cast<std::size_t>(starts.back())]);
    demand(end > starts.back(), "a class has no parent");
    demand(starts.size() <= kMaxLevels, "there are too many levels");
    starts.push_back(end);
  }
  return starts;
}

// The parents of the entries of class d, among those of its parent class c.
void find_parents(const TrieArrays& trie, std::size_t c, std::size_t d, std::span<std::uint32_t> parent) {
  std::size_t up = trie.context_entry[c];
  for (std::size_t e = trie.context_entry[d]; e < trie.context_entry[d + 1]; ++e) {
    while (up < trie.context_entry[c + 1] && trie.entry_word[up] < trie.entry_word[e]) ++up;
    demand(up < trie.context_entry[c + 1] && trie.entry_word[up] == trie.entry_word[e],
           "an entry has no parent, or the words of a class do not ascend");
    parent[e] = static_cast<std::uint32_t>(up++);
  }
}

// That `<s>` is only ever the oldest word of a context, and then of one without children.
void check_edge(std::span<const std::uint32_t> edge, std::size_t n_words, bool leaf) {
  for (std::size_t j = 0; j < edge.size(); ++j) {
    demand(edge[j] <= n_words, "a word is outside the vocabulary");
    demand(edge[j] < n_words || (leaf && j + 1 == edge.size()), "a context has a word before <s>");
  }
}

}  // namespace

ExpandedTree expand(const SuffixTreeView& tree, std::span<const double> x) { return Expander(tree, x).run(); }

PackedTree pack(const SuffixTreeView& tree, std::span<const double> x) { return Packer(tree, x).run(); }

SuffixTreeArrays unpack(const PackedTree& p, std::size_t n_words) {
  const std::size_t n = p.n_children.size(), n_entries = p.weights.size();
  demand(
      n >= 1 && n < kNowhere && n_words >= 1 && n_words < kNowhere && n_entries < kNowhere && p.edges.size() < kNowhere,
      "it has no contexts, no words, or too many");
  demand(p.n_entries.size() == n && p.edge_length.size() == n, "arrays differ in length");
  demand(p.n_entries[0] == n_words && p.edge_length[0] == 0, "the empty context does not have all words");
  demand(n_entries >= n_words && p.entry_word.size() == n_entries - n_words, "words and weights differ in number");
  SuffixTreeArrays tree;
  TrieArrays& trie = tree.trie;
  Pages<std::uint32_t> edge;
  running_sum(p.n_children, 1, n, trie.context_child, "the children do not add up");
  running_sum(p.n_entries, 0, n_entries, trie.context_entry, "the entries do not add up");
  running_sum(p.edge_length, 0, p.edges.size(), edge, "the words do not add up");
  trie.context_start = levels_of(trie.context_child);
  for (const std::int64_t start : trie.context_start)
    trie.entry_start.push_back(trie.context_entry[static_cast<std::size_t>(start)]);
  trie.entry_word.resize(n_entries);
  for (std::size_t w = 0; w < n_words; ++w) trie.entry_word[w] = static_cast<std::uint32_t>(w);
  std::copy(p.entry_word.begin(), p.entry_word.end(), trie.entry_word.begin() + static_cast<std::ptrdiff_t>(n_words));
  trie.context_word.assign(n, kNowhere);
  trie.context_count.assign(n, 0);
  trie.entry_count.assign(n_entries, 0);
  trie.entry_parent.assign(n_entries, kNowhere);
  tree.context_length.assign(n, 0);
  tree.context_end.assign(n, 0);
  tree.text.assign(p.edges.begin(), p.edges.end());
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t d = trie.context_child[c]; d < trie.context_child[c + 1]; ++d) {
      demand(d > c, "a class comes before its parent");
      demand(p.edge_length[d] > 0, "a class adds no word to its parent");
      check_edge(std::span(p.edges).subspan(edge[d], p.edge_length[d]), n_words, p.n_children[d] == 0);
      demand(p.n_entries[d] > 0, "a class has no entries");
      const std::uint64_t length = std::uint64_t{tree.context_length[c]} + p.edge_length[d];
      demand(edge[d] + length < kNowhere, "a class is too long");
      tree.context_length[d] = static_cast<std::uint32_t>(length);
      tree.context_end[d] = static_cast<std::uint32_t>(edge[d] + length);
      trie.context_word[d] = p.edges[edge[d]];
      find_parents(trie, c, d, trie.entry_parent);
    }
  // text[end - j] is word j: an edge is read backwards.
  for (std::size_t d = 1; d < n; ++d)
    std::reverse(tree.text.begin() + edge[d], tree.text.begin() + edge[d + 1]);
  return tree;
}

}  // namespace loglinear::suffix
