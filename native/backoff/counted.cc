#include "backoff/counted.hh"

#include <algorithm>
#include <memory>
#include <string>

#include "simd/loops.hh"
#include "trie/cuts.hh"
#include "util/errors.hh"
#include "util/ranked_bits.hh"
#include "util/reused.hh"
#include "util/views.hh"

namespace loglinear::backoff {

using namespace trie;
using disk::MappedArray;

namespace {

template <class Position>
class Builder {
 public:
  Builder(ThreadPool& pool, MappedTrie<Position>& trie, MappedArray<Position>& adjusted,
          std::span<const OrderSmoothing> orders, const CountedOptions& options)
      : pool_(pool), files_(trie), adjusted_(adjusted), trie_(trie.view()),
        counts_{trie_, std::span<const Position>(adjusted), orders}, orders_(orders), options_(options),
        cuts_(std::any_of(orders.begin(), orders.end(), [](const OrderSmoothing& o) { return o.cut > 0; })) {}

  MappedAutomaton run() {
    plan();
    for (std::size_t n = 1; n <= trie_.order; ++n) {
      if (n < trie_.order) link(n);
      estimate(n);
      if (options_.consume) release(n);
    }
    return std::move(out_);
  }

 private:
  struct Chunk {
    std::size_t begin, end;         // contexts
    std::uint64_t context, slot;    // of the result: first of the chunk
  };
  struct Scratch {
    std::vector<double> p, backoff;
  };

  bool stays(std::size_t n, std::size_t e) const { return n == 1 || trie_.entry_count[e] > orders_[n - 1].cut; }
  std::uint64_t n_own(std::size_t n, std::size_t c) const {
    const std::size_t begin = trie_.context_entry[c], end = trie_.context_entry[c + 1];
    if (!cuts_) return end - begin;
    std::uint64_t own = 0;
    for (std::size_t e = begin; e < end; ++e) own += stays(n, e);
    return own;
  }
  bool context_stays(std::size_t c) const { return !cuts_ || kept_->has(c); }
  std::uint64_t number(std::size_t c) const { return cuts_ ? kept_->rank(c) : c; }
  std::size_t start(std::size_t k) const { return static_cast<std::size_t>(trie_.context_start[k]); }
  std::size_t first_entry(std::size_t n) const { return static_cast<std::size_t>(trie_.entry_start[n - 1]); }
  std::size_t last_entry(std::size_t n) const { return static_cast<std::size_t>(trie_.entry_start[n]); }

  // Which contexts stay, and where the slots of every chunk begin.
  void plan() {
    if (cuts_) kept_ = std::make_unique<RankedBits>(trie_.n_contexts() + 1);
    levels_.resize(trie_.order);
    out_.n_ngrams.assign(trie_.order, 0);
    out_.context_start = {0};
    std::uint64_t context = 0, slot = 0;
    for (std::size_t k = 0; k < trie_.order; ++k) {
      const auto cuts = cut_range(start(k), start(k + 1), [&](std::size_t c) { return trie_.context_entry[c] + c; });
      std::vector<Chunk>& chunks = levels_[k];
      chunks.resize(cuts.size() - 1);
      std::vector<std::uint64_t> n_entries(chunks.size());
      pool_.run(chunks.size(), [&](std::size_t i) {
        Chunk& chunk = chunks[i] = {cuts[i], cuts[i + 1], 0, 0};
        for (std::size_t c = chunk.begin; c < chunk.end; ++c) {
          const std::uint64_t own = n_own(k + 1, c);
          if (own == 0 && c != 0) continue;
          if (cuts_) kept_->set(c);
          ++chunk.context, chunk.slot += slots_of(c == 0, own), n_entries[i] += own;
        }
      });
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        context += std::exchange(chunks[i].context, context);
        slot += std::exchange(chunks[i].slot, slot);
        out_.n_ngrams[k] += static_cast<std::int64_t>(n_entries[i]);
      }
      out_.context_start.push_back(static_cast<std::int64_t>(context));
      slot_start_.push_back(slot);
    }
    if (context >= kBlank || slot >= kBlank)
      throw InvalidInput("the model would have " + std::to_string(slot) +
                         " slots of n-grams, more than the 4294967294 that a model file can number; leave out rare "
                         "n-grams (prune), or use a lower order");
    if (cuts_) kept_->count();
    out_.n_words = trie_.n_words;
    out_.contexts = MappedArray<AutomatonContext>(options_.folder, context, false);
    out_.entries = MappedArray<AutomatonEntry>(options_.folder, slot, false);
    if (trie_.order > 1 && start(2) > 1 && trie_.context_word[start(2) - 1] == trie_.n_words &&
        context_stays(start(2) - 1))
      out_.begin = static_cast<std::uint32_t>(number(start(2) - 1));
    descendants_.resize(trie_.order > 1 ? start(2) - 1 : 0);
    for (std::size_t i = 0; i < descendants_.size(); ++i) descendants_[i] = start(1) + i;
  }

  // Where the entries of order n lead, in the numbers of the result.
  void link(std::size_t n) {
    const std::size_t first = first_entry(n), last = last_entry(n);
    arcs_before_ = std::move(arcs_);
    arcs_ = MappedArray<std::uint32_t>(options_.folder, last - first);
    std::vector<std::uint64_t> cursor(trie_.n_words, kNoContext);  // next of the contexts of length n that end in w
    for (std::size_t i = 0; i < descendants_.size(); ++i)
      if (const std::uint32_t w = trie_.context_word[start(1) + i]; w < trie_.n_words) cursor[w] = descendants_[i];
    for (std::size_t e = first; e < last; ++e) {
      const std::uint32_t w = trie_.entry_word[e];
      const bool leads = w != 0 && cursor[w] != kNoContext && (n > 1 || trie_.entry_count[e] > 0);
      const std::uint64_t context = leads ? cursor[w]++ : kNoContext;
      if (leads && context_stays(context)) arcs_[e - first] = static_cast<std::uint32_t>(number(context));
      else arcs_[e - first] = n == 1 ? 0 : arcs_before_[trie_.entry_parent[e] - first_entry(n - 1)];
    }
    for (std::size_t i = 0; i < descendants_.size(); ++i) {
      const std::uint32_t w = trie_.context_word[start(1) + i];
      const std::uint64_t next = i + 1 < descendants_.size() ? descendants_[i + 1] : start(n + 1);
      require(w == trie_.n_words || cursor[w] == next,
              "n-gram trie: it lacks n-grams of its text, so that it cannot be estimated in files");
    }
    if (n + 1 < trie_.order)
      for (std::uint64_t& context : descendants_) context = trie_.context_child[context];
  }

  void estimate(std::size_t n) {
    const std::size_t k = n - 1;
    p_before_ = std::move(p_);
    p_ = MappedArray<double>(options_.folder, n < trie_.order ? last_entry(n) - first_entry(n) : 0);
    const auto of = [](const auto& starts, std::size_t i) { return static_cast<std::size_t>(starts[i]); };
    out_.contexts.reserve(of(out_.context_start, k), of(out_.context_start, k + 1));
    out_.entries.reserve(k == 0 ? 0 : slot_start_[k - 1], slot_start_[k]);
    Reused<Scratch> reused;
    pool_.run(levels_[k].size(), [&](std::size_t i) {
      auto scratch = reused.take([] { return std::make_unique<Scratch>(); });
      estimate_chunk(n, levels_[k][i], *scratch);
      reused.give(std::move(scratch));
    });
  }

  void estimate_chunk(std::size_t n, const Chunk& chunk, Scratch& scratch) {
    const std::size_t first = trie_.context_entry[chunk.begin], last = trie_.context_entry[chunk.end];
    scratch.p.resize(last - first);
    scratch.backoff.resize(chunk.end - chunk.begin);
    for (std::size_t c = chunk.begin; c < chunk.end; ++c)
      scratch.backoff[c - chunk.begin] = values(n, c, scratch.p.data() + (trie_.context_entry[c] - first));
    if (n < trie_.order) std::copy(scratch.p.begin(), scratch.p.end(), p_.data() + (first - first_entry(n)));
    simd::loops().log(scratch.p.data(), scratch.p.data(), scratch.p.size());
    simd::loops().log(scratch.backoff.data(), scratch.backoff.data(), scratch.backoff.size());
    std::uint64_t context = chunk.context, slot = chunk.slot;
    const auto write = [&](std::size_t parent, std::size_t c) {
      if (!context_stays(c)) return;
      const std::uint64_t size = slots_of(c == 0, n_own(n, c));
      out_.contexts[context++] = {static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(size),
                                  static_cast<std::uint32_t>(c == 0 ? 0 : number(parent)),
                                  c == 0 ? 0.0f : static_cast<float>(scratch.backoff[c - chunk.begin])};
      fill(n, c, scratch.p.data() + (trie_.context_entry[c] - first), out_.entries.data() + slot, size);
      slot += size;
    };
    if (n == 1) write(0, 0);
    else with_parents(trie_, n - 1, chunk.begin, chunk.end, write);
    if (options_.meter) options_.meter->done += last - first;
  }

  // Fills the probabilities of a context and returns its back-off.
  double values(std::size_t n, std::size_t c, double* p) const {
    const auto m = counts_.mass(n, c);
    if (n == 1) {
      for (std::size_t w = 0; w < trie_.n_words; ++w) p[w] = counts_.unigram(m, w);
      return 1.0;
    }
    const auto [scale, gamma] = counts_.factors(m);
    const std::size_t begin = trie_.context_entry[c], end = trie_.context_entry[c + 1], before = first_entry(n - 1);
    for (std::size_t e = begin; e < end; ++e)
      p[e - begin] = counts_.keep(orders_[n - 1], e) * scale + gamma * p_before_[trie_.entry_parent[e] - before];
    return gamma;
  }

  void fill(std::size_t n, std::size_t c, const double* log_p, AutomatonEntry* slots, std::uint64_t size) const {
    const std::size_t begin = trie_.context_entry[c], end = trie_.context_entry[c + 1];
    const auto entry = [&](std::size_t e) {
      const std::uint32_t next = n < trie_.order ? arcs_[e - first_entry(n)]
                                 : n == 1        ? 0
                                                 : arcs_[trie_.entry_parent[e] - first_entry(n - 1)];
      return AutomatonEntry{trie_.entry_word[e], static_cast<float>(log_p[e - begin]), next};
    };
    SlotWriter writer(slots, size, c == 0);
    for (std::size_t e = begin; e < end; ++e)
      if (stays(n, e)) writer.add(entry(e));
  }

  // What nothing after order n reads: its entries, its contexts but for their children, and the children before.
  void release(std::size_t n) {
    const std::size_t first = first_entry(n), last = last_entry(n);
    files_.entry_word.free(first, last);
    files_.entry_parent.free(first, last);
    files_.entry_count.free(first, last);
    adjusted_.free(std::min(first, adjusted_.size()), std::min(last, adjusted_.size()));
    files_.context_entry.free(start(n - 1), start(n));
    files_.context_count.free(start(n - 1), start(n));
    if (n > 2) {
      files_.context_word.free(start(n - 1), start(n));
      files_.context_child.free(start(n - 2), start(n - 1));
    }
  }

  static constexpr std::uint64_t kNoContext = ~std::uint64_t{0};
  ThreadPool& pool_;
  MappedTrie<Position>& files_;
  MappedArray<Position>& adjusted_;
  WideTrieView<Position> trie_;
  CountedMass<WideTrieView<Position>, Position> counts_;
  std::span<const OrderSmoothing> orders_;
  const CountedOptions& options_;
  bool cuts_;
  std::unique_ptr<RankedBits> kept_;
  std::vector<std::vector<Chunk>> levels_;   // [order]
  std::vector<std::uint64_t> slot_start_;    // [order] where the slots of a length end
  std::vector<std::uint64_t> descendants_;   // of each context of one word, the first of the length at hand
  MappedArray<std::uint32_t> arcs_, arcs_before_;  // of the entries of this order and the one before
  MappedArray<double> p_, p_before_;
  MappedAutomaton out_;
};

}  // namespace

template <class Position>
MappedAutomaton build_counted(ThreadPool& pool, MappedTrie<Position>& trie, MappedArray<Position>& adjusted,
                              std::span<const OrderSmoothing> orders, const CountedOptions& options) {
  require(adjusted.size() == 0 || adjusted.size() == static_cast<std::size_t>(trie.entry_start[trie.order - 1]),
          "smoothing: one adjusted count is needed for every entry below the highest order");
  check_settings(orders, trie.order);
  if (options.meter) options.meter->begin(trie.entry_word.size());
  return Builder<Position>(pool, trie, adjusted, orders, options).run();
}

#define LOGLINEAR_COUNTED(Position)                                                                       \
  template MappedAutomaton build_counted(ThreadPool&, MappedTrie<Position>&, MappedArray<Position>&,      \
                                         std::span<const OrderSmoothing>, const CountedOptions&);
LOGLINEAR_COUNTED(std::uint16_t)
LOGLINEAR_COUNTED(std::uint32_t)
LOGLINEAR_COUNTED(std::uint64_t)
#undef LOGLINEAR_COUNTED

}  // namespace loglinear::backoff
