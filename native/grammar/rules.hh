// Rules of a binarised grammar, as charts read them: A -> B C, A -> B, and tags over words.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/views.hh"

namespace loglinear::grammar {

// Rules have numbers: binary ones first, by their parents, then unary ones. A unary rule comes after all rules that
// make its child, so that one pass over them in order applies chains of them.
//
// Rules are grouped in classes, and classes by the label of their parents: features of spans see classes and labels
// alone. So rules of one class with the same children, a pair, differ in nothing but their own score and their parent,
// and charts do the work of a pair once for all of its rules.
class Rules {
 public:
  std::size_t n_symbols, start, n_labels;
  std::span<const std::int64_t> binary_ptr;            // [n_symbols + 1] rules of each parent
  std::span<const std::int32_t> left, right;           // [n_binary]
  std::span<const std::int32_t> unary_parent, unary_child;  // [n_unary]
  std::span<const std::int32_t> tag_symbol;            // [n_tags] symbols that stand over words
  std::span<const std::int32_t> rule_class;            // [n_rules]
  std::span<const std::int32_t> class_label;           // [n_classes] label of the parent

  std::vector<std::int32_t> rule_parent;            // [n_binary]
  std::vector<std::int32_t> left_row, right_row;    // [n_symbols] row of a symbol that is a left (right) child, else -1
  std::size_t n_left = 0, n_right = 0;

  struct Pair {
    std::int32_t left, right;    // rows of the children
    std::int32_t rule_class;
    std::int32_t first, last;    // its rules are pair_rule[first, last)
  };
  struct Run {                   // pairs [first, last) of one label and one left child
    std::int32_t left, first, last;
  };
  struct LabelRuns {
    std::size_t label, parent;   // and a symbol that has the label
    std::size_t first, last;     // its runs
  };
  std::vector<Pair> pairs;
  std::vector<std::int32_t> pair_rule, pair_parent;
  std::vector<Run> runs;
  std::vector<LabelRuns> labels;  // with binary rules

  // Checks everything a chart relies on; throws InvalidInput.
  Rules(std::size_t symbols, std::size_t start_symbol, std::span<const std::int64_t> ptr,
        std::span<const std::int32_t> left_child, std::span<const std::int32_t> right_child,
        std::span<const std::int32_t> parent, std::span<const std::int32_t> child, std::span<const std::int32_t> tags,
        std::size_t label_count, std::span<const std::int32_t> classes, std::span<const std::int32_t> labels_of_classes);

  std::size_t n_binary() const { return left.size(); }
  std::size_t n_unary() const { return unary_parent.size(); }
  std::size_t n_rules() const { return n_binary() + n_unary(); }
  std::size_t n_tags() const { return tag_symbol.size(); }
  std::size_t n_classes() const { return class_label.size(); }
  std::size_t n_targets() const { return n_labels + n_classes(); }
  std::size_t label_of(std::size_t rule) const {
    return static_cast<std::size_t>(class_label[static_cast<std::size_t>(rule_class[rule])]);
  }

 private:
  void find_pairs();
};

// What may stand where in one sentence of n words; empty spans allow everything.
struct Limits {
  std::span<const std::uint64_t> mask;       // [(n + 1)^2][n_words]: cells i (n + 1) + j, sets of coarse symbols
  std::span<const std::int32_t> coarse;      // [n_symbols]
  std::size_t n_words = 0;
  std::span<const std::int32_t> required;    // [(n + 1)^2]: kFree, kAnyLabel, or a label that the cell must have
  std::span<const std::uint8_t> hidden;      // [n_symbols]: tags and parts of constituents, which are no constituents
  std::span<const std::int64_t> label_ptr;   // [n_unary + 1]: labels that a unary rule and its child stand for
  std::span<const std::int32_t> labels;

  static constexpr std::int32_t kFree = -1, kAnyLabel = -2, kBlocked = -3;

  bool blocks(std::size_t cell) const {
    if (!required.empty() && required[cell] == kBlocked) return true;
    if (mask.empty()) return false;
    for (std::size_t w = 0; w < n_words; ++w)
      if (mask[cell * n_words + w]) return false;
    return true;
  }
  bool allows(std::size_t cell, std::size_t symbol) const {
    if (mask.empty()) return true;
    const auto c = static_cast<std::size_t>(coarse[symbol]);
    return mask[cell * n_words + c / 64] >> (c % 64) & 1;
  }
  bool allows_unary(std::size_t cell, std::size_t rule) const {
    if (required.empty() || required[cell] < 0 || label_ptr[rule] == label_ptr[rule + 1]) return true;
    for (std::int64_t p = label_ptr[rule]; p < label_ptr[rule + 1]; ++p)
      if (labels[static_cast<std::size_t>(p)] == required[cell]) return true;
    return false;
  }
  bool hides(std::size_t cell, std::size_t symbol) const {
    return !required.empty() && required[cell] != kFree && hidden[symbol];
  }
};

// Scores of the rules in one sentence of n words, in logarithms: rule r over the words [i, j) that splits at k has
//
//     rule[r] + begin[i] + end[j] + length[j - i] + split[k],     each summed over the targets of r: its class c, at
//                                                                 n_labels + c, and the label of its parent
//
// where unary rules have no split. Empty tables are zero.
struct Scores {
  std::size_t n = 0;
  std::span<const double> token;                      // [n][n_tags]
  std::span<const double> rule;                       // [n_rules]
  std::span<const double> begin, end, length, split;  // [n + 1][n_targets]
  bool anchored() const { return !begin.empty(); }
};

}  // namespace loglinear::grammar
