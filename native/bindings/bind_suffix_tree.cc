#include "bindings/trie_arrays.hh"
#include "kernels/suffix_tree.hh"

namespace loglinear {
namespace {

nb::tuple build(ThreadPool& pool, std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                std::size_t order) {
  SuffixTreeArrays tree;
  {
    nb::gil_scoped_release release;
    tree = build_suffix_tree(pool, {n_words, view(words), view(sentence_ptr)}, order);
  }
  return nb::make_tuple(arrays_tuple(std::move(tree.trie)), to_numpy(std::move(tree.context_length)),
                        to_numpy(std::move(tree.context_end)), to_numpy(std::move(tree.text)));
}

}  // namespace

void bind_suffix_tree(nb::module_& m) {
  m.def("longest_ngram", [](std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr) {
    nb::gil_scoped_release release;
    return longest_ngram({n_words, view(words), view(sentence_ptr)});
  }, nb::arg("n_words"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert());
  m.def("build_suffix_tree", &build, nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(),
        nb::arg("sentence_ptr").noconvert(), nb::arg("order"),
        "(the arrays of the trie of classes, context_length, context_end, text)");
}

}  // namespace loglinear
