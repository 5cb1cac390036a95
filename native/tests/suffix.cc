// Suffix trees of random corpora against their tries, without Python: sizes, scores, and what is loaded from noise.
#include <cmath>
#include <random>
#include <vector>

#include "check.hh"
#include "texts.hh"
#include "ngram/hierarchical_normalisation.hh"
#include "suffix/edit.hh"
#include "suffix/score.hh"
#include "suffix/tree.hh"
#include "util/errors.hh"

namespace loglinear::tests::suffix {

using namespace loglinear::ngram;
using namespace loglinear::suffix;
using namespace loglinear::trie;
using namespace loglinear;

namespace {

using loglinear::tests::view_of;

SuffixTreeView view_of(const SuffixTreeArrays& a, std::size_t n_words, std::size_t order) {
  return {loglinear::tests::view_of(a.trie, n_words), a.context_length, a.context_end, a.text, order};
}

// n-grams that the entries of a tree stand for.
std::size_t n_ngrams(const SuffixTreeView& tree) {
  std::size_t n = tree.trie.n_words;
  for (std::size_t c = 0; c < tree.trie.n_contexts(); ++c)
    for (std::size_t d = tree.trie.context_child[c]; d < tree.trie.context_child[c + 1]; ++d)
      n += (tree.trie.context_entry[d + 1] - tree.trie.context_entry[d]) *
           std::size_t{tree.context_length[d] - tree.context_length[c]};
  return n;
}

// Sum of log p of a text by the tree.
double score(ThreadPool& pool, const SuffixTreeView& tree, std::span<const double> x, const Text& text) {
  std::vector<double> scaled(x.begin(), x.end()), log_p(x.size()), log_r(tree.trie.n_contexts());
  for (std::size_t c = 0; c < tree.trie.n_contexts(); ++c)
    for (std::size_t d = tree.trie.context_child[c]; d < tree.trie.context_child[c + 1]; ++d)
      for (std::size_t e = tree.trie.context_entry[d]; e < tree.trie.context_entry[d + 1]; ++e)
        scaled[e] *= tree.context_length[d] - tree.context_length[c];
  NgramMaxent(tree.trie).log_probabilities(pool, scaled, log_p, log_r);
  const SentencesView sentences = text;
  std::vector<double> scores(sentences.n_predicted());
  std::vector<std::uint32_t> lengths(scores.size());
  score_text(pool, tree, {x, log_p, log_r}, sentences, scores, lengths);
  double sum = 0.0;
  for (const double s : scores) sum += s;
  return sum;
}

std::vector<double> random_weights(std::mt19937& random, std::size_t n) {
  std::vector<double> x(n);
  for (double& value : x) value = random() % 2 ? std::ldexp(static_cast<double>(random() % 64), -5) - 0.5 : 0.0;
  return x;
}

void check_one(ThreadPool& pool, std::mt19937& random, std::size_t n_words, std::size_t order) {
  const Text text = random_text(random, n_words, 30, 20), other = random_text(random, n_words, 20, 20);
  const std::size_t longest = longest_ngram(text);
  if (order == 0 || order > longest) order = longest;
  const SuffixTreeArrays arrays = build_suffix_tree(pool, text, order);
  const SuffixTreeView tree = view_of(arrays, n_words, order);
  tree.check();
  CHECK(n_ngrams(tree) == build_trie(pool, text, order).entry_word.size());
  const std::vector<double> x = random_weights(random, tree.trie.n_entries());
  const double expected = score(pool, tree, x, other);

  const PackedTree packed = pack(tree, x);
  const SuffixTreeArrays small = unpack(packed, n_words);
  const SuffixTreeView loaded = view_of(small, n_words, order);
  loaded.check();
  CHECK(std::abs(score(pool, loaded, packed.weights, other) - expected) < 1e-9 * std::abs(expected));

  const ExpandedTree expanded = expand(tree, x);
  view_of(expanded.trie, n_words).check_closed();
  CHECK(expanded.weights.size() == expanded.trie.entry_word.size());
}

// A packed tree with numbers changed is refused, or is a tree.
void check_noise(ThreadPool& pool, std::mt19937& random) {
  const Text text = random_text(random, 5, 12, 20);
  const std::size_t order = longest_ngram(text);
  const SuffixTreeArrays arrays = build_suffix_tree(pool, text, order);
  const SuffixTreeView tree = view_of(arrays, 5, order);
  const PackedTree whole = pack(tree, random_weights(random, tree.trie.n_entries()));
  for (int i = 0; i < 200; ++i) {
    PackedTree damaged = whole;
    std::vector<std::uint32_t>* const columns[] = {&damaged.n_children, &damaged.n_entries, &damaged.edge_length,
                                                   &damaged.edges, &damaged.entry_word};
    auto& column = *columns[random() % 5];
    const std::uint32_t values[] = {0, 1, 2, 5, 6, 1000, 0x80000000u, 0xFFFFFFFFu};
    if (!column.empty()) column[random() % column.size()] = values[random() % 8];
    try {
      const SuffixTreeArrays loaded = unpack(damaged, 5);
      std::size_t longest = 0;
      for (const std::uint32_t length : loaded.context_length) longest = std::max<std::size_t>(longest, length);
      const SuffixTreeView seen = view_of(loaded, 5, longest + 1);
      seen.check();
      (void)score(pool, seen, damaged.weights, text);
      (void)expand(seen, damaged.weights);
    } catch (const InvalidInput&) {
    }
  }
}

}  // namespace

TEST(suffix_trees_of_random_text) {
  std::mt19937 random(7);
  ThreadPool pool(3);
  for (const std::size_t n_words : {std::size_t{2}, std::size_t{5}, std::size_t{100}, std::size_t{70000}})
    for (const std::size_t order : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{0}})
      for (int i = 0; i < 4; ++i) check_one(pool, random, n_words, order);
  for (int i = 0; i < 5; ++i) check_noise(pool, random);
  const Text text = random_text(random, 5, 12, 20);
  CHECK_THROWS(build_suffix_tree(pool, text, longest_ngram(text) + 1), InvalidInput);
  CHECK_THROWS(build_suffix_tree(pool, text, 0), InvalidInput);
}

}  // namespace loglinear::tests::suffix
