#include "bindings/bytes.hh"
#include "kernels/corpus.hh"

namespace loglinear {
namespace {

Unit unit_of(const std::string& name) {
  require(name == "words" || name == "characters" || name == "bytes",
          "corpus: unit must be 'words', 'characters' or 'bytes'");
  return name == "words" ? Unit::words : name == "characters" ? Unit::characters : Unit::bytes;
}

nb::tuple tokenise(ThreadPool& pool, const std::vector<In<std::uint8_t>>& texts, const std::string& unit,
                   bool keep_empty, bool skip_boundaries, std::size_t chunk_size) {
  const CorpusOptions options{unit_of(unit), keep_empty, skip_boundaries, chunk_size};
  std::vector<std::span<const char>> views;
  for (const In<std::uint8_t>& text : texts) views.push_back(as_characters(text));
  TokenisedCorpus corpus;
  {
    nb::gil_scoped_release release;
    corpus = tokenise_corpus(pool, views, options);
  }
  return nb::make_tuple(to_numpy(std::move(corpus.tokens)), to_numpy(std::move(corpus.sentence_ptr)),
                        to_numpy(std::move(corpus.n_lines)), bytes_array(std::move(corpus.units.blob)),
                        to_numpy(std::move(corpus.units.offsets)), to_numpy(std::move(corpus.counts)),
                        to_numpy(std::move(corpus.first_text)), to_numpy(std::move(corpus.first_line)));
}

}  // namespace

void bind_corpus(nb::module_& m) {
  m.def("tokenise_corpus", &tokenise, nb::arg("pool"), nb::arg("texts"), nb::arg("unit"), nb::arg("keep_empty"),
        nb::arg("skip_boundaries"), nb::arg("chunk_size") = std::size_t{0},
        "(tokens, sentence_ptr, n_lines of each text, unit blob, unit offsets, counts, first_text, first_line)");
  m.def("renumber_tokens", [](ThreadPool& pool, Out<std::uint32_t> tokens, In<std::uint32_t> numbers) {
    nb::gil_scoped_release release;
    renumber_tokens(pool, view(tokens), view(numbers));
  }, nb::arg("pool"), nb::arg("tokens").noconvert(), nb::arg("numbers").noconvert(),
        "tokens[i] = numbers[tokens[i]], in place");
}

}  // namespace loglinear
