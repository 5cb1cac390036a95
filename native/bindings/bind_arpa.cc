#include "bindings/bytes.hh"
#include "bindings/ngram_arrays.hh"
#include "kernels/arpa.hh"
#include "kernels/ngram_lines.hh"

namespace loglinear {
namespace {

struct BoundArpa {
  In<std::uint8_t> blob;
  In<std::int64_t> offsets;
  std::unique_ptr<ArpaText> text;

  BoundArpa(ThreadPool& pool, const BoundBackoff& model, In<std::uint8_t> bytes, In<std::int64_t> bounds)
      : blob(std::move(bytes)), offsets(std::move(bounds)) {
    nb::gil_scoped_release release;
    text = std::make_unique<ArpaText>(pool, model.model, Strings{as_characters(blob), view(offsets)});
  }
};

nb::tuple parse(ThreadPool& pool, In<std::uint8_t> text, std::size_t chunk_size) {
  ArpaModel read;
  {
    nb::gil_scoped_release release;
    read = parse_arpa(pool, as_characters(text), chunk_size);
  }
  return nb::make_tuple(bytes_array(std::move(read.words.blob)), to_numpy(std::move(read.words.offsets)),
                        shape_arrays(std::move(read.model.shape)), to_numpy(std::move(read.model.log_backoff)),
                        to_numpy(std::move(read.model.log_probability)));
}

nb::tuple place(ThreadPool& pool, std::size_t n_words, const std::vector<In<std::uint32_t>>& words,
                const std::vector<In<std::uint8_t>>& kinds) {
  require(words.size() == kinds.size(), "n-grams: words and kinds differ in their number of orders");
  PlacedLines placed;
  {
    nb::gil_scoped_release release;
    std::vector<NgramLines> lines(words.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].words.assign(words[i].data(), words[i].data() + words[i].size());
      lines[i].kind.assign(kinds[i].data(), kinds[i].data() + kinds[i].size());
    }
    placed = place_lines(pool, n_words, lines);
  }
  nb::list numbers;
  for (PlacedLines::Numbers& line : placed.lines)
    numbers.append(nb::make_tuple(to_numpy(std::move(line.entry)), to_numpy(std::move(line.context))));
  return nb::make_tuple(shape_arrays(std::move(placed.shape)), numbers);
}

}  // namespace

void bind_arpa(nb::module_& m) {
  nb::class_<BoundArpa>(m, "ArpaText", "the lines of an ARPA file, block by block")
      .def(nb::init<ThreadPool&, const BoundBackoff&, In<std::uint8_t>, In<std::int64_t>>(), nb::arg("pool"),
           nb::arg("model"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::keep_alive<1, 3>())
      .def("n_lines", [](const BoundArpa& a, std::size_t order) { return a.text->n_lines(order); }, nb::arg("order"))
      .def("lines", [](const BoundArpa& a, ThreadPool& pool, std::size_t order, std::size_t begin, std::size_t end,
                       int digits) {
        std::vector<char> text;
        {
          nb::gil_scoped_release release;
          text = a.text->lines(pool, order, begin, end, digits);
        }
        return bytes_array(std::move(text));
      }, nb::arg("pool"), nb::arg("order"), nb::arg("begin"), nb::arg("end"), nb::arg("digits"),
           "lines [begin, end) of an order");
  m.def("parse_arpa", &parse, nb::arg("pool"), nb::arg("text").noconvert(),
        nb::arg("chunk_size") = std::size_t{1} << 18,
        "(blob, offsets of the words, arrays of the shape, log_backoff, log_probability)");
  m.def("place_ngrams", &place, nb::arg("pool"), nb::arg("n_words"), nb::arg("words"), nb::arg("kinds"),
        "from n-grams of each order, words [n][order] in the order of a text and kinds [n] (1 an entry, 2 a context, "
        "or both): (arrays of the shape, [(entry numbers, context numbers) of each order])");
}

}  // namespace loglinear
