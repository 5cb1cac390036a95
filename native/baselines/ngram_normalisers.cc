#include "baselines/ngram_normalisers.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/loops.hh"
#include "util/cancellation.hh"
#include "util/views.hh"

namespace loglinear::baselines {

using namespace trie;
namespace {

constexpr std::size_t kNaivePieces = 64;  // each has expectations of all unigrams of its own
constexpr double kTiny = 1e-280, kHuge = 1e280;  // sums beyond may have left the range of double
constexpr double kLargest = 300.0;  // products of exp(weight) stay in range where no sum of weights is beyond it

// Walks the contexts below c that are wanted, parents before children; enter and leave nest, visit comes between.
template <class Wanted, class Enter, class Visit, class Leave>
void walk(const TrieView& t, std::uint32_t c, const Wanted& wanted, const Enter& enter, const Visit& visit,
          const Leave& leave) {
  if (!wanted(c)) return;
  enter(c);
  visit(c);
  for (std::uint32_t d = t.context_child[c]; d < t.context_child[c + 1]; ++d) walk(t, d, wanted, enter, visit, leave);
  leave(c);
}

// log S(e) = sum of the weights along the chain of parents.
std::vector<double> chain_scores(ThreadPool& pool, const TrieView& t, std::span<const double> weights) {
  std::vector<double> score(t.n_entries());
  for (std::size_t n = 0; n < t.order; ++n) {
    const std::size_t first = t.entry_start[n], count = t.entry_start[n + 1] - first;
    parallel_for(pool, count, kVectorChunk, [&](std::size_t begin, std::size_t end) {
      for (std::size_t e = first + begin; e < first + end; ++e)
        score[e] = weights[e] + (n == 0 ? 0.0 : score[t.entry_parent[e]]);
    });
  }
  return score;
}

double sum_of_differences(const double* a, const double* b, std::size_t n) {
  double lane[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t l = 0; l < 8; ++l) lane[l] += a[i + l] - b[i + l];
  for (; i < n; ++i) lane[0] += a[i] - b[i];
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

void check_lengths(const NgramHistories& h, std::span<const double> weights, std::span<const double> log_z,
                   std::span<const double> expectations) {
  require(weights.size() == h.trie.n_entries(), "n-gram model: one weight per entry is needed");
  require(log_z.size() == h.trie.n_contexts(), "n-gram model: one normaliser per context is needed");
  require(expectations.empty() || expectations.size() == h.trie.n_entries(),
          "n-gram model: one expectation per entry is needed");
}

}  // namespace

// ---- naive ----------------------------------------------------------------------------------------------------------
namespace {

constexpr std::uint8_t kOnPath = 1, kSelected = 2;

// What one thread needs to sum over all words: the score of each word in the context it stands in.
struct NaiveWalker {
  const NgramHistories& h;
  std::span<const double> score;  // log S of entries
  std::span<const std::uint8_t> flags;
  std::span<double> log_z, expectations, unigrams;  // unigrams: this piece's own
  std::vector<double> now, probability;
  std::vector<std::uint32_t> path{};  // contexts entered, the empty one excepted
  std::uint64_t terms = 0;

  void enter(std::uint32_t c) {
    const TrieView& t = h.trie;
    for (std::uint32_t e = t.context_entry[c]; e < t.context_entry[c + 1]; ++e) now[t.entry_word[e]] = score[e];
    path.push_back(c);
  }
  void leave(std::uint32_t c) {
    const TrieView& t = h.trie;
    for (std::uint32_t e = t.context_entry[c]; e < t.context_entry[c + 1]; ++e)
      now[t.entry_word[e]] = score[t.entry_parent[e]];
    path.pop_back();
  }
  void visit(std::uint32_t c) {
    if (!(flags[c] & kSelected)) return;
    const TrieView& t = h.trie;
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (double s : now) top = s > top ? s : top;
    for (std::size_t w = 0; w < now.size(); ++w) sum += probability[w] = std::exp(now[w] - top);
    terms += now.size();
    log_z[c] = top + std::log(sum);
    if (expectations.empty() || h.own[c] == 0) return;
    const double r = h.own[c] / sum;
    for (std::size_t w = 0; w < now.size(); ++w) unigrams[w] += r * probability[w];
    for (std::uint32_t k : path)
      for (std::uint32_t e = t.context_entry[k]; e < t.context_entry[k + 1]; ++e)
        expectations[e] += r * probability[t.entry_word[e]];
  }
};

std::uint64_t naive(ThreadPool& pool, const NgramHistories& h, std::span<const double> score,
                    std::span<const std::uint32_t> contexts, std::span<double> log_z, std::span<double> expectations) {
  const TrieView& t = h.trie;
  std::vector<std::uint8_t> flags(t.n_contexts(), 0);
  for (std::uint32_t c : contexts) {
    require(c < t.n_contexts(), "n-gram trie: no such context");
    flags[c] |= kSelected;
    for (std::uint32_t p = c; p != kNowhere && !(flags[p] & kOnPath); p = h.parent[p]) flags[p] |= kOnPath;
  }
  const auto cuts = h.cut(h.histories.size() / kNaivePieces + 1, false, [](std::uint32_t) { return 1; });
  const std::size_t n_pieces = cuts.cuts.size();  // the last one is the empty context
  std::vector<std::vector<double>> unigrams(n_pieces);
  std::vector<std::uint64_t> terms(n_pieces, 0);
  pool.run(n_pieces, [&](std::size_t piece) {
    const auto begin = piece + 1 < n_pieces ? cuts.cuts[piece] : 0,
               end = piece + 1 < n_pieces ? cuts.cuts[piece + 1] : 0;
    const auto wanted = [&](std::uint32_t c) { return (flags[c] & kOnPath) != 0; };
    bool any = end == 0 && (flags[0] & kSelected);
    for (std::size_t u = begin; u < end; ++u) any = any || wanted(cuts.units[u].context);
    if (!any) return;
    if (!expectations.empty()) unigrams[piece].assign(t.n_words, 0.0);
    NaiveWalker walker{h, score, flags, log_z, expectations, unigrams[piece],
                       std::vector<double>(score.begin(), score.begin() + t.n_words), std::vector<double>(t.n_words)};
    if (end == 0) walker.visit(0);
    for (std::size_t u = begin; u < end; ++u)
      walk(t, cuts.units[u].context, wanted, [&](std::uint32_t c) { walker.enter(c); },
           [&](std::uint32_t c) { walker.visit(c); }, [&](std::uint32_t c) { walker.leave(c); });
    terms[piece] = walker.terms;
  });
  std::uint64_t total = 0;
  for (std::size_t piece = 0; piece < n_pieces; ++piece) {
    total += terms[piece];
    for (std::size_t w = 0; w < unigrams[piece].size(); ++w) expectations[w] += unigrams[piece][w];
  }
  return total;
}

}  // namespace

std::uint64_t naive_normalisers(ThreadPool& pool, const NgramHistories& h, std::span<const double> weights,
                                std::span<const std::uint32_t> contexts, std::span<double> log_z,
                                std::span<double> expectations) {
  check_lengths(h, weights, log_z, expectations);
  return naive(pool, h, chain_scores(pool, h.trie, weights), contexts, log_z, expectations);
}

// ---- unigram caching ------------------------------------------------------------------------------------------------
namespace {

// What one thread needs to sum over the words of one bigram context: S(x, w) of each, in the context it stands in.
struct CachingWalker {
  const NgramHistories& h;
  std::span<const double> S;      // of entries, over a common factor exp(shift)
  std::span<const double> alpha;  // exp(weight) of entries; empty: S is used for all terms
  double shift, unigram_sum;
  std::span<double> log_z, expectations;
  std::vector<std::uint32_t>& unsafe;
  std::uint32_t first = 0, size = 0;                // entries of the bigram context
  std::vector<double> now{}, alone{};               // [size] S(x, w) and S(w)
  std::span<double> bigrams{};                      // [size] expectations, this unit's own
  std::vector<std::uint32_t> path{}, cursor{};      // longer contexts entered; where each is read
  double inverse_sum = 0.0;                         // A of this unit
  std::uint64_t terms = 0;

  void start(std::uint32_t b, std::span<double> own_bigrams) {
    const TrieView& t = h.trie;
    first = t.context_entry[b], size = t.context_entry[b + 1] - first;
    now.assign(S.begin() + first, S.begin() + first + size);
    alone.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) alone[i] = S[t.entry_word[first + i]];
    bigrams = own_bigrams;
    inverse_sum = 0.0;
  }
  std::uint32_t place(std::uint32_t e) const {
    while (e >= first + size) e = h.trie.entry_parent[e];
    return e - first;
  }
  void enter(std::uint32_t c) {
    const TrieView& t = h.trie;
    path.push_back(c);
    if (!alpha.empty()) return;
    for (std::uint32_t e = t.context_entry[c]; e < t.context_entry[c + 1]; ++e) now[place(e)] = S[e];
  }
  void leave(std::uint32_t c) {
    const TrieView& t = h.trie;
    path.pop_back();
    if (!alpha.empty()) return;
    for (std::uint32_t e = t.context_entry[c]; e < t.context_entry[c + 1]; ++e) now[place(e)] = S[t.entry_parent[e]];
  }
  // sum of (product of the alphas of w - 1) alpha_w; the words of all contexts ascend, so their lists are merged.
  double sum_of_products() {
    const TrieView& t = h.trie;
    cursor.clear();
    for (std::uint32_t k : path) cursor.push_back(t.context_entry[k]);
    double sum = 0.0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t w = t.entry_word[first + i];
      double product = alpha[first + i];
      for (std::size_t k = 0; k < path.size(); ++k) {  // closed: a word that is not here is not in longer contexts
        if (cursor[k] == t.context_entry[path[k] + 1] || t.entry_word[cursor[k]] != w) break;
        product *= alpha[cursor[k]++];
      }
      sum += (product - 1.0) * alone[i];
      now[i] = product * alone[i];
    }
    return sum;
  }
  void visit(std::uint32_t c) {
    if (h.own[c] == 0) return;
    const TrieView& t = h.trie;
    const double z =
        unigram_sum + (alpha.empty() ? sum_of_differences(now.data(), alone.data(), size) : sum_of_products());
    terms += size;
    if (!(z >= kCancelledCaching * unigram_sum && z >= kTiny && z <= kHuge)) {
      unsafe.push_back(c);
      return;
    }
    log_z[c] = std::log(z) + shift;
    if (expectations.empty()) return;
    const double r = h.own[c] / z;
    inverse_sum += r;
    simd::loops().axpy(r, now.data(), bigrams.data(), size);
    for (std::uint32_t k : path)
      for (std::uint32_t e = t.context_entry[k]; e < t.context_entry[k + 1]; ++e) expectations[e] += r * now[place(e)];
  }
  void run(const NgramHistories::Unit& unit) {
    if (unit.with_self) visit(unit.context);
    const auto every = [](std::uint32_t) { return true; };
    for (std::uint32_t d = unit.child_begin; d < unit.child_end; ++d)
      walk(h.trie, d, every, [&](std::uint32_t c) { enter(c); }, [&](std::uint32_t c) { visit(c); },
           [&](std::uint32_t c) { leave(c); });
  }
};

struct CachedUnit {
  double inverse_sum = 0.0;
  std::vector<double> bigrams{};  // of a unit that shares its bigram context with others
};

// Expectations of bigrams from the units that share one; then those of unigrams:
//   E[w] = A S(w) + sum over bigram contexts b that have w of (E[b w] - A(b) S(w)).
void gather(const NgramHistories& h, const NgramHistories::Units& cuts, const std::vector<CachedUnit>& parts,
            std::span<const double> S, double inverse_sum, std::span<double> expectations) {
  const TrieView& t = h.trie;
  for (std::size_t u = 0; u < parts.size(); ++u) {
    const std::uint32_t b = cuts.units[u].context, first = t.context_entry[b];
    inverse_sum += parts[u].inverse_sum;
    for (std::size_t i = 0; i < parts[u].bigrams.size(); ++i) expectations[first + i] += parts[u].bigrams[i];
  }
  for (std::size_t w = 0; w < t.n_words; ++w) expectations[w] = inverse_sum * S[w];
  for (std::size_t u = 0; u < parts.size(); ++u) {
    const std::uint32_t b = cuts.units[u].context;
    const double below = parts[u].inverse_sum;
    for (std::uint32_t e = t.context_entry[b]; e < t.context_entry[b + 1]; ++e) {
      const std::uint32_t w = t.entry_word[e];
      expectations[w] -= below * S[w];
      if (cuts.units[u].with_self) expectations[w] += expectations[e];
    }
  }
}

}  // namespace

std::uint64_t caching_normalisers(ThreadPool& pool, const NgramHistories& h, std::span<const double> weights,
                                  std::span<double> log_z, std::span<double> expectations, bool shared,
                                  std::uint64_t work) {
  check_lengths(h, weights, log_z, expectations);
  const TrieView& t = h.trie;
  const std::vector<double> score = chain_scores(pool, t, weights);
  double shift = -std::numeric_limits<double>::infinity(), least = 0.0, unigram_sum = 0.0;
  for (double s : score) shift = s > shift ? s : shift, least = s < least ? s : least;
  shared = shared || shift > kLargest || least < -kLargest;
  std::vector<double> S(score.size()), alpha(shared ? 0 : score.size());
  parallel_for(pool, S.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) S[e] = std::exp(score[e] - shift);
    for (std::size_t e = begin; e < end && !shared; ++e) alpha[e] = std::exp(weights[e]);
  });
  for (std::size_t w = 0; w < t.n_words; ++w) unigram_sum += S[w];

  const auto cuts = h.cut(work, true, [&](std::uint32_t b) { return t.context_entry[b + 1] - t.context_entry[b]; });
  const std::size_t n_pieces = cuts.cuts.size() - 1;
  std::vector<CachedUnit> parts(cuts.units.size());
  std::vector<std::vector<std::uint32_t>> unsafe(n_pieces + 1);
  std::vector<std::uint64_t> terms(n_pieces, 0);
  std::fill(expectations.begin(), expectations.end(), 0.0);
  pool.run(n_pieces, [&](std::size_t piece) {
    CachingWalker walker{h, S, alpha, shift, unigram_sum, log_z, expectations, unsafe[piece]};
    for (std::size_t u = cuts.cuts[piece]; u < cuts.cuts[piece + 1]; ++u) {
      const auto& unit = cuts.units[u];
      const std::uint32_t first = t.context_entry[unit.context], size = t.context_entry[unit.context + 1] - first;
      if (!expectations.empty() && !unit.whole) parts[u].bigrams.assign(size, 0.0);
      walker.start(unit.context, expectations.empty() ? std::span<double>{}
                                 : unit.whole         ? expectations.subspan(first, size)
                                                      : std::span<double>(parts[u].bigrams));
      walker.run(unit);
      parts[u].inverse_sum = walker.inverse_sum;
    }
    terms[piece] = walker.terms;
  });
  double root = 0.0;
  if (h.own[0] > 0) {
    if (unigram_sum >= kTiny) log_z[0] = std::log(unigram_sum) + shift, root = h.own[0] / unigram_sum;
    else unsafe[n_pieces].push_back(0);
  }
  if (!expectations.empty()) gather(h, cuts, parts, S, root, expectations);
  std::vector<std::uint32_t> again;
  for (const auto& some : unsafe) again.insert(again.end(), some.begin(), some.end());
  std::uint64_t total = again.empty() ? 0 : naive(pool, h, score, again, log_z, expectations);
  for (std::uint64_t n : terms) total += n;
  return total;
}

// ---- the loss -------------------------------------------------------------------------------------------------------
double ngram_log_loss(ThreadPool& pool, const NgramHistories& h, std::span<const double> weights,
                      std::span<const double> log_z) {
  check_lengths(h, weights, log_z, {});
  const TrieView& t = h.trie;
  const double normalisers =
      parallel_sum(pool, h.histories.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
        double sum = 0.0;
        for (std::size_t i = begin; i < end; ++i) sum += h.own[h.histories[i]] * log_z[h.histories[i]];
        return sum;
      });
  return normalisers - parallel_sum(pool, t.n_entries(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t e = begin; e < end; ++e) sum += t.entry_count[e] * weights[e];
    return sum;
  });
}

}  // namespace loglinear::baselines
