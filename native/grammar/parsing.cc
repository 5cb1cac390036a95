#include "grammar/parsing.hh"

#include <algorithm>
#include <cmath>
#include <string>

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr double kInfinity = __builtin_huge_val();

}  // namespace

void Masks::check(const Rules& rules, const TreeBank& bank) const {
  if (ptr.empty()) return;
  require(ptr.size() == bank.n_sentences() + 1 && ptr.front() == 0 && at(ptr.back()) == bits.size() &&
              coarse.size() == rules.n_symbols,
          "masks: arrays differ in length");
  for (std::size_t s = 0; s < bank.n_sentences(); ++s) {
    const std::size_t n = bank.sentence(s).size();
    require(at(ptr[s + 1] - ptr[s]) == (n + 1) * (n + 1) * n_words, "masks: a sentence differs in length from its mask");
  }
  for (const std::int32_t c : coarse) require(c >= 0 && at(c) < 64 * n_words, "masks: unknown coarse symbol");
  std::vector<std::int32_t> of_label(rules.n_labels, -1);
  for (const Rules::LabelRuns& label : rules.labels) of_label[label.label] = coarse[label.parent];
  for (std::size_t r = 0; r < rules.n_binary(); ++r)
    require(coarse[at(rules.rule_parent[r])] == of_label[rules.label_of(r)], "masks: symbols of one label have several coarse ones");
}

void Constraints::check(const Rules& rules, const TreeBank& bank) const {
  if (!tags.empty()) {
    require(tags.size() == bank.words.size(), "constraints: tags differ in number from words");
    for (const std::int32_t t : tags) require(t >= -1 && t < static_cast<std::int32_t>(rules.n_tags()), "constraints: unknown tag");
  }
  if (bracket_ptr.empty()) return;
  require(bracket_ptr.size() == bank.n_sentences() + 1 && bracket_ptr.front() == 0 &&
              at(bracket_ptr.back()) == begin.size() && end.size() == begin.size() && label.size() == begin.size() &&
              hidden.size() == rules.n_symbols && label_ptr.size() == rules.n_unary() + 1 && label_ptr.front() == 0 &&
              at(label_ptr.back()) == labels.size(),
          "constraints: arrays differ in length");
  for (std::size_t u = 0; u < rules.n_unary(); ++u) require(label_ptr[u] <= label_ptr[u + 1], "constraints: pointers decrease");
  require(std::is_sorted(bracket_ptr.begin(), bracket_ptr.end()), "constraints: pointers decrease");
  for (std::size_t s = 0; s < bank.n_sentences(); ++s) {
    const auto n = static_cast<std::int32_t>(bank.sentence(s).size());
    for (std::size_t b = at(bracket_ptr[s]); b < at(bracket_ptr[s + 1]); ++b)
      if (!(begin[b] >= 0 && begin[b] < end[b] && end[b] <= n))
        throw InvalidInput("sentence " + std::to_string(s + 1) + " has " + std::to_string(n) + " words, but a bracket from " +
                           std::to_string(begin[b]) + " to " + std::to_string(end[b]));
  }
}

void Workspace::set(std::size_t s, bool constrained) {
  const Sentence sentence = bank_.sentence(s);
  const std::size_t n = sentence.size(), T = model_.rules.n_tags();
  tables_.fill(model_, rule_scores_, sentence);
  scores_ = tables_.scores();
  limits_ = {};
  if (!masks_.ptr.empty()) {
    limits_.mask = masks_.bits.subspan(at(masks_.ptr[s]), at(masks_.ptr[s + 1] - masks_.ptr[s]));
    limits_.coarse = masks_.coarse;
    limits_.n_words = masks_.n_words;
  }
  if (!constrained) return;
  if (!constraints_.tags.empty()) {
    token_.assign(scores_.token.begin(), scores_.token.end());
    const auto first = at(bank_.sentence_ptr[s]);
    for (std::size_t i = 0; i < n; ++i)
      if (const std::int32_t tag = constraints_.tags[first + i]; tag >= 0)
        for (std::size_t t = 0; t < T; ++t)
          if (t != at(tag)) token_[i * T + t] = -kInfinity;
    scores_.token = token_;
  }
  if (constraints_.bracket_ptr.empty()) return;
  required_.assign((n + 1) * (n + 1), Limits::kFree);
  for (std::size_t b = at(constraints_.bracket_ptr[s]); b < at(constraints_.bracket_ptr[s + 1]); ++b) {
    const std::size_t from = at(constraints_.begin[b]), to = at(constraints_.end[b]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j <= n; ++j)
        if ((i < from && from < j && j < to) || (from < i && i < to && to < j)) required_[i * (n + 1) + j] = Limits::kBlocked;
    std::int32_t& cell = required_[from * (n + 1) + to];
    const std::int32_t wanted = constraints_.label[b];
    if (cell != Limits::kFree && cell != Limits::kAnyLabel && wanted != Limits::kAnyLabel && cell != wanted)
      cell = Limits::kBlocked;  // crossed by another bracket, or two labels that no rule could have been asked for
    else if (cell == Limits::kFree || cell == Limits::kAnyLabel)
      cell = wanted;
  }
  limits_.required = required_;
  limits_.hidden = constraints_.hidden;
  limits_.label_ptr = constraints_.label_ptr;
  limits_.labels = constraints_.labels;
}

std::vector<std::size_t> share_out(const TreeBank& bank, std::size_t n_parts) {
  const std::size_t n = bank.n_sentences();
  std::vector<double> work(n + 1, 0.0);
  for (std::size_t s = 0; s < n; ++s) {
    const auto length = static_cast<double>(bank.sentence(s).size());
    work[s + 1] = work[s] + length * length * (length + 20.0) + 100.0;
  }
  std::vector<std::size_t> cuts{0};
  for (std::size_t p = 1; p < n_parts; ++p) {
    const double target = work[n] * static_cast<double>(p) / static_cast<double>(n_parts);
    const auto found = static_cast<std::size_t>(std::lower_bound(work.begin(), work.end(), target) - work.begin());
    cuts.push_back(std::max(cuts.back(), std::min(found, n)));
  }
  cuts.push_back(n);
  return cuts;
}

double tree_loss(ThreadPool& pool, const TreeModel& model, const TreeBank& bank, const Masks& masks,
                 const Constraints& constraints, std::span<double> gradient) {
  require(gradient.size() == model.features.n_weights, "tree loss: the gradient has a wrong length");
  const std::vector<double> scores = rule_scores(model);
  constexpr std::size_t kParts = 16;  // whatever the number of threads, so that sums have the same bits
  const auto cuts = share_out(bank, std::clamp<std::size_t>(bank.n_sentences(), 1, kParts));
  const std::size_t n_parts = cuts.size() - 1;
  std::vector<std::vector<double>> sums(n_parts);
  std::vector<double> values(n_parts, 0.0);
  pool.run(n_parts, [&](std::size_t part) {
    std::vector<double>& sum = sums[part];
    sum.assign(gradient.size(), 0.0);
    Workspace work(model, scores, bank, masks, constraints);
    TreeSums sums_of_trees(model.rules);
    PartCounts counts;
    for (std::size_t s = cuts[part]; s < cuts[part + 1]; ++s)
      for (const bool constrained : {false, true}) {
        if (constrained && !constraints.any()) continue;
        work.set(s, constrained);
        const double log_z = sums_of_trees.fill(work.scores(), work.limits());
        if (log_z == -kInfinity)
          throw InvalidInput("sentence " + std::to_string(s + 1) + " has no tree" +
                             (constrained ? " that fits its brackets and tags" : ""));
        const double sign = constrained ? -1.0 : 1.0;
        values[part] += sign * log_z;
        sums_of_trees.fill_outside(work.scores(), work.limits(), &counts);
        scatter_counts(model.features, bank.sentence(s), counts, [&](std::size_t w, double x) { sum[w] += sign * x; });
      }
  });
  parallel_for(pool, gradient.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      gradient[w] = sums[0][w];
      for (std::size_t p = 1; p < n_parts; ++p) gradient[w] += sums[p][w];
    }
  });
  double total = 0.0;
  for (const double v : values) total += v;
  return total;
}

void log_normalisers(ThreadPool& pool, const TreeModel& model, const TreeBank& bank, const Masks& masks,
                     const Constraints& constraints, std::span<double> out) {
  require(out.size() == bank.n_sentences(), "log normalisers: wrong length");
  const std::vector<double> scores = rule_scores(model);
  parallel_for(pool, out.size(), 8, [&](std::size_t begin, std::size_t end) {
    Workspace work(model, scores, bank, masks, constraints);
    TreeSums sums(model.rules);
    for (std::size_t s = begin; s < end; ++s) {
      work.set(s, constraints.any());
      out[s] = sums.fill(work.scores(), work.limits());
    }
  });
}

CoarseMasks coarse_masks(ThreadPool& pool, const TreeModel& coarse, const TreeBank& bank, double threshold,
                         std::span<const std::int64_t> always_ptr, std::span<const std::int32_t> always_symbol,
                         std::span<const std::int32_t> always_begin, std::span<const std::int32_t> always_end) {
  const std::size_t n_sentences = bank.n_sentences(), S = coarse.rules.n_symbols, words = (S + 63) / 64;
  require(always_ptr.empty() || always_ptr.size() == n_sentences + 1, "coarse masks: pointers differ in length");
  CoarseMasks out;
  for (std::size_t s = 0; s < n_sentences; ++s) {
    const std::size_t n = bank.sentence(s).size();
    out.ptr.push_back(out.ptr.back() + static_cast<std::int64_t>((n + 1) * (n + 1) * words));
  }
  out.bits.assign(at(out.ptr.back()), 0);
  const std::vector<double> scores = rule_scores(coarse);
  std::vector<std::int64_t> kept(n_sentences, 0), possible(n_sentences, 0), lost(n_sentences, 0);
  const Masks none;
  const Constraints free;
  parallel_for(pool, n_sentences, 8, [&](std::size_t begin, std::size_t end) {
    Workspace work(coarse, scores, bank, none, free);
    TreeSums sums(coarse.rules);
    for (std::size_t s = begin; s < end; ++s) {
      work.set(s, false);
      const double log_z = sums.fill(work.scores(), work.limits());
      const std::size_t n = bank.sentence(s).size();
      std::uint64_t* const bits = &out.bits[at(out.ptr[s])];
      if (log_z > -kInfinity) sums.fill_outside(work.scores(), work.limits(), nullptr);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j <= n; ++j)
          for (std::size_t a = 0; a < S; ++a) {
            const bool has = sums.has(a, i, j);
            if (has) ++possible[s];
            if (log_z > -kInfinity && (!has || sums.probability(a, i, j) < threshold)) continue;
            bits[(i * (n + 1) + j) * words + a / 64] |= std::uint64_t{1} << (a % 64);
            if (has) ++kept[s];
          }
      if (always_ptr.empty()) continue;
      for (std::size_t p = at(always_ptr[s]); p < at(always_ptr[s + 1]); ++p) {
        const std::size_t a = at(always_symbol[p]), i = at(always_begin[p]), j = at(always_end[p]);
        require(a < S && i < j && j <= n, "coarse masks: a kept part lies outside of its sentence");
        std::uint64_t& word = bits[(i * (n + 1) + j) * words + a / 64];
        const std::uint64_t bit = std::uint64_t{1} << (a % 64);
        if (!(word & bit)) ++lost[s];
        word |= bit;
      }
    }
  });
  for (std::size_t s = 0; s < n_sentences; ++s) out.kept += kept[s], out.possible += possible[s], out.lost += lost[s];
  return out;
}

}  // namespace loglinear::grammar
