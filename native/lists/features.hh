// Candidates of n-best lists to counts of features, as compressed sparse rows, and to differences to a reference.
//
// A text is cut at blanks into words. A feature is a gram: a node of a tree, the pair (node of its first n - 1 symbols,
// last symbol), so that no string is made for one that is not kept. The families of grams, and the names they get:
//
//   word: a b      n-grams of words; with boundaries, of <s> words </s> (but no gram is <s> or </s> alone)
//   skip: a b      two words with 1 .. max_skip others between them, whatever those are
//   head: a b      two headwords with no headword between them (Gao, Suzuki and Yu 2006, section 5.3)
//   class: x y     n-grams of the classes of words, of the same orders as those of words
//   char: ab       n-grams of characters, blanks left out
//
// Chunks of lists have trees of their own, which are joined in order: features are numbered by first occurrence,
// whatever the number of threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "text/text_ngrams.hh"
#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::lists {

enum class Headwords {
  none,
  cjk,     // words with a Han character or a katakana
  listed,  // all words but the function words given
};

// Classes of words. A word that `words` lacks is looked up as `lowered` has it; else it has the last of the classes.
struct CandidateClasses {
  const StringIndex* words = nullptr;  // nullptr: no n-grams of classes
  std::span<const std::int32_t> labels;  // [n_words]
  Strings names;
  Strings lowered;  // the texts, in lower case
};

struct CandidateFeatureOptions {
  std::vector<std::int32_t> word_orders;  // ascending, each at least 1
  bool boundaries = true;
  std::int32_t max_skip = 0;
  Headwords headwords = Headwords::none;
  const StringIndex* function_words = nullptr;
  std::vector<std::int32_t> character_orders;  // ascending, each at least 1
  CandidateClasses classes;
};

struct CandidateFeatures {
  text::CountRows rows;  // one per candidate
  PackedStrings names;
};

// list_ptr [n_lists + 1]: the candidates of each list. A feature is kept if it occurs in at least min_count lists and
// in one of them its count differs between candidates: others can never change an order.
CandidateFeatures fit_candidate_features(ThreadPool& pool, Strings texts,
                                         std::span<const std::int64_t> list_ptr, const CandidateFeatureOptions& options,
                                         std::int64_t min_count);

// All features of some lists, with what `fit_candidate_features` chooses by: for lists that are in several places.
struct CandidateFeatureUses {
  PackedStrings names;
  std::vector<std::int32_t> n_lists;   // [n_features], in which each occurs
  std::vector<std::uint8_t> differs;  // [n_features], whether its count differs between candidates of one of them
};

CandidateFeatureUses find_candidate_features(ThreadPool& pool, Strings texts, std::span<const std::int64_t> list_ptr,
                                             const CandidateFeatureOptions& options);

// Counts of the features that the vocabulary holds; others are ignored.
text::CountRows count_candidate_features(ThreadPool& pool, Strings texts,
                                         std::span<const std::int64_t> list_ptr, const CandidateFeatureOptions& options,
                                         const StringIndex& vocabulary);

// Throws InvalidInput unless list_ptr ascends from 0 to n.
void check_list_ptr(std::span<const std::int64_t> list_ptr, std::size_t n, const char* what);

// For every candidate but the reference of its list, in order: row of the reference - row of the candidate, zeros left
// out. reference [n_lists]: places within the lists; ignored for an empty one. Rows must have ascending indices.
text::CountRows candidate_differences(ThreadPool& pool, std::span<const std::int64_t> indptr,
                                std::span<const std::int32_t> indices, std::span<const double> values,
                                std::span<const std::int64_t> list_ptr, std::span<const std::int32_t> reference);

}  // namespace loglinear::lists
