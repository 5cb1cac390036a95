#include "bindings/arrays.hh"
#include "kernels/tying.hh"

namespace loglinear {
namespace {

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

}  // namespace

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

}  // namespace loglinear
