#include <algorithm>

#include "bindings/arrays.hh"
#include "linear/log_loss.hh"
#include "linear/margins.hh"
#include "linear/tying.hh"
#include "linear/weighting.hh"

namespace loglinear::bindings {

using namespace linear;
namespace {

template <class Index>
void bind_sparse(nb::module_& m, const char* name) {
  using Matrix = BoundSparse<Index>;
  nb::class_<Matrix>(m, name, "Compressed sparse rows, checked once when made.")
      .def(nb::init<In<std::int64_t>, In<Index>, In<double>, std::size_t>(), nb::arg("indptr").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"))
      .def_prop_ro("n_rows", [](const Matrix& x) { return x.matrix.n_rows(); })
      .def_prop_ro("n_columns", [](const Matrix& x) { return x.matrix.n_columns; })
      .def_prop_ro("n_nonzeros", [](const Matrix& x) { return x.matrix.n_nonzeros(); })
      .def("margins",
           [](const Matrix& x, ThreadPool& pool, In<double> weights, std::optional<In<double>> bias, std::size_t K,
              Out<double> out) {
             nb::gil_scoped_release release;
             margins(pool, x.matrix, view(weights), view(bias), K, view(out));
           },
           nb::arg("pool"), nb::arg("weights").noconvert(), nb::arg("bias").none().noconvert(), nb::arg("n_classes"),
           nb::arg("out").noconvert(), "out[r, k] = bias[k] + sum_j X[r, j] weights[j, k]")
      .def("sparse_margins",
           [](const Matrix& x, ThreadPool& pool, In<std::int64_t> weight_ptr, In<std::int32_t> classes,
              In<double> weights, In<double> bias, Out<double> out) {
             nb::gil_scoped_release release;
             sparse_margins(pool, x.matrix, view(weight_ptr), view(classes), view(weights), view(bias), view(out));
           },
           nb::arg("pool"), nb::arg("weight_ptr").noconvert(), nb::arg("classes").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("bias").noconvert(), nb::arg("out").noconvert(),
           "margins with the weights of each feature given by class, those of zero left out")
      .def("gradient",
           [](const Matrix& x, ThreadPool& pool, In<double> residuals, std::size_t K, int power, Out<double> out) {
             nb::gil_scoped_release release;
             gradient(pool, x.matrix, view(residuals), K, power, view(out));
           },
           nb::arg("pool"), nb::arg("residuals").noconvert(), nb::arg("n_classes"), nb::arg("power"),
           nb::arg("out").noconvert(), "For a transposed matrix: out[j, k] = sum_r X[j, r]^power residuals[r, k]")
      .def("tied_margins",
           [](const Matrix& x, ThreadPool& pool, In<double> shared, In<std::int32_t> map,
              std::optional<In<double>> bias, std::size_t K, Out<double> out) {
             nb::gil_scoped_release release;
             tied_margins(pool, x.matrix, view(shared), view(map), view(bias), K, view(out));
           },
           nb::arg("pool"), nb::arg("shared").noconvert(), nb::arg("map").noconvert(),
           nb::arg("bias").none().noconvert(), nb::arg("n_classes"), nb::arg("out").noconvert(),
           "margins with weights[j, k] = shared[map[j, k]]; the map must have been checked by check_groups")
      .def("tied_gradient",
           [](const Matrix& x, ThreadPool& pool, In<double> residuals, In<std::int32_t> map, std::size_t K,
              Out<double> out) {
             nb::gil_scoped_release release;
             tied_gradient(pool, x.matrix, view(residuals), view(map), K, view(out));
           },
           nb::arg("pool"), nb::arg("residuals").noconvert(), nb::arg("map").noconvert(), nb::arg("n_classes"),
           nb::arg("out").noconvert(), "gradient summed over the weights that share a value")
      .def("transpose",
           [](const Matrix& x, ThreadPool& pool, Out<std::int64_t> indptr, Out<std::int32_t> indices,
              Out<double> values) {
             nb::gil_scoped_release release;
             transpose(pool, x.matrix, view(indptr), view(indices), view(values));
           },
           nb::arg("pool"), nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert());
}

template <class Entry>
void bind_dense(nb::module_& m) {
  m.def("dense_margins", [](ThreadPool& pool, In<Entry> X, std::size_t n_columns, In<double> weights,
                            std::optional<In<double>> bias, std::size_t K, Out<double> out) {
    const std::size_t n_rows = n_columns ? X.size() / n_columns : out.size() / std::max<std::size_t>(K, 1);
    nb::gil_scoped_release release;
    dense_margins<Entry>(pool, view(X), n_rows, n_columns, view(weights), view(bias), K, view(out));
  }, nb::arg("pool"), nb::arg("X").noconvert(), nb::arg("n_columns"), nb::arg("weights").noconvert(),
        nb::arg("bias").none().noconvert(), nb::arg("n_classes"), nb::arg("out").noconvert());
  m.def("dense_gradient", [](ThreadPool& pool, In<Entry> X, std::size_t n_columns, In<double> residuals,
                             std::size_t K, int power, Out<double> out) {
    const std::size_t n_rows = residuals.size() / std::max<std::size_t>(K, 1);
    nb::gil_scoped_release release;
    dense_gradient<Entry>(pool, view(X), n_rows, n_columns, view(residuals), K, power, view(out));
  }, nb::arg("pool"), nb::arg("X").noconvert(), nb::arg("n_columns"), nb::arg("residuals").noconvert(),
        nb::arg("n_classes"), nb::arg("power"), nb::arg("out").noconvert());
}

void bind_margins(nb::module_& m) {
  bind_sparse<std::int32_t>(m, "SparseMatrix32");
  bind_sparse<std::int64_t>(m, "SparseMatrix64");

  bind_dense<double>(m);
  bind_dense<float>(m);
  m.def("column_sums", [](ThreadPool& pool, In<double> R, std::size_t K, Out<double> out) {
    nb::gil_scoped_release release;
    column_sums(pool, view(R), K, view(out));
  }, nb::arg("pool"), nb::arg("R").noconvert(), nb::arg("n_classes"), nb::arg("out").noconvert());

  m.def("weigh_rows", [](ThreadPool& pool, In<std::int64_t> indptr, In<std::int32_t> indices, const std::string& growth,
                         std::optional<In<double>> scale, bool unit, Out<double> values) {
    require(growth == "count" || growth == "binary" || growth == "log",
            "weighting: growth must be 'count', 'binary' or 'log'");
    const Growth chosen = growth == "count" ? Growth::count : growth == "log" ? Growth::logarithm : Growth::binary;
    nb::gil_scoped_release release;
    weigh_rows(pool, view(indptr), view(indices), chosen, view(scale), unit, view(values));
  }, nb::arg("pool"), nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("growth"),
        nb::arg("scale").none().noconvert(), nb::arg("unit"), nb::arg("values").noconvert(),
        "counts -> values of features, in place");
  m.def("add_bias", [](ThreadPool& pool, In<double> M, In<double> bias, Out<double> out) {
    nb::gil_scoped_release release;
    add_bias(pool, view(M), view(bias), view(out));
  }, nb::arg("pool"), nb::arg("M").noconvert(), nb::arg("bias").noconvert(), nb::arg("out").noconvert());

  m.def("check_labels", [](In<std::int32_t> labels, std::size_t K) {
    nb::gil_scoped_release release;
    check_labels(view(labels), K);
  }, nb::arg("labels").noconvert(), nb::arg("n_classes"));
  m.def("log_loss", [](ThreadPool& pool, Out<double> margins, In<std::int32_t> labels,
                       std::optional<In<double>> sample_weight, std::size_t K) {
    nb::gil_scoped_release release;
    return log_loss(pool, view(margins), view(labels), view(sample_weight), K);
  }, nb::arg("pool"), nb::arg("margins").noconvert(), nb::arg("labels").noconvert(),
        nb::arg("sample_weight").none().noconvert(), nb::arg("n_classes"),
        "Loss of margins [n, K]; they become residuals. Labels must have been checked by check_labels.");
  m.def("probabilities", [](ThreadPool& pool, Out<double> margins, std::size_t K, bool logarithm) {
    nb::gil_scoped_release release;
    probabilities(pool, view(margins), K, logarithm);
  }, nb::arg("pool"), nb::arg("margins").noconvert(), nb::arg("n_classes"), nb::arg("logarithm"));
  m.def("log_loss_hessian", [](ThreadPool& pool, In<double> P, std::optional<In<double>> sample_weight, std::size_t K,
                               Out<double> vectors) {
    nb::gil_scoped_release release;
    log_loss_hessian(pool, view(P), view(sample_weight), K, view(vectors));
  }, nb::arg("pool"), nb::arg("P").noconvert(), nb::arg("sample_weight").none().noconvert(), nb::arg("n_classes"),
        nb::arg("vectors").noconvert());
  m.def("log_loss_curvature", [](ThreadPool& pool, In<double> P, std::optional<In<double>> sample_weight,
                                 std::size_t K, Out<double> out) {
    nb::gil_scoped_release release;
    log_loss_curvature(pool, view(P), view(sample_weight), K, view(out));
  }, nb::arg("pool"), nb::arg("P").noconvert(), nb::arg("sample_weight").none().noconvert(), nb::arg("n_classes"),
        nb::arg("out").noconvert());
}

template <class Index>
nb::tuple tie(const BoundSparse<Index>& rows, ThreadPool& pool, In<std::int32_t> groups, In<double> scale) {
  TiedRows tied;
  {
    nb::gil_scoped_release release;
    tied = tie_columns(pool, rows.matrix, view(groups), view(scale));
  }
  return nb::make_tuple(to_numpy(std::move(tied.indptr)), to_numpy(std::move(tied.indices)),
                        to_numpy(std::move(tied.values)));
}

void bind_tying(nb::module_& m) {
  m.def("identical_columns", [](ThreadPool& pool, const BoundSparse<std::int32_t>& columns, Out<std::int32_t> groups) {
    nb::gil_scoped_release release;
    return identical_columns(pool, columns.matrix, view(groups));
  }, nb::arg("pool"), nb::arg("columns"), nb::arg("groups").noconvert(),
        "Number columns (rows of a transposed matrix) so that equal ones share a number; returns how many there are.");
  m.def("tie_columns", &tie<std::int32_t>, nb::arg("rows"), nb::arg("pool"), nb::arg("groups").noconvert(),
        nb::arg("scale").noconvert(), "(indptr, indices, values) of scale[g] * the sum of the columns of each group");
  m.def("tie_columns", &tie<std::int64_t>, nb::arg("rows"), nb::arg("pool"), nb::arg("groups").noconvert(),
        nb::arg("scale").noconvert());
  m.def("cluster_values", [](ThreadPool& pool, In<double> values, std::optional<In<double>> importance,
                             std::int64_t n_clusters, int sweeps, bool split_signs, Out<std::int32_t> map) {
    nb::gil_scoped_release release;
    return cluster_values(pool, view(values), view(importance), n_clusters, sweeps, split_signs, view(map));
  }, nb::arg("pool"), nb::arg("values").noconvert(), nb::arg("importance").none().noconvert(), nb::arg("n_clusters"),
        nb::arg("sweeps"), nb::arg("split_signs"), nb::arg("map").noconvert(),
        "Sort and cut into blocks of small squared error; returns the number of blocks.");
  m.def("check_groups", [](In<std::int32_t> map, std::size_t n_groups) {
    nb::gil_scoped_release release;
    check_groups(view(map), n_groups);
  }, nb::arg("map").noconvert(), nb::arg("n_groups"));
  m.def("sum_groups", [](ThreadPool& pool, In<double> values, In<std::int32_t> map, std::optional<In<double>> scale,
                         Out<double> out) {
    nb::gil_scoped_release release;
    sum_groups(pool, view(values), view(map), view(scale), view(out));
  }, nb::arg("pool"), nb::arg("values").noconvert(), nb::arg("map").noconvert(), nb::arg("scale").none().noconvert(),
        nb::arg("out").noconvert());
  m.def("copy_groups", [](ThreadPool& pool, In<double> shared, In<std::int32_t> map, std::optional<In<double>> scale,
                          Out<double> out) {
    nb::gil_scoped_release release;
    copy_groups(pool, view(shared), view(map), view(scale), view(out));
  }, nb::arg("pool"), nb::arg("shared").noconvert(), nb::arg("map").noconvert(), nb::arg("scale").none().noconvert(),
        nb::arg("out").noconvert());
}

}  // namespace

void bind_linear(nb::module_& m) {
  bind_margins(m);
  bind_tying(m);
}

}  // namespace loglinear::bindings
