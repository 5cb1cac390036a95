// Maximum-entropy n-gram models by direct summation; ngram/hierarchical_normalisation.hh says when.
#include <cmath>

#include "ngram/hierarchical_normalisation.hh"
#include "simd/loops.hh"

namespace loglinear::ngram {

using trie::TrieView;

namespace {

// Calls visit(context, scores, touched path) for every context, with score[w] = sum of theta over the entries of w in
// the context and its suffixes.
class Walk {
 public:
  Walk(const TrieView& trie, std::span<const double> w, std::span<const double> v)
      : trie_(trie), w_(w), v_(v), score_(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(trie.n_words)) {
    if (!v.empty()) tangent_.assign(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(trie.n_words));
  }

  template <class Visit>
  void operator()(Visit visit) {
    descend(0, visit);
  }
  std::span<const double> score() const { return score_; }
  std::span<const double> tangent() const { return tangent_; }
  std::span<const std::uint32_t> path() const { return path_; }

 private:
  template <class Visit>
  void descend(std::uint32_t c, Visit& visit) {
    path_.push_back(c);
    std::vector<double> before, tangent_before;  // restored exactly: adding and subtracting would leave rounding behind
    if (c > 0) {
      for (std::uint32_t e = trie_.context_entry[c]; e < trie_.context_entry[c + 1]; ++e) {
        const std::uint32_t word = trie_.entry_word[e];
        before.push_back(score_[word]);
        score_[word] += w_[e];
        if (v_.empty()) continue;
        tangent_before.push_back(tangent_[word]);
        tangent_[word] += v_[e];
      }
    }
    visit(c);
    for (std::uint32_t k = trie_.context_child[c]; k < trie_.context_child[c + 1]; ++k) descend(k, visit);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::uint32_t word = trie_.entry_word[trie_.context_entry[c] + i];
      score_[word] = before[i];
      if (!v_.empty()) tangent_[word] = tangent_before[i];
    }
    path_.pop_back();
  }

  const TrieView& trie_;
  std::span<const double> w_, v_;
  std::vector<double> score_, tangent_;
  std::vector<std::uint32_t> path_;
};

double own_tokens(const TrieView& trie, std::uint32_t c) {
  std::int64_t own = trie.context_count[c];
  for (std::uint32_t k = trie.context_child[c]; k < trie.context_child[c + 1]; ++k) own -= trie.context_count[k];
  return static_cast<double>(own);
}

}  // namespace

double direct_sums(const TrieView& trie, std::span<const double> w, std::span<double> gradient,
                   std::span<const double> tangent, std::span<double> second) {
  double loss = 0.0;
  for (std::size_t e = 0; e < w.size(); ++e) {
    const double count = trie.entry_count[e];
    if (count > 0.0) loss -= count * w[e];
    if (!gradient.empty()) gradient[e] = -count;
    if (!second.empty()) second[e] = 0.0;
  }
  std::vector<double> p(trie.n_words);
  Walk walk(trie, w, tangent);
  walk([&](std::uint32_t x) {
    const double own = own_tokens(trie, x);
    if (own == 0.0) return;
    const auto score = walk.score(), along = walk.tangent();
    const double log_z = simd::loops().logsumexp(score.data(), score.size());
    loss += own * log_z;
    double mean = 0.0;
    for (std::size_t word = 0; word < p.size(); ++word) {
      p[word] = std::exp(score[word] - log_z);
      if (!along.empty()) mean += p[word] * along[word];
    }
    for (const std::uint32_t c : walk.path()) {
      for (std::uint32_t e = trie.context_entry[c]; e < trie.context_entry[c + 1]; ++e) {
        const std::uint32_t word = trie.entry_word[e];
        if (!gradient.empty()) gradient[e] += own * p[word];
        if (!second.empty()) second[e] += own * p[word] * (along.empty() ? 1.0 - p[word] : along[word] - mean);
      }
    }
  });
  return loss;
}

std::size_t continued_paths(const TrieView& trie, std::span<const double> w) {
  if (w.size() != trie.n_entries()) throw InvalidInput("n-gram model: a vector must have one number per n-gram");
  std::vector<std::uint8_t> children(trie.n_entries(), 0);  // 0, 1, or 2 for more
  for (std::size_t e = trie.n_words; e < trie.n_entries(); ++e) {
    auto& n = children[trie.entry_parent[e]];
    if (n < 2) ++n;
  }
  std::size_t continued = 0;
  for (std::size_t e = trie.n_words; e < trie.n_entries(); ++e) {
    const std::uint32_t parent = trie.entry_parent[e];
    continued += children[parent] == 1 && parent >= trie.n_words && w[e] != 0.0 &&
                 std::abs(w[e] - w[parent]) <= 1e-6 * std::abs(w[parent]);
  }
  return continued;
}

}  // namespace loglinear::ngram
