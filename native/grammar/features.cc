#include "grammar/features.hh"

#include <algorithm>
#include <cmath>

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void check_pointers(std::span<const std::int64_t> ptr, std::size_t rows, std::size_t end, const char* message) {
  require(!ptr.empty() && ptr.size() == rows + 1 && ptr.front() == 0 && at(ptr.back()) == end, message);
  for (std::size_t i = 0; i < rows; ++i) require(ptr[i] <= ptr[i + 1], message);
}

void check_range(std::span<const std::int32_t> list, std::size_t bound, const char* message) {
  for (const std::int32_t x : list) require(x >= 0 && at(x) < bound, message);
}

}  // namespace

void TreeFeatures::check(const Rules& rules) {
  n_targets = rules.n_targets();
  require(tag_label.size() == rules.n_tags(), "tree features: tags differ in number from those of the rules");
  check_range(tag_label, rules.n_labels, "tree features: a tag has an unknown label");
  check_pointers(rule_ptr, rules.n_rules(), rule_weight.size(), "tree features: pointers of rules are damaged");
  require(!bucket.empty() && bucket.front() == 0, "tree features: there are no buckets of lengths");
  std::size_t n_buckets = 0;
  for (const std::int32_t b : bucket) {
    require(b >= 0 && b < 1'000'000, "tree features: a length has an unknown bucket");
    n_buckets = std::max(n_buckets, at(b) + 1);
  }
  std::size_t offset = 0;
  for (const std::int32_t w : rule_weight) offset = std::max(offset, at(w) + 1);
  anchored = false;
  std::vector<std::uint8_t> is_tag(n_targets, 0);
  for (const std::int32_t l : tag_label) is_tag[at(l)] = 1;
  for (const std::int32_t l : rules.class_label) is_tag[at(l)] = 0;
  for (std::size_t role = 0; role < kRoles; ++role) {
    RoleFeatures& f = roles[role];
    check_pointers(f.ptr, role == kLength ? n_buckets : n_attributes(), f.target.size(),
                   "tree features: pointers of attributes are damaged");
    check_range(f.target, n_targets, "tree features: a feature has an unknown target");
    f.offset = offset;
    offset += f.target.size();
    for (const std::int32_t t : f.target) anchored = anchored || !is_tag[at(t)];
  }
  require(offset < 0x7FFFFFFF, "tree features: more than 2147483647 features");
  check_range(rule_weight, offset, "tree features: a rule has an unknown weight");
  n_weights = offset;
}

std::array<std::size_t, kAttributes> attributes_of(const TreeFeatures& features, const Sentence& sentence, std::size_t p) {
  const std::size_t V = features.n_words + 1, K = features.n_word_classes + 1, n = sentence.size();
  const std::size_t left = p > 0 ? at(sentence.words[p - 1]) : V - 1, right = p < n ? at(sentence.words[p]) : V - 1;
  const std::size_t lc = p > 0 ? at(sentence.class_of_word[left]) : K - 1;
  const std::size_t rc = p < n ? at(sentence.class_of_word[right]) : K - 1;
  return {left, V + right, 2 * V + lc, 2 * V + K + rc, 2 * V + 2 * K + lc * K + rc};
}

void TreeModel::check() const {
  require(weights.size() == features.n_weights, "tree model: the number of weights differs from that of the features");
  require(base.empty() || base.size() == rules.n_rules(), "tree model: base scores differ in number from rules");
  check_pointers(lexicon_ptr, features.n_words, lexicon_tag.size(), "tree model: pointers of words are damaged");
  check_range(lexicon_tag, rules.n_tags(), "tree model: a word has an unknown tag");
  require(lexicon_base.empty() || lexicon_base.size() == lexicon_tag.size(), "tree model: base scores of words differ in number");
}

std::vector<double> rule_scores(const TreeModel& model) {
  std::vector<double> out(model.rules.n_rules(), 0.0);
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (!model.base.empty()) out[r] = model.base[r];
    for (std::int64_t p = model.features.rule_ptr[r]; p < model.features.rule_ptr[r + 1]; ++p)
      out[r] += model.weights[at(model.features.rule_weight[at(p)])];
  }
  return out;
}

void SentenceScores::fill(const TreeModel& model, std::span<const double> rule_scores, const Sentence& sentence) {
  const TreeFeatures& f = model.features;
  const std::size_t n = sentence.size(), m = f.n_targets, T = model.rules.n_tags();
  for (auto& table : targets_) table.assign((n + 1) * m, 0.0);
  const auto gather = [&](std::size_t role, std::size_t attribute, double* row) {
    const RoleFeatures& g = f.roles[role];
    const double* const w = model.weights.data() + g.offset;
    for (std::int64_t p = g.ptr[attribute]; p < g.ptr[attribute + 1]; ++p) row[g.target[at(p)]] += w[p];
  };
  for (std::size_t p = 0; p <= n; ++p) {
    const auto attributes = attributes_of(f, sentence, p);
    for (const std::size_t role : {kBegin, kEnd, kSplit})
      if (!f.roles[role].target.empty())
        for (const std::size_t a : attributes) gather(role, a, &targets_[role][p * m]);
    if (p > 0 && !f.roles[kLength].target.empty()) gather(kLength, f.bucket_of(p), &targets_[kLength][p * m]);
  }
  token_.assign(n * T, -__builtin_huge_val());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t w = at(sentence.words[i]);
    for (std::int64_t p = model.lexicon_ptr[w]; p < model.lexicon_ptr[w + 1]; ++p) {
      const std::size_t t = at(model.lexicon_tag[at(p)]), label = at(f.tag_label[t]);
      token_[i * T + t] = (model.lexicon_base.empty() ? 0.0 : model.lexicon_base[at(p)]) +
                          targets_[kBegin][i * m + label] + targets_[kEnd][(i + 1) * m + label];
    }
  }
  scores_ = {n, token_, rule_scores, {}, {}, {}, {}};
  if (!f.anchored) return;
  scores_.begin = targets_[kBegin], scores_.end = targets_[kEnd];
  scores_.length = targets_[kLength], scores_.split = targets_[kSplit];
}

void TreeBank::check(const TreeFeatures& features) const {
  check_pointers(sentence_ptr, n_sentences(), words.size(), "sentences: pointers are damaged");
  check_range(words, features.n_words, "sentences: a word has an unknown number");
  require(class_of_word.size() == features.n_words, "sentences: one class is needed per word");
  check_range(class_of_word, features.n_word_classes, "sentences: a word is of an unknown class");
}

void TreeParts::check(const Rules& rules, const TreeBank& bank) const {
  check_pointers(part_ptr, bank.n_sentences(), rule.size(), "trees: pointers of parts are damaged");
  require(begin.size() == rule.size() && split.size() == rule.size() && end.size() == rule.size(),
          "trees: arrays of parts differ in length");
  for (std::size_t s = 0; s < bank.n_sentences(); ++s) {
    const std::int64_t n = bank.sentence_ptr[s + 1] - bank.sentence_ptr[s];
    for (std::size_t p = at(part_ptr[s]); p < at(part_ptr[s + 1]); ++p) {
      const std::int32_t r = rule[p];
      const bool known = r >= 0 ? at(r) < rules.n_rules() : at(-1 - r) < rules.n_tags();
      const bool binary = r >= 0 && at(r) < rules.n_binary();
      require(known && begin[p] >= 0 && begin[p] < end[p] && end[p] <= n && (r >= 0 || end[p] == begin[p] + 1) &&
                  (!binary || (split[p] > begin[p] && split[p] < end[p])),
              "trees: a part has an unknown rule or lies outside of its sentence");
    }
  }
}

FeatureCounts count_tree_features(ThreadPool& pool, const Rules& rules, const TreeFeatures& features,
                                  const TreeBank& bank, const TreeParts& parts) {
  constexpr std::size_t kTrees = 64;
  const std::size_t n_trees = bank.n_sentences(), m = features.n_targets, T = rules.n_tags();
  std::vector<FeatureCounts> pieces(chunk_count(n_trees, kTrees));
  pool.run(pieces.size(), [&](std::size_t piece) {
    FeatureCounts& out = pieces[piece];
    PartCounts counts;
    std::vector<std::pair<std::int32_t, double>> found;
    const Range range = chunk_range(n_trees, kTrees, piece);
    for (std::size_t s = range.begin; s < range.end; ++s) {
      const Sentence sentence = bank.sentence(s);
      const std::size_t n = sentence.size();
      counts.reset(n, T, rules.n_rules(), m);
      for (std::size_t p = at(parts.part_ptr[s]); p < at(parts.part_ptr[s + 1]); ++p) {
        const std::int32_t r = parts.rule[p];
        const std::size_t i = at(parts.begin[p]), j = at(parts.end[p]);
        if (r < 0) {
          counts.token[i * T + at(-1 - r)] += 1.0;
          continue;
        }
        counts.rule[at(r)] += 1.0;
        if (!features.anchored) continue;
        for (const std::size_t target : {rules.n_labels + at(rules.rule_class[at(r)]), rules.label_of(at(r))}) {
          counts.begin[i * m + target] += 1.0;
          counts.end[j * m + target] += 1.0;
          counts.length[(j - i) * m + target] += 1.0;
          if (at(r) < rules.n_binary()) counts.split[at(parts.split[p]) * m + target] += 1.0;
        }
      }
      found.clear();
      scatter_counts(features, sentence, counts, [&](std::size_t w, double x) { found.emplace_back(static_cast<std::int32_t>(w), x); });
      std::sort(found.begin(), found.end());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (i > 0 && found[i].first == found[i - 1].first) out.values.back() += found[i].second;
        else out.indices.push_back(found[i].first), out.values.push_back(found[i].second);
      }
      out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
    }
  });
  FeatureCounts all;
  for (const FeatureCounts& piece : pieces) {
    const auto base = static_cast<std::int64_t>(all.indices.size());
    for (std::size_t i = 1; i < piece.indptr.size(); ++i) all.indptr.push_back(base + piece.indptr[i]);
    all.indices.insert(all.indices.end(), piece.indices.begin(), piece.indices.end());
    all.values.insert(all.values.end(), piece.values.begin(), piece.values.end());
  }
  return all;
}

}  // namespace loglinear::grammar
