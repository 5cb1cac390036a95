#include "bindings/arrays.hh"
#include "bindings/tries.hh"
#include "ime/decode.hh"

namespace loglinear::bindings {

using namespace backoff;
using namespace ime;
namespace {

nb::tuple split(In<std::uint8_t> blob, In<std::int64_t> offsets) {
  SplitTokens tokens;
  {
    nb::gil_scoped_release release;
    tokens = split_tokens({as_characters(blob), view(offsets)});
  }
  return nb::make_tuple(tokens.malformed, bytes_array(std::move(tokens.surfaces.blob)),
                        to_numpy(std::move(tokens.surfaces.offsets)), bytes_array(std::move(tokens.readings.blob)),
                        to_numpy(std::move(tokens.readings.offsets)), to_numpy(std::move(tokens.surface)),
                        to_numpy(std::move(tokens.reading)));
}

// The index, the model and the arrays of the lexicon, kept alive together.
struct BoundConverter {
  nb::object queries;
  In<std::uint8_t> surface_blob, reading_blob;
  In<std::int64_t> surface_offsets, reading_offsets, reading_ptr;
  In<std::uint32_t> surface;
  In<float> log_channel;
  In<std::uint32_t> word;
  ConversionIndex index;

  BoundConverter(ThreadPool& pool, nb::object model, In<std::uint8_t> sb, In<std::int64_t> so, In<std::uint8_t> rb,
                 In<std::int64_t> ro, In<std::int64_t> ptr, In<std::uint32_t> s, In<float> c, In<std::uint32_t> w)
      : queries(std::move(model)), surface_blob(std::move(sb)), reading_blob(std::move(rb)),
        surface_offsets(std::move(so)), reading_offsets(std::move(ro)), reading_ptr(std::move(ptr)),
        surface(std::move(s)), log_channel(std::move(c)), word(std::move(w)), index([&] {
          const QueryModel& asked = nb::cast<const BoundQueries&>(queries).model;
          nb::gil_scoped_release release;
          const LexiconArrays lexicon{{as_characters(surface_blob), view(surface_offsets)},
                                      {as_characters(reading_blob), view(reading_offsets)},
                                      view(reading_ptr), view(surface), view(log_channel), view(word)};
          return ConversionIndex(pool, asked.automaton, lexicon, asked.unknown);
        }()) {}
};

nb::tuple convert(const BoundConverter& converter, ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                  std::size_t k, bool pieces_are_words, bool distinct_texts) {
  Conversions found;
  {
    nb::gil_scoped_release release;
    found = convert_readings(pool, converter.index, {as_characters(blob), view(offsets)},
                             {k, pieces_are_words, distinct_texts});
  }
  return nb::make_tuple(bytes_array(std::move(found.texts.blob)), to_numpy(std::move(found.texts.offsets)),
                        to_numpy(std::move(found.score)), to_numpy(std::move(found.sentence_ptr)),
                        to_numpy(std::move(found.n_unknown)));
}

}  // namespace

void bind_ime(nb::module_& m) {
  m.def("split_tokens", &split, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(),
        "(first malformed token or -1, surface blob, surface offsets, reading blob, reading offsets, surface of each "
        "token, reading of each token)");
  nb::class_<BoundConverter>(m, "Converter", "A lexicon and a language model, which it keeps alive.")
      .def(nb::init<ThreadPool&, nb::object, In<std::uint8_t>, In<std::int64_t>, In<std::uint8_t>, In<std::int64_t>,
                    In<std::int64_t>, In<std::uint32_t>, In<float>, In<std::uint32_t>>(),
           nb::arg("pool"), nb::arg("queries"), nb::arg("surface_blob").noconvert(),
           nb::arg("surface_offsets").noconvert(), nb::arg("reading_blob").noconvert(),
           nb::arg("reading_offsets").noconvert(), nb::arg("reading_ptr").noconvert(), nb::arg("surface").noconvert(),
           nb::arg("log_channel").noconvert(), nb::arg("word").noconvert())
      .def_prop_ro("nbytes", [](const BoundConverter& c) { return c.index.n_bytes(); })
      .def("convert", &convert, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("k"), nb::arg("pieces_are_words"), nb::arg("distinct_texts"),
           "(texts blob, texts offsets, scores, sentence_ptr, unknown words of the best of each)");
}

}  // namespace loglinear::bindings
