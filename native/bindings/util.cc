#include "bindings/arrays.hh"
#include "simd/loops.hh"
#include "util/thread_pool.hh"

namespace loglinear::bindings {

void bind_util(nb::module_& m) {
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
