// Stochastic and online training of maximum-entropy n-gram models with structured penalties.
//
//   minimise  sum over tokens of - log p(w | h)  +  penalty(W),        p as in ngram/hierarchical_normalisation.hh
//
// over the classes of stream/block.hh, where p(w | h) ~ exp(sum of m_e W_e), m_e the n-grams that entry e
// stands for. One step takes a batch of whole sentences (Nelakanti et al. 2013, algorithm 1, corrected; Hu, Kwok and
// Pan 2009):
//
//   V = (1 - tau) W + tau Z
//   W' = argmin  <G, x> + rho / 2 sum_i d_i (x_i - V_i)^2 + penalty(x)
//   Z' = (rho tau Z + (mu - rho) V + rho W') / (rho tau + mu) = (rho (W' - (1 - tau) W) + mu V) / (rho tau + mu)
//
// G is the batch's gradient times B = tokens / batch tokens, d the counts so far + ridge. (The paper prints (1 - mu) Z,
// which diverges on a quadratic.) tau falls as 2 / t.
//
// With noise rho has to grow. A step leaves an error of E|G - grad|^2 / (rho_s - L), of which (1 - tau_{s+1}) ... (1 -
// tau_t) ~ (s / t)^2 remains after t steps: together sum_s (s / t)^2 sigma^2 / (rho_s - L), which grows without end
// where rho stays (or grows slower than s), and falls where it grows as s^(3/2). The price is a start forgotten as
// rho_t tau_t^2. Counts being the metric, sigma^2 is B per n-gram, and the best factor of s^(3/2) is the root of B:
//
//   rho_t = L + gain (t + 1) (B + sqrt(B (t + 1))) + mu / delta
//
// whose first part keeps the first steps, 1 / (rho tau) in Z, near 1 / B, so that an n-gram seen in one batch moves by
// no more than its count says. L is the mean number of n-grams of a token: H <= L diag(counts) where counts are as
// expected. The metric only grows (counts do), as the telescoping of distances to the optimum needs.
//
// Trees are rooted at bigrams; a *block* holds those of one context word. A batch has a gradient only in the blocks of
// its words, so other blocks lag behind and take their missed steps (which shrink) when they are next needed: the same
// bits as if they had taken them at once, in better order for the cache. A block of zeros stays as it is. Blocks are
// independent but for the unigrams, and are dealt to threads; sums are added in their order.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "stream/block.hh"
#include "tree/small_forest.hh"
#include "util/reused.hh"
#include "util/thread_pool.hh"

namespace loglinear::stream {

struct OnlineSchedule {
  double tau, rho, mu;
};

struct OnlineTreeSettings {
  std::uint32_t n_words = 0;
  std::uint32_t order = 0;  // 0: unbounded
  tree::SmallForestPenalty penalty = tree::SmallForestPenalty::kTreeLinf;
  bool collapse = true, nonnegative = true, eager = false;
  std::vector<double> strengths{1.0};  // of the penalty by depth, which is order - 2; the last holds for the rest
  std::vector<double> ridges{0.0};     // likewise: sum m ridge / 2 x^2
  double depth_growth = 1.0;           // multiplies a strength once more with every depth
  double ridge_growth = 1.0;           // multiplies a ridge
  double unigram_ridge = 0.01;
  double gain = 0.2, mu = 0.0;
  double lipschitz = 0.0;      // 0: the mean number of n-grams per token
};

// A trie of the classes by levels of the tree (src/loglinear/data/suffix_tree.py), with where the values of its entries
// are: number `source` of the flat numbering (unigrams, then the entries of all blocks).
struct OnlineLayout {
  std::vector<std::int64_t> context_start, entry_start;
  std::vector<std::uint32_t> context_word, context_child, context_entry, context_count;
  std::vector<std::uint32_t> entry_word, entry_parent, entry_count;
  std::vector<std::uint32_t> context_length, context_end;
  std::vector<std::int64_t> source;
};

class OnlineTree {
 public:
  explicit OnlineTree(const OnlineTreeSettings& settings);
  ~OnlineTree();

  std::size_t n_tokens() const { return n_tokens_; }          // ends of sentences included
  std::size_t n_sentences() const { return starts_.size(); }
  std::uint64_t n_steps() const { return schedule_.size(); }
  std::size_t n_entries() const;                              // unigrams included
  std::size_t n_contexts() const;
  std::size_t n_bytes() const;
  std::span<const std::uint32_t> text() const { return text_; }

  // Takes sentences in without learning from them; their numbers follow those before.
  void extend(ThreadPool& pool, std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr);

  // One step: on sentences taken in before, or on new ones, which are taken in first. Returns the batch's loss at V.
  // `tokens`: of the corpus that the batch stands for; 0: all taken in so far.
  double step(ThreadPool& pool, std::span<const std::int64_t> sentences, double tokens);
  double learn(ThreadPool& pool, std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
               double tokens);

  // The loss of sentences at W and its gradient in the flat numbering, of each n-gram of a class (not times m).
  double gradient(ThreadPool& pool, std::span<const std::int64_t> sentences, std::span<double> out);

  void catch_up(ThreadPool& pool);                                      // all blocks
  void values(ThreadPool& pool, std::span<double> w);                   // in the flat numbering
  void set_values(ThreadPool& pool, std::span<const double> w);         // W = Z = w
  OnlineLayout layout() const;

 private:
  struct Token {
    std::uint32_t block, at, word, limit;
  };
  struct Scratch;
  struct Piece;

  void check(std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr) const;
  std::vector<std::int64_t> append(std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr);
  std::vector<Token> tokens_of(std::span<const std::int64_t> sentences) const;
  std::vector<Piece> pieces_of(std::vector<Token>& tokens) const;
  void insert(OnlineBlock& block, std::span<const Token> tokens) const;
  void count_unigrams(std::span<const Token> tokens);
  double take_step(ThreadPool& pool, std::vector<Token>& tokens, double corpus, bool insert_first);
  OnlineSchedule next_schedule(double batches);
  void replay(OnlineBlock& block, std::uint64_t until, Scratch& scratch) const;
  void advance(OnlineBlock& block, const OnlineSchedule& s, double scale, std::span<const double> gradient,
               Scratch& scratch) const;
  double block_gradient(const OnlineBlock& block, std::span<const double> at, Piece& piece,
                        std::span<const double> unigrams, Scratch& scratch) const;
  double unigram_gradient(std::span<const double> at, std::span<const Token> tokens, std::span<const Piece> pieces,
                          double log_z, std::span<const double> p, std::span<double> out) const;
  void advance_unigrams(const OnlineSchedule& s, double scale, std::span<const double> gradient);
  void for_pieces(ThreadPool& pool, std::vector<Piece>& pieces,
                  const std::function<void(Piece&, Scratch&)>& task) const;

  OnlineTreeSettings settings_;
  std::vector<std::uint32_t> text_;    // <s> (n_words) before every sentence
  std::vector<std::uint32_t> starts_;  // of sentences in text_
  std::uint64_t n_tokens_ = 0;
  std::uint64_t history_words_ = 0;    // lengths of all histories taken in
  std::vector<OnlineBlock> blocks_;    // [n_words + 1] by the last word of the context
  std::vector<double> unigram_w_, unigram_z_;
  std::vector<std::uint32_t> unigram_count_;
  std::vector<double> strength_{0.0};     // [longest history + 1] sums of the strengths of lower depths
  std::vector<double> ridge_;             // [longest history] by depth
  std::vector<OnlineSchedule> schedule_;  // of all steps, for blocks that lag behind
  double tau_ = 1.0, delta_ = 1.0, rho_ = 0.0;
  mutable Reused<Scratch> scratch_;
};

}  // namespace loglinear::stream
