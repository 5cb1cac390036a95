#include "backoff/pruning.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "trie/cuts.hh"
#include "trie/view.hh"
#include "util/cancellation.hh"
#include "util/views.hh"

namespace loglinear::backoff {

using namespace trie;
namespace {

constexpr double kTiny = std::numeric_limits<double>::min();

struct Entries {
  std::size_t begin, end;
};
Entries entries(const BackoffArrays& m, std::size_t c) {
  return {m.shape.context_entry[c], m.shape.context_entry[c + 1]};
}

std::size_t length_of(const BackoffArrays& m, std::size_t c) {
  const auto after =
      std::upper_bound(m.shape.context_start.begin(), m.shape.context_start.end(), static_cast<std::int64_t>(c));
  return static_cast<std::size_t>(after - m.shape.context_start.begin()) - 1;
}

// The entry of [range.begin, range.end) for the word, or range.end.
std::size_t find_word(const BackoffArrays& m, Entries range, std::uint32_t word) {
  const auto first = m.shape.entry_word.begin() + range.begin, last = m.shape.entry_word.begin() + range.end;
  const auto at = std::lower_bound(first, last, word);
  return at != last && *at == word ? static_cast<std::size_t>(at - m.shape.entry_word.begin()) : range.end;
}

// log p(word | c), backing off as far as needed; every word has a unigram.
double log_probability(const BackoffArrays& m, std::size_t c, std::uint32_t word) {
  double backoff = 0.0;
  for (std::size_t k = length_of(m, c);; --k) {
    const Entries own = entries(m, c);
    if (const std::size_t e = find_word(m, own, word); e != own.end) return backoff + m.log_probability[e];
    backoff += m.log_backoff[c];
    c = parent_context(m.shape, k, c);
  }
}

// Calls body(e, q) for the entries e of c: q is the entry of the parent for the same word, or kNowhere.
template <class Body>
void with_parent_entries(const BackoffArrays& m, std::size_t parent, std::size_t c, Body body) {
  const Entries own = entries(m, c);
  const auto last = m.shape.entry_word.begin() + m.shape.context_entry[parent + 1];
  auto at = m.shape.entry_word.begin() + m.shape.context_entry[parent];
  for (std::size_t e = own.begin; e < own.end; ++e) {
    at = std::lower_bound(at, last, m.shape.entry_word[e]);
    const bool found = at != last && *at == m.shape.entry_word[e];
    body(e, found ? static_cast<std::uint32_t>(at - m.shape.entry_word.begin()) : kNowhere);
  }
}

double probability_below(const BackoffArrays& m, std::size_t parent, std::size_t e, std::uint32_t q) {
  return std::exp(q != kNowhere ? m.log_probability[q] : log_probability(m, parent, m.shape.entry_word[e]));
}

// Sum of p(w | parent) over the words that c lacks; 0 where it lacks none.
double below(const BackoffArrays& m, std::span<const double> unseen, std::size_t parent, std::size_t c) {
  const Entries own = entries(m, c), all = entries(m, parent);
  if (own.end - own.begin == m.shape.n_words) return 0.0;
  double seen = 0.0, orphans = 0.0;
  with_parent_entries(m, parent, c, [&](std::size_t e, std::uint32_t q) {
    const double p = probability_below(m, parent, e, q);
    seen += p;
    if (q == kNowhere) orphans += p;
  });
  if (1.0 - seen >= kCancelledRest) return 1.0 - seen;
  double sum = unseen[parent] - orphans;
  std::size_t e = own.begin;
  for (std::size_t q = all.begin; q < all.end; ++q) {
    while (e < own.end && m.shape.entry_word[e] < m.shape.entry_word[q]) ++e;
    if (e == own.end || m.shape.entry_word[e] != m.shape.entry_word[q]) sum += std::exp(m.log_probability[q]);
  }
  return std::max(sum, kTiny);
}

void check_per_context(const BackoffArrays& m, std::size_t n) {
  require(n == m.shape.n_contexts(), "pruning: one number per context is needed");
}

// ---- relative entropy -------------------------------------------------------------------------------------------
// Of every context h = (.., v): the n-gram it is, as the entry of v after the words before it, and log p(h).
class Histories {
 public:
  Histories(ThreadPool& pool, const BackoffArrays& m)
      : entry(m.shape.n_contexts(), kNowhere),
        log_p(m.shape.n_contexts(), 0.0),
        m_(m),
        before_(m.shape.n_contexts(), 0),
        newest_(m.shape.n_contexts(), kNowhere) {
    for (std::size_t k = 1; k < m.shape.order; ++k)
      for_contexts(pool, m.shape, k, [&](std::size_t begin, std::size_t end) {
        with_parents(m.shape, k, begin, end, [&](std::size_t parent, std::size_t c) { visit(k, parent, c); });
      });
  }

  std::vector<std::uint32_t> entry;  // [n_contexts]; kNowhere where there is none
  std::vector<double> log_p;         // [n_contexts]

 private:
  void visit(std::size_t k, std::size_t parent, std::size_t c) {
    newest_[c] = k == 1 ? m_.shape.context_word[c] : newest_[parent];
    before_[c] = k == 1 ? 0 : longer(before_[parent], m_.shape.context_word[c]);
    if (newest_[c] >= m_.shape.n_words) {  // <s>: there are as many as </s>
      log_p[c] = m_.log_probability[0];
      return;
    }
    log_p[c] = log_p[before_[c]] + log_probability(m_, before_[c], newest_[c]);
    if (length_of(m_, before_[c]) + 1 != k) return;
    const Entries range = entries(m_, before_[c]);
    if (const std::size_t e = find_word(m_, range, newest_[c]); e != range.end)
      entry[c] = static_cast<std::uint32_t>(e);
  }

  // The child of c with this oldest word; c itself where there is none, which leaves a shorter history.
  std::uint32_t longer(std::uint32_t c, std::uint32_t word) const {
    const auto first = m_.shape.context_word.begin() + m_.shape.context_child[c];
    const auto last = m_.shape.context_word.begin() + m_.shape.context_child[c + 1];
    const auto at = std::lower_bound(first, last, word);
    return at != last && *at == word ? static_cast<std::uint32_t>(at - m_.shape.context_word.begin()) : c;
  }

  const BackoffArrays& m_;
  std::vector<std::uint32_t> before_;  // the context without its newest word, or the longest ending of it there is
  std::vector<std::uint32_t> newest_;
};

// keep[e] of the entries of c: on entry 1 where a longer n-gram needs it.
void cut_context(const BackoffArrays& m, std::span<const double> unseen, double log_history, double threshold,
                 std::size_t parent, std::size_t c, std::span<std::uint8_t> keep) {
  const double history = std::exp(log_history), lower = below(m, unseen, parent, c), upper = unseen[c];
  with_parent_entries(m, parent, c, [&](std::size_t e, std::uint32_t q) {
    if (keep[e]) return;
    const double log_p = m.log_probability[e], p = std::exp(log_p), p_below = probability_below(m, parent, e, q);
    const double log_backoff = std::log((upper + p) / (lower + p_below));
    const double own = p * (std::log(p_below) + log_backoff - log_p);
    const double others = upper > 0.0 ? upper * (log_backoff - m.log_backoff[c]) : 0.0;
    keep[e] = std::expm1(-history * (own + others)) >= threshold;
  });
}

}  // namespace

void check_prunable(ThreadPool& pool, const BackoffArrays& m) {
  m.shape.check_layout("back-off model");
  require(m.log_backoff.size() == m.shape.n_contexts() && m.log_probability.size() == m.shape.n_entries(),
          "back-off model: one logarithm per context and per entry is needed");
  for (std::size_t k = 0; k < m.shape.order; ++k)
    for_contexts(pool, m.shape, k, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c)
        for (std::size_t e = m.shape.context_entry[c]; e < m.shape.context_entry[c + 1]; ++e)
          if (m.shape.entry_word[e] >= m.shape.n_words ||
              (e > m.shape.context_entry[c] && m.shape.entry_word[e] <= m.shape.entry_word[e - 1]))
            throw InvalidInput("back-off model: the words of context " + std::to_string(c) + " do not ascend below " +
                               std::to_string(m.shape.n_words));
    });
}

void unseen_mass(ThreadPool& pool, const BackoffArrays& m, std::span<double> unseen) {
  check_per_context(m, unseen.size());
  unseen[0] = 0.0;
  for (std::size_t k = 1; k < m.shape.order; ++k)
    for_contexts(pool, m.shape, k, [&](std::size_t begin, std::size_t end) {
      with_parents(m.shape, k, begin, end, [&](std::size_t parent, std::size_t c) {
        unseen[c] = std::exp(m.log_backoff[c]) * below(m, unseen, parent, c);
      });
    });
}

void add_cut_mass(ThreadPool& pool, const BackoffArrays& m, std::span<const std::uint8_t> keep,
                  std::span<double> unseen) {
  check_per_context(m, unseen.size());
  require(keep.size() == m.shape.n_entries(), "pruning: one flag per entry is needed");
  for (std::size_t k = 0; k < m.shape.order; ++k)
    for_contexts(pool, m.shape, k, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c)
        for (std::size_t e = m.shape.context_entry[c]; e < m.shape.context_entry[c + 1]; ++e)
          if (!keep[e]) unseen[c] += std::exp(m.log_probability[e]);
    });
}

void backoff_of_unseen(ThreadPool& pool, const BackoffArrays& m, std::span<const double> unseen,
                       std::span<double> log_backoff) {
  check_per_context(m, unseen.size());
  check_per_context(m, log_backoff.size());
  BackoffArrays model = m;
  model.log_backoff = log_backoff;  // those of shorter contexts, already right, serve entries without a parent
  log_backoff[0] = 0.0;
  for (std::size_t k = 1; k < m.shape.order; ++k)
    for_contexts(pool, m.shape, k, [&](std::size_t begin, std::size_t end) {
      with_parents(m.shape, k, begin, end, [&](std::size_t parent, std::size_t c) {
        const bool empty = m.shape.context_entry[c] == m.shape.context_entry[c + 1];
        const double lower = empty ? 0.0 : below(model, unseen, parent, c);
        log_backoff[c] = lower > 0.0 ? std::log(std::max(unseen[c], kTiny)) - std::log(lower) : 0.0;
      });
    });
}

void entropy_cut(ThreadPool& pool, const BackoffArrays& m, std::span<const double> unseen, double threshold,
                 std::span<std::uint8_t> keep) {
  check_per_context(m, unseen.size());
  require(keep.size() == m.shape.n_entries(), "pruning: one flag per entry is needed");
  require(threshold >= 0.0, "pruning: the threshold must not be negative");
  const Histories histories(pool, m);
  std::fill(keep.begin(), keep.end(), std::uint8_t{0});
  for (std::size_t k = m.shape.order - 1; k > 0; --k) {
    for_contexts(pool, m.shape, k, [&](std::size_t begin, std::size_t end) {
      with_parents(m.shape, k, begin, end, [&](std::size_t parent, std::size_t c) {
        cut_context(m, unseen, histories.log_p[c], threshold, parent, c, keep);
        const auto own =
            keep.subspan(m.shape.context_entry[c], m.shape.context_entry[c + 1] - m.shape.context_entry[c]);
        if (histories.entry[c] != kNowhere && std::any_of(own.begin(), own.end(), [](auto flag) { return flag; }))
          keep[histories.entry[c]] = 1;  // each context is another n-gram: no two threads write one flag
      });
    });
    for_contexts_by_children(pool, m.shape, k - 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t parent = begin; parent < end; ++parent)
        for (std::size_t c = m.shape.context_child[parent]; c < m.shape.context_child[parent + 1]; ++c)
          with_parent_entries(m, parent, c, [&](std::size_t e, std::uint32_t q) {
            if (keep[e] && q != kNowhere) keep[q] = 1;
          });
    });
  }
  std::fill(keep.begin(), keep.begin() + static_cast<std::ptrdiff_t>(m.shape.n_words), std::uint8_t{1});
}

SelectedModel select_entries(const BackoffArrays& m, std::span<const std::uint8_t> keep,
                             std::span<std::uint8_t> contexts) {
  require(keep.size() == m.shape.n_entries(), "pruning: one flag per entry is needed");
  check_per_context(m, contexts.size());
  const auto any = [](std::span<const std::uint8_t> flags, std::size_t begin, std::size_t end) {
    return std::find_if(flags.begin() + begin, flags.begin() + end, [](auto flag) { return flag; }) !=
           flags.begin() + end;
  };
  std::size_t n_entries = 0, n_contexts = 0;
  for (const std::uint8_t flag : keep) n_entries += flag != 0;
  for (std::size_t c = m.shape.n_contexts(); c-- > 0;) {  // children have larger numbers
    contexts[c] = c == 0 || any(keep, m.shape.context_entry[c], m.shape.context_entry[c + 1]) ||
                  any(contexts, m.shape.context_child[c], m.shape.context_child[c + 1]);
    n_contexts += contexts[c];
  }
  SelectedModel out;
  for (auto* list : {&out.context_word, &out.context_child, &out.context_entry}) list->reserve(n_contexts + 1);
  out.log_backoff.reserve(n_contexts);
  out.entry_word.reserve(n_entries);
  out.log_probability.reserve(n_entries);
  std::uint32_t children = 1;
  for (std::size_t k = 0; k < m.shape.order; ++k) {
    out.context_start.push_back(static_cast<std::int64_t>(out.context_word.size()));
    out.entry_start.push_back(static_cast<std::int64_t>(out.entry_word.size()));
    for (std::int64_t c = m.shape.context_start[k]; c < m.shape.context_start[k + 1]; ++c) {
      if (!contexts[c]) continue;
      out.context_word.push_back(m.shape.context_word[c]);
      out.log_backoff.push_back(m.log_backoff[c]);
      out.context_child.push_back(children);
      for (std::size_t child = m.shape.context_child[c]; child < m.shape.context_child[c + 1]; ++child)
        children += contexts[child];
      out.context_entry.push_back(static_cast<std::uint32_t>(out.entry_word.size()));
      for (std::size_t e = m.shape.context_entry[c]; e < m.shape.context_entry[c + 1]; ++e) {
        if (!keep[e]) continue;
        out.entry_word.push_back(m.shape.entry_word[e]);
        out.log_probability.push_back(m.log_probability[e]);
      }
    }
  }
  out.context_start.push_back(static_cast<std::int64_t>(n_contexts));
  out.entry_start.push_back(static_cast<std::int64_t>(n_entries));
  out.context_child.push_back(children);
  out.context_entry.push_back(static_cast<std::uint32_t>(n_entries));
  return out;
}

}  // namespace loglinear::backoff
