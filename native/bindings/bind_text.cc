#include "bindings/arrays.hh"
#include "bindings/bytes.hh"
#include "bindings/strings.hh"
#include "kernels/svmlight.hh"
#include "kernels/word_ngrams.hh"
#include "util/interner.hh"

namespace loglinear {
namespace {

nb::tuple rows_to_numpy(CountRows&& rows) {
  return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)),
                        to_numpy(std::move(rows.values)));
}

nb::tuple svmlight(ThreadPool& pool, In<std::uint8_t> text, const std::string& base, std::int64_t n_features,
                   std::size_t chunk_size) {
  require(base == "zero" || base == "one" || base == "detect", "svmlight: base must be 'zero', 'one' or 'detect'");
  const IndexBase index_base = base == "zero" ? IndexBase::zero : base == "one" ? IndexBase::one : IndexBase::detect;
  SvmlightData data;
  {
    nb::gil_scoped_release release;
    data = parse_svmlight(pool, as_characters(text), index_base, n_features, chunk_size);
  }
  nb::object indices = data.wide.empty() ? nb::cast(to_numpy(std::move(data.indices)))
                                         : nb::cast(to_numpy(std::move(data.wide)));
  return nb::make_tuple(to_numpy(std::move(data.indptr)), indices, to_numpy(std::move(data.values)),
                        to_numpy(std::move(data.labels)), bytes_array(std::move(data.label_names.blob)),
                        to_numpy(std::move(data.label_names.offsets)), data.n_features);
}

}  // namespace

void bind_text(nb::module_& m) {
  m.def("parse_svmlight", &svmlight, nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("base"),
        nb::arg("n_features"), nb::arg("chunk_size") = std::size_t{1} << 20,
        "(indptr, indices, values, labels, label blob, label offsets, n_features); n_features < 0: as found");

  m.def("check_strings", [](In<std::uint8_t> blob, In<std::int64_t> offsets) {
    nb::gil_scoped_release release;
    Strings{as_characters(blob), view(offsets)}.check();
  }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert());
  m.def("gather_strings", [](In<std::uint8_t> blob, In<std::int64_t> offsets, In<std::int64_t> indices) {
    PackedStrings result;
    {
      nb::gil_scoped_release release;
      result = gather(Strings{as_characters(blob), view(offsets)}, view(indices));
    }
    return nb::make_tuple(bytes_array(std::move(result.blob)), to_numpy(std::move(result.offsets)));
  }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("indices").noconvert(),
        "(blob, offsets) of the strings chosen");

  nb::class_<BoundIndex>(m, "StringIndex", "Look-up of strings in (blob, offsets), which it keeps alive.")
      .def(nb::init<In<std::uint8_t>, In<std::int64_t>>(), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert())
      .def("find", [](const BoundIndex& index, In<std::uint8_t> blob, In<std::int64_t> offsets, Out<std::int32_t> out) {
        nb::gil_scoped_release release;
        index.index.find_all(Strings{as_characters(blob), view(offsets)}, view(out));
      }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("out").noconvert(),
           "out[i] = id of string i, or -1");

  m.def("fit_word_ngrams", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                              const std::vector<std::int32_t>& orders, std::int64_t min_count) {
    WordNgrams result;
    {
      nb::gil_scoped_release release;
      result = fit_word_ngrams(pool, Strings{as_characters(blob), view(offsets)}, orders, min_count);
    }
    return nb::make_tuple(rows_to_numpy(std::move(result.rows)), bytes_array(std::move(result.names.blob)),
                          to_numpy(std::move(result.names.offsets)));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("orders"),
        nb::arg("min_count"), "((indptr, indices, values), names blob, names offsets)");
  m.def("count_word_ngrams", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                                const std::vector<std::int32_t>& orders, const BoundIndex& vocabulary) {
    CountRows rows;
    {
      nb::gil_scoped_release release;
      rows = count_word_ngrams(pool, Strings{as_characters(blob), view(offsets)}, orders, vocabulary.index);
    }
    return rows_to_numpy(std::move(rows));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("orders"),
        nb::arg("vocabulary"), "(indptr, indices, values)");
}

}  // namespace loglinear
