// Text that comes from Python, and scores that go back.
#pragma once
#include <string_view>

#include "backoff/query.hh"
#include "bindings/arrays.hh"

namespace loglinear::bindings {

inline constexpr std::size_t kLong = 1 << 14;  // bytes of text for which others may have the interpreter meanwhile

// The bytes of a str or bytes object, which must outlive them; `owner` holds what had to be made.
inline std::string_view text_of(nb::handle text, nb::object& owner) {
  if (PyUnicode_Check(text.ptr())) {
    Py_ssize_t size = 0;
    if (const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
      return {data, static_cast<std::size_t>(size)};
    PyErr_Clear();  // lone surrogates, which Python allows
    owner = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    if (!owner.is_valid()) throw nb::python_error();
    text = owner;
  }
  if (!PyBytes_Check(text.ptr()))
    throw nb::type_error(("expected str or bytes, not " + std::string(Py_TYPE(text.ptr())->tp_name)).c_str());
  return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
}

// The sentences of a sequence: a tuple keeps every string alive while others have the interpreter.
struct HeldTexts {
  nb::object held;
  std::vector<nb::object> made;
  std::vector<std::string_view> texts;

  explicit HeldTexts(nb::handle sentences) {
    if (PyUnicode_Check(sentences.ptr()) || PyBytes_Check(sentences.ptr()))
      throw nb::type_error("expected a list of sentences, not one");
    held = nb::steal(PySequence_Tuple(sentences.ptr()));
    if (!held.is_valid()) throw nb::python_error();
    texts.resize(static_cast<std::size_t>(PyTuple_GET_SIZE(held.ptr())));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      nb::object owner;
      texts[i] = text_of(PyTuple_GET_ITEM(held.ptr(), static_cast<Py_ssize_t>(i)), owner);
      if (owner.is_valid()) made.push_back(std::move(owner));
    }
  }
};

inline nb::tuple to_tuple(backoff::SentenceScores&& s) {
  return nb::make_tuple(to_numpy(std::move(s.log_probability)), to_numpy(std::move(s.unknown_log_probability)),
                        to_numpy(std::move(s.n_words)), to_numpy(std::move(s.n_unknown)), to_numpy(std::move(s.hits)));
}

}  // namespace loglinear::bindings
