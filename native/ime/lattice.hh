// The words that fit a reading, and for every state of the language model at every place the best score to the end.
//
// Nodes 0 .. n are the places between the characters of a reading, node n + 1 is behind the end of the sentence. Arcs
// from a node are runs of lexemes, one for each reading that begins there. With c a context of the automaton, l a
// lexeme from node i to node j, and weights as in ime/index.hh,
//
//     best_i(c) = max( max over entries l of c:  weight(l | c) + channel(l) + best_j(state after),
//                      backoff(c) + best_i(parent c), by lexemes alone that c has no entry for )
//     best_i(empty) = max over lexemes l:  weight(l) + channel(l) + best_j(state of l),      best_{n+1} = 0
//
// computed backward. A context none of whose entries fits behaves as its parent does; nearly all are of this kind, and
// known by their `follows` without being visited. For the others the first lexeme of the parent's best path is kept:
// only where c has an entry for it, and all entries of c are worse than that path, are lexemes of shorter contexts
// looked at one by one. (Without the exception for lexemes with an entry the recursion would be an upper bound, not
// met: to back off where there is an entry costs little and leads to a shorter context, which may pay later.)
//
// A character that is no reading by itself can always be typed through, as an unknown word written as it is read.
// Blanks in a reading part it into pieces: no word crosses them or, where pieces are words, every word is a whole
// piece.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ime/index.hh"

namespace loglinear::ime {

// Pairs of numbers to values; emptied in the time that it took to fill.
template <class Value>
class PairTable {
 public:
  PairTable() : keys_(1 << 10, kFree), values_(1 << 10) {}
  Value* find(std::uint32_t a, std::uint32_t b) {
    const std::size_t at = locate(key(a, b));
    return keys_[at] == kFree ? nullptr : &values_[at];
  }
  // False where the pair is there already.
  bool add(std::uint32_t a, std::uint32_t b, Value value) {
    if (2 * (used_.size() + 1) > keys_.size()) grow();
    const std::size_t at = locate(key(a, b));
    if (keys_[at] != kFree) return false;
    keys_[at] = key(a, b), values_[at] = value;
    used_.push_back(at);
    return true;
  }
  // The value of a pair, which becomes this one where it is new.
  Value find_or_add(std::uint32_t a, std::uint32_t b, Value value) {
    return add(a, b, value) ? value : *find(a, b);
  }
  void clear() {
    for (const std::size_t at : used_) keys_[at] = kFree;
    used_.clear();
  }
  std::size_t size() const { return used_.size(); }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // no pair: both numbers would be 2^32 - 1
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }
  std::size_t locate(std::uint64_t k) const {
    std::size_t at = mix_bits(k) & (keys_.size() - 1);
    while (keys_[at] != kFree && keys_[at] != k) at = (at + 1) & (keys_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> keys(keys_.size() * 2, kFree);
    std::vector<Value> values(keys.size());
    keys.swap(keys_), values.swap(values_);
    for (std::size_t& used : used_) {
      const std::size_t at = locate(keys[used]);
      keys_[at] = keys[used], values_[at] = values[used];
      used = at;
    }
  }
  std::vector<std::uint64_t> keys_;
  std::vector<Value> values_;
  std::vector<std::size_t> used_;
};

// Arcs from one node to another: the lexemes of a reading.
struct LexemeRun {
  std::uint32_t begin, end;  // lexemes
  std::uint32_t to;          // node
  std::uint32_t arc;         // number of the first
};

class ConversionLattice {
 public:
  explicit ConversionLattice(const ConversionIndex& index) : index_(index) {}

  // Makes the lattice of a reading (UTF-8, at most kLongest characters) and its best scores.
  void build(std::string_view reading, bool pieces_are_words);

  std::uint32_t end_node() const { return static_cast<std::uint32_t>(characters_.size()) + 1; }
  std::span<const LexemeRun> runs(std::uint32_t node) const {
    return {runs_.data() + run_ptr_[node], run_ptr_[node + 1] - run_ptr_[node]};
  }
  double best(std::uint32_t node, std::uint32_t context) { return evaluated(node, context).score; }
  // The same of the empty context by lexemes other than these, which ascend; -infinity where there are none.
  double best_without(std::uint32_t node, std::span<const std::uint32_t> lexemes) const {
    return root_without(node, lexemes).score;
  }
  // The best score from behind a lexeme without context; from behind an entry.
  double after(const LexemeRun& run, std::uint32_t lexeme) const { return after_[run.arc + (lexeme - run.begin)]; }
  double after(const LexemeRun& run, const IndexEntry& entry);

  // each(entry, run, back-off so far) for the entries that fit at a node, of a context and of all that it ends in but
  // the empty one; a lexeme counts in the longest. They are left in `entered`, ascending. Returns the whole back-off.
  template <class Each>
  double for_entries(std::uint32_t node, std::uint32_t context, std::vector<std::uint32_t>& entered, Each each) const {
    entered.clear();
    double backoff = 0.0;
    for (; context != 0; context = index_.automaton().contexts[context].parent) {
      if (index_.follows(context) & bit_[node]) {
        const auto longer = static_cast<std::ptrdiff_t>(entered.size());
        for (Cursor at = cursor(node, context); seek(at); ++at.entry) {
          if (std::binary_search(entered.begin(), entered.begin() + longer, at.entry->lexeme)) continue;
          each(*at.entry, runs_[at.run], backoff);
          entered.push_back(at.entry->lexeme);
        }
        std::inplace_merge(entered.begin(), entered.begin() + longer, entered.end());
      }
      backoff += index_.backoff(context);
    }
    return backoff;
  }

  // The text of an unknown word that begins at a node.
  std::string_view unknown_text(std::uint32_t node) const;

  static constexpr std::size_t kLongest = 1 << 16;

 private:
  struct Cursor {
    const IndexEntry *entry, *end;
    std::uint32_t run, run_end;
  };
  struct Best {
    double score;
    std::uint32_t lexeme;  // the first of a path that has it
  };
  struct Frame {
    std::uint32_t node, context;
    bool begun;
    bool entered;  // there is an entry for the first lexeme of the parent's best path
    Best backed_off, best;
    Cursor at;
  };
  struct State {
    std::uint32_t node, context;
  };
  static constexpr std::size_t kTop = 6;

  void read(std::string_view reading);
  void add_runs(std::uint32_t node, bool pieces_are_words);
  void add_run(std::uint32_t begin, std::uint32_t end, std::uint32_t to);
  void set_root(std::uint32_t node);
  Best root_without(std::uint32_t node, std::span<const std::uint32_t> lexemes) const;
  Cursor cursor(std::uint32_t node, std::uint32_t context) const;
  bool seek(Cursor& at) const;
  std::optional<Best> known(std::uint32_t node, std::uint32_t context);
  std::optional<double> known(const LexemeRun& run, const IndexEntry& entry);
  Best evaluated(std::uint32_t node, std::uint32_t context);
  Best one_by_one(std::uint32_t node, std::uint32_t context);
  void evaluate(State state);
  bool advance(Frame& frame);

  const ConversionIndex& index_;
  std::string_view reading_;
  std::vector<std::uint32_t> characters_;   // [n]
  std::vector<std::uint32_t> byte_;         // [n + 1] where each begins
  std::vector<std::uint32_t> piece_end_;    // [n] node where the piece of each ends
  std::vector<std::uint64_t> bit_;          // [n + 2] of what comes at each node
  std::vector<LexemeRun> runs_;
  std::vector<std::uint32_t> run_ptr_;      // [n + 3]
  std::vector<double> after_;               // [n_arcs] best score from the state behind each
  std::vector<Best> root_;                  // [n + 2][kTop] of the empty context: by the best lexemes, best first
  PairTable<Best> best_;                    // (node, context), of contexts with entries that fit
  std::vector<std::uint32_t> entered_;
  std::vector<Frame> stack_;
  State missing_{};
};

}  // namespace loglinear::ime
