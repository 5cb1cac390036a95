#include <exception>

#include "bindings/arrays.hh"
#include "util/errors.hh"

NB_MODULE(_core, m) {
  using namespace loglinear::bindings;
  m.doc() = "Native kernels of loglinear. Internal: the public surface is the Python package.";
  nb::set_leak_warnings(false);

  static PyObject* parse_error = PyErr_NewException("loglinear._core.ParseError", PyExc_ValueError, nullptr);
  m.attr("ParseError") = nb::handle(parse_error);
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const loglinear::ParseError& e) {
          nb::tuple args = nb::make_tuple(e.what(), e.line, e.offset);
          PyErr_SetObject(parse_error, args.ptr());
        } catch (const loglinear::InvalidInput& e) {
          PyErr_SetString(PyExc_ValueError, e.what());
        }
      },
      nullptr);

  bind_util(m);
  bind_linear(m);
  bind_vector(m);
  bind_tree(m);
  bind_text(m);
  bind_hmm(m);
  bind_chain(m);
  bind_baselines(m);
  bind_backoff(m);
  bind_query(m);
  bind_ime(m);
  bind_ngram(m);
  bind_stream(m);
  bind_trie(m);
  bind_suffix(m);
  bind_lists(m);
  bind_composite(m);
  bind_cluster(m);
  bind_grammar(m);
}
