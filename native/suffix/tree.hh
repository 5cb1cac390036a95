// The suffix tree of a corpus: the n-gram trie with contexts that always occur together made one.
//
// A context h that is not empty, does not begin with `<s>` and is shorter than the longest allowed always has a longer
// one v h after it in the trie. Where it has only one, every token whose history ends in h has a history that ends in
// v h: both have the same next words with the same counts. Such contexts are one *class*; a class ends at a context
// that has several longer ones (histories part), that begins with `<s>`, or that has the longest length. The empty
// context is a class by itself. Classes form a tree whose levels take the place of lengths in the arrays of a trie:
//
//   context_word    the word by which a class differs from its siblings: the first that it adds to its parent class
//   context_length  words of the longest context of the class; it holds all lengths above that of its parent class
//   context_end     one occurrence in the text: the words are text[end - 1], text[end - 2], ..., the most recent first
//
// This is the compact suffix tree of the reversed histories (Giegerich and Kurtz, 1997; Nelakanti et al., 2013,
// definition 3). It is built from sorted tokens and the lengths that neighbours have in common (trie/sort.hh), never
// from the trie: every bucket of tokens is one subtree. A first pass over its leaves (distinct histories) finds where
// histories part, with a stack; a second writes the classes level by level (trie/writer.hh). Time and memory are linear
// in the result besides the sort: 12 bytes per entry, 24 per class, 4 per token for the text.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trie/build.hh"
#include "util/pages.hh"
#include "util/thread_pool.hh"

namespace loglinear::suffix {

struct SuffixTreeArrays {
  trie::TrieArrays trie;                                  // of classes; its order is the number of levels
  Pages<std::uint32_t> context_length, context_end;  // [n_contexts]
  Pages<std::uint32_t> text;                         // the corpus, `<s>` before, between and after sentences
};

// Words of the longest n-gram, `<s>` and `</s>` counted; 1 without sentences.
std::size_t longest_ngram(const trie::SentencesView& sentences);

// Throws InvalidInput for an order outside [1, longest_ngram], for malformed sentences, numbers past 32 bits, and text
// that repeats itself to more than kMaxLevels levels. The result does not depend on the number of threads.
SuffixTreeArrays build_suffix_tree(ThreadPool& pool, const trie::SentencesView& sentences, std::size_t order);

}  // namespace loglinear::suffix
