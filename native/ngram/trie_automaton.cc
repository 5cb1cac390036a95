#include "ngram/trie_automaton.hh"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "trie/cuts.hh"
#include "util/errors.hh"
#include "util/reused.hh"
#include "util/views.hh"

namespace loglinear::ngram {

using namespace trie;
using backoff::AutomatonContext, backoff::AutomatonEntry, backoff::kBlank, backoff::SlotWriter, backoff::slots_of;
namespace {

constexpr std::size_t kLinkPieces = 32;  // of the entries of an order, for each of which cursors begin anew

// The first of the ascending words [begin, end) that is not below `word`; near words are found in a few steps.
std::uint32_t seek_word(std::span<const std::uint32_t> words, std::uint32_t begin, std::uint32_t end,
                        std::uint32_t word) {
  std::uint32_t at = begin;
  std::uint64_t step = 1;
  while (at + step < end && words[at + step] < word) at += static_cast<std::uint32_t>(step), step *= 2;
  const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(at + step + 1, end));
  return static_cast<std::uint32_t>(std::lower_bound(words.begin() + at, words.begin() + last, word) - words.begin());
}

}  // namespace

TrieAutomaton::TrieAutomaton(ThreadPool& pool, const TrieView& trie, const TrieValues& values,
                             std::span<std::uint8_t> keep, std::span<std::uint32_t> links)
    : trie_(trie), values_(values), keep_(keep), links_(links) {
  check(pool);
  stays_ = RankedBits(trie_.n_contexts());
  states_ = RankedBits(trie_.n_contexts());
  link(pool);
  close(pool);
  number(pool);
  lead(pool);
  const std::uint32_t after_begin =
      trie_.order > 1 ? trie_.child(0, static_cast<std::uint32_t>(trie_.n_words)) : kNowhere;
  if (after_begin != kNowhere) begin_ = state_of(1, after_begin);
}

void TrieAutomaton::check(ThreadPool& pool) const {
  constexpr const char* name = "n-gram model on a trie";
  trie_.check_layout(name);
  require(trie_.order <= kHighestOrder, "n-gram model on a trie: the order must be between 1 and 255");
  require(trie_.entry_parent.size() == trie_.n_entries() && keep_.size() == trie_.n_entries() &&
              values_.log_probability.size() == trie_.n_entries() &&
              values_.log_backoff.size() == trie_.n_contexts() &&
              links_.size() == static_cast<std::size_t>(trie_.entry_start[trie_.order - 1]),
          "n-gram model on a trie: one number is needed for every context, or for every entry");
  for (std::size_t k = 0; k < trie_.order; ++k)
    for_contexts(pool, trie_, k, [&](std::size_t begin, std::size_t end) { trie_.check_entries(name, k, begin, end); });
}

std::uint64_t TrieAutomaton::n_own(std::size_t c) const {
  std::uint64_t n = 0;
  for (std::size_t e = trie_.context_entry[c]; e < trie_.context_entry[c + 1]; ++e) n += keep_[e] != 0;
  return n;
}

void TrieAutomaton::link(ThreadPool& pool) {
  if (trie_.order == 1) return;
  std::fill(links_.begin(), links_.begin() + static_cast<std::ptrdiff_t>(trie_.n_words), kNowhere);
  for (std::size_t c = start(1); c < start(2); ++c)
    if (trie_.context_word[c] < trie_.n_words) links_[trie_.context_word[c]] = static_cast<std::uint32_t>(c);
  for (std::size_t k = 1; k + 1 < trie_.order; ++k) {
    const std::size_t n_entries = trie_.context_entry[start(k + 1)] - trie_.context_entry[start(k)];
    const std::size_t work = n_entries + start(k + 1) - start(k);
    const std::size_t scale = work / (kLinkPieces * kTrieChunk) + 1;
    const auto cuts =
        cut_range(start(k), start(k + 1), [&](std::size_t c) { return (trie_.context_entry[c] + c) / scale; });
    pool.run(cuts.size() - 1, [&](std::size_t i) { link_contexts(cuts[i], cuts[i + 1]); });
  }
}

// The entry (h, w) has the words of a child of the context that its parent has the words of: that by the oldest of h.
void TrieAutomaton::link_contexts(std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> cursor(trie_.n_words, 0);  // of the contexts that end in a word
  for (std::size_t h = begin; h < end; ++h)
    for (std::size_t e = trie_.context_entry[h]; e < trie_.context_entry[h + 1]; ++e) {
      links_[e] = kNowhere;
      const std::uint32_t parent = links_[trie_.entry_parent[e]];
      if (parent == kNowhere) continue;
      std::uint32_t& at = cursor[trie_.entry_word[e]];
      const std::uint32_t last = trie_.context_child[parent + 1];
      at = std::max(at, trie_.context_child[parent]);
      if (at >= last) continue;
      at = seek_word(trie_.context_word, at, last, trie_.context_word[h]);
      if (at < last && trie_.context_word[at] == trie_.context_word[h]) links_[e] = at++;
    }
}

// From the longest n-grams down: which contexts stay, and which n-grams these need.
void TrieAutomaton::close(ThreadPool& pool) {
  std::fill(keep_.begin(), keep_.begin() + static_cast<std::ptrdiff_t>(trie_.n_words), std::uint8_t{1});
  for (std::size_t k = trie_.order - 1; k > 0; --k) {
    for_contexts(pool, trie_, k, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        bool stays = n_own(c) > 0;
        for (std::size_t d = trie_.context_child[c]; d < trie_.context_child[c + 1] && !stays; ++d)
          stays = stays_.has(d);
        if (stays) stays_.set(c);
      }
    });
    const auto first = static_cast<std::size_t>(trie_.entry_start[k - 1]);
    parallel_for(pool, static_cast<std::size_t>(trie_.entry_start[k]) - first, kTrieChunk,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t e = first + begin; e < first + end; ++e)
                     if (links_[e] != kNowhere && stays_.has(links_[e])) keep_[e] = 1;
                 });
  }
  stays_.set(0);
}

// Which contexts are states, and where the states and slots of every chunk begin.
void TrieAutomaton::number(ThreadPool& pool) {
  levels_.resize(trie_.order);
  context_start_ = {0};
  std::uint64_t context = 0, slot = 0;
  for (std::size_t k = 0; k < trie_.order; ++k) {
    const auto cuts = cut_range(start(k), start(k + 1), [&](std::size_t c) { return trie_.context_entry[c] + c; });
    std::vector<Chunk>& chunks = levels_[k];
    chunks.resize(cuts.size() - 1);
    pool.run(chunks.size(), [&](std::size_t i) {
      Chunk& chunk = chunks[i] = {cuts[i], cuts[i + 1], 0, 0};
      for (std::size_t c = chunk.begin; c < chunk.end; ++c) {
        if (!stays_.has(c)) continue;
        const std::uint64_t own = n_own(c);
        if (c != 0 && own == 0 && static_cast<float>(values_.log_backoff[c]) == 0.0f) continue;
        states_.set(c);
        ++chunk.context, chunk.slot += slots_of(c == 0, own);
      }
    });
    for (Chunk& chunk : chunks) {
      context += std::exchange(chunk.context, context);
      slot += std::exchange(chunk.slot, slot);
    }
    context_start_.push_back(static_cast<std::int64_t>(context));
  }
  if (context >= kBlank || slot >= kBlank)
    throw InvalidInput("the model would have " + std::to_string(slot) +
                       " slots of n-grams, more than the 4294967294 that a model file can number; leave out rare "
                       "n-grams (min_count), or use a lower order");
  n_slots_ = static_cast<std::size_t>(slot);
  states_.count();
}

// From contexts to states: that of an entry's words, or the one that its parent leads to.
void TrieAutomaton::lead(ThreadPool& pool) {
  for (std::size_t n = 1; n < trie_.order; ++n) {
    const auto first = static_cast<std::size_t>(trie_.entry_start[n - 1]);
    parallel_for(pool, static_cast<std::size_t>(trie_.entry_start[n]) - first, kTrieChunk,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t e = first + begin; e < first + end; ++e) {
                     const std::uint32_t context = links_[e];
                     if (context != kNowhere && states_.has(context))
                       links_[e] = static_cast<std::uint32_t>(states_.rank(context));
                     else links_[e] = n == 1 ? 0 : links_[trie_.entry_parent[e]];
                   }
                 });
  }
}

// The state of a context of length k: itself, or the longest one that it ends in.
std::uint32_t TrieAutomaton::state_of(std::size_t k, std::size_t c) const {
  for (; k > 0 && !states_.has(c); --k) c = parent_context(trie_, k, c);
  return k == 0 ? 0 : static_cast<std::uint32_t>(states_.rank(c));
}

void TrieAutomaton::write(ThreadPool& pool, std::span<AutomatonContext> contexts,
                          std::span<AutomatonEntry> entries) const {
  require(contexts.size() == n_contexts() && entries.size() == n_slots(),
          "n-gram model on a trie: the arrays of the automaton are not as long as they must be");
  for (std::size_t k = 0; k < trie_.order; ++k)
    pool.run(levels_[k].size(), [&](std::size_t i) { write_chunk(k, levels_[k][i], contexts, entries); });
}

void TrieAutomaton::write_chunk(std::size_t k, const Chunk& chunk, std::span<AutomatonContext> contexts,
                                std::span<AutomatonEntry> entries) const {
  std::uint64_t context = chunk.context, slot = chunk.slot;
  const auto write = [&](std::size_t parent, std::size_t c) {
    if (!states_.has(c)) return;
    const std::uint64_t size = slots_of(c == 0, n_own(c));
    contexts[context++] = {static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(size),
                           c == 0 ? 0 : state_of(k - 1, parent),
                           c == 0 ? 0.0f : static_cast<float>(values_.log_backoff[c])};
    SlotWriter writer(entries.data() + slot, size, c == 0);
    for (std::size_t e = trie_.context_entry[c]; e < trie_.context_entry[c + 1]; ++e) {
      if (!keep_[e]) continue;
      const std::uint32_t next = k + 1 < trie_.order ? links_[e] : k == 0 ? 0 : links_[trie_.entry_parent[e]];
      writer.add({trie_.entry_word[e], static_cast<float>(values_.log_probability[e]), next});
    }
    slot += size;
  };
  if (k == 0) write(0, 0);
  else with_parents(trie_, k, chunk.begin, chunk.end, write);
}

}  // namespace loglinear::ngram
