#include "bindings/arrays.hh"
#include "bindings/tries.hh"
#include "trie/edit.hh"
#include "trie/runs.hh"

namespace loglinear::bindings {

using namespace trie;
namespace {

nb::tuple build_ngrams(ThreadPool& pool, std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                std::size_t order) {
  TrieArrays trie;
  {
    nb::gil_scoped_release release;
    trie = build_trie(pool, {n_words, view(words), view(sentence_ptr)}, order);
  }
  return arrays_tuple(std::move(trie));
}

using Indices = In<std::uint32_t>;
using Starts = In<std::int64_t>;

nb::tuple cut(const std::vector<std::uint64_t>& min_counts, std::size_t n_words, Starts context_start,
              Starts entry_start, Indices context_word, Indices context_child, Indices context_entry,
              Indices context_count, Indices entry_word, Indices entry_parent, Indices entry_count) {
  require(context_start.size() > 1, "trie: context_start needs order + 1 numbers");
  const TrieView trie{context_start.size() - 1, n_words, view(context_start), view(entry_start), view(context_word),
                      view(context_child), view(context_entry), view(context_count), view(entry_word),
                      view(entry_parent), view(entry_count)};
  TrieArrays result;
  {
    nb::gil_scoped_release release;
    result = cut_trie(trie, min_counts);
  }
  return arrays_tuple(std::move(result));
}

nb::tuple extend(std::size_t model_words, Starts model_context_start, Starts model_entry_start,
                 Indices model_context_word, Indices model_context_child, Indices model_context_entry,
                 Indices model_entry_word, std::size_t n_words, Starts context_start, Starts entry_start,
                 Indices context_word, Indices context_child, Indices context_entry, Indices context_count,
                 Indices entry_word, Indices entry_parent, Indices entry_count) {
  require(context_start.size() > 1 && model_context_start.size() > 1, "trie: context_start needs order + 1 numbers");
  const TrieView trie{context_start.size() - 1, n_words, view(context_start), view(entry_start), view(context_word),
                      view(context_child), view(context_entry), view(context_count), view(entry_word),
                      view(entry_parent), view(entry_count)};
  const TrieView model{model_context_start.size() - 1, model_words, view(model_context_start),
                       view(model_entry_start), view(model_context_word), view(model_context_child),
                       view(model_context_entry), {}, view(model_entry_word), {}, {}};
  TrieArrays result;
  {
    nb::gil_scoped_release release;
    result = extend_trie(trie, model);
  }
  return arrays_tuple(std::move(result));
}

// Runs `body` without the GIL; what the system refuses becomes an OSError that names the file.
template <class Body>
void with_files(Body body) {
  try {
    nb::gil_scoped_release release;
    body();
  } catch (const IoError& error) {
    errno = error.number;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path.c_str());
    throw nb::python_error();
  }
}

TrieRuns* make_runs(const std::string& folder, std::size_t n_words, std::size_t order) {
  std::unique_ptr<TrieRuns> runs;
  with_files([&] { runs = std::make_unique<TrieRuns>(folder, n_words, order); });
  return runs.release();
}

void add_to_runs(TrieRuns& runs, ThreadPool& pool, std::size_t n_words, Indices words, Starts sentence_ptr,
                 std::size_t piece_tokens) {
  with_files([&] { runs.add(pool, {n_words, view(words), view(sentence_ptr)}, piece_tokens); });
}

nb::tuple finish_runs(TrieRuns& runs, std::size_t buffer_bytes) {
  TrieRuns::Starts starts;
  with_files([&] { starts = runs.finish(buffer_bytes); });
  return nb::make_tuple(to_numpy(std::move(starts.context_start)), to_numpy(std::move(starts.entry_start)));
}

}  // namespace

void bind_trie(nb::module_& m) {
  m.def("build_trie", &build_ngrams, nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(),
        nb::arg("sentence_ptr").noconvert(), nb::arg("order"),
        "(context_start, entry_start, context_word, context_child, context_entry, context_count, entry_word, "
        "entry_parent, entry_count)");
  m.def("cut_trie", &cut, nb::arg("min_counts"), nb::arg("n_words"), nb::arg("context_start").noconvert(),
        nb::arg("entry_start").noconvert(), nb::arg("context_word").noconvert(), nb::arg("context_child").noconvert(),
        nb::arg("context_entry").noconvert(), nb::arg("context_count").noconvert(),
        nb::arg("entry_word").noconvert(), nb::arg("entry_parent").noconvert(), nb::arg("entry_count").noconvert(),
        "the arrays of the trie without rare n-grams");
  m.def("extend_trie", &extend, nb::arg("model_words"), nb::arg("model_context_start").noconvert(),
        nb::arg("model_entry_start").noconvert(), nb::arg("model_context_word").noconvert(),
        nb::arg("model_context_child").noconvert(), nb::arg("model_context_entry").noconvert(),
        nb::arg("model_entry_word").noconvert(), nb::arg("n_words"), nb::arg("context_start").noconvert(),
        nb::arg("entry_start").noconvert(), nb::arg("context_word").noconvert(), nb::arg("context_child").noconvert(),
        nb::arg("context_entry").noconvert(), nb::arg("context_count").noconvert(),
        nb::arg("entry_word").noconvert(), nb::arg("entry_parent").noconvert(), nb::arg("entry_count").noconvert(),
        "the arrays of the trie with the n-grams of a model");
  nb::class_<TrieRuns>(m, "TrieRuns", "a trie built in files: pieces of the corpus are sorted, then merged")
      .def(nb::new_(&make_runs), nb::arg("folder"), nb::arg("n_words"), nb::arg("order"))
      .def("add", &add_to_runs, nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(),
           nb::arg("sentence_ptr").noconvert(), nb::arg("piece_tokens"))
      .def("finish", &finish_runs, nb::arg("buffer_bytes"),
           "writes the other arrays to files of their names; (context_start, entry_start)")
      .def_prop_ro("n_runs", &TrieRuns::n_runs)
      .def_prop_ro("n_tokens", &TrieRuns::n_tokens);
}

}  // namespace loglinear::bindings
