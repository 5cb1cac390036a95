// Features of trees: rules, and the words at the three boundaries of a rule's span.
//
// The boundary p of a sentence lies between the words p - 1 and p. It has five attributes: the word to its left, the word
// to its right, the class of either, and both classes together. A rule over [i, j) that splits at k has the attributes of
// i as its begin, those of j as its end, those of k as its split, and the bucket of its length j - i; each is joined with a
// target: the label of the rule's parent, or the rule's class. A tag over word i is a target too, with begin i and end
// i + 1. (Surface features of spans: Hall, Durrett and Klein 2014.)
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/outside.hh"
#include "util/thread_pool.hh"

namespace loglinear::grammar {

inline constexpr std::size_t kAttributes = 5;  // of a boundary
inline constexpr std::size_t kRoles = 4;       // begin, end, split, length
enum Role : std::size_t { kBegin, kEnd, kSplit, kLength };

// Features of one role by attribute (for lengths: by bucket): feature p joins an attribute with target[p].
struct RoleFeatures {
  std::span<const std::int64_t> ptr;    // [n_attributes + 1]
  std::span<const std::int32_t> target;  // label, or n_labels + class of rules
  std::size_t offset = 0;               // weight of the first feature
};

class TreeFeatures {
 public:
  std::size_t n_words, n_word_classes, n_targets;  // targets: those of the rules
  std::span<const std::int32_t> tag_label;    // [n_tags]
  std::span<const std::int64_t> rule_ptr;     // [n_rules + 1] weights of each rule
  std::span<const std::int32_t> rule_weight;
  std::span<const std::int32_t> bucket;       // bucket of each length; longer ones share the last
  std::array<RoleFeatures, kRoles> roles;
  std::size_t n_weights = 0;
  bool anchored = false;  // whether a rule, and not only a tag, has features of boundaries

  void check(const Rules& rules);  // and finds offsets and `anchored`

  std::size_t n_attributes() const {
    return 2 * (n_words + 1) + (n_word_classes + 1) * (n_word_classes + 3);
  }
  std::size_t bucket_of(std::size_t length) const {
    return static_cast<std::size_t>(bucket[length < bucket.size() ? length : bucket.size() - 1]);
  }
};

// Words of a sentence: numbers and classes.
struct Sentence {
  std::span<const std::int32_t> words;
  std::span<const std::int32_t> class_of_word;  // [n_words]
  std::size_t size() const { return words.size(); }
};

// Attributes of boundary p.
std::array<std::size_t, kAttributes> attributes_of(const TreeFeatures& features, const Sentence& sentence, std::size_t p);

// A model of trees: scores of rules by weights and, where there is a base model, its logarithms.
struct TreeModel {
  const Rules& rules;
  const TreeFeatures& features;
  std::span<const double> weights;
  std::span<const double> base;               // [n_rules] or empty
  std::span<const std::int64_t> lexicon_ptr;  // [n_words + 1]: tags of each word
  std::span<const std::int32_t> lexicon_tag;
  std::span<const double> lexicon_base;       // logarithms, or empty for zero
  void check() const;
};

// Scores of all parts of a sentence, in tables of its own; rule scores are shared by all sentences.
class SentenceScores {
 public:
  void fill(const TreeModel& model, std::span<const double> rule_scores, const Sentence& sentence);
  const Scores& scores() const { return scores_; }

 private:
  std::vector<double> targets_[kRoles];  // [n + 1][n_targets]
  std::vector<double> token_;
  Scores scores_;
};

std::vector<double> rule_scores(const TreeModel& model);

// Calls add(weight, amount) for the features that the parts of a sentence have. The counts of tags are added to the
// tables of boundaries first.
template <class Add>
void scatter_counts(const TreeFeatures& features, const Sentence& sentence, PartCounts& counts, Add add) {
  const std::size_t m = features.n_targets, T = features.tag_label.size(), n = sentence.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t t = 0; t < T; ++t)
      if (const double x = counts.token[i * T + t]; x != 0.0) {
        const auto label = static_cast<std::size_t>(features.tag_label[t]);
        counts.begin[i * m + label] += x;
        counts.end[(i + 1) * m + label] += x;
      }
  for (std::size_t r = 0; r < counts.rule.size(); ++r)
    if (counts.rule[r] != 0.0)
      for (std::int64_t p = features.rule_ptr[r]; p < features.rule_ptr[r + 1]; ++p)
        add(static_cast<std::size_t>(features.rule_weight[static_cast<std::size_t>(p)]), counts.rule[r]);
  const auto spread = [&](std::size_t role, std::size_t attribute, const double* row) {
    const RoleFeatures& f = features.roles[role];
    for (std::int64_t p = f.ptr[attribute]; p < f.ptr[attribute + 1]; ++p) {
      const double x = row[f.target[static_cast<std::size_t>(p)]];
      if (x != 0.0) add(f.offset + static_cast<std::size_t>(p), x);
    }
  };
  const std::vector<double>* const tables[kRoles] = {&counts.begin, &counts.end, &counts.split, &counts.length};
  for (std::size_t p = 0; p <= n; ++p) {
    const auto attributes = attributes_of(features, sentence, p);
    for (const std::size_t role : {kBegin, kEnd, kSplit})
      if (!features.roles[role].target.empty())
        for (const std::size_t a : attributes) spread(role, a, tables[role]->data() + p * m);
    if (p > 0 && !features.roles[kLength].target.empty())
      spread(kLength, features.bucket_of(p), tables[kLength]->data() + p * m);
  }
}

// Sentences one after another, and the parts of a tree each.
struct TreeBank {
  std::span<const std::int64_t> sentence_ptr;   // [n + 1] words
  std::span<const std::int32_t> words;
  std::span<const std::int32_t> class_of_word;
  std::size_t n_sentences() const { return sentence_ptr.size() - 1; }
  Sentence sentence(std::size_t s) const {
    const auto begin = static_cast<std::size_t>(sentence_ptr[s]);
    return {words.subspan(begin, static_cast<std::size_t>(sentence_ptr[s + 1]) - begin), class_of_word};
  }
  void check(const TreeFeatures& features) const;
};

struct TreeParts {  // [n_parts], those of tree s are [part_ptr[s], part_ptr[s + 1])
  std::span<const std::int64_t> part_ptr;
  std::span<const std::int32_t> rule;   // or -1 - tag
  std::span<const std::int32_t> begin, split, end;
  void check(const Rules& rules, const TreeBank& bank) const;
};

struct FeatureCounts {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<double> values;
};

// How often each tree has each feature.
FeatureCounts count_tree_features(ThreadPool& pool, const Rules& rules, const TreeFeatures& features,
                                  const TreeBank& bank, const TreeParts& parts);

}  // namespace loglinear::grammar
