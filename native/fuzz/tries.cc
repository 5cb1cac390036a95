// N-gram tries and suffix trees of model files, sentences, and what is computed on them.
#include "backoff/query.hh"
#include "cache/loglinear.hh"
#include "fuzz/target.hh"
#include "linear/subset.hh"
#include "suffix/edit.hh"
#include "suffix/score.hh"
#include "trie/build.hh"

namespace loglinear::fuzz::tries {
namespace {

using namespace trie;
using Numbers = std::vector<std::uint32_t>;

const Numbers kText{1, 2, 1, 2, 3, 1, 2, 1, 1, 3, 2};
const std::vector<std::int64_t> kSentences{0, 5, 5, 8, 11};

struct TrieInput {
  std::size_t n_words;
  std::vector<std::int64_t> context_start, entry_start;
  Numbers arrays[7];

  explicit TrieInput(Input& input)
      : n_words(input.number<std::size_t>()), context_start(input.array<std::int64_t>()),
        entry_start(input.array<std::int64_t>()) {
    for (Numbers& a : arrays) a = input.array<std::uint32_t>();
  }
  TrieView view(bool counted) const {
    const std::size_t order = context_start.empty() ? 0 : context_start.size() - 1;
    const auto of = [&](std::size_t i) { return counted ? std::span<const std::uint32_t>(arrays[i]) : std::span<const std::uint32_t>(); };
    return {order, n_words, context_start, entry_start, arrays[0], arrays[1], arrays[2], of(3), arrays[4], of(5), of(6)};
  }
};

void add_trie(Seed& seed, std::size_t n_words, const TrieArrays& t) {
  seed.number(n_words).array(t.context_start).array(t.entry_start);
  for (const auto* a : {&t.context_word, &t.context_child, &t.context_entry, &t.context_count, &t.entry_word,
                        &t.entry_parent, &t.entry_count})
    seed.array(*a);
}

void use_trie(Input& input) {
  ThreadPool& pool = input.pool();
  const bool counted = input.flag();
  const TrieInput t(input);
  const Numbers asked = input.array<std::uint32_t>();
  const TrieView view = t.view(counted);
  if (counted) view.check_closed();
  else view.check_backoff(pool);
  const std::vector<std::uint32_t> parents = view.parents();
  for (std::size_t c = 0; c < view.n_contexts(); ++c)
    for (const std::uint32_t word : asked) {
      view.child(static_cast<std::uint32_t>(c), word);
      view.entry(static_cast<std::uint32_t>(c), word);
    }
  if (counted || view.order > kHighestOrder) return;
  const std::vector<double> log_backoff(view.n_contexts(), -0.5), log_probability(view.n_entries(), -1.0);
  const backoff::BackoffArrays model{view, log_backoff, log_probability};
  const backoff::OwnedAutomaton automaton = backoff::build_automaton(pool, model);
  backoff::BackoffAutomaton(automaton).check(pool);
  nearest_contexts(pool, view, view);
  TrieView(unite(view, view)).check_backoff(pool);
}

std::vector<Bytes> trie_seeds() {
  ThreadPool pool(1);
  std::vector<Bytes> seeds;
  for (const std::size_t order : {1, 2, 3})
    for (const std::size_t counted : {0, 1}) {
      Seed seed;
      seed.byte(0).byte(counted);
      add_trie(seed, 4, build_trie(pool, {4, kText, kSentences}, order));
      seeds.push_back(seed.array(Numbers{0, 1, 4}));
    }
  return seeds;
}

void use_sentences(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t order = input.number<std::size_t>();
  const auto n_words = input.number<std::size_t>() % 1000;
  const Numbers words = input.array<std::uint32_t>();
  const std::vector<std::int64_t> sentence_ptr = input.array<std::int64_t>();
  const SentencesView sentences{n_words, words, sentence_ptr};
  const TrieArrays t = build_trie(pool, sentences, order % 300);
  const TrieView view{t.entry_start.size() - 1, n_words, t.context_start, t.entry_start, t.context_word, t.context_child,
                      t.context_entry, t.context_count, t.entry_word, t.entry_parent, t.entry_count};
  view.check_closed();
  const suffix::SuffixTreeArrays s = suffix::build_suffix_tree(pool, sentences, 1 + order % suffix::longest_ngram(sentences));
  const suffix::SuffixTreeView tree{{s.trie.entry_start.size() - 1, n_words, s.trie.context_start, s.trie.entry_start,
                                     s.trie.context_word, s.trie.context_child, s.trie.context_entry, s.trie.context_count,
                                     s.trie.entry_word, s.trie.entry_parent, s.trie.entry_count},
                                    s.context_length, s.context_end, s.text, 1 + order % suffix::longest_ngram(sentences)};
  tree.check();
}

std::vector<Bytes> sentence_seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t order : {1, 3, 5})
    seeds.push_back(Seed().byte(0).number(order).number(std::size_t{4}).array(kText).array(kSentences));
  return seeds;
}

// A packed suffix tree: unpacked, checked, expanded, packed again, asked.
void use_suffix(Input& input) {
  ThreadPool& pool = input.pool();
  const auto n_words = input.number<std::size_t>(), order = input.number<std::size_t>();
  suffix::PackedTree packed;
  for (auto* a : {&packed.n_children, &packed.n_entries, &packed.edge_length, &packed.edges, &packed.entry_word})
    *a = input.array<std::uint32_t>();
  packed.weights = input.array<double>();
  const Numbers words = input.array<std::uint32_t>();
  const std::vector<std::int64_t> sentence_ptr = input.array<std::int64_t>();
  const suffix::SuffixTreeArrays t = suffix::unpack(packed, n_words);
  const suffix::SuffixTreeView tree{{t.trie.entry_start.size() - 1, n_words, t.trie.context_start, t.trie.entry_start,
                                     t.trie.context_word, t.trie.context_child, t.trie.context_entry, t.trie.context_count,
                                     t.trie.entry_word, t.trie.entry_parent, t.trie.entry_count},
                                    t.context_length, t.context_end, t.text, order};
  tree.check();
  suffix::pack(tree, packed.weights);
  const std::vector<double> log_r(tree.trie.n_contexts(), 0.5), log_p(tree.trie.n_entries(), -1.0);
  if (sentence_ptr.empty() == false) {
    const std::size_t n = words.size() + sentence_ptr.size() - 1;
    std::vector<double> scores(n);
    Numbers length(n);
    suffix::score_text(pool, tree, {packed.weights, log_p, log_r}, {n_words, words, sentence_ptr}, scores, length);
  }
  suffix::expand(tree, packed.weights);
}

std::vector<Bytes> suffix_seeds() {
  ThreadPool pool(1);
  std::vector<Bytes> seeds;
  for (const std::size_t order : {2, 4, 6}) {
    const suffix::SuffixTreeArrays t = suffix::build_suffix_tree(pool, {4, kText, kSentences}, order);
    const suffix::SuffixTreeView tree{{t.trie.entry_start.size() - 1, 4, t.trie.context_start, t.trie.entry_start,
                                       t.trie.context_word, t.trie.context_child, t.trie.context_entry,
                                       t.trie.context_count, t.trie.entry_word, t.trie.entry_parent, t.trie.entry_count},
                                      t.context_length, t.context_end, t.text, order};
    const std::vector<double> x(tree.trie.n_entries(), 0.5);
    const suffix::PackedTree p = suffix::pack(tree, x);
    Seed seed;
    seed.byte(0).number(std::size_t{4}).number(order);
    for (const auto* a : {&p.n_children, &p.n_entries, &p.edge_length, &p.edges, &p.entry_word}) seed.array(*a);
    seeds.push_back(seed.array(p.weights).array(kText).array(kSentences));
  }
  return seeds;
}

void use_cache(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t window = input.number<std::size_t>() % 300, n_words = input.number<std::size_t>() % 300;
  const cache::Shape shape{window, input.array<double>(), input.number<double>(), input.below(5), input.number<double>()};
  const Numbers words = input.array<std::uint32_t>();
  const std::vector<std::int64_t> document_start = input.array<std::int64_t>();
  const cache::LoglinearCache memory(pool, shape, n_words, words, document_start);
  std::vector<float> pairs(memory.n_pairs(), 0.01f);
  std::vector<double> lambda(n_words * shape.n_features(), 0.1), gradient(lambda.size()), shares(words.size());
  memory.value_and_gradient(pool, pairs, lambda, gradient);
  memory.curvature(pool, pairs, gradient);
  memory.linear(pool, shares);
}

std::vector<Bytes> cache_seeds() {
  const std::vector<std::int64_t> documents{0, 6, 11};
  const std::vector<double> half_lives{2.0, 8.0};
  std::vector<Bytes> seeds;
  for (const std::size_t order : {1, 2, 3})
    seeds.push_back(Seed().byte(0).number(4).number(4).array(half_lives).number(4.0).byte(order).number(1.0).array(kText).array(
        documents));
  return seeds;
}

void use_subset(Input& input) {
  ThreadPool& pool = input.pool();
  const auto n_whole = input.number<std::int64_t>();
  const std::vector<std::int64_t> positions = input.array<std::int64_t>();
  const linear::Subset subset(positions, n_whole);
  if (n_whole > 4096) return;
  std::vector<double> whole(static_cast<std::size_t>(n_whole), 1.0), part(subset.size());
  subset.gather(pool, whole, part);
  subset.add(pool, part, whole);
}

std::vector<Bytes> subset_seeds() {
  return {Seed().byte(0).number(9).array(std::vector<std::int64_t>{0, 1, 2, 5, 8})};
}

[[maybe_unused]] const bool added =
    add_target({"trie", use_trie, trie_seeds, {}}) && add_target({"sentences", use_sentences, sentence_seeds, {}}) &&
    add_target({"suffix", use_suffix, suffix_seeds, {}}) && add_target({"cache", use_cache, cache_seeds, {}}) &&
    add_target({"subset", use_subset, subset_seeds, {}});

}  // namespace
}  // namespace loglinear::fuzz::tries
