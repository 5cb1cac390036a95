// The arrays of a trie as they go to Python, in the order of NgramTrie's fields.
#pragma once
#include "bindings/arrays.hh"
#include "kernels/trie_build.hh"

namespace loglinear {

inline nb::tuple arrays_tuple(TrieArrays&& trie) {
  return nb::make_tuple(to_numpy(std::move(trie.context_start)), to_numpy(std::move(trie.entry_start)),
                        to_numpy(std::move(trie.context_word)), to_numpy(std::move(trie.context_child)),
                        to_numpy(std::move(trie.context_entry)), to_numpy(std::move(trie.context_count)),
                        to_numpy(std::move(trie.entry_word)), to_numpy(std::move(trie.entry_parent)),
                        to_numpy(std::move(trie.entry_count)));
}

}  // namespace loglinear
