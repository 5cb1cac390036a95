#include "backoff/automaton.hh"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>

#include "arpa/text.hh"
#include "trie/cuts.hh"
#include "util/errors.hh"

namespace loglinear::backoff {

using namespace trie;
namespace {

constexpr std::size_t kContextsInChunk = 1 << 13;

void demand(bool condition, const char* what) {
  if (!condition) throw InvalidInput(std::string("query arrays: ") + what);
}

bool usable(float x) { return x < std::numeric_limits<float>::infinity(); }  // not NaN; -infinity is log 0

// ---- building --------------------------------------------------------------------------------------------------

struct Arcs {
  std::vector<std::uint32_t> parents;  // [n_contexts]
  std::vector<std::uint32_t> next;     // [n_entries] the longest context that the words of the entry end in
  bool complete = true;                // every context is the next one of the entry that has its words
};

// Entries of one context after another: the next context of (h, w) is that of (parent of h, w) or, where that has as
// many words as h, its child by the oldest word of h.
std::size_t link_context(const TrieView& shape, std::uint32_t h, std::size_t k, Arcs& arcs) {
  const std::uint32_t parent = arcs.parents[h];
  std::uint32_t from = shape.context_entry[parent];
  std::size_t n_whole = 0;
  for (std::uint32_t e = shape.context_entry[h]; e < shape.context_entry[h + 1]; ++e) {
    const std::uint32_t word = shape.entry_word[e];
    std::uint32_t at = parent, shorter = shape.entry_after(from, parent, word);
    while (shorter == kNowhere) shorter = shape.entry(at = arcs.parents[at], word);
    const std::uint32_t nearest = arcs.next[shorter];
    const bool whole = at == parent && k + 1 < shape.order && nearest >= shape.context_start[k];
    const std::uint32_t child = whole ? shape.child(nearest, shape.context_word[h]) : kNowhere;
    arcs.next[e] = child == kNowhere ? nearest : child;
    n_whole += child != kNowhere;
  }
  return n_whole;
}

Arcs link(ThreadPool& pool, const TrieView& shape) {
  Arcs arcs{shape.parents(), std::vector<std::uint32_t>(shape.n_entries(), 0)};
  if (shape.order == 1) return arcs;
  for (std::uint32_t c = shape.context_child[0]; c < shape.context_child[1]; ++c)
    if (shape.context_word[c] < shape.n_words) arcs.next[shape.context_word[c]] = c;
  for (std::size_t k = 1; k < shape.order; ++k) {
    std::atomic<std::int64_t> n_whole{0};
    for_contexts(pool, shape, k, [&](std::uint32_t begin, std::uint32_t end) {
      std::size_t n = 0;
      for (std::uint32_t h = begin; h < end; ++h) n += link_context(shape, h, k, arcs);
      n_whole += static_cast<std::int64_t>(n);
    });
    if (k + 1 < shape.order && n_whole != shape.context_start[k + 2] - shape.context_start[k + 1])
      arcs.complete = false;
  }
  return arcs;
}

// The state that stands for each context: itself, or the nearest parent that matters.
std::vector<std::uint32_t> number_states(const BackoffArrays& model, const Arcs& arcs, OwnedAutomaton& out) {
  const TrieView& shape = model.shape;
  std::vector<std::uint32_t> state(shape.n_contexts());
  std::uint32_t n = 0;
  for (std::size_t k = 0; k < shape.order; ++k) {
    out.context_start.push_back(n);
    for (auto c = static_cast<std::size_t>(shape.context_start[k]);
         c < static_cast<std::size_t>(shape.context_start[k + 1]); ++c) {
      const bool matters = c == 0 || shape.context_entry[c] < shape.context_entry[c + 1] ||
                           static_cast<float>(model.log_backoff[c]) != 0.0f;
      state[c] = matters ? n++ : state[arcs.parents[c]];
    }
  }
  out.context_start.push_back(n);
  return state;
}

void lay_out(const BackoffArrays& model, const Arcs& arcs, std::span<const std::uint32_t> state, OwnedAutomaton& out) {
  const TrieView& shape = model.shape;
  out.contexts.resize(static_cast<std::size_t>(out.context_start.back()));
  std::uint64_t first = 0;
  std::size_t n = 0;
  for (std::size_t c = 0; c < shape.n_contexts(); ++c) {
    if (n == out.contexts.size() || state[c] != n) continue;
    const std::uint32_t own = shape.context_entry[c + 1] - shape.context_entry[c];
    const std::uint64_t size = slots_of(c == 0, own);
    const std::uint32_t parent = c == 0 ? 0 : state[arcs.parents[c]];
    const float log_backoff = c == 0 ? 0.0f : static_cast<float>(model.log_backoff[c]);
    out.contexts[n++] = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(size), parent, log_backoff};
    first += size;
    demand(first < kBlank, "more than 2^32 - 2 slots");
  }
  out.entries.resize(first);
}

void fill_context(const BackoffArrays& model, const Arcs& arcs, std::span<const std::uint32_t> state, std::uint32_t c,
                  OwnedAutomaton& out) {
  const TrieView& shape = model.shape;
  const AutomatonContext& own = out.contexts[state[c]];
  AutomatonEntry* const slots = out.entries.data() + own.first;
  const std::uint32_t begin = shape.context_entry[c], end = shape.context_entry[c + 1];
  const auto entry = [&](std::uint32_t e) {
    return AutomatonEntry{shape.entry_word[e], static_cast<float>(model.log_probability[e]), state[arcs.next[e]]};
  };
  SlotWriter writer(slots, own.size, c == 0);
  for (std::uint32_t e = begin; e < end; ++e) writer.add(entry(e));
}

OwnedAutomaton assemble(ThreadPool& pool, const BackoffArrays& model, const Arcs& arcs) {
  const TrieView& shape = model.shape;
  OwnedAutomaton out;
  out.n_words = shape.n_words;
  const std::vector<std::uint32_t> state = number_states(model, arcs, out);
  lay_out(model, arcs, state, out);
  parallel_for(pool, shape.n_contexts(), kContextsInChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c)
      if (c == 0 || shape.context_entry[c] < shape.context_entry[c + 1])
        fill_context(model, arcs, state, static_cast<std::uint32_t>(c), out);
  });
  const std::uint32_t start =
      shape.order > 1 ? shape.child(0, static_cast<std::uint32_t>(shape.n_words)) : kNowhere;
  out.begin = start == kNowhere ? 0 : state[start];
  return out;
}

// ---- checking --------------------------------------------------------------------------------------------------

// `next` is where the slots of the next context begin.
void check_context(const BackoffAutomaton& a, std::uint32_t c, std::size_t level_start, std::uint64_t next) {
  const AutomatonContext& own = a.contexts[c];
  const std::uint64_t end = std::uint64_t{own.first} + own.size;
  demand(end == next && end <= a.entries.size(), "the slots of contexts do not follow one another");
  demand(usable(own.log_backoff), "a back-off is NaN or infinity");
  demand(c == 0 ? own.parent == 0 : own.parent < level_start, "the parent of a context is not a shorter one");
}

void check_entries(const BackoffAutomaton& a, std::uint32_t c) {
  const AutomatonContext& own = a.contexts[c];
  const bool table = c != 0 && own.size > kListed;
  std::size_t n_blank = 0;
  for (std::uint32_t i = 0; i < own.size; ++i) {
    const AutomatonEntry& e = a.entries[own.first + i];
    if (table && e.word == kBlank) {
      ++n_blank;
      continue;
    }
    demand(e.word < a.n_words, "an entry has a word outside the vocabulary");
    demand(usable(e.log_probability), "a probability is NaN or infinity");
    demand(e.next < a.contexts.size(), "an entry leads to a context that does not exist");
    if (c == 0) demand(e.word == i, "the entries of the empty context are not those of the words");
    else if (!table)
      demand(i == 0 || a.entries[own.first + i - 1].word < e.word, "the words of a context do not ascend");
  }
  if (!table) return;
  demand(n_blank > 0, "a table has no blank slot");
  for (std::uint32_t i = 0; i < own.size; ++i) {
    const AutomatonEntry* const e = &a.entries[own.first + i];
    if (e->word != kBlank) demand(a.find(c, e->word, a.seek(c, e->word)) == e, "an entry is not where it is sought");
  }
}

// Where the slots of the context after c begin.
std::uint64_t after(const BackoffAutomaton& a, std::size_t c) {
  return c + 1 < a.contexts.size() ? a.contexts[c + 1].first : a.entries.size();
}

}  // namespace

OwnedAutomaton build_automaton(ThreadPool& pool, const BackoffArrays& model) {
  Arcs arcs = link(pool, model.shape);
  if (arcs.complete) return assemble(pool, model, arcs);
  const arpa::OwnedBackoff completed = arpa::closed(pool, model);
  const BackoffArrays whole = completed;
  arcs = link(pool, whole.shape);
  if (!arcs.complete) throw InvalidInput("query arrays: the model could not be completed");
  return assemble(pool, whole, arcs);
}

void BackoffAutomaton::check_frame() const {
  demand(context_start.size() >= 2 && order() <= kHighestOrder, "the order must be between 1 and 255");
  demand(n_words >= 1 && n_words < kBlank, "there must be between 1 and 2^32 - 2 words");
  demand(contexts.size() < kBlank && entries.size() < kBlank, "more than 2^32 - 2 contexts or slots");
  demand(context_start[0] == 0 && context_start[1] == 1 && std::is_sorted(context_start.begin(), context_start.end()) &&
             context_start.back() == static_cast<std::int64_t>(contexts.size()),
         "context_start does not fit the contexts");
  demand(begin < contexts.size(), "the state after <s> does not exist");
  demand(contexts[0].first == 0 && contexts[0].size == n_words && entries.size() >= n_words,
         "the empty context does not have one entry for each word");
  if (!blocks) check_context(*this, 0, 0, after(*this, 0));  // otherwise this is done with its block
  check_entries(*this, 0);
}

void BackoffAutomaton::check_contexts(std::uint32_t first, std::uint32_t last, std::uint64_t end) const {
  for (std::uint32_t c = first; c < last; ++c) {
    const std::uint64_t next = c + 1 < last ? contexts[c + 1].first : end;
    check_context(*this, c, static_cast<std::size_t>(context_start[length(c)]), next);
    if (c > 0) check_entries(*this, c);
  }
}

void BackoffAutomaton::check(ThreadPool& pool) const {
  check_frame();
  if (blocks) {
    parallel_for(pool, blocks->size(), 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t block = from; block < to; ++block)
        if (!blocks->done(block)) blocks->enter(*this, block);
    });
    return;
  }
  for (std::size_t k = 0; k < order(); ++k) {
    const auto start = static_cast<std::size_t>(context_start[k]);
    parallel_for(pool, static_cast<std::size_t>(context_start[k + 1]) - start, kContextsInChunk,
                 [&](std::size_t from, std::size_t to) {
                   for (std::size_t c = start + from; c < start + to; ++c)
                     check_context(*this, static_cast<std::uint32_t>(c), start, after(*this, c));
                 });
  }
  parallel_for(pool, contexts.size(), kContextsInChunk, [&](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) check_entries(*this, static_cast<std::uint32_t>(c));
  });
}

// ---- blocks of a file -------------------------------------------------------------------------------------------

CheckedBlocks::CheckedBlocks(const BackoffAutomaton& automaton, const StoredAutomaton* stored)
    : stored_(stored), done_((automaton.contexts.size() >> kBlockBits) + 1) {
  if (!stored_) return;
  if (automaton.contexts.empty() || automaton.entries.size() < automaton.n_words)
    throw InvalidInput("query arrays: the empty context does not have one entry for each word");
  claim(0, automaton.n_words);
  stored_->file->read(stored_->contexts, sizeof(AutomatonContext), stored_->contexts_at);
  stored_->file->read(stored_->entries, automaton.n_words * sizeof(AutomatonEntry), stored_->entries_at);
}

void CheckedBlocks::enter(const BackoffAutomaton& a, std::size_t block) const {
  const std::lock_guard lock(locks_[block % locks_.size()]);
  if (done(block)) return;
  const auto first = static_cast<std::uint32_t>(block << kBlockBits);
  const auto last = static_cast<std::uint32_t>(std::min<std::size_t>(first + kContextsInBlock, a.contexts.size()));
  if (stored_) {
    read_and_check(a, first, last);
  } else if (first < last) {
    a.check_contexts(first, last, last < a.contexts.size() ? a.contexts[last].first : a.entries.size());
  }
  done_[block].store(1, std::memory_order_release);
}

void CheckedBlocks::read_and_check(const BackoffAutomaton& a, std::uint32_t first, std::uint32_t last) const {
  if (first == last) return;
  const std::size_t n = last - first, n_read = n + (last < a.contexts.size() ? 1 : 0);
  std::vector<AutomatonContext> own(n_read);  // and the one after them, which is another block's
  stored_->file->read(own.data(), n_read * sizeof(AutomatonContext),
                      stored_->contexts_at + std::uint64_t{first} * sizeof(AutomatonContext));
  const std::size_t skipped = first == 0 ? 1 : 0;  // the empty context is there already
  const std::uint64_t end = n_read > n ? own[n].first : a.entries.size();
  const std::uint64_t begin = skipped < n_read ? own[skipped].first : end;
  if (begin > end || end > a.entries.size())
    throw InvalidInput("query arrays: the slots of contexts do not follow one another");
  claim(begin, end);
  try {
    std::copy(own.begin() + static_cast<std::ptrdiff_t>(skipped), own.begin() + static_cast<std::ptrdiff_t>(n),
              stored_->contexts + first + skipped);
    stored_->file->read(stored_->entries + begin, (end - begin) * sizeof(AutomatonEntry),
                        stored_->entries_at + begin * sizeof(AutomatonEntry));
    a.check_contexts(first, last, end);
  } catch (...) {
    release(begin, end);
    throw;
  }
}

void CheckedBlocks::claim(std::uint64_t begin, std::uint64_t end) const {
  if (begin == end) return;
  const std::lock_guard lock(claims_lock_);
  const auto next = claims_.lower_bound(begin);
  const bool is_free = (next == claims_.end() || next->first >= end) &&
                       (next == claims_.begin() || std::prev(next)->second <= begin);
  if (!is_free) throw InvalidInput("query arrays: the slots of contexts do not follow one another");
  claims_.emplace(begin, end);
}

void CheckedBlocks::release(std::uint64_t begin, std::uint64_t end) const {
  if (begin == end) return;
  const std::lock_guard lock(claims_lock_);
  claims_.erase(begin);
}

}  // namespace loglinear::backoff
