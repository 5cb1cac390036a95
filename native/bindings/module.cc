#include <exception>

#include "bindings/arrays.hh"
#include "simd/loops.hh"
#include "util/errors.hh"
#include "util/thread_pool.hh"

namespace loglinear::bindings {

static void bind_util(nb::module_& m) {
  nb::class_<ThreadPool>(m, "ThreadPool", "A fixed set of native threads; results do not depend on who is free.")
      .def(nb::init<int>(), nb::arg("n_threads"))
      .def_prop_ro("size", &ThreadPool::size);

  m.def("simd_name", [] { return std::string(simd::loops().name); }, "The instruction set in use.");
  m.def("simd_select", [](const std::string& name) { return simd::select(name.c_str()); }, nb::arg("name"),
        "Use 'baseline', 'avx2', 'avx512' or 'auto'; False where this machine cannot.");

  m.def("exp", [](In<double> x, Out<double> out) {
    require(x.size() == out.size(), "exp: arrays differ in length");
    nb::gil_scoped_release release;
    simd::loops().exp(x.data(), out.data(), x.size());
  }, nb::arg("x"), nb::arg("out"));
  m.def("log", [](In<double> x, Out<double> out) {
    require(x.size() == out.size(), "log: arrays differ in length");
    nb::gil_scoped_release release;
    simd::loops().log(x.data(), out.data(), x.size());
  }, nb::arg("x"), nb::arg("out"));
  m.def("logsumexp", [](In<double> x) {
    nb::gil_scoped_release release;
    return simd::loops().logsumexp(x.data(), x.size());
  }, nb::arg("x"));
}

}  // namespace loglinear::bindings

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
  bind_attributes(m);
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
  bind_cache(m);
}
