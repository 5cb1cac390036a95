#include "suffix/score.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "util/cancellation.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::suffix {

using namespace trie;
namespace {

constexpr double kOverflown = 1e290;  // one above this may have
constexpr double kNothing = -std::numeric_limits<double>::infinity();
constexpr std::size_t kTokensInChunk = 1 << 12;

// The logarithm of a sum of exponentials, term by term.
class LogSum {
 public:
  void add(double term) {
    if (term == kNothing) return;
    if (term > top_) {
      sum_ = sum_ * std::exp(top_ - term) + 1.0;
      top_ = term;
    } else {
      sum_ += std::exp(term - top_);
    }
  }
  double value() const { return top_ == kNothing ? kNothing : top_ + std::log(sum_); }

 private:
  double top_ = kNothing, sum_ = 0.0;
};

// The words before a token of one sentence.
struct History {
  std::span<const std::uint32_t> sentence;
  std::size_t n_before;  // words of the sentence before the token
  std::uint32_t begin_word;

  std::size_t length() const { return n_before + 1; }  // `<s>` counted
  std::uint32_t word(std::size_t j) const { return j <= n_before ? sentence[n_before - j] : begin_word; }
};

struct Score {
  double log_probability;
  std::uint32_t length;
};

class Scorer {
 public:
  Scorer(const SuffixTreeView& tree, const SuffixWeights& weights)
      : tree_(tree), t_(tree.trie), a_(weights), by_word_(tree.trie.n_words + 1, kNowhere) {
    for (std::uint32_t d = t_.context_child[0]; d < t_.context_child[1]; ++d) by_word_[t_.context_word[d]] = d;
  }

  // `path` is scratch: the classes that the history passes through.
  Score score(const History& history, std::uint32_t word, std::vector<std::uint32_t>& path) const {
    Score result{a_.log_p[word], 1};
    bool listed = true;  // an entry's parent is an entry, so the first miss is the last look
    path.assign(1, 0);
    for (std::size_t length = 0; length < history.length();) {
      const std::uint32_t c = child(path.back(), history.word(length + 1));
      if (c == kNowhere) break;
      const std::size_t m = tree_.context_length[c] - length, matched = match(c, length, history);
      const std::uint32_t e = listed ? entry(c, word) : kNowhere;
      listed = e != kNowhere;
      if (listed) result.length = static_cast<std::uint32_t>(length + matched + 1);
      if (matched < m) {
        if (listed) result.log_probability += static_cast<double>(matched) * a_.x[e];
        result.log_probability -= log_ratio(c, static_cast<double>(matched), path);
        break;
      }
      if (listed) result.log_probability = a_.log_p[e];
      else result.log_probability -= a_.log_r[c];
      path.push_back(c);
      length += m;
    }
    return result;
  }

 private:
  std::uint32_t child(std::uint32_t c, std::uint32_t word) const {
    return c == 0 ? by_word_[word] : find(t_.context_word, t_.context_child[c], t_.context_child[c + 1], word);
  }
  std::uint32_t entry(std::uint32_t c, std::uint32_t word) const {
    return find(t_.entry_word, t_.context_entry[c], t_.context_entry[c + 1], word);
  }
  static std::uint32_t find(std::span<const std::uint32_t> words, std::uint32_t begin, std::uint32_t end,
                            std::uint32_t word) {
    const auto* const last = words.data() + end;
    const auto* const at = std::lower_bound(words.data() + begin, last, word);
    return at != last && *at == word ? static_cast<std::uint32_t>(at - words.data()) : kNowhere;
  }

  // How many contexts of class c the history ends in, given that it ends in the shortest, of length + 1 words.
  std::size_t match(std::uint32_t c, std::size_t length, const History& history) const {
    const std::size_t last = std::min<std::size_t>(tree_.context_length[c], history.length());
    std::size_t j = length + 1;
    while (j < last && tree_.word(c, j + 1) == history.word(j + 1)) ++j;
    return j - length;
  }

  // log Z(first j contexts of class c) - log Z(parent class), the last of `path`.
  double log_ratio(std::uint32_t c, double j, std::span<const std::uint32_t> path) const {
    double ratio = 1.0;
    for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e)
      if (a_.x[e] != 0.0) ratio += std::exp(a_.log_p[t_.entry_parent[e]]) * std::expm1(j * a_.x[e]);
    if (ratio >= kCancelledRatio && ratio < kOverflown) return std::log(ratio);
    LogSum sum;
    sum.add(log_lacking(c, path));
    for (std::uint32_t e = t_.context_entry[c]; e < t_.context_entry[c + 1]; ++e)
      sum.add(a_.log_p[t_.entry_parent[e]] + j * a_.x[e]);
    return sum.value();
  }

  // log of the sum of p(w | parent class) over the words without an entry in c, by positive terms alone.
  double log_lacking(std::uint32_t c, std::span<const std::uint32_t> path) const {
    double lacking = kNothing;
    for (std::size_t k = 0; k < path.size(); ++k) {
      const std::uint32_t p = path[k], below = k + 1 < path.size() ? path[k + 1] : c;
      LogSum sum;
      if (p > 0) sum.add(lacking - a_.log_r[p]);
      std::uint32_t e = t_.context_entry[below];
      for (std::uint32_t up = t_.context_entry[p]; up < t_.context_entry[p + 1]; ++up) {
        if (e < t_.context_entry[below + 1] && t_.entry_parent[e] == up) ++e;
        else sum.add(a_.log_p[up]);
      }
      lacking = sum.value();
    }
    return lacking;
  }

  const SuffixTreeView& tree_;
  const TrieView& t_;
  const SuffixWeights& a_;
  std::vector<std::uint32_t> by_word_;  // [V + 1] the class below the empty context
};

void check_sizes(const SuffixTreeView& tree, const SuffixWeights& weights, const SentencesView& sentences,
                 std::size_t n_scores, std::size_t n_lengths) {
  sentences.check();
  require(sentences.n_words == tree.trie.n_words, "score: the text is not of the vocabulary of the tree");
  require(std::all_of(sentences.words.begin(), sentences.words.end(),
                      [&](std::uint32_t w) { return w < sentences.n_words; }),
          "score: a word is not of the vocabulary of the tree");
  require(weights.x.size() == tree.trie.n_entries() && weights.log_p.size() == tree.trie.n_entries() &&
              weights.log_r.size() == tree.trie.n_contexts(),
          "score: one weight and log-probability per entry and one ratio per class are needed");
  require(n_scores == sentences.n_predicted() && n_lengths == n_scores,
          "score: the results need one number per word and end of sentence");
}

// Sentences cut into chunks of about kTokensInChunk tokens.
std::vector<std::size_t> cut_sentences(const SentencesView& sentences) {
  std::vector<std::size_t> cuts{0};
  std::size_t tokens = 0;
  for (std::size_t s = 0; s < sentences.n_sentences(); ++s) {
    tokens += static_cast<std::size_t>(sentences.sentence_ptr[s + 1] - sentences.sentence_ptr[s]) + 1;
    if (tokens < kTokensInChunk) continue;
    cuts.push_back(s + 1);
    tokens = 0;
  }
  if (cuts.back() < sentences.n_sentences()) cuts.push_back(sentences.n_sentences());
  return cuts;
}

}  // namespace

void score_text(ThreadPool& pool, const SuffixTreeView& tree, const SuffixWeights& weights,
                const SentencesView& sentences, std::span<double> log_probability, std::span<std::uint32_t> length) {
  check_sizes(tree, weights, sentences, log_probability.size(), length.size());
  const Scorer scorer(tree, weights);
  const std::vector<std::size_t> cuts = cut_sentences(sentences);
  pool.run(cuts.size() - 1, [&](std::size_t chunk) {
    std::vector<std::uint32_t> path;
    for (std::size_t s = cuts[chunk]; s < cuts[chunk + 1]; ++s) {
      const auto begin = static_cast<std::size_t>(sentences.sentence_ptr[s]);
      const auto n = static_cast<std::size_t>(sentences.sentence_ptr[s + 1]) - begin;
      History history{sentences.words.subspan(begin, n), 0, static_cast<std::uint32_t>(sentences.n_words)};
      for (std::size_t i = 0; i <= n; ++i) {
        history.n_before = i;
        const Score score = scorer.score(history, i < n ? history.sentence[i] : 0, path);
        log_probability[begin + s + i] = score.log_probability;
        length[begin + s + i] = score.length;
      }
    }
  });
}

}  // namespace loglinear::suffix
