#include "bindings/arrays.hh"
#include "kernels/trie_build.hh"

namespace loglinear {
namespace {

// Pages handed to Python without a copy.
nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<1>> pages_array(Pages<std::uint32_t>&& values) {
  auto* owner = new Pages<std::uint32_t>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<Pages<std::uint32_t>*>(p); });
  return {owner->data(), {owner->size()}, free};
}

nb::tuple arrays_tuple(TrieArrays&& trie) {
  return nb::make_tuple(to_numpy(std::move(trie.context_start)), to_numpy(std::move(trie.entry_start)),
                        pages_array(std::move(trie.context_word)), pages_array(std::move(trie.context_child)),
                        pages_array(std::move(trie.context_entry)), pages_array(std::move(trie.context_count)),
                        pages_array(std::move(trie.entry_word)), pages_array(std::move(trie.entry_parent)),
                        pages_array(std::move(trie.entry_count)));
}

nb::tuple build(ThreadPool& pool, std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                std::size_t order) {
  TrieArrays trie;
  {
    nb::gil_scoped_release release;
    trie = build_trie(pool, {n_words, view(words), view(sentence_ptr)}, order);
  }
  return arrays_tuple(std::move(trie));
}

}  // namespace

void bind_trie(nb::module_& m) {
  m.def("build_trie", &build, nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(),
        nb::arg("sentence_ptr").noconvert(), nb::arg("order"),
        "(context_start, entry_start, context_word, context_child, context_entry, context_count, entry_word, "
        "entry_parent, entry_count)");
}

}  // namespace loglinear
