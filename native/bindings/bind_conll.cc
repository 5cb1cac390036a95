#include "bindings/bytes.hh"
#include "kernels/conll.hh"
#include "kernels/crfsuite_data.hh"

namespace loglinear {
namespace {

nb::tuple conll(ThreadPool& pool, In<std::uint8_t> text, const std::string& separator, bool comments,
                std::size_t chunk_size) {
  require(separator == "detect" || separator == "blanks" || separator == "tab",
          "conll: separator must be 'detect', 'blanks' or 'tab'");
  const Separator kind = separator == "detect" ? Separator::detect
                         : separator == "tab"  ? Separator::tab
                                               : Separator::blanks;
  ConllData data;
  {
    nb::gil_scoped_release release;
    data = parse_conll(pool, as_characters(text), kind, comments, chunk_size);
  }
  nb::list columns;
  for (ConllColumn& column : data.columns)
    columns.append(nb::make_tuple(to_numpy(std::move(column.ids)), bytes_array(std::move(column.values.blob)),
                                  to_numpy(std::move(column.values.offsets))));
  return nb::make_tuple(to_numpy(std::move(data.sequence_ptr)), to_numpy(std::move(data.first_lines)), columns);
}

nb::bytes write(In<std::int64_t> sequence_ptr, const std::vector<In<std::int32_t>>& ids,
                const std::vector<In<std::uint8_t>>& blobs, const std::vector<In<std::int64_t>>& offsets,
                const std::string& separator) {
  require(separator == " " || separator == "\t", "conll: separator must be a space or a tab");
  require(ids.size() == blobs.size() && ids.size() == offsets.size(), "conll: columns differ in number");
  std::vector<ConllView> columns;
  for (std::size_t c = 0; c < ids.size(); ++c)
    columns.push_back({view(ids[c]), Strings{as_characters(blobs[c]), view(offsets[c])}});
  std::vector<char> text;
  {
    nb::gil_scoped_release release;
    text = format_conll(view(sequence_ptr), columns, separator[0]);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_conll(nb::module_& m) {
  m.def("parse_conll", &conll, nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("separator"),
        nb::arg("comments"), nb::arg("chunk_size") = std::size_t{1} << 18,
        "(sequence_ptr, first lines, [(ids, blob, offsets) of each column])");
  m.def("format_conll", &write, nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("blobs"),
        nb::arg("offsets"), nb::arg("separator"), "the text of columns");
  m.def("parse_crfsuite", [](ThreadPool& pool, In<std::uint8_t> text, std::size_t chunk_size) {
    CrfsuiteData data;
    {
      nb::gil_scoped_release release;
      data = parse_crfsuite(pool, as_characters(text), chunk_size);
    }
    return nb::make_tuple(
        to_numpy(std::move(data.sequence_ptr)), to_numpy(std::move(data.indptr)), to_numpy(std::move(data.indices)),
        to_numpy(std::move(data.values)), bytes_array(std::move(data.attributes.blob)),
        to_numpy(std::move(data.attributes.offsets)), to_numpy(std::move(data.labels)),
        bytes_array(std::move(data.label_names.blob)), to_numpy(std::move(data.label_names.offsets)));
  }, nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("chunk_size") = std::size_t{1} << 18,
        "(sequence_ptr, indptr, indices, values or none of them where all are 1, attribute blob, attribute offsets, "
        "labels, label blob, label offsets)");
}

}  // namespace loglinear
