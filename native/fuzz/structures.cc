// Trees and grammars of model files, and composite models of several information sources.
#include <cmath>

#include "composite/dense.hh"
#include "composite/levels.hh"
#include "composite/problem.hh"
#include "composite/tables.hh"
#include "fuzz/target.hh"
#include "grammar/decode.hh"
#include "grammar/trees.hh"

namespace loglinear::fuzz::structures {
namespace {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;
using Numbers = std::vector<std::uint32_t>;
using Doubles = std::vector<double>;

void use_trees(Input& input) {
  const std::size_t settings = input.byte(), n_labels = input.number<std::size_t>(), n_words = input.number<std::size_t>();
  const Longs ptr = input.array<std::int64_t>();
  const Ints label = input.array<std::int32_t>(), word = input.array<std::int32_t>(), size = input.array<std::int32_t>();
  const std::vector<std::uint8_t> kind = input.array<std::uint8_t>();
  const Longs chain_ptr = input.array<std::int64_t>();
  const Ints chain = input.array<std::int32_t>();
  const grammar::Trees trees{ptr, label, word, size, n_labels, n_words};
  trees.check();
  if (n_labels > 64) return;
  PackedStrings names;
  for (std::size_t i = 0; i < n_labels; ++i) names.push_back(std::string(1, static_cast<char>('A' + i % 26)));
  const grammar::BinaryTrees b = grammar::binarise(
      trees, names, {(settings & 1) != 0, static_cast<std::int64_t>(settings / 2 % 4) - 1, 2, (settings & 8) != 0, {}});
  grammar::Trees{b.tree_ptr, b.symbol, b.word, b.size, b.symbols.size(), n_words}.check();
  const grammar::SymbolTable symbols{kind, chain_ptr, chain};
  symbols.check(n_labels);
  const grammar::Trees of_symbols{ptr, label, word, size, kind.size(), n_words};
  of_symbols.check();
  grammar::unbinarise(of_symbols, symbols);
}

std::vector<Bytes> tree_seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {0, 3, 13})
    seeds.push_back(Seed().byte(settings).number(3).number(2).array(Longs{0, 4}).array(Ints{0, 1, 2, 2}).array(
        Ints{-1, -1, 0, 1}).array(Ints{4, 3, 1, 1}).array(std::vector<std::uint8_t>{grammar::kRoot, grammar::kBottom,
        grammar::kTag}).array(Longs{0, 0, 1, 2}).array(Ints{1, 2}));
  return seeds;
}

struct GrammarInput {
  std::size_t n_symbols, start, n_labels, n_words, n_word_classes;
  Longs ptr, rule_ptr, role_ptr[grammar::kRoles], lexicon_ptr, sentence_ptr;
  Ints left, right, parent, child, tags, classes, labels, tag_label, rule_weight, bucket, target[grammar::kRoles], lexicon_tag;
  Ints words, class_of_word;

  GrammarInput() = default;
  explicit GrammarInput(Input& input)
      : n_symbols(input.number()), start(input.number()), n_labels(input.number()), n_words(input.number()),
        n_word_classes(input.number()) {
    for (Longs* a : {&ptr, &rule_ptr, &lexicon_ptr, &sentence_ptr}) *a = input.array<std::int64_t>();
    for (Longs& a : role_ptr) a = input.array<std::int64_t>();
    for (Ints* a : ints()) *a = input.array<std::int32_t>();
    for (Ints& a : target) a = input.array<std::int32_t>();
  }
  std::vector<Ints*> ints() {
    return {&left, &right, &parent, &child, &tags, &classes, &labels, &tag_label, &rule_weight, &bucket, &lexicon_tag, &words,
            &class_of_word};
  }
  void add_to(Seed& seed) {
    seed.number(n_symbols).number(start).number(n_labels).number(n_words).number(n_word_classes);
    for (const Longs* a : {&ptr, &rule_ptr, &lexicon_ptr, &sentence_ptr}) seed.array(*a);
    for (const Longs& a : role_ptr) seed.array(a);
    for (const Ints* a : ints()) seed.array(*a);
    for (const Ints& a : target) seed.array(a);
  }
};

void use_grammar(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t settings = input.byte();
  const GrammarInput g(input);
  const grammar::Rules rules(g.n_symbols, g.start, g.ptr, g.left, g.right, g.parent, g.child, g.tags, g.n_labels, g.classes,
                             g.labels);
  grammar::TreeFeatures features{g.n_words, g.n_word_classes, 0, g.tag_label, g.rule_ptr, g.rule_weight, g.bucket, {}, 0, false};
  for (std::size_t r = 0; r < grammar::kRoles; ++r) features.roles[r] = {g.role_ptr[r], g.target[r], 0};
  features.check(rules);
  Doubles weights(features.n_weights);
  for (double& w : weights) w = 0.25;
  const grammar::TreeModel model{rules, features, weights, {}, g.lexicon_ptr, g.lexicon_tag, {}};
  model.check();
  const grammar::TreeBank bank{g.sentence_ptr, g.words, g.class_of_word};
  bank.check(features);
  const Longs bracket_ptr = input.array<std::int64_t>(), label_ptr = input.array<std::int64_t>();
  Ints begin = input.array<std::int32_t>(), end = input.array<std::int32_t>(), label = input.array<std::int32_t>();
  const Ints tags = input.array<std::int32_t>(), labels = input.array<std::int32_t>();
  const std::vector<std::uint8_t> hidden = input.array<std::uint8_t>();
  const grammar::Masks masks;
  grammar::Constraints constraints;
  if (settings & 1) constraints = {bracket_ptr, begin, end, label, tags, hidden, label_ptr, labels};
  constraints.check(rules, bank);
  for (std::size_t s = 0; s < bank.n_sentences(); ++s)
    if (bank.sentence(s).size() > 12) return;
  const grammar::Input asked{model, bank, masks, constraints};
  best_trees(pool, asked);
  nbest_trees(pool, asked, 3);
  sample_trees(pool, asked, 2, 3);
  if (settings & 1) constituent_marginals(pool, asked, g.n_labels, 0.01);
  Doubles log_z(bank.n_sentences()), gradient(features.n_weights);
  log_normalisers(pool, model, bank, masks, constraints, log_z);
  coarse_masks(pool, model, bank, 1e-3, {}, {}, {}, {});
  tree_loss(pool, model, bank, masks, constraints, gradient);
}

std::vector<Bytes> grammar_seeds() {
  GrammarInput g;  // S -> S S, S -> A, A over the words
  g.n_symbols = 2, g.start = 0, g.n_labels = 1, g.n_words = 2, g.n_word_classes = 1;
  g.ptr = {0, 1, 1}, g.left = {0}, g.right = {0}, g.parent = {0}, g.child = {1}, g.tags = {1}, g.classes = {0, 0}, g.labels = {0};
  g.tag_label = {0}, g.rule_ptr = {0, 1, 2}, g.rule_weight = {0, 1}, g.bucket = {0, 1, 1};
  g.lexicon_ptr = {0, 1, 2}, g.lexicon_tag = {0, 0}, g.sentence_ptr = {0, 3, 4}, g.words = {0, 1, 0, 1}, g.class_of_word = {0, 0};
  const std::size_t n_attributes = 2 * 3 + 2 * 4;
  for (std::size_t r = 0; r < grammar::kRoles; ++r) g.role_ptr[r].assign(r == grammar::kLength ? 3 : n_attributes + 1, 0);
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {0, 1, 2}) {
    if (settings == 2) {
      for (std::size_t i = 2; i < g.role_ptr[grammar::kSplit].size(); ++i) g.role_ptr[grammar::kSplit][i] = 2;
      g.target[grammar::kSplit] = {0, 1};
    }
    Seed seed;
    seed.byte(0).byte(settings);
    g.add_to(seed);
    seed.array(Longs{0, 1, 1}).array(Longs{0, 1}).array(Ints{0}).array(Ints{2}).array(Ints{0}).array(Ints{-1, 0, -1, -1}).array(
        Ints{0}).array(std::vector<std::uint8_t>{0, 1});
    seeds.push_back(seed);
  }
  return seeds;
}

// Two sources with the arrays of a small problem; the weights begin at 0.1.
void use_composite(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t n_words = input.number<std::size_t>();
  Numbers arrays[2][5], leaf[2];
  Doubles values[2];
  std::size_t offset[2];
  for (std::size_t s = 0; s < 2; ++s) {
    for (Numbers& a : arrays[s]) a = input.array<std::uint32_t>();
    leaf[s] = input.array<std::uint32_t>(), values[s] = input.array<double>(), offset[s] = input.number<std::size_t>();
  }
  const Doubles count = input.array<double>(), observed = input.array<double>();
  const std::vector<std::int32_t> symbols = input.array<std::int32_t>();
  const std::size_t depth = input.below(4);
  for (auto& a : arrays) {
    const composite::Table table{a[1], a[3], a[2], a[3]};
    try {
      table.check();
      Numbers found(depth == 0 ? 0 : symbols.size() / depth);
      composite::find_leaves(pool, table, std::span(symbols).first(found.size() * depth), depth, found);
    } catch (const InvalidInput&) {  // a source need not be a table
    }
  }
  composite::Problem problem;
  problem.n_words = n_words;
  for (std::size_t s = 0; s < 2; ++s) {
    problem.sources.push_back({arrays[s][0], arrays[s][1], arrays[s][2], arrays[s][3], arrays[s][4], values[s], offset[s]});
    problem.leaf.push_back(leaf[s]);
  }
  problem.count = count, problem.observed = observed;
  problem.check();
  const Doubles w(problem.n_weights(), 0.125);
  Doubles gradient(w.size()), log_z(problem.n_histories()), expected(w.size());
  std::uint64_t terms = 0;
  composite::naive(pool, problem, w, expected, terms);
  const composite::Dense dense(problem);
  dense.value_and_gradient(pool, w, gradient);
  std::vector<std::vector<composite::Pattern>> patterns;
  for (std::uint32_t s = 0; s < 2; ++s)
    for (std::uint32_t d = 1; d <= problem.sources[s].depth(); ++d) patterns.push_back({{s, d}});
  const composite::Levels levels(pool, problem, std::move(patterns));
  levels.value_and_gradient(pool, w, gradient);
  levels.log_z(pool, w, log_z);
}

std::vector<Bytes> composite_seeds() {
  constexpr std::uint32_t kNone = composite::kNone;
  Seed seed;
  seed.byte(0).number(4);
  seed.array(Numbers{0, 1, 3, 5}).array(Numbers{0, 0, 0, 1, 2}).array(Numbers{0, 0, 3, 5, 7, 8});
  seed.array(Numbers{0, 1, 3, 1, 2, 0, 3, 2}).array(Numbers{kNone, kNone, kNone, kNone, kNone, 0, 2, 4});
  seed.array(Numbers{0, 1, 3, 3, 2, 4}).array(Doubles{}).number(4);
  seed.array(Numbers{0, 1, 3}).array(Numbers{0, 0, 0}).array(Numbers{0, 0, 2, 4}).array(Numbers{0, 3, 1, 2});
  seed.array(Numbers{kNone, kNone, kNone, kNone}).array(Numbers{1, 2, 1, 2, 0, 2}).array(Doubles{1.0, 0.5, 2.0, -1.0}).number(12);
  seed.array(Doubles{1, 2, 3, 1, 2, 4}).array(Doubles(16, 0.25)).array(Ints{1, 2, -1, 3, 1, 0}).byte(2);
  return {seed};
}

[[maybe_unused]] const bool added =
    add_target({"trees", use_trees, tree_seeds, {}}) && add_target({"grammar", use_grammar, grammar_seeds, {}}) &&
    add_target({"composite", use_composite, composite_seeds, {}});

}  // namespace
}  // namespace loglinear::fuzz::structures
