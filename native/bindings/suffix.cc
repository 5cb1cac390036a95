#include "bindings/arrays.hh"
#include "bindings/tries.hh"
#include "suffix/edit.hh"
#include "suffix/score.hh"
#include "suffix/tree.hh"

namespace loglinear::bindings {

using namespace suffix;
namespace {

// A tree with the arrays it views, checked once and kept alive.
struct BoundSuffixTree {
  In<std::int64_t> context_start, entry_start;
  std::vector<In<std::uint32_t>> arrays;  // the other seven of the trie
  In<std::uint32_t> context_length, context_end, text;
  SuffixTreeView tree;

  BoundSuffixTree(std::size_t n_words, In<std::int64_t> cs, In<std::int64_t> es, std::vector<In<std::uint32_t>> a,
                  In<std::uint32_t> lengths, In<std::uint32_t> ends, In<std::uint32_t> words, std::size_t order)
      : context_start(std::move(cs)), entry_start(std::move(es)), arrays(std::move(a)),
        context_length(std::move(lengths)), context_end(std::move(ends)), text(std::move(words)) {
    require(arrays.size() == 7 && context_start.size() > 0, "suffix tree: the trie of its classes has seven arrays");
    tree = {{context_start.size() - 1, n_words, view(context_start), view(entry_start), view(arrays[0]),
             view(arrays[1]), view(arrays[2]), view(arrays[3]), view(arrays[4]), view(arrays[5]), view(arrays[6])},
            view(context_length), view(context_end), view(text), order};
    nb::gil_scoped_release release;
    tree.check();
  }
};

nb::tuple tree_tuple(SuffixTreeArrays&& tree) {
  return nb::make_tuple(arrays_tuple(std::move(tree.trie)), to_numpy(std::move(tree.context_length)),
                        to_numpy(std::move(tree.context_end)), to_numpy(std::move(tree.text)));
}

nb::tuple build_tree(ThreadPool& pool, std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                std::size_t order) {
  SuffixTreeArrays tree;
  {
    nb::gil_scoped_release release;
    tree = build_suffix_tree(pool, {n_words, view(words), view(sentence_ptr)}, order);
  }
  return tree_tuple(std::move(tree));
}

void score_suffixes(const BoundSuffixTree& bound, ThreadPool& pool, In<double> x, In<double> log_p, In<double> log_r,
           std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr, Out<double> log_probability,
           Out<std::uint32_t> length) {
  nb::gil_scoped_release release;
  score_text(pool, bound.tree, {view(x), view(log_p), view(log_r)}, {n_words, view(words), view(sentence_ptr)},
             view(log_probability), view(length));
}

nb::tuple expand_tree(const BoundSuffixTree& bound, In<double> x) {
  ExpandedTree result;
  {
    nb::gil_scoped_release release;
    result = expand(bound.tree, view(x));
  }
  return nb::make_tuple(arrays_tuple(std::move(result.trie)), to_numpy(std::move(result.weights)));
}

nb::tuple pack_tree(const BoundSuffixTree& bound, In<double> x) {
  PackedTree p;
  {
    nb::gil_scoped_release release;
    p = pack(bound.tree, view(x));
  }
  return nb::make_tuple(to_numpy(std::move(p.n_children)), to_numpy(std::move(p.n_entries)),
                        to_numpy(std::move(p.edge_length)), to_numpy(std::move(p.edges)),
                        to_numpy(std::move(p.entry_word)), to_numpy(std::move(p.weights)));
}

template <class T>
std::vector<T> copy(const In<T>& array) {
  return {array.data(), array.data() + array.size()};
}

nb::tuple unpack_tree(std::size_t n_words, In<std::uint32_t> n_children, In<std::uint32_t> n_entries,
                      In<std::uint32_t> edge_length, In<std::uint32_t> edges, In<std::uint32_t> entry_word,
                      In<double> weights) {
  SuffixTreeArrays tree;
  {
    nb::gil_scoped_release release;
    tree = unpack({copy(n_children), copy(n_entries), copy(edge_length), copy(edges), copy(entry_word), copy(weights)},
                  n_words);
  }
  return tree_tuple(std::move(tree));
}

}  // namespace

void bind_suffix(nb::module_& m) {
  m.def("longest_ngram", [](std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr) {
    nb::gil_scoped_release release;
    return longest_ngram({n_words, view(words), view(sentence_ptr)});
  }, nb::arg("n_words"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(),
        "Words of the longest n-gram, <s> and </s> counted.");
  m.def("build_suffix_tree", &build_tree, nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(),
        nb::arg("sentence_ptr").noconvert(), nb::arg("order"),
        "(the arrays of the trie of classes, context_length, context_end, text)");
  m.def("unpack_suffix_tree", &unpack_tree, nb::arg("n_words"), nb::arg("n_children").noconvert(),
        nb::arg("n_entries").noconvert(), nb::arg("edge_length").noconvert(), nb::arg("edges").noconvert(),
        nb::arg("entry_word").noconvert(), nb::arg("weights").noconvert(),
        "What build_suffix_tree gives, from what pack gives; every number is checked.");
  nb::class_<BoundSuffixTree>(m, "SuffixTree", "The arrays of a suffix tree, checked.")
      .def(nb::init<std::size_t, In<std::int64_t>, In<std::int64_t>, std::vector<In<std::uint32_t>>,
                    In<std::uint32_t>, In<std::uint32_t>, In<std::uint32_t>, std::size_t>(),
           nb::arg("n_words"), nb::arg("context_start").noconvert(), nb::arg("entry_start").noconvert(),
           nb::arg("arrays"), nb::arg("context_length").noconvert(), nb::arg("context_end").noconvert(),
           nb::arg("text").noconvert(), nb::arg("order"))
      .def("score", &score_suffixes, nb::arg("pool"), nb::arg("x").noconvert(), nb::arg("log_p").noconvert(),
           nb::arg("log_r").noconvert(), nb::arg("n_words"), nb::arg("words").noconvert(),
           nb::arg("sentence_ptr").noconvert(), nb::arg("log_probability").noconvert(), nb::arg("length").noconvert(),
           "Log-probabilities of the tokens of a text, and the lengths of the longest n-grams that they end.")
      .def("expand", &expand_tree, nb::arg("x").noconvert(), "(the arrays of the trie of n-grams, their weights)")
      .def("pack", &pack_tree, nb::arg("x").noconvert(),
           "(n_children, n_entries, edge_length, edges, entry_word, weights)");
}

}  // namespace loglinear::bindings
