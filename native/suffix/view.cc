#include "suffix/view.hh"

#include <algorithm>
#include <string>

#include "ngram/hierarchical_normalisation.hh"
#include "util/errors.hh"

namespace loglinear::suffix {

namespace {

void demand(bool condition, const char* what) {
  if (!condition) throw InvalidInput(std::string("suffix tree: ") + what);
}

}  // namespace

void SuffixTreeView::check() const {
  trie.check_closed();
  const std::size_t n = trie.n_contexts();
  demand(context_length.size() == n && context_end.size() == n, "one length and one end per class are needed");
  demand(context_length[0] == 0, "the empty context has a length");
  demand(std::all_of(text.begin(), text.end(), [&](std::uint32_t w) { return w <= trie.n_words; }),
         "the text has a word outside the vocabulary");
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t d = trie.context_child[c]; d < trie.context_child[c + 1]; ++d) {
      demand(context_length[d] > context_length[c], "a class is not longer than its parent");
      demand(context_length[d] < order, "a class is longer than the order allows");
      demand(context_end[d] >= context_length[d], "a class begins before the text");
      demand(context_end[d] - context_length[c] <= text.size(), "a class ends after the text");
      demand(word(d, context_length[c] + std::size_t{1}) == trie.context_word[d],
             "a class has another word in the text");
      demand(d == trie.context_child[c] || trie.context_word[d - 1] < trie.context_word[d],
             "the children of a class do not ascend");
    }
}

}  // namespace loglinear::suffix
