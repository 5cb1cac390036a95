// Dicts and lists of Python as attributes of tokens. What is common is read here: dicts, lists and tuples with strings,
// numbers and booleans in them. A token with anything else is left to the caller, which knows the rest and the errors.
#include "chain/attributes.hh"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/arrays.hh"
#include "util/errors.hh"
#include "util/utf8.hh"

namespace loglinear::bindings {

using namespace chain;
namespace {

constexpr int kMaxDepth = 16;  // of dicts in dicts; the caller says what is too deep

bool append_text(std::string& out, PyObject* s) {
  if (!PyUnicode_CheckExact(s)) return false;
  const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(s));
  if (PyUnicode_IS_ASCII(s)) {
    out.append(static_cast<const char*>(PyUnicode_DATA(s)), length);
  } else {  // not PyUnicode_AsUTF8, which would leave a copy in the caller's string
    const int kind = PyUnicode_KIND(s);
    const void* const data = PyUnicode_DATA(s);
    for (std::size_t i = 0; i < length; ++i)
      append_utf8(out, PyUnicode_READ(kind, data, static_cast<Py_ssize_t>(i)));
  }
  return true;
}

bool is_row(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }

bool are_pointers(std::span<const std::int64_t> ptr, std::size_t end) {
  return !ptr.empty() && ptr.front() == 0 && ptr.back() == static_cast<std::int64_t>(end) &&
         std::is_sorted(ptr.begin(), ptr.end());
}

enum class Kind { kNone, kDict, kList };

class AttributeReader {
 public:
  explicit AttributeReader(bool mixed) : mixed_(mixed) {}

  // Reads tokens from `first` on and returns the number of the first one that is not read here, or their number.
  Py_ssize_t add_tokens(nb::handle tokens, Py_ssize_t first) {
    require(is_row(tokens.ptr()) && first >= 0, "attributes: tokens must be a list or a tuple");
    PyObject* const row = tokens.ptr();
    for (; first < PySequence_Fast_GET_SIZE(row); ++first)
      if (!add_token(PySequence_Fast_GET_ITEM(row, first))) break;
    return first;
  }

  // One token whose attributes the caller has found.
  void add_pairs(In<std::uint8_t> blob, In<std::int64_t> offsets, In<double> values, bool is_dict) {
    const Strings names{as_characters(blob), view(offsets)};
    names.check();
    require(names.size() == values.size(), "attributes: names and values differ in number");
    for (std::size_t i = 0; i < names.size(); ++i) rows.add(names[i], values.data()[i]);
    rows.end_token();
    kind_ = is_dict ? Kind::kDict : Kind::kList;
  }

  // Sequences that are encoded already.
  void add_encoded(In<std::int64_t> sequence_ptr, In<std::int64_t> indptr, In<std::int32_t> indices,
                   std::optional<In<double>> values, In<std::uint8_t> blob, In<std::int64_t> offsets) {
    const Strings names{as_characters(blob), view(offsets)};
    names.check();
    std::vector<std::int32_t> numbers(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) numbers[i] = rows.intern(names[i]);
    const auto ptr = view(sequence_ptr), row = view(indptr);
    const auto index = view(indices);
    const auto value = view(values);
    require(are_pointers(ptr, row.size() - 1) && are_pointers(row, index.size()) &&
                (!values || value.size() == index.size()),
            "attributes: encoded sequences do not fit together");
    std::size_t at = 0;
    for (std::size_t s = 1; s < ptr.size(); ++s) {
      for (std::int64_t t = ptr[s - 1]; t < ptr[s]; ++t) {
        for (; static_cast<std::int64_t>(at) < row[static_cast<std::size_t>(t) + 1]; ++at) {
          const auto number = static_cast<std::size_t>(index[at]);
          require(number < numbers.size(), "attributes: a number is outside the vocabulary");
          rows.add(numbers[number], values ? value[at] : 1.0);
        }
        rows.end_token();
      }
      rows.end_sequence();
    }
  }

  nb::object is_dict() const { return kind_ == Kind::kNone ? nb::none() : nb::object(nb::bool_(kind_ == Kind::kDict)); }

  AttributeCollector rows;

 private:
  bool add_token(PyObject* token) {
    const Kind kind = PyDict_CheckExact(token) ? Kind::kDict : is_row(token) ? Kind::kList : Kind::kNone;
    if (kind == Kind::kNone || (kind_ != Kind::kNone && kind_ != kind && !mixed_)) return false;
    name_.clear();
    if (kind == Kind::kDict ? !add_dict(token, 0) : !add_texts(token)) {
      rows.drop_attributes();
      return false;
    }
    rows.end_token();
    kind_ = kind;
    return true;
  }

  // Names in dicts begin with name_, which is as before at the end.
  bool add_dict(PyObject* dict, int depth) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    const std::size_t prefix = name_.size();
    while (PyDict_Next(dict, &position, &key, &value)) {
      if (!append_text(name_, key) || !add_value(value, depth)) return false;
      name_.resize(prefix);
    }
    return true;
  }

  bool add_value(PyObject* value, int depth) {
    if (PyFloat_CheckExact(value)) return add_number(PyFloat_AS_DOUBLE(value));
    if (PyBool_Check(value)) return add_number(value == Py_True ? 1.0 : 0.0);
    if (PyLong_CheckExact(value)) {
      int overflow = 0;
      const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0 && add_number(static_cast<double>(whole));
    }
    name_.push_back(':');
    if (PyUnicode_CheckExact(value)) {
      append_text(name_, value);
      rows.add(name_, 1.0);
      return true;
    }
    if (PyDict_CheckExact(value)) return depth < kMaxDepth && add_dict(value, depth + 1);
    return is_row(value) && add_texts(value);
  }

  bool add_number(double value) {
    if (!std::isfinite(value)) return false;
    rows.add(name_, value);
    return true;
  }

  bool add_texts(PyObject* texts) {
    const std::size_t prefix = name_.size();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(texts); ++i) {
      if (!append_text(name_, PySequence_Fast_GET_ITEM(texts, i))) return false;
      rows.add(name_, 1.0);
      name_.resize(prefix);
    }
    return true;
  }

  std::string name_;
  Kind kind_ = Kind::kNone;  // of the last token
  bool mixed_;
};

nb::tuple arrays(AttributeReader& reader, bool more) {
  AttributeArrays rows;
  PackedStrings names;
  if (more) {
    rows = reader.rows.rows();
    names = reader.rows.names();
  } else {
    std::tie(rows, names) = std::exchange(reader.rows, {}).take();
  }
  return nb::make_tuple(to_numpy(std::move(rows.sequence_ptr)), to_numpy(std::move(rows.indptr)),
                        to_numpy(std::move(rows.indices)), to_numpy(std::move(rows.values)),
                        bytes_array(std::move(names.blob)), to_numpy(std::move(names.offsets)));
}

}  // namespace

void bind_attributes(nb::module_& m) {
  nb::class_<AttributeReader>(m, "AttributeReader", "Dicts and lists of Python to rows of attributes.")
      .def(nb::init<bool>(), nb::arg("mixed"))
      .def("add_tokens", &AttributeReader::add_tokens, nb::arg("tokens"), nb::arg("first"),
           "Read a list of tokens from one on; return where reading ended: at a token that is left to the caller.")
      .def("add_pairs", &AttributeReader::add_pairs, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("values").noconvert(), nb::arg("is_dict"), "Add one token.")
      .def("add_encoded", &AttributeReader::add_encoded, nb::arg("sequence_ptr").noconvert(), nb::arg("indptr").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert().none(), nb::arg("blob").noconvert(),
           nb::arg("offsets").noconvert(), "Add whole sequences.")
      .def("end_sequence", [](AttributeReader& r) { r.rows.end_sequence(); })
      .def("drop_tokens", [](AttributeReader& r) { r.rows.drop_tokens(); }, "Forget the tokens of an unfinished sequence.")
      .def_prop_ro("is_dict", &AttributeReader::is_dict, "Whether the last token was a dict; None before the first.")
      .def_prop_ro("n_sequences", [](const AttributeReader& r) { return r.rows.rows().sequence_ptr.size() - 1; })
      .def("arrays", &arrays, nb::arg("more"),
           "(sequence_ptr, indptr, indices, values or none of them where all are 1, blob, offsets): copies where more "
           "will be added; otherwise the reader is empty afterwards.");
}

}  // namespace loglinear::bindings
