#include <memory>
#include <variant>

#include "bindings/arrays.hh"
#include "bindings/tries.hh"
#include "disk/mapped.hh"
#include "disk/meter.hh"
#include "disk/spool.hh"
#include "trie/edit.hh"
#include "trie/merge.hh"
#include "trie/runs.hh"

namespace loglinear::bindings {

using namespace trie;
using namespace disk;
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

// ---- in temporary files ----------------------------------------------------------------------------------------

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> copy_of(std::span<const T> values) {
  return to_numpy(std::vector<T>(values.begin(), values.end()));
}

// Views that keep the trie alive.
nb::tuple arrays_of(nb::handle_t<BoundTrie> self) {
  const BoundTrie& bound = nb::cast<const BoundTrie&>(self);
  return std::visit(
      [&](const auto& counted) {
        const auto& trie = counted.trie;
        const auto view = [&]<class T>(const MappedArray<T>& array) {
          return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(array.data(), {array.size()}, self);
        };
        return nb::make_tuple(copy_of<std::int64_t>(trie.context_start), copy_of<std::int64_t>(trie.entry_start),
                              view(trie.context_word), view(trie.context_child), view(trie.context_entry),
                              view(trie.context_count), view(trie.entry_word), view(trie.entry_parent),
                              view(trie.entry_count));
      },
      bound.counted);
}

BoundTrie* merge(TrieRuns& runs, ThreadPool& pool, std::size_t begin, std::size_t end, std::size_t buffer_bytes,
                 bool consume, WorkMeter* meter) {
  auto result = std::make_unique<BoundTrie>();
  with_files([&] {
    MergeOptions options;
    options.words = {begin, end};
    options.buffer_bytes = buffer_bytes;
    options.consume = consume;
    options.meter = meter;
    auto merged = merge_runs(pool, runs, options);
    if (merged.index() == 0) result->counted = BoundTrie::Counted<std::uint32_t>{std::get<0>(std::move(merged)), {}};
    else result->counted = BoundTrie::Counted<std::uint64_t>{std::get<1>(std::move(merged)), {}};
  });
  return result.release();
}

template <class T, class... Args>
T* make(Args&&... args) {
  std::unique_ptr<T> made;
  with_files([&] { made = std::make_unique<T>(std::forward<Args>(args)...); });
  return made.release();
}

void bind_spool(nb::module_& m) {
  nb::class_<TokenSpool>(m, "TokenSpool", "the tokens of a text in a temporary file, and its distinct units")
      .def(nb::new_([](const std::string& folder) { return make<TokenSpool>(folder); }), nb::arg("folder"))
      .def(
          "add",
          [](TokenSpool& spool, ThreadPool& pool, Out<std::uint32_t> tokens, In<std::int64_t> sentence_ptr,
             In<std::uint8_t> blob, In<std::int64_t> offsets, In<std::int64_t> counts, In<std::int32_t> first_text,
             In<std::int64_t> first_line) {
            with_files([&] {
              spool.add(pool, view(tokens), view(sentence_ptr),
                        {{as_characters(blob), view(offsets)}, view(counts), view(first_text), view(first_line)});
            });
          },
          nb::arg("pool"), nb::arg("tokens").noconvert(), nb::arg("sentence_ptr").noconvert(),
          nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("counts").noconvert(),
          nb::arg("first_text").noconvert(), nb::arg("first_line").noconvert(),
          "adds a part of the text as tokenise_corpus gave it; its tokens are overwritten")
      .def(
          "units",
          [](const TokenSpool& spool) {
            const PackedStrings& units = spool.units();
            return nb::make_tuple(bytes_array(std::vector<char>(units.blob)), copy_of<std::int64_t>(units.offsets),
                                  copy_of<std::int64_t>(spool.counts()), copy_of<std::int32_t>(spool.first_text()),
                                  copy_of<std::int64_t>(spool.first_line()));
          },
          "(blob, offsets, counts, first_text, first_line) of the distinct units, by first occurrence")
      .def("forget_units", &TokenSpool::forget_units, "frees the table of units; nothing can be added afterwards")
      .def_prop_ro("n_units", [](const TokenSpool& spool) { return spool.counts().size(); })
      .def_prop_ro("n_tokens", &TokenSpool::n_tokens)
      .def_prop_ro("n_sentences", &TokenSpool::n_sentences)
      .def_prop_ro("longest", &TokenSpool::longest, "tokens of the longest sentence");
}

void bind_runs(nb::module_& m) {
  m.def("mapped_bytes", [](const std::string& folder, std::size_t n_bytes) {
    std::unique_ptr<MappedArray<std::uint8_t>> made;
    with_files([&] { made = std::make_unique<MappedArray<std::uint8_t>>(folder, n_bytes); });
    std::uint8_t* data = made->data();
    nb::capsule owner(made.release(), [](void* p) noexcept { delete static_cast<MappedArray<std::uint8_t>*>(p); });
    return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {n_bytes}, owner);
  }, nb::arg("folder"), nb::arg("n_bytes"), "bytes of a temporary file without a name, mapped into memory: [n_bytes]");
  nb::class_<BoundTrie>(m, "MappedTrie", "the trie of a corpus in mapped temporary files")
      .def("arrays", &arrays_of, "the arrays of NgramTrie, in the order of its fields; numbers of 64 bits if wide")
      .def_prop_ro("is_wide", &BoundTrie::is_wide);
  nb::class_<TrieRuns>(m, "TrieRuns", "sorted runs of the n-grams of a corpus, in a temporary file")
      .def(nb::new_([](const std::string& folder, std::size_t n_words, std::size_t order) {
             return make<TrieRuns>(folder, n_words, order);
           }),
           nb::arg("folder"), nb::arg("n_words"), nb::arg("order"))
      .def(
          "add",
          [](TrieRuns& runs, ThreadPool& pool, std::size_t n_words, In<std::uint32_t> words,
             In<std::int64_t> sentence_ptr, std::size_t piece_tokens) {
            with_files([&] { runs.add(pool, {n_words, view(words), view(sentence_ptr)}, piece_tokens); });
          },
          nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(),
          nb::arg("piece_tokens"), "counts sentences, in pieces of so many tokens")
      .def(
          "add_spool",
          [](TrieRuns& runs, ThreadPool& pool, const TokenSpool& spool, std::uint64_t begin, std::uint64_t end,
             In<std::uint32_t> numbers, std::size_t piece_tokens) {
            with_files([&] { runs.add(pool, spool, begin, end, view(numbers), piece_tokens); });
          },
          nb::arg("pool"), nb::arg("spool"), nb::arg("begin"), nb::arg("end"), nb::arg("numbers").noconvert(),
          nb::arg("piece_tokens"), "counts tokens [begin, end) of a spool, whose unit u is word numbers[u]")
      .def(
          "add_records",
          [](TrieRuns& runs, In<std::uint32_t> records) { with_files([&] { runs.add_records(view(records)); }); },
          nb::arg("records").noconvert(), "adds what `records` of another part of the corpus returned")
      .def(
          "add_words",
          [](TrieRuns& runs, In<std::uint64_t> counts) { with_files([&] { runs.add_words(view(counts)); }); },
          nb::arg("word_counts").noconvert(), "adds the `word_counts` of another part of the corpus")
      .def(
          "records",
          [](const TrieRuns& runs, std::size_t begin, std::size_t end) {
            std::vector<std::uint32_t> found;
            with_files([&] { found = runs.records({begin, end}); });
            return to_numpy(std::move(found));
          },
          nb::arg("begin"), nb::arg("end"),
          "[n * (order + 1)] n-grams whose history has its most recent word in [begin, end), sorted, with counts")
      .def("merge", &merge, nb::arg("pool"), nb::arg("begin"), nb::arg("end"), nb::arg("buffer_bytes"),
           nb::arg("consume"), nb::arg("meter").none(),
           "the trie of the contexts whose most recent word is in [begin, end); consume: the runs are then gone")
      .def("word_counts", [](const TrieRuns& runs) { return copy_of<std::uint64_t>(runs.word_counts()); })
      .def("sizes", [](const TrieRuns& runs) { return copy_of<std::uint64_t>(runs.sizes()); },
           "[V + 1] records by the most recent word of their history, that of <s> last")
      .def_prop_ro("n_runs", [](const TrieRuns& runs) { return runs.runs().size(); })
      .def_prop_ro("n_tokens", &TrieRuns::n_tokens);
}

void bind_files(nb::module_& m) {
  nb::class_<WorkMeter>(m, "WorkMeter", "how far a piece of work has come, to be read from another thread")
      .def(nb::init<>())
      .def_prop_ro("done", [](const WorkMeter& meter) { return meter.done.load(); })
      .def_prop_ro("total", [](const WorkMeter& meter) { return meter.total.load(); });
  nb::class_<PageWatch>(m, "PageWatch", "drops pages of mapped temporary files while the process holds too much")
      .def(nb::init<std::size_t>(), nb::arg("limit"));
  m.def("resident_bytes", &resident_bytes, "memory that the process holds now; 0 where the system does not say");
  bind_spool(m);
  bind_runs(m);
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
  bind_files(m);
}

}  // namespace loglinear::bindings
