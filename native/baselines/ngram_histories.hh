// Baseline: the histories of an n-gram trie, the contexts in which tokens are predicted, and the number of terms that
// each method of computing their normalisers sums.
//
// A history is a context that is the longest of the trie for some token: with no count cut off, order - 1 words, or
// fewer after <s>. The terms summed for all normalisers (Wu's dissertation, chapter 3, tables 3.6 and 3.7):
//
//   naive             |V| per history
//   unigram caching   |Y_x| per history x, Y_x the words with an entry of order two or more; in a closed trie that is
//                     the words of the bigram context of x
//   hierarchical      one per entry of the trie
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "trie/view.hh"

namespace loglinear::baselines {

struct TermCounts {
  std::uint64_t histories = 0, naive = 0, unigram_caching = 0, hierarchical = 0;
};

// A trie, checked once, with its contexts linked upwards.
class NgramHistories {
 public:
  explicit NgramHistories(const trie::TrieView& trie);  // throws InvalidInput where the arrays are no closed trie

  trie::TrieView trie;
  std::vector<std::uint32_t> parent;     // [n_contexts]; kNowhere for the empty context
  std::vector<std::uint32_t> own;        // [n_contexts] tokens whose longest context this is
  std::vector<std::uint32_t> histories;  // contexts with own tokens, ascending

  TermCounts terms() const;

  // A length-one context with some of its children and all below them: what one thread walks through alone.
  struct Unit {
    std::uint32_t context, child_begin, child_end;
    bool with_self;  // the context itself is looked at here
    bool whole;      // and all its children are
  };
  struct Units {
    std::vector<Unit> units;
    std::vector<std::size_t> cuts;  // pieces: units [cuts[i], cuts[i + 1])
  };
  using Cost = std::function<std::uint64_t(std::uint32_t)>;
  // Pieces of about `work` terms, each history below the length-one context b costing cost(b); whatever the threads.
  // A context that costs more is split among pieces, if `split`.
  Units cut(std::uint64_t work, bool split, const Cost& cost) const;

 private:
  std::vector<std::uint32_t> histories_below() const;  // [n_contexts], the context itself included
};

}  // namespace loglinear::baselines
